"""The backups that `serve` makes by itself, and the one before an upgrade."""

import logging
import re
from datetime import timedelta
from pathlib import Path

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.data.kept_backups import SCHEDULED, KeptBackup, list_kept
from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.making import BackupFailed, make_backup, name_backup
from testimonials.operations.backup.notices import tell_of_failed_backup, tell_that_backups_work
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import give_to_owner

logger = logging.getLogger("testimonials")

LONGEST_BACKUP = timedelta(hours=2)
RETRIED_AFTER = timedelta(hours=1)
# Nothing else in the folder is ever removed.
_SCHEDULED = re.compile(rf"{SCHEDULED}-[0-9]{{8}}T[0-9]{{6}}Z\.tar\.gz")


def is_backup_wanted() -> bool:
    """Return whether this instance has scheduled backups, and anything to back up."""
    if not current_settings().backup_hours:
        return False
    has_accounts = db.session.scalar(select(Account.id).limit(1)) is not None
    db.session.rollback()
    return has_accounts


def is_backup_due(row: BackgroundJob) -> bool:
    """Return whether it is time for the next backup, sooner if the last failed or was cut off."""
    length = timedelta(hours=current_settings().backup_hours)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return is_over(row.started_at, length)


def make_scheduled_backup() -> Path:
    """Make a backup, remove old ones, and mail the operator about failures; commit.

    Raises `BackupFailed`.
    """
    try:
        target = _make(SCHEDULED)
        _remove_old(target)
    except BackupFailed as error:
        begin_write()
        tell_of_failed_backup(str(error))
        db.session.commit()
        raise
    begin_write()
    tell_that_backups_work()
    db.session.commit()
    logger.info("backup made: %s", target)
    return target


def find_newest() -> KeptBackup | None:
    """Return the newest scheduled backup in BACKUP_PATH."""
    kept = list_kept(Path(current_settings().backup_path))
    return next((each for each in kept if each.is_scheduled), None)


def back_up_before(revision: str) -> Path:
    """Make the backup before an upgrade to `revision`; raise `BackupFailed`."""
    return _make(f"before-{revision}")


def _make(kind: str) -> Path:
    settings = current_settings()
    folder = Path(settings.backup_path)
    if not folder.exists():
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise BackupFailed(f"{folder} can't be created: {error.strerror}") from None
        give_to_owner(folder, settings.instance_path)
    target = folder / name_backup(kind)
    make_backup(settings, target)
    return target


def _remove_old(newest: Path) -> None:
    found = sorted(path for path in newest.parent.iterdir() if _SCHEDULED.fullmatch(path.name))
    # The new one is kept even if the clock was ahead when the others were made.
    others = [path for path in found if path != newest]
    for path in others[: max(0, len(others) - current_settings().backup_keep + 1)]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise BackupFailed(f"the old {path} can't be removed: {error.strerror}") from None
