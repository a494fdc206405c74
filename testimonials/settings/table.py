"""Settings: typed, checked when the program starts, read from the environment or a file.

Each setting is a field of `Settings`. Its value comes from, first found first: what the caller
overrides (command-line flags, tests), the environment as ``TESTIMONIALS_<NAME>``, the file
``testimonials.toml`` in the instance folder as ``<name>``, and the default written here.
The table in ``docs/settings.md`` is made from this file, and a test keeps the two the same.
"""

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy import make_url

from testimonials.settings.checks import PREFIX as PREFIX
from testimonials.settings.checks import listening_url as listening_url
from testimonials.settings.checks import refuse, require_extra
from testimonials.settings.cores import count_cores
from testimonials.settings.instance_folder import finish_restore
from testimonials.settings.parsers import (
    MOST_PROJECTS,
    Parser,
    one_of,
    parse_database_url,
    parse_days,
    parse_domains,
    parse_email,
    parse_hsts,
    parse_mail_from,
    parse_more_url,
    parse_origin,
    parse_path,
    parse_path_or_nothing,
    parse_plans,
    parse_ratelimit_url,
    parse_sentry_dsn,
    parse_smtp_url,
    parse_text,
    parse_token,
    parse_webhook_secret,
    whole,
)
from testimonials.settings.plans import Plan
from testimonials.settings.secret import SettingError, read_secret_key

