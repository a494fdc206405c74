"""Settings: typed, checked when the program starts, read from the environment or a file.

Each setting is a field of `Settings`. Its value comes from, first found first: what the caller
overrides (command-line flags, tests), the environment as ``TESTIMONIALS_<NAME>``, the file
``testimonials.toml`` in the instance folder as ``<name>``, and the default written here.
The table in ``docs/settings.md`` is made from this file, and a test keeps the two the same.
"""

import dataclasses
import math
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from email.utils import parseaddr
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

PREFIX = "TESTIMONIALS_"
FILE_NAME = "testimonials.toml"

Parser = Callable[[object], Any]


class SettingError(click.ClickException):
    """A setting is missing, of the wrong type or out of range; the message names it."""


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
    return Path(text).expanduser().resolve()


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


def parse_domains(value: object) -> tuple[str, ...]:
    """Take domain names: separated by commas or spaces, or as a TOML list."""
    if isinstance(value, list):
        words = [parse_text(word) for word in value]
    else:
        words = re.split(r"[,\s]+", parse_text(value))
    return tuple(word.lower().lstrip("@") for word in words if word)


def parse_database_url(value: object) -> str:
    """Take an sqlite:/// or postgresql:// address, or nothing for the instance's own file."""
    text = parse_text(value)
    if text and not text.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
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
    if text.startswith("sqlite:///") and not text.startswith("sqlite:////"):
        # Two parts of the program would start a relative path at two different folders.
        return f"sqlite:///{Path(text.removeprefix('sqlite:///')).absolute()}"
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


