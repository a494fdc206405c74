"""The doctor's checks of settings, files and the network, and running all checks."""

import email.policy
import errno
import ipaddress
import json
import os
import platform
import re
import shlex
import shutil
import stat
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.db.outages import MAKE_ROOM
from testimonials.core.db.sqlite import advise_restore, is_damage
from testimonials.core.extensions import db, limiter
from testimonials.core.logs import scrub
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.mail.smtp import DeliveryFailed, SmtpTransport
from testimonials.core.settings.table import PREFIX, current_settings, unknown_variables
from testimonials.operations import doctor
from testimonials.operations.database import instance_mark
from testimonials.operations.doctor import CLOCK_DIFFERENCE, NO_SCHEMA, SET_CLOCK, Finding
from testimonials.operations.health import MEGABYTE, check_disk, check_room_left, data_folders
from testimonials.operations.health import check_mail as check_waiting

# Checks of Python, settings, files and the disk.

# Their locks and shared memory aren't reliable enough for SQLite.
NETWORK_SHARES = re.compile(
    r"9p|afs|ceph|cifs|(fuse\.)?glusterfs|fuse\.(rclone|s3fs|sshfs)|lustre|nfs4?|smb3|smbfs"
)
# A few uploads of the largest photo at once.
UPLOADS = 50 * MEGABYTE


def check_python() -> Iterator[Finding]:
    # The version doesn't tell, since distributions fix older releases too.
    if not hasattr(email.policy.Policy, "verify_generated_headers"):
        yield Finding(
            f"The email library of Python {platform.python_version()} can write one header as two "
            "(CVE-2024-6923). The service checks its headers itself.",
            "Install Python 3.11.10, 3.12.5, 3.13.0 or later.",
        )


def check_settings() -> Iterator[Finding]:
    settings = current_settings()
    for variable in unknown_variables():
        yield Finding(
            f"{variable} is not a setting and is ignored.",
            "Check its spelling: `testimonials config show` lists all settings.",
        )
    for name, origin in (("BASE_URL", settings.base_url), ("APP_URL", settings.app_url)):
        if is_loopback(origin):
            if settings.smtp_url:
                yield Finding(
                    f"{name} is {origin}, which other machines can't reach; links in emails and "
                    "snippets start with it.",
                    f"Set {PREFIX}{name} to the public address of the service.",
                )
        elif origin.startswith("http://"):
            yield Finding(
                f"{name} is {origin}: passwords and keys travel unencrypted, and browsers block "
                "the widget on https pages.",
                f"Put a proxy with TLS in front and set {PREFIX}{name} to its https:// address.",
            )
    file = settings.database_file
    if file is not None and NETWORK_SHARES.fullmatch(kind := find_filesystem(file.parent)):
        yield Finding(
            f"The SQLite file is on a network share ({kind}), where it can be damaged.",
            "Move it to a local disk, or move to PostgreSQL.",
        )


