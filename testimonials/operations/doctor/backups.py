"""Checks of backups: here, off this machine, and whether they can be restored."""

import shlex
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.leases import BackgroundJob, find_other_place
from testimonials.core.logs.scrubbing import scrub
from testimonials.extensions import db
from testimonials.operations.backup.command import CopyFailed
from testimonials.operations.backup.models import BACKUP_JOB, COPY_JOB, VERIFY_JOB
from testimonials.operations.backup.offsite import is_copy_wanted, list_copies
from testimonials.operations.backup.scheduled import find_newest, is_backup_wanted
from testimonials.operations.doctor.findings import Finding
from testimonials.settings.current import current_settings
from testimonials.settings.table import Settings

START = "Is `testimonials serve` running? `testimonials backup now` makes one."


def check_backups() -> Iterator[Finding]:
    """Check that backups are made, copied off this machine, and can be restored."""
    settings = current_settings()
    if not settings.backup_hours:
        yield Finding(
            "Scheduled backups are switched off (BACKUP_HOURS=0).",
            "Run `testimonials backup make FILE` from a timer of your own.",
            is_note=True,
        )
    if is_copy_wanted():
        yield from _check_last_copy()
    if settings.backup_to:
        yield from _check_copies(settings)
    if settings.backup_command:
        yield from _check_command(settings)
    if settings.backup_verify_days:
        yield from _check_verified(settings)
    if is_backup_wanted():
        yield from _check_own(settings)


def _check_own(settings: Settings) -> Iterator[Finding]:
    job = db.session.get(BackgroundJob, BACKUP_JOB)
    advice = "Fix that, then make one now: `testimonials backup now`."
    yield from _check_last(job, "The last backup failed", advice)
    folder = Path(settings.backup_path)
    newest = max((path.stat().st_mtime for path in folder.glob("*.tar.gz")), default=None)
    hours = (clock.now().timestamp() - newest) / 3600 if newest else None
    if hours is not None and hours <= 2 * settings.backup_hours:
        return
    if where := _find_maker(job, settings):
        if not is_copy_wanted():
            yield Finding(
                f"The newest backup {where} and is not in {folder} here: if that disk is lost, so "
                "is the backup.",
                "On all hosts set BACKUP_TO, or a BACKUP_PATH on a disk that they share.",
            )
    elif hours is None:
        yield Finding(f"There is no backup in {folder}.", START)
    else:
        yield Finding(
            f"The newest backup in {folder} is {hours:.0f} hours old; one is due every "
            f"{settings.backup_hours} hours.",
            START,
        )


def _check_last(job: BackgroundJob | None, problem: str, advice: str) -> Iterator[Finding]:
    """Check how a job ended; what failed on another host is only noted on this one."""
    if job is not None and job.error is not None:
        other = find_other_place(job)
        where = f" on {other}" if other else ""
        yield Finding(
            f"{problem} at {iso(job.failed_at or clock.now())}{where}: {scrub(job.error)}",
            "Run `testimonials doctor` there." if other else advice,
            is_note=bool(other),
        )


def _find_maker(job: BackgroundJob | None, settings: Settings) -> str:
    """Return when another host did a job that is not late, as words; "" if none did."""
    other = find_other_place(job)
    last = job.finished_at if job is not None else None
    if not other or last is None or clock.now() - last > _longest(settings):
        return ""
    return f"was taken at {iso(last)} on {other}"


def _check_last_copy() -> Iterator[Finding]:
    advice = "It is tried again each hour; `testimonials backup now` does it at once."
    job = db.session.get(BackgroundJob, COPY_JOB)
    yield from _check_last(job, "The last copy of a backup failed", advice)


def _check_copies(settings: Settings) -> Iterator[Finding]:
    place = settings.backup_to
    try:
        found = list_copies(Path(place))
    except CopyFailed as error:
        yield Finding(f"BACKUP_TO ({place}) can't be read: {error}", "Mount its disk.")
        return
    newest = max((each.made_at for each in found if each.is_scheduled), default=None)
    if is_backup_wanted() and (newest is None or clock.now() - newest > _longest(settings)):
        if where := _find_maker(db.session.get(BackgroundJob, COPY_JOB), settings):
            yield Finding(
                f"The newest copy {where} and is not in BACKUP_TO ({place}) here.",
                "Mount the same folder there on all hosts.",
            )
            return
        since = f"is from {iso(newest)}" if newest else "is not there yet"
        yield Finding(f"The newest backup in {place} {since}.", START)
    if _is_same_disk(Path(place), settings.instance_path):
        yield Finding(
            f"BACKUP_TO ({place}) is on the same disk as the data, so both can be lost at once.",
            "If it should be another disk: is that mounted?",
            is_note=True,
        )


def _check_command(settings: Settings) -> Iterator[Finding]:
    program = shlex.split(settings.backup_command)[0]
    if shutil.which(program) is None:
        yield Finding(
            f"BACKUP_COMMAND begins with {program}, which is no program here.",
            "Install it, or write its whole path.",
        )
    job = db.session.get(BackgroundJob, COPY_JOB)
    last = job.finished_at if job is not None else None
    if is_backup_wanted() and (last is None or clock.now() - last > _longest(settings)):
        since = f"since {iso(last)}" if last else "yet"
        yield Finding(f"BACKUP_COMMAND has taken no backup {since}.", START)


def _longest(settings: Settings) -> timedelta:
    return timedelta(hours=2 * settings.backup_hours)


def _check_verified(settings: Settings) -> Iterator[Finding]:
    job = db.session.get(BackgroundJob, VERIFY_JOB)
    last = job.finished_at if job is not None else None
    if job is not None and job.error is not None:
        advice = (
            "Fix that, then try again: `testimonials backup verify`. The newest backup may be "
            "worth nothing until then."
        )
        yield from _check_last(job, "The newest backup could not be restored on trial", advice)
    elif (newest := find_newest()) is not None:
        oldest = clock.now() - timedelta(days=2 * settings.backup_verify_days)
        if (last or newest.made_at) < oldest:
            where = settings.backup_to or settings.backup_path
            yield Finding(
                f"No backup in {where} has been restored on trial since {iso(last or oldest)}.",
                "Is `testimonials serve` running? `testimonials backup verify` tries one now.",
            )


def _is_same_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
