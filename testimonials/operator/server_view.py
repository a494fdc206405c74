"""What the operator's first page says: what needs somebody, and then how everything is.

Each trouble says what happened, what still works, and one thing to do about it.
"""

import platform
import shutil
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, text

from testimonials import __version__
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.mail.outbox import MailState, count_mails, measure_waiting
from testimonials.extensions import db
from testimonials.media.quota import find_whole_share
from testimonials.operations.backup.state import BackupState, describe_backups
from testimonials.operations.health import LEAST_FREE, check_database, check_host, list_jobs
from testimonials.operations.metrics import POSTGRES_SIZE, SQLITE_SIZE
from testimonials.operator.models import AbuseReport
from testimonials.settings.current import current_settings

NEARLY_FULL = 0.9


@dataclass(frozen=True)
class Trouble:
    """One thing that needs somebody; `endpoint` is the page where it is mended."""

    title: str
    text: str
    label: str = ""
    endpoint: str = ""
    is_grave: bool = False


def describe_server() -> dict[str, Any]:
    backups, storage = describe_backups(), _measure_storage()
    return {
        "troubles": _find_troubles(backups, storage),
        "versions": describe_versions(),
        "storage": storage,
        "backups": backups,
        "mails": count_mails(db.session()),
        "accounts": db.session.scalar(select(func.count()).select_from(Account)),
        "jobs": list_jobs(),
        "checked_at": clock.now(),
    }


def describe_versions() -> dict[str, str]:
    """Return what runs here, and whether the database has the schema that it needs."""
    return {
        "Version": __version__,
        "Python": platform.python_version(),
        "Database": check_database().detail,
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


def _find_troubles(backups: BackupState, storage: dict[str, Any]) -> list[Trouble]:
    found = [*_judge_disk(storage), *_judge_mail(), *_judge_backups(backups), *_judge_reports()]
    failed = [job.name for job in list_jobs() if job.failed_at]
    if failed:
        words = "Everything else goes on, and each is tried again by itself."
        title = f"Failed: {', '.join(failed)}"
        found.append(Trouble(title, words, "Look at the jobs", "operator.show_jobs"))
    known = {"disk", "room", "mail", "jobs", "smtp"}
    for name, check in check_host().items():
        if not check.is_ok and name not in known:
            words = "Run `testimonials doctor`, which says what to do."
            found.append(Trouble(f"{name}: {check.detail}", words, is_grave=True))
    return sorted(found, key=lambda each: not each.is_grave)


def _judge_disk(storage: dict[str, Any]) -> list[Trouble]:
    if storage["share"] < NEARLY_FULL and storage["free"] >= LEAST_FREE:
        return []
    title = f"The disk is {storage['share']:.0%} full"
    words = "Widgets and words still work. When it is full, nothing new is stored."
    return [Trouble(title, words, "Look at backups", "operator_work.show_backups", is_grave=True)]


def _judge_mail() -> list[Trouble]:
    found = []
    if not current_settings().smtp_url:
        words = "SMTP_URL is not set, so mail is printed to the log. Everything else works."
        found.append(Trouble("No mail is sent", words))
    count, age = measure_waiting(db.session())
    if count and age.total_seconds() > 15 * 60:
        title = f"{count} {'mail waits' if count == 1 else 'mails wait'}"
        words = "They are kept, and tried again by themselves for about three days."
        found.append(Trouble(title, words, "Look at mail", "operator_work.show_mail"))
    failed = count_mails(db.session())[MailState.FAILED]
    if failed:
        title = f"{failed} {'mail was' if failed == 1 else 'mails were'} given up"
        words = "Nobody gets them unless you try again."
        found.append(Trouble(title, words, "Look at mail", "operator_work.show_mail"))
    return found


def _judge_reports() -> list[Trouble]:
    waiting = select(func.count()).where(AbuseReport.settled_at.is_(None))
    count = db.session.scalar(waiting.select_from(AbuseReport)) or 0
    title = f"{count} {'report waits' if count == 1 else 'reports wait'}"
    words = "Visitors reported public pages. Nothing was changed."
    page = ("Look at reports", "operator_reports.show_reports")
    return [Trouble(title, words, *page)] if count else []


def _judge_backups(backups: BackupState) -> list[Trouble]:
    page = ("Look at backups", "operator_work.show_backups")
    if backups.last_error:
        words = f"{backups.last_error}. Older backups are still there."
        return [Trouble("The last backup failed", words, *page, is_grave=True)]
    if backups.rehearsed_error:
        words = f"{backups.rehearsed_error}. The service itself is not concerned."
        return [Trouble("A backup could not be restored", words, *page, is_grave=True)]
    return []
