"""The operator's page: problems to solve, then the state of the server."""

import functools
import platform
import shutil
from collections.abc import Iterator, Sequence
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
from testimonials.core.jobs import Job
from testimonials.core.mail.outbox import MailState, count_mails, is_mail_refused, measure_waiting
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.framework import require_session
from testimonials.dashboard.proofs import require_proof
from testimonials.dashboard.shell import build_shell
from testimonials.operations.backup.creating import BACKUP_JOB, COPY_JOB, VERIFY_JOB
from testimonials.operations.backup.restoring import BackupState, describe_backups
from testimonials.operations.doctor import check_schema
from testimonials.operations.health import (
    LEAST_FREE,
    LONGEST_WAIT,
    check_database,
    check_host,
    list_jobs,
)
from testimonials.operations.metrics import POSTGRES_SIZE, SQLITE_SIZE
from testimonials.projects.domains import count_domains
from testimonials.testimonials.media.recordings import find_whole_share

# Problems: what happened, what still works, and one thing to do about it.

NEARLY_FULL = 0.9
# More wrong passwords and codes in an hour, of all accounts, than forgetful people enter.
MANY_GUESSES = 100
# Results of `check_host` about which this page says more.
SAID_HERE = {"disk", "room", "mail", "jobs", "smtp", "database"}
DOCTOR, BACK_UP, VERIFY = "doctor", "backup now", "backup verify"


@dataclass(frozen=True)
class Trouble:
    """A problem; `command` solves it or tells more."""

    title: str
    text: str
    command: str = ""
    is_grave: bool = False


def find_troubles(
    backups: BackupState, storage: dict[str, Any], jobs: Sequence[Job], troubled_domains: int
) -> list[Trouble]:
    """Return all problems, the serious ones first."""
    troubles = chain(
        _judge_host(),
        _judge_disk(storage),
        _judge_jobs(jobs),
        _judge_backups(backups),
        _judge_version(),
        _judge_mail(),
        _judge_guesses(),
        _judge_reports(),
        _judge_domains(troubled_domains),
    )
    return sorted(troubles, key=lambda each: not each.is_grave)


def _judge_host() -> Iterator[Trouble]:
    for finding in check_schema():
        yield Trouble(finding.problem, finding.advice, is_grave=True)
    for name, check in check_host().items():
        if name == "disk" and not check.is_ok:
            words = "Nothing new is stored. Mend the disk, or who may write to it."
            yield Trouble(f"The disk {check.detail}", words, DOCTOR, is_grave=True)
        elif name not in SAID_HERE and not check.is_ok:
            words = "The doctor checks everything, and says what to do."
            yield Trouble(f"{name.capitalize()}: {check.detail}", words, DOCTOR, is_grave=True)


def _judge_disk(storage: dict[str, Any]) -> Iterator[Trouble]:
    if storage["share"] >= NEARLY_FULL or storage["free"] < LEAST_FREE:
        title = f"The disk is {storage['share']:.0%} full"
        words = f"Widgets and words still work. When it is full, nothing new is stored. {MAKE_ROOM}"
        yield Trouble(title, words, "backup drop", is_grave=True)
    if storage["recordings"] >= NEARLY_FULL * storage["recordings_limit"]:
        words = (
            "Words and pictures still come in. When it is full, no recording is taken. Raise "
            "ALL_RECORDINGS_MEGABYTES, or see which accounts take most."
        )
        yield Trouble("The room for recordings is nearly full", words, "accounts list --largest")


def _judge_jobs(jobs: Sequence[Job]) -> Iterator[Trouble]:
    newest = max((job.finished_at for job in jobs if job.finished_at), default=None)
    if newest is not None and clock.now() - newest > LONGEST_WAIT:
        title = f"No background work since {clock.day(newest)}, {newest:%H:%M} UTC"
        words = (
            "Pages and widgets work. Mail, webhooks and backups wait. Start the service again; "
            "its log says why."
        )
        yield Trouble(title, words, DOCTOR, is_grave=True)
    # `_judge_backups` handles these.
    others = {BACKUP_JOB, COPY_JOB, VERIFY_JOB}
    failed = [job.id for job in jobs if job.failed_at and job.id not in others]
    if failed:
        words = "Everything else goes on, and each is tried again by itself."
        yield Trouble(f"Failed: {', '.join(failed)}", words, DOCTOR)


