"""The operator's page: problems to solve, then the state of the server."""

import functools
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib import metadata
from itertools import chain
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import case, func, select, text

from testimonials import __version__
from testimonials.auth.accounts import is_live
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.collection.models import AbuseReport
from testimonials.core import clock
from testimonials.core.audit import Event, EventType
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.outages import MAKE_ROOM
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import admin
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import ENGLISH, use_language
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.http.resource import View
from testimonials.core.mail.outbox import MailState, count_mails
from testimonials.core.settings.table import current_settings
from testimonials.dashboard.framework import require_proof, require_session
from testimonials.dashboard.shell import build_shell
from testimonials.operations.backup.restoring import BackupState, describe_backups
from testimonials.operations.health import NEEDED, check_database, check_host, list_jobs
from testimonials.projects.domains import count_domains
from testimonials.testimonials.media.recordings import find_whole_share

# What needs somebody's attention: the results of `/readyz`, with advice, and what only this page
# shows.

# More wrong passwords and codes in an hour, for all accounts, than forgetful people enter.
MANY_GUESSES = 100
DOCTOR, BACK_UP, VERIFY = "doctor", "backup now", "backup verify"
# What a result of `check_host` means, and a command that solves the problem or tells more.
ADVICE = {
    "disk": ("Nothing new can be stored. Fix the disk, or its permissions.", DOCTOR),
    "room": (f"When the disk is full, nothing new is stored. {MAKE_ROOM}", "backup drop"),
    "mail": ("It is kept, and retried for about three days.", "mail list --state queued"),
    "smtp": ("Everything else works. Set SMTP_URL and start the service again.", DOCTOR),
    "jobs": ("Pages and widgets work, and each job is retried automatically.", DOCTOR),
}
GRAVE = {*NEEDED, "room", "jobs"}
LABELS = {"room": "Disk", "smtp": "SMTP"}


@dataclass(frozen=True)
class Trouble:
    """A problem; `command` solves it or tells more."""

    title: str
    text: str
    command: str = ""
    is_grave: bool = False


def find_troubles(
    backups: BackupState, storage: dict[str, Any], troubled_domains: int
) -> list[Trouble]:
    """Return all problems, the serious ones first."""
    troubles = chain(
        _judge_host(),
        _judge_recordings(storage),
        _judge_backups(backups),
        _judge_version(),
        _judge_failed_mail(),
        _judge_guesses(),
        _judge_reports(),
        _judge_domains(troubled_domains),
    )
    return sorted(troubles, key=lambda each: not each.is_grave)


def _judge_host() -> Iterator[Trouble]:
    for name, check in check_host().items():
        if not check.is_ok:
            words, command = ADVICE.get(name, ("The doctor says what to do.", DOCTOR))
            title = f"{LABELS.get(name, name.capitalize())}: {check.detail}"
            yield Trouble(title, words, command, is_grave=name in GRAVE)


def _judge_recordings(storage: dict[str, Any]) -> Iterator[Trouble]:
    if storage["recordings"].is_nearly_full:
        words = (
            "Texts and pictures are still accepted. Once it is full, recordings are refused. Raise "
            "ALL_RECORDINGS_MEGABYTES, or see which accounts use the most."
        )
        yield Trouble("The space for recordings is nearly full", words, "accounts list --largest")


def _judge_backups(backups: BackupState) -> Iterator[Trouble]:
    """Judge the age of backups; `check_host` reports their failed jobs."""
    hours, days = current_settings().backup_hours, current_settings().backup_verify_days
    now = clock.now()
    if hours and backups.last_at and now - backups.last_at > timedelta(hours=2 * hours):
        title = f"The newest backup is {(now - backups.last_at).days} days old"
        words = f"One is due every {hours} hours. Make one now, and see which job failed."
        yield Trouble(title, words, BACK_UP, is_grave=True)
    if days and backups.verified_at and now - backups.verified_at > timedelta(days=2 * days):
        title = f"No restore was tested since {clock.day(backups.verified_at)}"
        yield Trouble(title, f"One is due every {days} days. Test one now.", VERIFY)


def _judge_version() -> Iterator[Trouble]:
    """Compare the installed version with the running one."""
    try:
        installed = metadata.version("testimonials")
    except metadata.PackageNotFoundError:
        return
    if installed != __version__:
        title = f"Version {installed} is installed, but {__version__} is still running"
        words = "Start the service again. It makes a backup before it changes the database."
        yield Trouble(title, words)


def _judge_failed_mail() -> Iterator[Trouble]:
    if failed := count_mails(db.session())[MailState.FAILED]:
        title = _count_text(failed, "email was given up on", "emails were given up on")
        yield Trouble(title, "Nobody gets them unless you retry.", "mail retry")


