"""Checks of backups: here, in BACKUP_TO, and whether they can be restored."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.leases import BackgroundJob
from testimonials.core.logs.scrubbing import scrub
from testimonials.extensions import db
from testimonials.operations.backup.elsewhere.buckets import PlaceFailed
from testimonials.operations.backup.elsewhere.places import open_place
from testimonials.operations.backup.elsewhere.rehearsal import can_fetch
from testimonials.operations.backup.elsewhere.sealing import NOT_INSTALLED, PROGRAM
from testimonials.operations.backup.models import BACKUP_JOB, COPY_JOB, REHEARSAL_JOB
from testimonials.operations.backup.scheduled import find_newest, is_backup_wanted
from testimonials.operations.doctor.findings import Finding
from testimonials.settings.current import current_settings
from testimonials.settings.parsers import BUCKET
from testimonials.settings.table import Settings

START = "Is `testimonials serve` running? `testimonials backup now` makes one."


def check_backups() -> Iterator[Finding]:
    """Check that backups are made, copied off this machine, and can be restored."""
    settings = current_settings()
    if not settings.backup_hours:
        yield Finding(
            "Scheduled backups are switched off (BACKUP_HOURS=0).",
            "Run `testimonials backup FILE` from a timer of your own.",
            is_note=True,
        )
    if settings.backup_to:
        yield from _check_copies(settings)
    if settings.backup_rehearsal_days:
        yield from _check_rehearsal(settings)
    if is_backup_wanted():
        yield from _check_own(settings)


def _check_own(settings: Settings) -> Iterator[Finding]:
    job = db.session.get(BackgroundJob, BACKUP_JOB)
    if job is not None and job.error is not None:
        time = f" at {iso(job.failed_at)}" if job.failed_at else ""
        yield Finding(
            f"The last backup failed{time}: {scrub(job.error)}",
            "Fix that, then make one now: `testimonials backup now`.",
        )
    folder = Path(settings.backup_path)
    newest = max((path.stat().st_mtime for path in folder.glob("*.tar.gz")), default=None)
    if newest is None:
        yield Finding(f"There is no backup in {folder}.", START)
        return
    hours = (clock.now().timestamp() - newest) / 3600
    if hours > 2 * settings.backup_hours:
        yield Finding(
            f"The newest backup in {folder} is {hours:.0f} hours old; one is due every "
            f"{settings.backup_hours} hours.",
            START,
        )


def _check_copies(settings: Settings) -> Iterator[Finding]:
    place = settings.backup_to
    try:
        found = open_place(place).list_backups()
    except PlaceFailed as error:
        yield Finding(
            f"BACKUP_TO ({place}) can't be read: {scrub(str(error))}",
            "Mount its disk; of a bucket, check the name and the variables AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.",
        )
        return
    job = db.session.get(BackgroundJob, COPY_JOB)
    if job is not None and job.error is not None:
        yield Finding(
            f"The last copy to {place} failed at {iso(job.failed_at or clock.now())}: "
            f"{scrub(job.error)}",
            "It is tried again each hour; `testimonials backup now` does it at once.",
        )
    newest = max((each.made_at for each in found if each.is_scheduled), default=None)
    length = timedelta(hours=2 * settings.backup_hours)
    if is_backup_wanted() and (newest is None or clock.now() - newest > length):
        since = f"is from {iso(newest)}" if newest else "is not there yet"
        yield Finding(f"The newest backup in {place} {since}.", START)
    yield from _check_keys(settings)
    if not place.startswith(BUCKET) and _is_same_disk(Path(place), settings.instance_path):
        yield Finding(
            f"BACKUP_TO ({place}) is on the same disk as the data, so both can be lost at once.",
            "If it should be another disk: is that mounted?",
            is_note=True,
        )


def _check_keys(settings: Settings) -> Iterator[Finding]:
    identity = settings.backup_age_identity
    if not settings.backup_age_recipients:
        yield Finding(
            f"The backups in {settings.backup_to} aren't encrypted by this program.",
            "Set BACKUP_AGE_RECIPIENTS, unless whoever keeps them may read everything.",
            is_note=True,
        )
    elif shutil.which(PROGRAM) is None:
        yield Finding(f"No backup can be copied: {NOT_INSTALLED}.", "Install it.")
    elif not identity:
        yield Finding(
            f"The backups in {settings.backup_to} can't be decrypted here, so only those in "
            f"{settings.backup_path} are rehearsed.",
            "Set BACKUP_AGE_IDENTITY, or try one elsewhere: `testimonials restore --dry-run`.",
            is_note=True,
        )
    if identity and not Path(identity).is_file():
        yield Finding(
            f"There is no file {identity} (BACKUP_AGE_IDENTITY).",
            "Put the private key there, or correct the setting.",
        )


def _check_rehearsal(settings: Settings) -> Iterator[Finding]:
    job = db.session.get(BackgroundJob, REHEARSAL_JOB)
    last = job.finished_at if job is not None else None
    if job is not None and job.error is not None:
        yield Finding(
            f"The last rehearsal of a restore failed at {iso(job.failed_at or clock.now())}: "
            f"{scrub(job.error)}",
            "Fix that, then try again: `testimonials backup rehearse`. The newest backup may be "
            "worth nothing until then.",
        )
    elif (newest := find_newest()) is not None:
        oldest = clock.now() - timedelta(days=2 * settings.backup_rehearsal_days)
        if (last or newest.made_at) < oldest:
            where = settings.backup_to if can_fetch(settings) else settings.backup_path
            yield Finding(
                f"No backup in {where} has been restored on trial since {iso(last or oldest)}.",
                "Is `testimonials serve` running? `testimonials backup rehearse` tries one now.",
            )


def _is_same_disk(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
