"""The parsers of the settings: each takes a value of the environment or the file, and checks it.

A parser gives the typed value, or raises `ValueError` with what the setting must be.
"""

import math
import re
from collections.abc import Callable
from email.errors import MessageError
from email.headerregistry import Address
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from testimonials.settings.plans import Plan

Parser = Callable[[object], Any]

MOST_PROJECTS = 1_000_000


def parse_text(value: object) -> str:
    """Take a string as it is."""
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value.strip()


def parse_path(value: object) -> Path:
    """Take a folder; a relative one starts at the working directory."""
    text = parse_text(value)
    if not text:
        raise ValueError("must name a folder")
    path = _expand(text)
    try:
        return path.resolve()
    except FileNotFoundError:
        raise ValueError("is relative, and the folder that it starts at is gone") from None


def parse_path_or_nothing(value: object) -> str:
    """Take a folder, of which a relative one starts at the instance folder, or nothing."""
    text = parse_text(value)
    return str(_expand(text)) if text else ""


def _expand(text: str) -> Path:
    try:
        # The database's address names it, which is text.
        text.encode()
        return Path(text).expanduser()
    except UnicodeEncodeError:
        raise ValueError("must be valid UTF-8") from None
    except RuntimeError:
        raise ValueError("begins with ~, and no such home folder is known") from None


def parse_email(value: object) -> str:
    """Take one e-mail address, or nothing."""
    text = parse_text(value)
    try:
        if text and not (text.isascii() and Address(addr_spec=text).domain):
            raise ValueError(text)
    except (ValueError, IndexError, MessageError):
        raise ValueError("must be an e-mail address such as operator@example.com") from None
    return text


def parse_origin(value: object) -> str:
    """Take an http(s) origin such as https://testimonials.example.com, or nothing."""
    text = parse_text(value).rstrip("/")
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"must be an http:// or https:// address, not {text!r}")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError(f"has a port that is no number from 0 to 65535: {text!r}") from None
    if re.search(r"[\s<>\"'`\\^{|}]", parts.netloc) or not parts.netloc.isprintable():
        raise ValueError(f"holds a sign that stands in no address: {text!r}")
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"must be scheme, host and port alone, without a path: not {text!r}")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def whole(low: int, high: int) -> Parser:
    """Make a parser of whole numbers from `low` to `high`."""

    def parse(value: object) -> int:
        text = str(value).strip()
        if isinstance(value, bool | float) or not re.fullmatch(r"[0-9]{1,9}", text):
            raise ValueError(f"must be a whole number from {low} to {high}, not {text!r}")
        number = int(text)
        if not low <= number <= high:
            raise ValueError(f"must be from {low} to {high}, not {number}")
        return number

    return parse


def parse_days(value: object) -> float:
    """Take a number of days above 0 and up to 3650; fractions are allowed."""
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number <= 3650:
        raise ValueError(f"must be a number of days above 0 and up to 3650, not {value!r}")
    return number


def one_of(*choices: str) -> Parser:
    """Make a parser of one word out of `choices`."""

    def parse(value: object) -> str:
        text = parse_text(value).lower()
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {text!r}")
        return text

    return parse


def parse_hsts(value: object) -> str:
    """Take the value of the header Strict-Transport-Security, or nothing."""
    text = parse_text(value)
    found = re.fullmatch(r"(?i)max-age=([0-9]{1,10})(; ?includeSubDomains)?(; ?preload)?", text)
    if text and not found:
        raise ValueError("must look like max-age=31536000; includeSubDomains; preload")
    if found and found[3] and not (found[2] and int(found[1]) >= 31_536_000):
        raise ValueError("takes preload only with includeSubDomains and max-age=31536000 or more")
    return text


def parse_domains(value: object) -> tuple[str, ...]:
    """Take domain names: separated by commas or spaces, or as a TOML list."""
    if isinstance(value, list):
        words = [parse_text(word) for word in value]
    else:
        words = re.split(r"[,\s]+", parse_text(value))
    return tuple(word.lower().lstrip("@") for word in words if word)


def parse_database_url(value: object) -> str:
    """Take an sqlite:/// or postgresql:// address, or nothing for the instance's own file.

    A relative path starts at the instance folder. Other ways to write postgresql:// that services
    and libraries have become that.
    """
    text = re.sub(r"\Apostgres(ql\+psycopg)?://", "postgresql://", parse_text(value))
    if text and not text.startswith(("sqlite:///", "postgresql://")):
        raise ValueError("must start with sqlite:/// or postgresql://")
    if text in ("sqlite:///", "sqlite:///:memory:"):
        raise ValueError("must name a file: a database in memory is gone with the process")
    try:
        if text:
            make_url(text)
    except (ArgumentError, ValueError):
        # The library's own words would repeat the address, password and all.
        raise ValueError(
            "must look like sqlite:////folder/file.db or postgresql://user:password@host:5432/name"
        ) from None
    return text


