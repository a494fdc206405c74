"""All settings: typed, checked at the start, read from the environment or a file.

Each is a field of `Settings`. Its value comes from the first of these that has one: the caller's
overrides (command-line options, tests), ``TESTIMONIALS_<NAME>`` in the environment, ``<name>`` in
``testimonials.toml`` in the instance folder, and the default here. ``scripts/docs`` turns this file
into a table.
"""

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from flask import Flask, current_app
from sqlalchemy import make_url

from testimonials.core.settings import parsers
from testimonials.core.settings.instance import (
    AS_ITS_OWNER,
    SettingError,
    count_cores,
    read_secret_key,
)

PREFIX = "TESTIMONIALS_"
FILE_NAME = "testimonials.toml"
SECRET_NAME = "secret_key"  # noqa: S105 - the name of its file
# A host with this prefix is the path of a Unix socket.
UNIX = "unix:"
# Settings that need further packages: the setting, a prefix of its value, the module, the extra.
EXTRAS = (
    ("database_url", "postgresql", "psycopg", "postgres"),
    ("ratelimit_storage_url", "", "redis", "redis"),
    ("metrics_token", "", "prometheus_client", "metrics"),
    ("sentry_dsn", "", "sentry_sdk", "sentry"),
)


def setting(default: object, parse: parsers.Parser, *, secret: bool = False) -> Any:
    """Declare a setting; the string after it is its documentation."""
    return dataclasses.field(default=default, metadata={"parse": parse, "secret": secret})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that an operator can set (`load_settings`)."""

    instance_path: Path = setting(Path("instance"), parsers.parse_path)
    """The folder of the database, the secret and `testimonials.toml`. Only from the environment."""
    host: str = setting(
        "127.0.0.1",
        parsers.matching(
            r"unix:.+|[^\s:/@]+|\[?([0-9A-Fa-f.]*:){2,}[0-9A-Fa-f.]*(%[\w.-]+)?\]?",
            "must be a name or an address without a port, or unix: and a path",
        ),
    )
    """The address `serve` listens on: a name, an IPv4 or IPv6 address, or `unix:/path` for a Unix
    socket, which needs `BASE_URL` and a proxy."""
    port: int = setting(8000, parsers.whole(0, 65535))
    """The port `serve` listens on; 0 picks a free one."""
    workers: int = setting(0, parsers.whole(0, 64))
    """Worker processes, each on its own core. 0: one for each core."""
    threads: int = setting(4, parsers.whole(1, 64))
    """Request threads in each worker process."""
    base_url: str = setting("", parsers.parse_folder_url)
    """The public URL of the API and the widget, perhaps with a path, such as
    `https://example.com/testimonials`. Empty: the address that `serve` listens on."""
    app_url: str = setting("", parsers.parse_folder_url)
    """The public URL of the dashboard and public pages, with the path of `BASE_URL` if that has
    one. Empty: `BASE_URL`."""
    database_url: str = setting("", parsers.parse_database_url, secret=True)
    """The database: `sqlite:////absolute/path.db`, `sqlite:///name.db` in the instance folder, or
    `postgresql://...`. Empty: `testimonials.db` in the instance folder."""
    secret_key: str = setting("", parsers.parse_text, secret=True)
    """Signs magic links; at least 32 characters. Empty: generated once and kept in `secret_key` in
    the instance folder, file mode 0600."""
    smtp_url: str = setting("", parsers.parse_smtp_url, secret=True)
    """The mail server: `smtp://user:password@host:587?starttls=1` or `smtps://...`. Empty: mail is
    printed to the log and kept for `mail show`."""
    mail_from: str = setting("", parsers.mailbox("Testimonials <mail@example.com>"))
    """The sender of emails. Empty: `Testimonials <testimonials@app host>`."""
    mail_days: float = setting(30.0, parsers.parse_kept_days)
    """Days for which the outbox keeps sent and failed mail; the content of sent mail is never kept.
    0: forever."""
    activity_days: float = setting(400.0, parsers.parse_kept_days)
    """Days for which the activity record is kept. 0: forever."""
    network_days: float = setting(90.0, parsers.parse_kept_days)
    """Days for which the activity record keeps IP networks. 0: as long as the record."""
    trash_days: float = setting(30.0, parsers.parse_kept_days)
    """Days after which a deleted testimonial is erased. 0: it stays in the trash."""
    spam_days: float = setting(30.0, parsers.parse_kept_days)
    """Days after which a testimonial that was held as spam is erased. 0: never."""
    rejected_days: float = setting(0.0, parsers.parse_kept_days)
    """Days after which a rejected testimonial is erased. 0: never."""
    withdrawn_days: float = setting(0.0, parsers.parse_kept_days)
    """Days after which a testimonial that its author withdrew is erased. 0: never."""
    request_days: float = setting(365.0, parsers.parse_kept_days)
    """Days for which an unanswered request for a testimonial is kept. 0: as long as the project."""
    proposal_days: float = setting(400.0, parsers.parse_kept_days)
    """Days for which a decided proposal is kept. 0: as long as the project."""
    delivery_days: float = setting(0.0, parsers.parse_kept_days)
    """Days for which the last 100 deliveries to each webhook endpoint are kept. 0: as long as the
    endpoint."""
    report_days: float = setting(400.0, parsers.parse_kept_days)
    """Days for which a settled report of abuse is kept. 0: as long as the project."""
    token_days: float = setting(90.0, parsers.parse_kept_days)
    """Days for which an expired or revoked access token is listed. 0: as long as the account."""
    insight_days: float = setting(761.0, parsers.parse_kept_days)
    """Days for which the figures in Insights are kept; with 25 months, a month can be compared with
    the same month two years earlier. 0: as long as the project."""
    erased_days: float = setting(400.0, parsers.parse_kept_days)
    """Days for which the ids of what was erased are kept, so that no backup brings it back; keep
    them as long as your backups. 0: forever."""
    trusted_proxies: int = setting(0, parsers.whole(0, 10))
    """How many reverse proxies append to X-Forwarded-For; the nearest one also sets
    X-Forwarded-Proto and X-Forwarded-Host. 0: these headers are ignored."""
    hsts: str = setting("max-age=31536000", parsers.parse_hsts)
    """The `Strict-Transport-Security` header of responses over https, such as `max-age=63072000;
    includeSubDomains; preload`. Empty: none is sent."""
    project_limit: int = setting(10, parsers.whole(0, parsers.MAX_PROJECTS))
    """How many projects an account may have, unless its plan or an operator sets a different
    limit."""
    plans: tuple[parsers.Plan, ...] = setting((), parsers.parse_plans)
    """The plans of accounts, each with its number of projects and, after a colon, the ids of its
    Stripe prices: `starter=5:price_a, pro=50 unbranded:price_b|price_c`. With `unbranded`, visitors
    and customers don't see the name of the service."""
    more_projects_url: str = setting("", parsers.parse_more_url)
    """Where owners can get more projects: an `https://` or `mailto:` URL. `{account}` in it becomes
    the account's id. Empty: no link."""
    stripe_webhook_secret: str = setting(
        "",
        parsers.matching(
            r"whsec_[\x21-\x7e]{8,}",
            "must be the endpoint's signing secret, which starts with whsec_",
        ),
        secret=True,
    )
    """The signing secret (`whsec_...`) of the Stripe webhook endpoint `/webhooks/stripe`, which
    sets plans. Empty: there is no such endpoint."""
    claim_days: float = setting(7.0, parsers.parse_days)
    """Days in which an account must be claimed; fractions are allowed."""
    session_days: float = setting(90.0, parsers.parse_days)
    """Days after which a browser must sign in again; it also must after 30 days without use."""
    invitations_per_day: int = setting(200, parsers.whole(0, 100_000))
    """How many people an account may ask for a testimonial by email within 24 hours. 0: none."""
    invitations_per_minute: int = setting(10, parsers.whole(1, 10_000))
    """How many of these emails all accounts together may send per minute: mail servers distrust a
    sender of many emails at once."""
    signup: str = setting("open", parsers.one_of("open", "domains", "closed"))
    """Who may create an account: `open`, `domains` (addresses at `SIGNUP_DOMAINS`) or `closed`.
    People invited to a project always may."""
    operators: tuple[str, ...] = setting((), parsers.parse_addresses)
    """The email addresses of the accounts that may open `/operator`, separated by commas. The
    first is also the contact for people whose account is suspended or was given a new address."""
    signup_domains: tuple[str, ...] = setting((), parsers.parse_domains)
    """With `SIGNUP=domains`: the email domains that may sign up."""
    oidc_issuer: str = setting("", parsers.parse_issuer)
    """Single sign-on with OpenID Connect: the issuer of the company's provider, such as
    `https://id.example.com/realms/staff`. Empty: none."""
    oidc_client_id: str = setting("", parsers.parse_text)
    """This service's client id at the provider. The redirect URI is `APP_URL` with
    `/login/company/done`."""
    oidc_client_secret: str = setting("", parsers.parse_text, secret=True)
    """The client's secret. Empty: the client is public, and uses only PKCE."""
    oidc_name: str = setting("", parsers.parse_label)
    """The name of the provider on pages. Empty: its host."""
    oidc_domains: tuple[str, ...] = setting((), parsers.parse_domains)
    """The email domains whose people may sign in through the provider. Empty: all."""
    oidc_trust_email: str = setting("off", parsers.one_of("on", "off"))
    """`on`: an address at `OIDC_DOMAINS` counts as verified if the provider doesn't say whether it
    is. Only for a provider where people can't change their own addresses."""
    oidc_accounts: str = setting("any", parsers.one_of("any", "invited"))
    """Who gets an account at their first sign-in through the provider: `any`, or only people
    `invited` to a team. `SIGNUP` doesn't apply to them."""
    oidc_workspace: str = setting("", parsers.mailbox("owner@example.com"))
    """With `OIDC_GROUPS`: the address of the account whose projects the groups may open."""
    oidc_groups: tuple[parsers.GroupRole, ...] = setting((), parsers.parse_groups)
    """The role of each group in all projects of `OIDC_WORKSPACE`: `Marketing=moderator,
    Leads=admin`. Roles are `admin`, `moderator` and `reader`; the highest of several counts."""
    oidc_groups_claim: str = setting("groups", parsers.parse_text)
    """The claim in which the provider lists somebody's groups."""
    passwords: str = setting("on", parsers.one_of("on", "off"))
    """`off`: nobody can set a password, or use one to sign in, claim an account or confirm a
    change. Needs `OIDC_ISSUER`."""
    email_allow_domains: tuple[str, ...] = setting((), parsers.parse_domains)
    """Email domains to accept although they are on the list of disposable ones."""
    email_deny_domains: tuple[str, ...] = setting((), parsers.parse_domains)
    """Email domains to refuse although they aren't on the list of disposable ones."""
    min_form_seconds: int = setting(2, parsers.whole(0, 60))
    """A collection form that contains a link and is sent within this many seconds of opening is
    held as spam. 0: none is."""
    flood_per_hour: int = setting(100, parsers.whole(0, 1_000_000))
    """After this many submissions within an hour, a collection page holds further ones as spam and
    tells its owner. As many as a tenth of the last thirty days' number always pass. 0: no limit."""
    recording_seconds: int = setting(90, parsers.whole(10, 600))
    """How long a visitor's video or voice recording may be."""
    recording_megabytes: int = setting(100, parsers.whole(1, 2000))
    """How large the file of a recording may be."""
    account_recordings_megabytes: int = setting(2000, parsers.whole(0, 10_000_000))
    """How much space the recordings of an account may take. 0: nobody can send any."""
    all_recordings_megabytes: int = setting(20_000, parsers.whole(0, 100_000_000))
    """How much space all recordings together may take. Backups contain them too."""
    operator_email: str = setting("", parsers.mailbox("operator@example.com"))
    """Who gets an email when a scheduled backup fails. Empty: nobody; it is logged anyway."""
    backup_hours: int = setting(24, parsers.whole(0, 8760))
    """Hours between the scheduled backups of `serve`. 0: none."""
    backup_keep: int = setting(7, parsers.whole(1, 1000))
    """How many scheduled backups are kept in `BACKUP_PATH` and in `BACKUP_TO`; older ones are
    removed."""
    backup_path: str = setting("", parsers.parse_folder)
    """The folder of the backups, relative to the instance folder. Empty: `backups`."""
    backup_to: str = setting("", parsers.parse_folder)
    """A folder on another disk or machine, to which each scheduled backup is copied. It is never
    created, since its disk may not be mounted. Empty: none."""
    backup_keep_weeks: int = setting(4, parsers.whole(0, 520))
    """For how many weeks the newest backup of each week is also kept in `BACKUP_TO`."""
    backup_keep_months: int = setting(0, parsers.whole(0, 120))
    """For how many months the newest backup of each month is also kept in `BACKUP_TO`."""
    backup_command: str = setting("", parsers.parse_command, secret=True)
    """A command, such as restic or rclone, that copies each scheduled backup off this machine. It
    runs without a shell; `{file}` is the finished backup, `{folder}` its folder. It is also called
    for the list of erased ids. Empty: none."""
    backup_command_minutes: int = setting(120, parsers.whole(1, 1380))
    """How long `BACKUP_COMMAND` may take before it is stopped and retried."""
    backup_verify_days: int = setting(1, parsers.whole(0, 365))
    """How often, in days, `serve` restores the newest backup into a temporary folder and checks it.
    0: never."""
    stale_while_away: int = setting(3600, parsers.whole(0, 30 * 86400))
    """With PostgreSQL: for how many seconds widgets and walls are served from memory, marked as
    stale, while the database doesn't answer. 0: never."""
    webhook_addresses: str = setting("public", parsers.one_of("public", "any"))
    """Where webhooks may go: `public` (https:// URLs on the internet), or `any`, which includes
    private networks and http://. With `any`, everybody with an account can reach what this machine
    reaches."""
    website_reading: str = setting("on", parsers.one_of("on", "off"))
    """Whether the home page of an owner’s website is read for the color, logo and trade of their
    brand, with the same restrictions as webhooks."""
    dns_resolver: str = setting("", parsers.parse_resolver)
    """The name server for checking customers’ own host names: `host:port`. Empty: those in
    `/etc/resolv.conf`."""
    ratelimit_storage_url: str = setting(
        "",
        parsers.matching(
            r"(rediss?|unix)://.*", "must start with redis://, rediss:// or unix://, or be empty"
        ),
        secret=True,
    )
    """Where rate limits are counted: `redis://...`. Empty: in the database."""
    metrics_token: str = setting(
        "",
        parsers.matching(
            r"[\x21-\x7e]{16,}", "must have at least 16 characters: ASCII, without spaces"
        ),
        secret=True,
    )
    """The token, of at least 16 characters, that a Prometheus server sends as `Authorization:
    Bearer` to read `/metrics`. Empty: there is no such page."""
    sentry_dsn: str = setting(
        "",
        parsers.matching(
            r"https?://[^\s/@]+@[^\s/@]+/(\S+/)?[0-9]+",
            "must look like https://key@host/1, as Sentry shows it for a project",
        ),
        secret=True,
    )
    """Where errors are reported: the DSN of a Sentry project. Empty: nowhere."""
    log_level: str = setting("info", parsers.one_of("debug", "info", "warning", "error"))
    """The lowest level that is logged: `debug`, `info`, `warning` or `error`."""
    log_format: str = setting("plain", parsers.one_of("plain", "json"))
    """The format of log lines: `plain` or `json`."""

    @property
    def has_passwords(self) -> bool:
        return self.passwords == "on"

    @property
    def company_name(self) -> str:
        """The name of the sign-in provider on pages, or "" if there is none."""
        return self.oidc_name or urlsplit(self.oidc_issuer).hostname or ""

    @property
    def base_path(self) -> str:
        """The path below which everything is served, such as `/testimonials`, or ""."""
        return urlsplit(self.base_url).path

    @property
    def is_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")

    @property
    def has_instance(self) -> bool:
        """Whether there may be data: the database is PostgreSQL, or an existing SQLite file."""
        return self.database_file is None or self.database_file.exists()

    @property
    def database_file(self) -> Path | None:
        """The SQLite file, or None with PostgreSQL."""
        return Path(make_url(self.database_url).database or "") if self.is_sqlite else None


