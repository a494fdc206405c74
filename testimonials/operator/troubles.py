"""What needs the operator: what happened, what still works, and one thing to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import metadata
from typing import Any

from sqlalchemy import func, select

from testimonials import __version__
from testimonials.activity.event_types import GUESSES
from testimonials.activity.models import Event
from testimonials.collection.abuse_reports import AbuseReport
from testimonials.core import clock
from testimonials.core.data.identifiers import first_identifier
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.data.outages import MAKE_ROOM
from testimonials.core.mail.outbox import MailState, count_mails, measure_waiting
from testimonials.extensions import db
from testimonials.operations.backup.models import BACKUP_JOB, COPY_JOB, VERIFY_JOB
from testimonials.operations.backup.state import BackupState
from testimonials.operations.doctor.data import check_schema
from testimonials.operations.health import LEAST_FREE, LONGEST_WAIT, check_host
from testimonials.settings.current import current_settings

NEARLY_FULL = 0.9
# Wrong passwords and codes in an hour, of all accounts together, that no forgetful people enter.
MANY_GUESSES = 100
# `check_host` finds these too, and here is more to say of them.
SAID_HERE = {"disk", "room", "mail", "jobs", "smtp", "database"}
DOCTOR, BACK_UP, VERIFY = "doctor", "backup now", "backup verify"


@dataclass(frozen=True)
class Trouble:
    """One thing that needs somebody; `command` mends it or tells more."""

    title: str
    text: str
    command: str = ""
    is_grave: bool = False


def find_troubles(
    backups: BackupState,
    storage: dict[str, Any],
    jobs: Sequence[BackgroundJob],
    troubled_domains: int,
) -> list[Trouble]:
    """Return what needs somebody, the grave first."""
    judges = (
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
    found = [trouble for judge in judges for trouble in judge]
    return sorted(found, key=lambda each: not each.is_grave)


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


def _judge_jobs(jobs: Sequence[BackgroundJob]) -> Iterator[Trouble]:
    newest = max((job.finished_at for job in jobs if job.finished_at), default=None)
    if newest is not None and clock.now() - newest > LONGEST_WAIT:
        title = f"No background work since {clock.day(newest)}, {newest:%H:%M} UTC"
        words = (
            "Pages and widgets work. Mail, webhooks and backups wait. Start the service again; "
            "its log says why."
        )
        yield Trouble(title, words, DOCTOR, is_grave=True)
    # `_judge_backups` tells of theirs.
    apart = {BACKUP_JOB, COPY_JOB, VERIFY_JOB}
    failed = [job.name for job in jobs if job.failed_at and job.name not in apart]
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
    """Tell of a version that was installed while another runs; asks nobody."""
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
    if count and age > LONGEST_WAIT:
        title = f"{count} {'mail waits' if count == 1 else 'mails wait'}"
        words = "They are kept, and tried again by themselves for about three days."
        yield Trouble(title, words, "mail list --state queued")
    failed = count_mails(db.session())[MailState.FAILED]
    if failed:
        title = f"{failed} {'mail was' if failed == 1 else 'mails were'} given up"
        yield Trouble(title, "Nobody gets them unless you try again.", "mail retry")


def _judge_guesses() -> Iterator[Trouble]:
    recent = Event.id >= first_identifier(clock.now() - timedelta(hours=1))
    query = select(func.sum(Event.times)).where(recent, Event.type.in_(GUESSES))
    count = db.session.scalar(query) or 0
    if count >= MANY_GUESSES:
        title = f"{count} wrong passwords or codes within an hour"
        words = "They were refused, and limits slow them down. See whose accounts they tried."
        yield Trouble(title, words, "activity list --type session.refused")


def _judge_reports() -> Iterator[Trouble]:
    waiting = select(func.count()).where(AbuseReport.settled_at.is_(None))
    count = db.session.scalar(waiting.select_from(AbuseReport)) or 0
    if count:
        title = f"{count} {'report waits' if count == 1 else 'reports wait'}"
        words = "Visitors reported public pages. Nothing was changed."
        yield Trouble(title, words, "reports list")


def _judge_domains(count: int) -> Iterator[Trouble]:
    if count:
        title = (
            f"{count} own host {'name has' if count == 1 else 'names have'} no TXT record any more"
        )
        words = "Each is given up after three days. The usual addresses keep working."
        yield Trouble(title, words, "domains list")
