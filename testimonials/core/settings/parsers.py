"""The parsers of settings.

Each takes a value from the environment or the file and returns it typed, or raises `ValueError`
saying what the setting must be. "" is a value too, if the setting may be empty.
"""

import math
import re
import shlex
from collections.abc import Callable
from email.errors import MessageError
from email.headerregistry import Address
from email.utils import parseaddr
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

Parser = Callable[[object], Any]

MAX_PROJECTS = 1_000_000
HOST = r"\[[0-9a-f:.]+\]|[^\s\"'/<>?@\\^`{|}\[\]:#]+"


class Plan(NamedTuple):
    """A plan: how many projects an account may have, and the ids of its Stripe prices.

    With `is_unbranded`, visitors and customers don't see the name of the service.
    """

    name: str
    projects: int
    prices: tuple[str, ...]
    is_unbranded: bool = False

    def __str__(self) -> str:
        prices = f":{'|'.join(self.prices)}" if self.prices else ""
        return f"{self.name}={self.projects}{' unbranded' if self.is_unbranded else ''}{prices}"


def parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value.strip()


def matching(pattern: str, rule: str) -> Parser:
    """Return a parser for text that is empty or matches `pattern`; `rule` is its error message."""

    def parse(value: object) -> str:
        text = parse_text(value)
        if text and not re.fullmatch(pattern, text):
            raise ValueError(rule)
        return text

    return parse


def parse_hsts(value: object) -> str:
    text = parse_text(value)
    match = re.fullmatch(r"(?i)max-age=([0-9]{1,10})(; ?includeSubDomains)?(; ?preload)?", text)
    if text and not match:
        raise ValueError("must look like max-age=31536000; includeSubDomains; preload")
    if match and match[3] and not (match[2] and int(match[1]) >= 31_536_000):
        raise ValueError("takes preload only with includeSubDomains and max-age=31536000 or more")
    return text


def whole(low: int, high: int) -> Parser:
    def parse(value: object) -> int:
        text = str(value).strip()
        is_whole = re.fullmatch(r"[0-9]{1,9}", text) and not isinstance(value, bool | float)
        if not is_whole or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {text!r}")
        return int(text)

    return parse


def one_of(*choices: str) -> Parser:
    def parse(value: object) -> str:
        text = parse_text(value).lower()
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {text!r}")
        return text

    return parse


def mailbox(example: str) -> Parser:
    """Return a parser for an email address, with a display name only if `example` has one."""

    def parse(value: object) -> str:
        text = parse_text(value)
        name, address = parseaddr(text)
        try:
            is_valid = address.isascii() and bool(Address(name, addr_spec=address).domain)
        except (ValueError, IndexError, MessageError):
            is_valid = False
        if "<" not in example and address != text:
            is_valid = False
        if text and (not is_valid or re.search(r"[\r\n]", text)):
            raise ValueError(f"must be an email address such as {example}")
        return text

    return parse


def parse_path(value: object) -> Path:
    """Parse a folder, relative to the working directory."""
    folder = parse_folder(value)
    if not folder:
        raise ValueError("must name a folder")
    try:
        return Path(folder).resolve()
    except OSError as error:
        raise ValueError(f"can't be used as a folder: {error}") from None


def parse_folder(value: object) -> str:
    text = parse_text(value)
    try:
        # It must be encodable for the database's URL.
        text.encode()
        return str(Path(text).expanduser()) if text else ""
    except (RuntimeError, UnicodeEncodeError) as error:
        raise ValueError(f"can't be used as a folder: {error}") from None


def parse_command(value: object) -> str:
    """Parse a command with its arguments, quoted as in a shell."""
    text = parse_text(value)
    try:
        shlex.split(text)
    except ValueError as error:
        raise ValueError(f"can't be read as a command: {error}") from None
    return text


def parse_folder_url(value: object) -> str:
    """Parse an http(s) URL, perhaps with a path, such as https://cdn.example.com/reviews."""
    text = parse_text(value).rstrip("/")
    path = r"(?:/(?!\.+(?:/|$))[A-Za-z0-9._~-]+)*"
    match = re.fullmatch(rf"(?i)(https?://(?:{HOST})(?::([0-9]{{1,5}}))?)({path})", text)
    if text and (not match or int(match[2] or 0) > 65535 or not text.isprintable()):
        raise ValueError(
            "must be http:// or https://, a host and optionally a path, such as "
            f"https://cdn.example.com/reviews, not {text!r}"
        )
    return match[1].lower() + match[3] if match else ""