def find_filesystem(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Return the type of file system that a folder is on, or "" if the system doesn't tell."""
    lines = mounts.read_text(errors="replace").splitlines() if mounts.exists() else []
    types = dict(line.split()[1:3] for line in lines)
    path = folder.resolve()
    points = (str(each).replace(" ", r"\040") for each in (path, *path.parents))
    return next((types[point] for point in points if point in types), "")


def check_files() -> Iterator[Finding]:
    settings = current_settings()
    folder = settings.instance_path
    paths = [folder, folder / "secret_key", folder / "testimonials.toml"]
    if settings.database_file is not None:
        paths += [Path(f"{settings.database_file}{ending}") for ending in ("", "-wal", "-shm")]
    if (backups := Path(settings.backup_path)).is_dir():
        paths += [backups, *backups.glob("*.tar.gz")]
    for path in filter(Path.exists, dict.fromkeys(paths)):
        status = path.stat()
        if status.st_mode & 0o077:
            yield Finding(
                f"{path} has the mode {stat.S_IMODE(status.st_mode):04o}: others may read it.",
                f"chmod {'0700' if path.is_dir() else '0600'} {shlex.quote(str(path))}",
            )
        if status.st_uid != folder.stat().st_uid:
            yield Finding(
                f"{path} belongs to a different user than the instance folder.",
                f"chown --reference={shlex.quote(str(folder))} {shlex.quote(str(path))}",
            )


def check_room() -> Iterator[Finding]:
    # Not `gettempdir`, which passes over a folder that is full.
    temporary = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - asked, not written to
    free = shutil.disk_usage(temporary).free if os.access(temporary, os.W_OK) else UPLOADS
    if free < UPLOADS:
        yield Finding(
            f"The folder for temporary files, {temporary}, has {free // MEGABYTE} MB free: photo "
            "uploads and large exports fail.",
            "Make room there, or set TMPDIR to another folder and restart.",
        )
    folders = " or ".join(dict.fromkeys(data_folders()))
    disk, room = check_disk(), check_room_left()
    if not disk.is_ok:
        is_full = disk.detail.endswith((os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)))
        yield Finding(
            f"The disk of {folders} {disk.detail}.",
            MAKE_ROOM
            if is_full
            else "Find out why (dmesg, mount, df), fix it and restart the "
            "service. A disk that became read-only is often failing.",
        )
    elif not room.is_ok:
        yield Finding(f"The disk of {folders} has {room.detail}.", MAKE_ROOM)


def is_loopback(origin: str) -> bool:
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# Checks of Redis, mail, and the service's own addresses.

TIMEOUT_SECONDS = 5


def check_limits() -> Iterator[Finding]:
    if current_settings().ratelimit_storage_url and not limiter.can_count():
        yield Finding(
            "Redis (RATELIMIT_STORAGE_URL) can't count: signing up, signing in and inviting "
            "answer 503, and authors get no mail.",
            "It is unreachable, full or read-only; the log says which. Fix that, or remove "
            "RATELIMIT_STORAGE_URL and restart to count in the database.",
        )


def check_mail() -> Iterator[Finding]:
    settings = current_settings()
    if not settings.smtp_url:
        if not is_loopback(settings.app_url):
            yield Finding(
                "SMTP_URL is not set, so no mail is sent: nobody can sign up or reset a password.",
                f"Set {PREFIX}SMTP_URL and test it: testimonials mail test you@example.com",
            )
        return
    transport = SmtpTransport(settings.smtp_url, settings.mail_from, timeout=TIMEOUT_SECONDS)
    try:
        transport.check()
    except DeliveryFailed as error:
        yield Finding(
            f"The mail server can't be used: {error}",
            "See what both sides say: testimonials mail test you@example.com",
        )


def check_outbox_mail() -> Iterator[Finding]:
    waiting = check_waiting()
    if not waiting.is_ok:
        yield Finding(
            f"Mail is not being sent: {waiting.detail}.",
            "Is `testimonials serve` running? Its log says what fails.",
        )
    for state, words in ((MailState.FAILED, "failed"), (MailState.QUEUED, "refused so far")):
        rows = db.session.execute(
            select(OutboxMail.last_error, func.count())
            .where(OutboxMail.state == state, OutboxMail.last_error.is_not(None))
            .group_by(OutboxMail.last_error)
            .order_by(func.count().desc())
            .limit(3)
        )
        for error, count in rows:
            yield Finding(
                f"{count} email(s) {words}: {scrub(str(error))}",
                "Fix the cause, then run `testimonials mail retry`. `mail list` shows the email.",
            )


def check_urls() -> Iterator[Finding]:
    settings = current_settings()
    yield from _check_url("BASE_URL", settings.base_url)
    if settings.app_url != settings.base_url:
        yield from _check_url("APP_URL", settings.app_url)