def load_settings(
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    *,
    makes_instance: bool = True,
    file: Path | None = None,
) -> Settings:
    """Read, check and complete the settings.

    `overrides` are values by field name, which override the environment. With `makes_instance`, the
    instance folder and its secret are created if they are missing; without, the secret may be "".
    `file` replaces the folder's own settings file. Raises `SettingError`.
    """
    environ = os.environ if environ is None else environ
    overrides = overrides or {}
    variable = PREFIX + "INSTANCE_PATH"
    path = str(overrides.get("instance_path", environ.get(variable, "instance")))
    folder: Path = _parse("instance_path", path, variable)
    if makes_instance:
        _make_folder(folder)
    file = file or folder / FILE_NAME
    raw = {name: (value, f"{name} in {file}") for name, value in _read_file(file).items()}
    for name in _names():
        variable = PREFIX + name.upper()
        if name in overrides:
            raw[name] = (overrides[name], variable)
        elif variable in environ:
            raw[name] = (environ[variable], variable)
    values = {name: _parse(name, value, origin) for name, (value, origin) in raw.items()}
    settings = _complete(Settings(**(values | {"instance_path": folder})))
    if not settings.secret_key and (makes_instance or (folder / SECRET_NAME).exists()):
        return dataclasses.replace(settings, secret_key=read_secret_key(folder / SECRET_NAME))
    return settings