def parse_days(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number <= 3650:
        raise ValueError(f"must be a number of days above 0 and up to 3650, not {value!r}")
    return number


def parse_kept_days(value: object) -> float:
    """Parse the days for which something is kept; 0 means forever."""
    return 0.0 if str(value).strip() in ("0", "0.0") else parse_days(value)


def parse_domains(value: object) -> tuple[str, ...]:
    """Parse domain names, separated by commas or spaces, or in a TOML list."""
    if isinstance(value, list):
        words = [parse_text(word) for word in value]
    else:
        words = re.split(r"[,\s]+", parse_text(value))
    return tuple(word.lower().lstrip("@") for word in words if word)


def parse_addresses(value: object) -> tuple[str, ...]:
    words = parse_domains(value)
    if wrong := next((word for word in words if not re.fullmatch(r"[^@\s]+@[^@\s]+", word)), None):
        raise ValueError(f"must be email addresses, separated by commas; {wrong} is not one")
    return words


def parse_resolver(value: object) -> str:
    """Parse the address of a name server with its port."""
    text = parse_text(value)
    match = re.fullmatch(r"(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):(\d{1,5})", text, re.IGNORECASE)
    if text and (match is None or not 0 < int(match[2]) < 65536):
        raise ValueError("must be an address and a port, such as 127.0.0.1:53 or [::1]:53")
    return text


def parse_database_url(value: object) -> str:
    """Parse an sqlite:/// or postgresql:// URL.

    postgres:// and postgresql+psycopg://, which some services and libraries use, are normalized.
    """
    text = re.sub(r"\Apostgres(ql\+psycopg)?://", "postgresql://", parse_text(value))
    if text in ("sqlite:///", "sqlite:///:memory:"):
        raise ValueError("must name a file: a database in memory is lost when the process ends")
    try:
        if text and not text.startswith(("sqlite:///", "postgresql://")):
            raise ValueError(text)
        if text:
            make_url(text)
    except (ArgumentError, ValueError):
        # The library's message would contain the URL with its password.
        raise ValueError(
            "must start with sqlite:/// or postgresql://, such as sqlite:////folder/file.db or "
            "postgresql://user:password@host:5432/name"
        ) from None
    return text


def parse_smtp_url(value: object) -> str:
    """Parse smtp://[user:password@]host[:port][?starttls=1] or smtps://..."""
    text = parse_text(value)
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("smtp", "smtps") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    is_tls = text.lower().startswith("smtps")
    queries = ("", "starttls=0") if is_tls else ("", "starttls=0", "starttls=1")
    if text and (not is_valid or parts.query not in queries):
        raise ValueError("must look like smtp://user:password@host:587?starttls=1 or smtps://...")
    return text


# The only placeholder is the account, which can't be in the host.
parse_more_url = matching(
    r"https?://[^\s/?{}]+([/?]([^\s{}]|\{account\})*)?"
    r"|mailto:([^\s{}@]|\{account\})+@([^\s{}]|\{account\})+",
    "must be an https://, http:// or mailto: URL without spaces; the only placeholder is "
    "{account}, after the host",
)


def parse_plans(value: object) -> tuple[Plan, ...]:
    """Parse plans such as ``starter=5:price_a, pro=50:price_b|price_c``, or a TOML list of them."""
    words = value if isinstance(value, list) else parse_text(value).split(",")
    plans = tuple(_parse_plan(parse_text(word)) for word in words if parse_text(word))
    names = [plan.name.lower() for plan in plans]
    prices = [price for plan in plans for price in plan.prices]
    for kind, values in (("plan", names), ("price", prices)):
        if twice := sorted({each for each in values if values.count(each) > 1}):
            raise ValueError(f"names the {kind} {twice[0]} twice")
    return plans


def _parse_plan(text: str) -> Plan:
    name = r"[A-Za-z][A-Za-z0-9 _-]{0,39}?"
    match = re.fullmatch(
        rf"({name})\s*=\s*([0-9]{{1,7}})(\s+unbranded)?\s*(:\s*[\w.-]+(?:\s*\|\s*[\w.-]+)*)?",
        text,
        re.ASCII,
    )
    if match is None:
        raise ValueError(
            "must list plans such as starter=5:price_a, pro=50 unbranded:price_b|price_c (name, "
            f"projects, Stripe's prices), not {text!r}"
        )
    if match[1].lower() == "none":
        raise ValueError("can't have a plan named none, which means no plan")
    if int(match[2]) > MAX_PROJECTS:
        raise ValueError(f"gives the plan {match[1]} more than {MAX_PROJECTS} projects")
    prices = tuple(re.findall(r"[\w.-]+", match[4] or ""))
    return Plan(match[1], int(match[2]), prices, is_unbranded=match[3] is not None)


MAX_LABEL = 40
# A group can't be the owner.
GROUP_ROLES = ("admin", "moderator", "reader")


class GroupRole(NamedTuple):
    group: str
    role: str

    def __str__(self) -> str:
        return f"{self.group}={self.role}"


# It must match the provider's exactly. Over http:// anybody on the network could impersonate
# people, so that is only for this machine.
parse_issuer = matching(
    rf"(?=.{{1,500}}$)(https://({HOST})|http://(localhost|127\.0\.0\.1|\[::1\]))(:[0-9]{{1,5}})?(/[^\s?#]*)?",
    "must be the issuer as the provider names it, in at most 500 characters: https://, a host "
    "and optionally a path, such as https://id.example.com/realms/staff",
)


def parse_label(value: object) -> str:
    text = parse_text(value)
    if len(text) > MAX_LABEL or not text.isprintable():
        raise ValueError(f"must be one line of at most {MAX_LABEL} characters")
    return text


def parse_groups(value: object) -> tuple[GroupRole, ...]:
    """Parse groups with their roles such as ``Marketing=moderator``, or a TOML list of them."""
    words = value if isinstance(value, list) else parse_text(value).split(",")
    pairs = [parse_text(word).rpartition("=") for word in words if parse_text(word)]
    for group, _, role in pairs:
        if not group.strip() or role.strip() not in GROUP_ROLES:
            raise ValueError(
                "must list groups with a role such as Marketing=moderator, Leads=admin; roles are "
                f"{', '.join(GROUP_ROLES)}"
            )
    return tuple(GroupRole(group.strip(), role.strip()) for group, _, role in pairs)