def _judge_backups(backups: BackupState) -> Iterator[Trouble]:
    hours, days = current_settings().backup_hours, current_settings().backup_verify_days
    late, now = timedelta(hours=2 * hours), clock.now()
    if backups.last_error:
        words = f"{backups.last_error}. Older backups are still there."
        yield Trouble("The last backup failed", words, BACK_UP, is_grave=True)
    elif hours and backups.last_at and now - backups.last_at > late:
        title = f"The newest backup is {(now - backups.last_at).days} days old"
        words = f"One is due every {hours} hours. Make one now, and see which job failed."
        yield Trouble(title, words, BACK_UP, is_grave=True)
    if backups.verified_error:
        words = f"{backups.verified_error}. The service itself is not concerned."
        yield Trouble("A backup could not be restored", words, VERIFY, is_grave=True)
    elif days and backups.verified_at and now - backups.verified_at > timedelta(days=2 * days):
        title = f"No restore was tried since {clock.day(backups.verified_at)}"
        yield Trouble(title, f"One is due every {days} days. Try one now.", VERIFY)


def _judge_version() -> Iterator[Trouble]:
    """Compare the installed version with the running one."""
    try:
        installed = metadata.version("testimonials")
    except metadata.PackageNotFoundError:
        return
    if installed != __version__:
        title = f"Version {installed} is installed, and {__version__} still runs"
        words = "Start the service again. It makes a backup before it changes the database."
        yield Trouble(title, words)


def _judge_mail() -> Iterator[Trouble]:
    if not current_settings().smtp_url:
        words = (
            "Mail is printed to the log. Everything else works. Set SMTP_URL and start the service "
            "again."
        )
        yield Trouble("No mail is sent", words)
    count, age = measure_waiting(db.session())
    is_refused = is_mail_refused(db.session())
    if count and (is_refused or age > LONGEST_WAIT):
        title = _say(count, "mail waits", "mails wait")
        words = "They are kept, and tried again by themselves for about three days."
        if is_refused:
            words = f"The mail server refuses them or does not answer. {words}"
        yield Trouble(title, words, "mail list --state queued")
    failed = count_mails(db.session())[MailState.FAILED]
    if failed:
        title = _say(failed, "mail was given up", "mails were given up")
        yield Trouble(title, "Nobody gets them unless you try again.", "mail retry")


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
        title = _say(count, "report waits", "reports wait")
        words = "Visitors reported public pages. Nothing was changed."
        yield Trouble(title, words, "reports list")


def _judge_domains(count: int) -> Iterator[Trouble]:
    if count:
        has = "own host name has no TXT record any more"
        title = _say(count, has, has.replace("name has", "names have"))
        words = "Each is given up after three days. The usual addresses keep working."
        yield Trouble(title, words, "domains list")


def _say(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


# The state of the server, by a constant number of statements.

STARTED_AT = clock.now()


def describe_server() -> dict[str, Any]:
    """Return the context of the page."""
    settings = current_settings()
    backups, storage = describe_backups(), _measure_storage()
    jobs, domains = list_jobs(), count_domains()
    minutes = max(0, int((clock.now() - STARTED_AT).total_seconds()) // 60)
    sizes = {"day": minutes // (24 * 60), "hour": minutes // 60, "minute": minutes}
    unit, count = next((each for each in sizes.items() if each[1]), ("minute", 0))
    return {
        "troubles": find_troubles(backups, storage, jobs, domains.troubled),
        "versions": {
            "version": __version__,
            "python": platform.python_version(),
            "database": check_database().detail,
            "up": _say(count, unit, f"{unit}s"),
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
    recordings = find_whole_share()
    return {
        "used": disk.total - disk.free,
        "total": disk.total,
        "free": disk.free,
        "share": (disk.total - disk.free) / disk.total,
        "database": int(db.session.scalar(text(query)) or 0),
        "recordings": recordings.bytes,
        "recordings_limit": recordings.limit,
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
    """Let only accounts that OPERATORS names see the view; for others it doesn't exist.

    Anybody who is signed out is asked to sign in.
    """

    @require_session
    @functools.wraps(view)
    def wrapper(owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        if owner.email not in current_settings().operators:
            raise NotFound("There is no page at this address.")
        use_language(ENGLISH.code)
        return view(owner=owner, **arguments)

    return wrapper


@admin.get("/operator")
@admin.post("/operator")
@require_operator
@require_proof("view this server", "dashboard.home.show_start", lasts=timedelta(hours=1))
def show_server(owner: SignedIn) -> ResponseReturnValue:
    """Show the page; a POST only carries the proof that opens it for an hour."""
    if request.method == "POST":
        return redirect(url_for(".show_server"), 303)
    shell = build_shell(owner, "server")
    return render_template("operator/server.html", shell=shell, **describe_server())