def make_instance(settings: Settings) -> None:
    """Create the instance folder, and its secret unless one is set. Raises `SettingError`."""
    _make_folder(settings.instance_path)
    if not settings.secret_key:
        read_secret_key(settings.instance_path / SECRET_NAME)


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the TESTIMONIALS_ variables that aren't settings, and so are probably misspelled."""
    environ = os.environ if environ is None else environ
    known = {PREFIX + name.upper() for name in _names()}
    return sorted(key for key in environ if key.startswith(PREFIX) and key not in known)


def listening_url(host: str, port: int) -> str:
    """Return the URL at which a browser on this machine reaches `host` and `port`."""
    if host.startswith(UNIX):
        # Only the proxy knows the real URL.
        return "http://localhost"
    bare = host.strip("[]")
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(bare, bare)  # noqa: S104 - compared, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _refuse(origin: str, problem: str) -> NoReturn:
    raise SettingError(f"{origin} {problem}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _refuse(PREFIX + "INSTANCE_PATH", f"can't be created: {folder}: {error.strerror}")


def _names() -> list[str]:
    return [field.name for field in dataclasses.fields(Settings)]


def _parse(name: str, value: object, origin: str) -> Any:
    try:
        return Settings.__dataclass_fields__[name].metadata["parse"](value)
    except ValueError as error:
        _refuse(origin, str(error))


def _read_file(path: Path) -> dict[str, object]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        advice = f". {AS_ITS_OWNER}" if isinstance(error, PermissionError) else ""
        raise SettingError(f"{path} can't be read: {error}{advice}") from None
    allowed = set(_names()) - {"instance_path"}
    for name in content:
        if name not in allowed:
            names = ", ".join(sorted(allowed))
            _refuse(f"{name} in {path}", f"is not a setting; choose from {names}")
    return content


def _complete(settings: Settings) -> Settings:
    """Check settings that depend on each other, and set defaults that depend on others."""
    if settings.signup == "domains" and not settings.signup_domains:
        _refuse(PREFIX + "SIGNUP_DOMAINS", "must name at least one domain with SIGNUP=domains")
    _check_company(settings)
    if settings.secret_key and len(settings.secret_key) < 32:
        _refuse(PREFIX + "SECRET_KEY", "must have at least 32 characters")
    if settings.stripe_webhook_secret and not any(plan.prices for plan in settings.plans):
        _refuse(PREFIX + "PLANS", "must name a plan with its price if STRIPE_WEBHOOK_SECRET is set")
    if _find_copies(settings) == _find_backups(settings):
        _refuse(PREFIX + "BACKUP_TO", "must be a different folder from BACKUP_PATH")
    for name, start, module, extra in EXTRAS:
        value = getattr(settings, name)
        if value and value.startswith(start) and find_spec(module) is None:
            advice = f"needs an extra package: pip install 'testimonials[{extra}]'"
            _refuse(PREFIX + name.upper(), advice)
    # The path is absolute, so that the working directory doesn't matter.
    database = settings.database_url or "sqlite:///testimonials.db"
    if database.startswith("sqlite:///") and not database.startswith("sqlite:////"):
        folder = quote(str(settings.instance_path))
        database = database.replace("sqlite:///", f"sqlite:///{folder}/", 1)
    base = settings.base_url or listening_url(settings.host, settings.port)
    app = settings.app_url or base
    if (path := urlsplit(base).path) != urlsplit(app).path:
        _refuse(PREFIX + "APP_URL", f"must have the path of BASE_URL, {path or 'which has none'}")
    sender = settings.mail_from or f"Testimonials <testimonials@{urlsplit(app).hostname}>"
    return dataclasses.replace(
        settings,
        database_url=database,
        workers=settings.workers or count_cores(),
        base_url=base,
        app_url=app,
        mail_from=sender,
        backup_path=_find_backups(settings),
        backup_to=_find_copies(settings),
    )


def _check_company(settings: Settings) -> None:
    if settings.oidc_issuer and not settings.oidc_client_id:
        _refuse(PREFIX + "OIDC_CLIENT_ID", "must be set if OIDC_ISSUER is")
    if settings.oidc_trust_email == "on" and not settings.oidc_domains:
        _refuse(PREFIX + "OIDC_DOMAINS", "must be set if OIDC_TRUST_EMAIL is on")
    if settings.oidc_groups and not settings.oidc_workspace:
        _refuse(PREFIX + "OIDC_WORKSPACE", "must be set if OIDC_GROUPS is")
    if settings.passwords == "off" and not settings.oidc_issuer:
        _refuse(PREFIX + "PASSWORDS", "can be off only with OIDC_ISSUER, or nobody could sign in")


def _find_backups(settings: Settings) -> str:
    return str((settings.instance_path / (settings.backup_path or "backups")).resolve())


def _find_copies(settings: Settings) -> str:
    return str(settings.instance_path / settings.backup_to) if settings.backup_to else ""


EXTENSION = "testimonials_settings"


def current_settings(app: Flask | None = None) -> Settings:
    """Return the settings of `app`, by default of the current application."""
    settings: Settings = (app or current_app).extensions[EXTENSION]
    return settings


def count_days(kind: str) -> int:
    """Return how many whole days a kind of data is kept, or 0 if it is kept forever."""
    days: float = getattr(current_settings(), f"{kind}_days")
    return ceil(days)
