"""How backups are: for the operator's page and the commands."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from testimonials.core import clock
from testimonials.core.data.kept_backups import KeptBackup, list_kept
from testimonials.core.data.leases import BackgroundJob
from testimonials.extensions import db
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.models import BACKUP_JOB, COPY_JOB, VERIFY_JOB
from testimonials.operations.backup.offsite import is_copy_wanted, read_stored
from testimonials.settings.current import current_settings


@dataclass(frozen=True)
class BackupState:
    """What is kept where, and how the last backup, copy and restore on trial went."""

    # BACKUP_TO, or BACKUP_PATH without it; the last one is the newest there.
    place: str
    last_at: datetime | None
    last_size: int | None
    last_error: str | None
    verified_at: datetime | None
    verified_error: str | None
    is_running: bool
    # In BACKUP_PATH, newest first, those before upgrades too; and in BACKUP_TO.
    kept: list[KeptBackup]
    kept_elsewhere: list[KeptBackup]


@dataclass(frozen=True)
class Dropped:
    """What was removed, and how many bytes are free again."""

    names: list[str]
    size: int


def describe_backups() -> BackupState:
    """Return how backups are; asks no other machine."""
    settings = current_settings()
    made, copied, verified = map(_find_job, (BACKUP_JOB, COPY_JOB, VERIFY_JOB))
    kept = list_kept(Path(settings.backup_path))
    elsewhere = read_stored(settings.backup_to)
    scheduled = [each for each in (elsewhere if settings.backup_to else kept) if each.is_scheduled]
    newest = scheduled[0] if scheduled else None
    steps = [made, copied] if is_copy_wanted() else [made]
    return BackupState(
        place=settings.backup_to or settings.backup_path,
        last_at=newest.made_at if newest else None,
        last_size=newest.size if newest else None,
        last_error=next((row.error for row in steps if row.error), None),
        verified_at=verified.finished_at,
        verified_error=verified.error,
        is_running=any(map(_is_running, steps)),
        kept=kept,
        kept_elsewhere=elsewhere,
    )


def drop_old(*, is_trial: bool = False) -> Dropped:
    """Remove from BACKUP_PATH all backups but the newest scheduled and the newest other one.

    BACKUP_TO keeps what it has. Raises `BackupFailed`.
    """
    folder = Path(current_settings().backup_path)
    kept = list_kept(folder)
    newest = {each.is_scheduled: each for each in reversed(kept)}
    old = [each for each in kept if each not in newest.values()]
    for each in [] if is_trial else old:
        try:
            (folder / each.name).unlink(missing_ok=True)
        except OSError as error:
            reason = f"the old {folder / each.name} can't be removed: {error.strerror}"
            raise BackupFailed(reason) from None
    return Dropped([each.name for each in old], sum(each.size for each in old))


def _find_job(name: str) -> BackgroundJob:
    return db.session.get(BackgroundJob, name) or BackgroundJob(name=name)


def _is_running(row: BackgroundJob) -> bool:
    return row.leased_until is not None and row.leased_until > clock.now()
