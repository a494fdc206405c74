"""Backups that `serve` makes by itself, and the one before an upgrade."""

import itertools
import logging
import re
from datetime import timedelta
from pathlib import Path

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.making import (
    BackupFailed,
    Instance,
    find_instance,
    make_backup,
    name_backup,
)
from testimonials.operations.backup.operator_mail import (
    tell_of_failed_backup,
    tell_that_backups_work,
)
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import give_to_owner

logger = logging.getLogger("testimonials")

BACKUP_JOB = "backup"
LONGEST_BACKUP = timedelta(hours=2)
RETRIED_AFTER = timedelta(hours=1)
# Whoever began it was most likely stopped or killed for some other reason.
TAKEN_OVER_AFTER = timedelta(minutes=3)
KIND = "scheduled"
# Nothing else in the folder is ever removed.
_SCHEDULED = re.compile(rf"{KIND}-[0-9]{{8}}T[0-9]{{6}}Z\.tar\.gz")


def is_backup_wanted() -> bool:
    """Tell whether this instance has scheduled backups, and anything to put into one."""
    settings = current_settings()
    if not settings.backup_hours or not settings.is_sqlite:
        return False
    has_accounts = db.session.scalar(select(Account.id).limit(1)) is not None
    db.session.rollback()
    return has_accounts


def is_backup_due(row: BackgroundJob) -> bool:
    """Tell whether it is time for the next backup; after a failure that is sooner.

    One that was cut off is made within minutes. Should that one be cut off too, it may be what
    ends the process (out of memory), and is not tried more often than any that fails.
    """
    length = timedelta(hours=current_settings().backup_hours)
    if row.error is not None:
        length = min(length, RETRIED_AFTER)
    elif row.leased_until is not None:
        length = TAKEN_OVER_AFTER
    return is_over(row.started_at, length)


def make_scheduled_backup() -> None:
    """Make a backup, remove old ones, and tell the operator how it goes; commits.

    Raises `BackupFailed` when that is told.
    """
    folder = Path(current_settings().backup_path)
    try:
        target = folder / name_backup(KIND)
        _make(target)
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


def back_up_before(revision: str) -> Path:
    """Make the backup before an upgrade to `revision` and return it; raises `BackupFailed`."""
    folder = Path(current_settings().backup_path)
    # A start that was killed after its own one may have been in this very second.
    for number in itertools.count(1):
        kind = f"before-{revision}" if number == 1 else f"before-{revision}-{number}"
        target = folder / name_backup(kind)
        if not target.exists():
            break
    _make(target)
    return target


def _make(target: Path) -> None:
    settings = current_settings()
    instance: Instance = find_instance(settings.instance_path, settings.database_url)
    if not target.parent.exists():
        try:
            target.parent.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise BackupFailed(
                f"the folder {target.parent} can't be made: {error.strerror}"
            ) from None
        give_to_owner(target.parent, instance.folder)
    make_backup(instance, target)


def _remove_old(newest: Path) -> None:
    found = sorted(path for path in newest.parent.iterdir() if _SCHEDULED.fullmatch(path.name))
    # Whatever the clock said when the others were made, the one that is there now stays.
    others = [path for path in found if path != newest]
    for path in others[: max(0, len(others) - current_settings().backup_keep + 1)]:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise BackupFailed(f"the old {path} can't be removed: {error.strerror}") from None