def _check_url(name: str, origin: str) -> Iterator[Finding]:
    try:
        answer, date = _ask(f"{origin}/healthz")
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(getattr(error, "reason", None) or error).split())[:200]
        yield Finding(
            f"{name} ({origin}) does not answer: {reason}",
            "Check that `testimonials serve` is running, DNS, and the proxy.",
        )
        return
    if answer.get("instance") != instance_mark():
        yield Finding(
            f"Something else answers at {name} ({origin}).",
            f"Check the address, DNS, the proxy, and that all hosts have the same {PREFIX}"
            "SECRET_KEY.",
        )
        return
    yield from _check_proxies(name, origin, answer)
    if date is not None and abs(date - clock.now()) > CLOCK_DIFFERENCE:
        yield Finding(
            f"The clock at {name} says {iso(date)}, the one here {iso(clock.now())}.", SET_CLOCK
        )


def _check_proxies(name: str, origin: str, answer: dict[str, Any]) -> Iterator[Finding]:
    trusted = current_settings().trusted_proxies
    count = answer.get("proxies", 0)
    problem = f"Requests to {name} pass {count} proxies, but TRUSTED_PROXIES is {trusted}: "
    advice = f"Set {PREFIX}TRUSTED_PROXIES to {count}"
    if count > trusted:
        yield Finding(f"{problem}all visitors share a proxy's address and limits.", f"{advice}.")
    elif count < trusted and not is_loopback(origin):
        yield Finding(
            f"{problem}visitors can forge their address.",
            f"{advice}, or let each proxy append X-Forwarded-For.",
        )
    elif origin.startswith("https:") and answer.get("scheme") == "http":
        yield Finding(
            f"{name} is https, but the service sees http and sends no Strict-Transport-Security.",
            "Let the proxy set X-Forwarded-Proto, and set TRUSTED_PROXIES.",
        )


def _ask(url: str) -> tuple[dict[str, Any], datetime | None]:
    """GET a JSON object and the server's time; raise `OSError`, `HTTPException`, `ValueError`."""
    headers = {"User-Agent": "testimonials-doctor", "Accept": "application/json"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s), by the settings
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            body = json.loads(answer.read(10_000))
            date = answer.headers["Date"]
    except urllib.error.HTTPError as error:
        with error:
            raise ValueError(f"it answers {error.code}") from None
    return body if isinstance(body, dict) else {}, parsedate_to_datetime(date) if date else None


Check = Callable[[], Iterator[Finding]]
CHECKS: dict[str, Check] = {
    "python": check_python,
    "settings": check_settings,
    "files": check_files,
    "disk": check_room,
    "database": doctor.check_database,
    "schema": doctor.check_schema,
    "rate limits": check_limits,
    "clock": doctor.check_clock,
    "addresses": check_urls,
    "mail server": check_mail,
    "company sign-in": doctor.check_company,
    "outbox": check_outbox_mail,
    "background work": doctor.check_work,
    "slugs": doctor.check_slugs,
    "webhooks": doctor.check_webhooks,
    "backups": doctor.check_backups,
    "recordings": doctor.check_recordings,
}
# All others after the schema query tables, and connecting would create a missing database.
NEED_NO_SCHEMA = ("rate limits", "addresses", "mail server")


def examine() -> dict[str, list[Finding]]:
    findings: dict[str, list[Finding]] = {}
    for name, check in CHECKS.items():
        is_possible = name in NEED_NO_SCHEMA or not findings.get("schema")
        findings[name] = _run(check) if is_possible else [NO_SCHEMA]
    return findings


def is_fine(findings: list[Finding]) -> bool:
    return all(finding.is_note for finding in findings)


def _run(check: Check) -> list[Finding]:
    try:
        return list(check())
    except (SQLAlchemyError, click.ClickException) as error:
        reason = scrub(" ".join(str(getattr(error, "orig", None) or error).split()))
        fix = advise_restore() if is_damage(error) else "Fix the cause, then run this again."
        return [Finding(f"The database can't be queried: {reason}", fix)]
    except OSError as error:
        words = f"{error.strerror or error} ({error.filename or 'no file'})"
        return [Finding(f"This can't be checked: {words}", "Run this as the service's own user.")]
    finally:
        db.session.rollback()