FILE_NAME = "testimonials.toml"
SECRET_NAME = "secret_key"  # noqa: S105 - the name of its file


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
    host: str = setting(
        "127.0.0.1",
        parse_text,
        "The address `serve` listens on: a name, an IPv4 or IPv6 address, or `unix:/path` for a "
        "unix socket, which needs `BASE_URL` and a proxy.",
    )
    port: int = setting(8000, whole(0, 65535), "The port `serve` listens on; 0 picks a free one.")
    workers: int = setting(
        0,
        whole(0, 64),
        "How many processes `serve` answers with, each on a core of its own. 0: one for each core "
        "that it may use.",
    )
    threads: int = setting(4, whole(1, 64), "Request threads in each worker process.")
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
        "Where the data is: `sqlite:////absolute/path.db`, `sqlite:///name.db` in the instance "
        "folder, or `postgresql://...`. Empty: `testimonials.db` in the instance folder.",
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
    mail_days: float = setting(
        30.0,
        parse_days,
        "Days for which the outbox tells of mail that left, and keeps mail that was given up.",
    )
    activity_days: float = setting(
        400.0,
        parse_days,
        "Days for which the record of what happened is kept; the networks in it stay for 90.",
    )
    trusted_proxies: int = setting(
        0,
        whole(0, 10),
        "How many reverse proxies stand in front and set X-Forwarded-For, -Proto and -Host. 0 "
        "takes addresses from the socket alone.",
    )
    hsts: str = setting(
        "max-age=31536000",
        parse_hsts,
        "The `Strict-Transport-Security` header of answers over https, such as "
        "`max-age=63072000; includeSubDomains; preload`. Empty: none is sent.",
    )
    project_limit: int = setting(
        10,
        whole(0, MOST_PROJECTS),
        "How many projects an account may have, unless its plan says otherwise, or an operator for "
        "it alone.",
    )
    plans: tuple[Plan, ...] = setting(
        (),
        parse_plans,
        "The plans that accounts can have, each with its number of projects and, after a colon, "
        "the ids of its Stripe prices: `starter=5:price_a, pro=50:price_b|price_c`.",
    )
    more_projects_url: str = setting(
        "",
        parse_more_url,
        "Where an owner gets more projects: an `https://` or `mailto:` address. `{account}` in it "
        "becomes the account's id. Empty: no link.",
    )
    stripe_webhook_secret: str = setting(
        "",
        parse_webhook_secret,
        "The signing secret (`whsec_...`) of the Stripe webhook endpoint `/webhooks/stripe`, which "
        "sets plans. Empty: there is no such endpoint.",
        secret=True,
    )
    claim_days: float = setting(
        7.0, parse_days, "Days in which an account must be claimed; fractions are allowed."
    )
    session_days: float = setting(
        90.0,
        parse_days,
        "Days after which a browser must sign in again, however often it is used. One that is not "
        "used for 30 days must do so sooner.",
    )
    invitations_per_day: int = setting(
        200,
        whole(0, 100_000),
        "How many people an account may ask for a testimonial by mail within 24 hours; 0 switches "
        "it off.",
    )
    invitations_per_minute: int = setting(
        10,
        whole(1, 10_000),
        "How many such mails leave in a minute, those of all accounts together: mail servers "
        "distrust a sender of many at once.",
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
    min_form_seconds: int = setting(
        2,
        whole(0, 60),
        "A collection page's form with a link in its words that is sent sooner than this many "
        "seconds after it was opened is held as spam. 0: none is.",
    )
    flood_per_hour: int = setting(
        100,
        whole(0, 1_000_000),
        "A collection page that got this many submissions within an hour holds more as spam and "
        "tells its owner, unless it usually gets many: a tenth of its last thirty days is always "
        "let through. 0: no number is too many.",
    )
    operator_email: str = setting(
        "",
        parse_email,
        "Who is told by mail when a scheduled backup fails. Empty: only the log says so.",
    )
    backup_hours: int = setting(
        24, whole(0, 8760), "Hours between two backups by `serve`, with SQLite alone. 0: none."
    )
    backup_keep: int = setting(
        7, whole(1, 1000), "How many of these backups are kept; older ones are removed."
    )
    backup_path: str = setting(
        "",
        parse_path_or_nothing,
        "The folder of the backups; a relative one is in the instance folder. Empty: `backups`.",
    )
    ratelimit_storage_url: str = setting(
        "",
        parse_ratelimit_url,
        "Where rate limits are counted: `redis://...`. Empty: in the database.",
        secret=True,
    )
    metrics_token: str = setting(
        "",
        parse_token,
        "What a Prometheus server sends as `Authorization: Bearer` to read `/metrics`; at least 16 "
        "characters. Empty: there is no such page.",
        secret=True,
    )
    sentry_dsn: str = setting(
        "",
        parse_sentry_dsn,
        "Where faults are reported: the DSN of a Sentry project. Empty: nowhere.",
        secret=True,
    )
    log_level: str = setting(
        "info",
        one_of("debug", "info", "warning", "error"),
        "The least level that is logged: `debug`, `info`, `warning` or `error`.",
    )
    log_format: str = setting(
        "plain", one_of("plain", "json"), "How a log line looks: `plain` or `json`."
    )

    @property
    def is_sqlite(self) -> bool:
        """Whether the data is in an SQLite file."""
        return self.database_url.startswith("sqlite")

    @property
    def has_instance(self) -> bool:
        """Whether there is something to work on: PostgreSQL says for itself whether it is empty."""
        return self.database_file is None or self.database_file.exists()

    @property
    def database_file(self) -> Path | None:
        """The SQLite file; None where the data is in PostgreSQL."""
        return Path(make_url(self.database_url).database or "") if self.is_sqlite else None


def load_settings(
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    makes_instance: bool = True,
    file: Path | None = None,
) -> Settings:
    """Read, check and complete the settings.

    `overrides` maps field names to values that win over the environment. The instance folder and
    its secret are made where they are missing; without `makes_instance` nothing is made, and the
    secret is "" where there is none. `file` is read in place of the folder's own settings. A
    restore that was cut off is finished first, since it changes what is read here. Raises
    `SettingError`, naming the setting and what it must be.
    """
    environ = os.environ if environ is None else environ
    given: dict[str, tuple[object, str]] = {}
    folder = _find_folder(environ, overrides or {})
    if makes_instance:
        _make_folder(folder)
    finish_restore(folder)
    file = file or folder / FILE_NAME
    for name, value in _read_file(file).items():
        given[name] = (value, f"{name} in {file}")
    for name in _names():
        if (variable := PREFIX + name.upper()) in environ:
            given[name] = (environ[variable], variable)
    for name, value in (overrides or {}).items():
        given[name] = (value, PREFIX + name.upper())
    values: dict[str, Any] = {}
    for name, (value, origin) in given.items():
        values[name] = _parse(name, value, origin)
    settings = _complete(Settings(**(values | {"instance_path": folder})))
    if not settings.secret_key and (makes_instance or (folder / SECRET_NAME).exists()):
        return dataclasses.replace(settings, secret_key=read_secret_key(folder / SECRET_NAME))
    return settings


def make_instance(settings: Settings) -> None:
    """Make the instance folder, and its secret unless the settings name one.

    Raises `SettingError` where that is not possible.
    """
    _make_folder(settings.instance_path)
    if not settings.secret_key:
        read_secret_key(settings.instance_path / SECRET_NAME)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        refuse(PREFIX + "INSTANCE_PATH", f"the folder {folder} can't be made: {error.strerror}")


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Name the TESTIMONIALS_ variables that no setting reads, most likely misspelt."""
    environ = os.environ if environ is None else environ
    known = {PREFIX + name.upper() for name in _names()}
    return sorted(key for key in environ if key.startswith(PREFIX) and key not in known)


def _names() -> list[str]:
    return [field.name for field in dataclasses.fields(Settings)]


def _find_folder(environ: Mapping[str, str], overrides: Mapping[str, object]) -> Path:
    value = overrides.get("instance_path", environ.get(PREFIX + "INSTANCE_PATH", "instance"))
    folder: Path = _parse("instance_path", str(value), PREFIX + "INSTANCE_PATH")
    return folder


def _parse(name: str, value: object, origin: str) -> Any:
    field = Settings.__dataclass_fields__[name]
    try:
        return field.metadata["parse"](value)
    except ValueError as error:
        refuse(origin, str(error))


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
            refuse(f"{name} in {path}", f"is no setting; there are {', '.join(sorted(allowed))}")
    return content


def _complete(settings: Settings) -> Settings:
    """Fill in the defaults that depend on other settings."""
    if settings.signup == "domains" and not settings.signup_domains:
        refuse(PREFIX + "SIGNUP_DOMAINS", "must name at least one domain with SIGNUP=domains")
    if settings.secret_key and len(settings.secret_key) < 32:
        refuse(PREFIX + "SECRET_KEY", "must have at least 32 characters")
    require_extra("DATABASE_URL", settings.database_url, "postgresql", "psycopg", "postgres")
    if settings.stripe_webhook_secret and not any(plan.prices for plan in settings.plans):
        refuse(PREFIX + "PLANS", "must name a plan with its price with STRIPE_WEBHOOK_SECRET")
    require_extra("STRIPE_WEBHOOK_SECRET", settings.stripe_webhook_secret, "", "stripe", "stripe")
    require_extra("RATELIMIT_STORAGE_URL", settings.ratelimit_storage_url, "", "redis", "redis")
    require_extra("METRICS_TOKEN", settings.metrics_token, "", "prometheus_client", "metrics")
    require_extra("SENTRY_DSN", settings.sentry_dsn, "", "sentry_sdk", "sentry")
    # From whatever folder a command is called, it finds the same files.
    database = settings.database_url or "sqlite:///testimonials.db"
    if database.startswith("sqlite:///") and not database.startswith("sqlite:////"):
        # In an address some characters of a folder's name have a meaning.
        folder = quote(str(settings.instance_path))
        database = database.replace("sqlite:///", f"sqlite:///{folder}/", 1)
    base = settings.base_url or listening_url(settings.host, settings.port)
    app = settings.app_url or base
    sender = settings.mail_from or f"Testimonials <testimonials@{urlsplit(app).hostname}>"
    return dataclasses.replace(
        settings,
        database_url=database,
        workers=settings.workers or count_cores(),
        base_url=base,
        app_url=app,
        mail_from=sender,
        backup_path=str((settings.instance_path / (settings.backup_path or "backups")).resolve()),
    )