def parse_smtp_url(value: object) -> str:
    """Take smtp://[user:password@]host[:port][?starttls=1] or smtps://..., or nothing."""
    text = parse_text(value)
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("must look like smtp://user:password@host:587?starttls=1 or smtps://...")
    if parts.query not in ("", "starttls=1", "starttls=0"):
        raise ValueError("takes no option but ?starttls=1")
    if parts.scheme == "smtps" and parts.query == "starttls=1":
        raise ValueError("is either smtps:// or smtp:// with ?starttls=1, not both")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("has a port that is no number from 0 to 65535") from None
    return text


def parse_ratelimit_url(value: object) -> str:
    """Take a redis:// or rediss:// address, or nothing to count in the database."""
    text = parse_text(value)
    if text and not text.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must start with redis://, rediss:// or unix://, or be empty")
    return text


def parse_mail_from(value: object) -> str:
    """Take an address, with or without a display name; no line breaks."""
    text = parse_text(value)
    name, address = parseaddr(text)
    try:
        if re.search(r"[\r\n]", text):
            raise ValueError(text)
        if text and not (address.isascii() and Address(name, addr_spec=address).domain):
            raise ValueError(text)
    except (ValueError, IndexError, MessageError):
        raise ValueError(
            "must be an e-mail address such as Testimonials <mail@example.com>"
        ) from None
    return text


def parse_plans(value: object) -> tuple[Plan, ...]:
    """Take plans such as ``starter=5:price_a, pro=50:price_b|price_c``, or a TOML list of them."""
    words = value if isinstance(value, list) else parse_text(value).split(",")
    plans = tuple(_parse_plan(parse_text(word)) for word in words if parse_text(word))
    names = [plan.name.lower() for plan in plans]
    prices = [price for plan in plans for price in plan.prices]
    for kind, found in (("plan", names), ("price", prices)):
        if twice := sorted({each for each in found if found.count(each) > 1}):
            raise ValueError(f"names the {kind} {twice[0]} twice")
    return plans


def _parse_plan(text: str) -> Plan:
    found = re.fullmatch(
        r"([A-Za-z][A-Za-z0-9 _-]{0,39}?)\s*=\s*([0-9]{1,7})\s*(?::\s*([\w.|\s-]+))?",
        text,
        re.ASCII,
    )
    prices = tuple(price.strip() for price in (found[3] or "").split("|")) if found else ()
    prices = () if prices == ("",) else prices
    if found is None or any(not re.fullmatch(r"[\w.-]+", price, re.ASCII) for price in prices):
        raise ValueError(
            "must hold plans such as starter=5:price_a, pro=50:price_b|price_c (name, projects, "
            f"Stripe's prices), not {text!r}"
        )
    if found[1].lower() == "none":
        raise ValueError("has a plan named none, which stands for no plan at all")
    if int(found[2]) > MOST_PROJECTS:
        raise ValueError(f"gives the plan {found[1]} more than {MOST_PROJECTS} projects")
    return Plan(found[1], int(found[2]), prices)


def parse_more_url(value: object) -> str:
    """Take an http(s) or mailto: address, which may hold ``{account}``, or nothing."""
    text = parse_text(value)
    if not text:
        return ""
    if re.search(r"[{}]", text.replace("{account}", "")):
        raise ValueError("takes no other word in braces than {account}")
    if re.search(r"\s", text) or not text.isprintable():
        raise ValueError("must be an address without spaces and line breaks")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError(f"is no address: {text!r}") from None
    is_web = parts.scheme in ("http", "https") and parts.hostname and "{" not in parts.netloc
    if not is_web and not (parts.scheme == "mailto" and "@" in parts.path):
        raise ValueError("must start with https://, http:// or mailto:, followed by an address")
    return text


def parse_webhook_secret(value: object) -> str:
    """Take the signing secret of a Stripe webhook endpoint, or nothing."""
    text = parse_text(value)
    if text and not re.fullmatch(r"whsec_[\x21-\x7e]{8,}", text):
        raise ValueError("must be the endpoint's signing secret, which starts with whsec_")
    return text


def parse_token(value: object) -> str:
    """Take a secret of at least 16 visible characters that fits into a header, or nothing."""
    text = parse_text(value)
    if text and not re.fullmatch(r"[\x21-\x7e]{16,}", text):
        raise ValueError("must have at least 16 characters, ASCII ones without spaces")
    return text


def parse_sentry_dsn(value: object) -> str:
    """Take the DSN of a Sentry project, or nothing."""
    text = parse_text(value)
    if text and not re.fullmatch(r"https?://[^\s/@]+@[^\s/@]+/(\S+/)?[0-9]+", text):
        raise ValueError("must look like https://key@host/1, as Sentry shows it for a project")
    return text
