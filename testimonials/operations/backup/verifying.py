"""Whether the newest backup can be restored: it is, into a temporary folder, and checked there."""

import logging
import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from testimonials.core.data.kept_backups import list_kept
from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import db
from testimonials.migrations import checks, runner
from testimonials.migrations.words_check import find_wrong_words
from testimonials.operations.backup.archive import (
    DATABASE,
    Manifest,
    RestoreRefused,
    read_archive,
    working_folder,
)
from testimonials.operations.backup.command import CopyFailed
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.offsite import list_copies, read_stored
from testimonials.operations.backup.restoring import check_backup, list_erased
from testimonials.operations.backup.scheduled import find_newest
from testimonials.operations.database.engines import opened_file
from testimonials.privacy.erased_list import ListDamaged
from testimonials.privacy.erasing_again import erase_again
from testimonials.settings.current import current_settings
from testimonials.settings.table import Settings
from testimonials.testimonials.counts.checking import find_wrong_counts

logger = logging.getLogger("testimonials")

LONGEST_VERIFY = timedelta(days=1)
RETRIED_AFTER = timedelta(days=1)
WORK = ".unfinished-verify-"


class VerifyFailed(BackupFailed):
    """A backup can't be restored; the message says why."""

    what = "no backup that can be restored"


@dataclass(frozen=True)
class Verified:
    """A backup that was restored on trial."""

    source: Path
    manifest: Manifest
    # How much of it was erased after it was made, and was again.
    erased_again: int


def is_verify_wanted() -> bool:
    """Return whether there is a backup to verify, and that is wanted."""
    settings = current_settings()
    if not settings.backup_verify_days:
        return False
    if not settings.backup_to:
        return find_newest() is not None
    has_stored = bool(read_stored(settings.backup_to))
    db.session.rollback()
    return has_stored


def is_verify_due(row: BackgroundJob) -> bool:
    """Return whether it is time to verify again, sooner if the last time failed."""
    length = timedelta(days=current_settings().backup_verify_days)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return is_over(row.started_at, length)


def verify_newest() -> Verified:
    """Verify the newest backup in BACKUP_TO, or in BACKUP_PATH; raise `VerifyFailed`."""
    settings = current_settings()
    folder = Path(settings.backup_to or settings.backup_path)
    try:
        found = list_copies(folder) if settings.backup_to else list_kept(folder)
    except CopyFailed as error:
        raise VerifyFailed(str(error)) from None
    newest = next((each for each in found if each.is_scheduled), None)
    if newest is None:
        raise VerifyFailed(f"there is no scheduled backup in {folder}")
    done = verify(settings, folder / newest.name)
    logger.info("restored on trial, and sound: %s", done.source)
    return done


def verify(settings: Settings, source: Path) -> Verified:
    """Restore a backup into a temporary folder, upgrade it there, and check everything.

    What was erased since is erased from it, as a restore does. Recordings are compared with their
    checksums and not kept. Raises `VerifyFailed`.
    """
    try:
        with working_folder(settings.instance_path, WORK) as work:
            with source.open("rb") as stream:
                manifest = read_archive(stream, work, keeps_recordings=False)
            check_backup(manifest, work)
            erased = list_erased(source, settings, settings.database_file, work / DATABASE)
            erased_again = erase_again(work, work / DATABASE, erased)
            findings = _check_whole(work / DATABASE)
    except (RestoreRefused, ListDamaged, runner.SchemaError) as error:
        raise VerifyFailed(f"{source}: {error}") from None
    except (DatabaseError, sqlite3.Error) as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        raise VerifyFailed(f"{source}: its database can't be used: {reason}") from None
    except OSError as error:
        raise VerifyFailed(f"{source}: {error.strerror or error}") from None
    if findings:
        raise VerifyFailed(f"{source}: {findings[0]}")
    return Verified(source, manifest, erased_again)


def _check_whole(database: Path) -> list[str]:
    """Do what the next start and `db check` would do; return what is wrong."""
    with opened_file(database) as engine:
        runner.upgrade(engine)
        if findings := checks.check_database(engine):
            return findings
        with engine.connect() as connection:
            return find_wrong_counts(connection) + find_wrong_words(connection)