def setting(default: object, parse: Parser, doc: str, *, secret: bool = False) -> Any:
    """Declare one setting: its default, its parser and the sentence that documents it."""
    return dataclasses.field(
        default=default, metadata={"parse": parse, "doc": doc, "secret": secret}
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything an operator can set. Instances come from `load_settings`."""

    instance_path: Path = setting(
        Path("instance"),
        parse_path,
        "The folder that holds the database, the secret and `testimonials.toml`. "
        "Only from the environment.",
    )
    host: str = setting("127.0.0.1", parse_text, "The address `serve` listens on.")
    port: int = setting(8000, whole(0, 65535), "The port `serve` listens on; 0 picks a free one.")
    threads: int = setting(4, whole(1, 64), "Request threads in the server.")
    base_url: str = setting(
        "",
        parse_origin,
        "The address of the API and the widget as the world sees it. Empty: the address that "
        "`serve` listens on.",
    )
    app_url: str = setting(
        "", parse_origin, "The address of the dashboard and public pages. Empty: `BASE_URL`."
    )
    database_url: str = setting(
        "",
        parse_database_url,
        "Where the data is: `sqlite:////absolute/path.db` or `postgresql://...`. Empty: "
        "`testimonials.db` in the instance folder.",
        secret=True,
    )
    secret_key: str = setting(
        "",
        parse_text,
        "Signs magic links; at least 32 characters. Empty: made once and kept in `secret_key` in "
        "the instance folder, file mode 0600.",
        secret=True,
    )
    smtp_url: str = setting(
        "",
        parse_smtp_url,
        "How mail leaves: `smtp://user:password@host:587?starttls=1` or `smtps://...`. Empty: mail "
        "is printed to the log and kept for `mail show`.",
        secret=True,
    )
    mail_from: str = setting(
        "", parse_mail_from, "The sender of mails. Empty: `Testimonials <testimonials@app host>`."
    )
    trusted_proxies: int = setting(
        0,
        whole(0, 10),
        "How many reverse proxies stand in front and set X-Forwarded-For, -Proto and -Host. 0 "
        "takes addresses from the socket alone.",
    )
    project_limit: int = setting(
        10, whole(0, 1_000_000), "How many projects an account may have, unless set for it alone."
    )
    claim_days: float = setting(
        7.0, parse_days, "Days in which an account must be claimed; fractions are allowed."
    )
    signup: str = setting(
        "open",
        one_of("open", "domains", "closed"),
        "Who may start an account: `open`, `domains` (addresses at `SIGNUP_DOMAINS`) or `closed`. "
        "Whoever is invited to a project always may.",
    )
    signup_domains: tuple[str, ...] = setting(
        (), parse_domains, "With `SIGNUP=domains`: the e-mail domains that may sign up."
    )
    email_allow_domains: tuple[str, ...] = setting(
        (), parse_domains, "E-mail domains accepted although the disposable list has them."
    )
    email_deny_domains: tuple[str, ...] = setting(
        (), parse_domains, "E-mail domains refused although the disposable list lacks them."
    )
    ratelimit_storage_url: str = setting(
        "",
        parse_ratelimit_url,
        "Where rate limits are counted: `redis://...`. Empty: in the database.",
        secret=True,
    )
    log_level: str = setting(
        "info", one_of("debug", "info", "warning", "error"), "The least level that is logged."
    )
    log_format: str = setting("plain", one_of("plain", "json"), "How a log line looks.")

    @property
    def is_sqlite(self) -> bool:
        """Whether the data is in an SQLite file."""
        return self.database_url.startswith("sqlite")


def load_settings(
    environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read, check and complete the settings; make the instance folder and the secret.

    `overrides` maps field names to values that win over the environment.
    Raises `SettingError`, naming the setting and what it must be.
    """
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[object, str]] = {}
    folder = _folder(environ, overrides or {})
    for name, value in _read_file(folder / FILE_NAME).items():
        given[name] = (value, f"{name} in {folder / FILE_NAME}")
    for name in _names():
        if (variable := PREFIX + name.upper()) in environ:
            given[name] = (environ[variable], variable)
    for name, value in (overrides or {}).items():
        given[name] = (value, PREFIX + name.upper())
    values: dict[str, Any] = {}
    for name, (value, origin) in given.items():
        values[name] = _parse(name, value, origin)
    return _complete(Settings(**(values | {"instance_path": folder})))


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Name the TESTIMONIALS_ variables that no setting reads, most likely misspelt."""
    environ = os.environ if environ is None else environ
    known = {PREFIX + name.upper() for name in _names()}
    return sorted(key for key in environ if key.startswith(PREFIX) and key not in known)


def _names() -> list[str]:
    return [field.name for field in dataclasses.fields(Settings)]


def _folder(environ: Mapping[str, str], overrides: Mapping[str, object]) -> Path:
    value = overrides.get("instance_path", environ.get(PREFIX + "INSTANCE_PATH", "instance"))
    folder: Path = _parse("instance_path", str(value), PREFIX + "INSTANCE_PATH")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _refuse(PREFIX + "INSTANCE_PATH", f"the folder {folder} can't be made: {error.strerror}")
    return folder


def _parse(name: str, value: object, origin: str) -> Any:
    field = Settings.__dataclass_fields__[name]
    try:
        return field.metadata["parse"](value)
    except ValueError as error:
        _refuse(origin, str(error))


def _refuse(origin: str, problem: str) -> NoReturn:
    raise SettingError(f"{origin} {problem}")


def _read_file(path: Path) -> dict[str, object]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} can't be read: {error}") from None
    allowed = set(_names()) - {"instance_path"}
    for name in content:
        if name not in allowed:
            _refuse(f"{name} in {path}", f"is no setting; there are {', '.join(sorted(allowed))}")
    return content


def _complete(settings: Settings) -> Settings:
    """Fill in the defaults that depend on other settings."""
    if settings.signup == "domains" and not settings.signup_domains:
        _refuse(PREFIX + "SIGNUP_DOMAINS", "must name at least one domain with SIGNUP=domains")
    if settings.secret_key and len(settings.secret_key) < 32:
        _refuse(PREFIX + "SECRET_KEY", "must have at least 32 characters")
    _require_extra("DATABASE_URL", settings.database_url, "postgresql", "psycopg", "postgres")
    _require_extra("RATELIMIT_STORAGE_URL", settings.ratelimit_storage_url, "", "redis", "redis")
    database = settings.database_url or f"sqlite:///{settings.instance_path / 'testimonials.db'}"
    base = settings.base_url or listening_url(settings.host, settings.port)
    app = settings.app_url or base
    sender = settings.mail_from or f"Testimonials <testimonials@{urlsplit(app).hostname}>"
    return dataclasses.replace(
        settings,
        database_url=database.replace("postgresql+psycopg://", "postgresql://", 1),
        secret_key=settings.secret_key or _secret_key(settings.instance_path / "secret_key"),
        base_url=base,
        app_url=app,
        mail_from=sender,
    )


def _require_extra(name: str, value: str, start: str, module: str, extra: str) -> None:
    if value and value.startswith(start) and find_spec(module) is None:
        _refuse(PREFIX + name, f"needs a package more: pip install 'testimonials[{extra}]'")


def listening_url(host: str, port: int) -> str:
    """Give the address under which a browser on this machine reaches `host` and `port`."""
    bare = host.strip("[]")
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bare, bare)  # noqa: S104 - compared, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _secret_key(path: Path) -> str:
    """Read the instance's secret, or make it: whole or not at all, readable by the owner alone."""
    draft = path.with_name(f".secret_key.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        if not path.exists():
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(secrets.token_urlsafe(48) + "\n")
                file.flush()
                os.fsync(file.fileno())
            try:
                # A link, unlike a rename, never replaces what another start has just made.
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{PREFIX}SECRET_KEY is not set and {path} fails: {error}") from None
    if len(key) < 32:
        raise SettingError(
            f"{path} holds no secret of at least 32 characters; restore or remove it"
        )
    return key