def _judge_guesses() -> Iterator[Trouble]:
    recent = Event.id >= first_identifier(clock.now() - timedelta(hours=1))
    guesses = [type for type in EventType.known.whole().values() if type.is_guess]
    query = select(func.sum(Event.times)).where(recent, Event.type.in_(guesses))
    count = db.session.scalar(query) or 0
    if count >= MANY_GUESSES:
        title = f"{count} wrong passwords or codes within an hour"
        words = "They were refused, and limits slow them down. See whose accounts they tried."
        yield Trouble(title, words, "activity list --type session.refused")


def _judge_reports() -> Iterator[Trouble]:
    waiting = select(func.count()).where(AbuseReport.settled_at.is_(None))
    count = db.session.scalar(waiting.select_from(AbuseReport)) or 0
    if count:
        title = _count_text(count, "report waits", "reports wait")
        words = "Visitors reported public pages. Nothing was changed."
        yield Trouble(title, words, "reports list")


def _judge_domains(count: int) -> Iterator[Trouble]:
    if count:
        has = "own host name has no TXT record any more"
        title = _count_text(count, has, has.replace("name has", "names have"))
        words = "Each is released after three days. The usual addresses keep working."
        yield Trouble(title, words, "domains list")


def _count_text(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


# The state of the server, by a constant number of statements.

SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
POSTGRES_SIZE = "SELECT pg_database_size(current_database())"


def describe_server() -> dict[str, Any]:
    settings = current_settings()
    backups, storage = describe_backups(), _measure_storage()
    jobs, domains = list_jobs(), count_domains()
    return {
        "troubles": find_troubles(backups, storage, domains.troubled),
        "versions": {
            "version": __version__,
            "python": platform.python_version(),
            "database": check_database().detail,
        },
        "storage": storage,
        "backups": backups,
        "mails": count_mails(db.session()),
        "accounts": _count_accounts(),
        "domains": domains,
        "failed_jobs": [job for job in jobs if job.failed_at],
        "last_job_at": max((job.finished_at for job in jobs if job.finished_at), default=None),
        "project_limit": settings.project_limit,
        "recordings_limit": settings.account_recordings_megabytes,
        "hit_limits": _list_hit_limits(),
    }


def _measure_storage() -> dict[str, Any]:
    disk = shutil.disk_usage(current_settings().instance_path)
    query = SQLITE_SIZE if current_settings().is_sqlite else POSTGRES_SIZE
    return {
        "used": disk.total - disk.free,
        "total": disk.total,
        "database": int(db.session.scalar(text(query)) or 0),
        "recordings": find_whole_share(),
    }


def _count_accounts() -> dict[str, int]:
    columns = {
        "all": func.count(),
        "unclaimed": func.count(case((Account.claimed_at.is_(None), 1))),
        "suspended": func.count(case((Account.suspended_at.is_not(None), 1))),
    }
    row = db.session.execute(select(*columns.values()).where(is_live())).one()
    return dict(zip(columns, row, strict=True))


def _list_hit_limits() -> list[str] | None:
    """Return the rate limits that somebody has exceeded, or None if Redis counts.

    A counter's key is `LIMITER/whom/scope/amount/multiple/hour`; `whom`, such as a network with a
    slash in it, isn't shown.
    """
    if current_settings().ratelimit_storage_url:
        return None
    now = clock.now().timestamp()
    query = select(RateLimitCounter).where(RateLimitCounter.expires_at > now)
    counts: dict[str, int] = {}
    for row in db.session.scalars(query.execution_options(yield_per=500)):
        parts = row.key.split("/")
        if len(parts) < 5 or not parts[-3].isdigit() or row.hits < int(parts[-3]):
            continue
        hours = "an hour" if parts[-2] == "1" else f"in {parts[-2]} hours"
        limit = f"{parts[-4]}, {parts[-3]} {hours}"
        counts[limit] = counts.get(limit, 0) + 1
    return [f"{limit}: {count} over it" for limit, count in sorted(counts.items())]


def require_operator(view: View) -> View:
    """Show a view only to the accounts in OPERATORS; for others there is no such page.

    Anybody who is signed out is asked to sign in.
    """

    @require_session
    @functools.wraps(view)
    def wrapper(owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        if owner.email not in current_settings().operators:
            raise NotFound("It may have moved, or the address may be mistyped.")
        use_language(ENGLISH.code)
        return view(owner=owner, **arguments)

    return wrapper


@admin.get("/operator")
@admin.post("/operator")
@require_operator
@require_proof("Operator", "dashboard.home.show_start", lasts=timedelta(hours=1))
def show_server(owner: SignedIn) -> ResponseReturnValue:
    """Show the page; a POST only sends the proof that opens it for an hour."""
    if request.method == "POST":
        return redirect(url_for(".show_server"), 303)
    shell = build_shell(owner, "server")
    return render_template("operator/server.html", shell=shell, **describe_server())
