"""Rehearsals: the newest backup is restored into a temporary folder, and checked."""

import logging
import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import begin_write, db
from testimonials.migrations import checks, runner
from testimonials.migrations.words_check import find_wrong_words
from testimonials.operations.backup.archive import DATABASE, Manifest, RestoreRefused, read_archive
from testimonials.operations.backup.elsewhere.buckets import PlaceFailed
from testimonials.operations.backup.elsewhere.copying import read_stored
from testimonials.operations.backup.elsewhere.erased import list_erased
from testimonials.operations.backup.elsewhere.fetching import (
    NEWEST,
    find_name,
    opened_backup,
    require_place,
)
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.notices import (
    tell_of_failed_rehearsal,
    tell_that_rehearsals_work,
)
from testimonials.operations.backup.restoring import check_backup
from testimonials.operations.backup.scheduled import find_newest
from testimonials.operations.backup.working_folder import working_folder
from testimonials.operations.database.engines import opened_file
from testimonials.privacy.erased_list import ListDamaged
from testimonials.privacy.erasing_again import erase_again
from testimonials.settings.current import current_settings
from testimonials.settings.table import Settings
from testimonials.testimonials.counts.checking import find_wrong_counts

logger = logging.getLogger("testimonials")

LONGEST_REHEARSAL = timedelta(days=1)
RETRIED_AFTER = timedelta(days=1)
WORK = ".unfinished-rehearsal-"


class RehearsalFailed(BackupFailed):
    """A backup can't be restored; the message says why."""

    what = "no rehearsal of a restore"


@dataclass(frozen=True)
class Rehearsed:
    """A backup that was restored on trial."""

    source: str
    manifest: Manifest
    # How much of it was erased after it was made, and was again.
    erased_again: int


def is_rehearsal_wanted() -> bool:
    """Return whether there is a backup to rehearse, and a rehearsal is wanted."""
    settings = current_settings()
    if not settings.backup_rehearsal_days:
        return False
    if not can_fetch(settings):
        return find_newest() is not None
    has_stored = bool(read_stored(settings.backup_to))
    db.session.rollback()
    return has_stored


def is_rehearsal_due(row: BackgroundJob) -> bool:
    """Return whether it is time for the next rehearsal, sooner if the last failed."""
    length = timedelta(days=current_settings().backup_rehearsal_days)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return is_over(row.started_at, length)


def rehearse_newest() -> Rehearsed:
    """Restore the newest backup on trial, and mail the operator if that fails; commits.

    Raises `RehearsalFailed`.
    """
    try:
        done = rehearse(current_settings(), _choose_newest())
    except RehearsalFailed as error:
        begin_write()
        tell_of_failed_rehearsal(str(error))
        db.session.commit()
        raise
    begin_write()
    tell_that_rehearsals_work()
    db.session.commit()
    logger.info("restored on trial, and sound: %s", done.source)
    return done


def can_fetch(settings: Settings) -> bool:
    """Return whether what is in BACKUP_TO can be read here."""
    is_readable = not settings.backup_age_recipients or bool(settings.backup_age_identity)
    return bool(settings.backup_to) and is_readable


def rehearse(settings: Settings, source: str) -> Rehearsed:
    """Restore a backup into a temporary folder, upgrade it there, and check everything.

    What was erased since is erased from it, as a restore does. Recordings are compared with their
    checksums and not kept. Raises `RehearsalFailed`.
    """
    try:
        if source == NEWEST:
            source = find_name(require_place(settings), NEWEST)
        with working_folder(settings.instance_path, WORK) as work:
            with opened_backup(settings, source) as stream:
                manifest = read_archive(stream, work, keeps_recordings=False)
            check_backup(manifest, work)
            erased = list_erased(source, settings, settings.database_file, work / DATABASE)
            erased_again = erase_again(work, work / DATABASE, erased)
            findings = _check_whole(work / DATABASE)
    except (RestoreRefused, PlaceFailed, ListDamaged, runner.SchemaError) as error:
        raise RehearsalFailed(f"{source}: {error}") from None
    except (DatabaseError, sqlite3.Error) as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        raise RehearsalFailed(f"{source}: its database can't be used: {reason}") from None
    except OSError as error:
        raise RehearsalFailed(f"{source}: {error.strerror or error}") from None
    if findings:
        raise RehearsalFailed(f"{source}: {findings[0]}")
    return Rehearsed(source, manifest, erased_again)


def _choose_newest() -> str:
    settings = current_settings()
    if can_fetch(settings):
        return NEWEST
    newest = find_newest()
    return str(Path(settings.backup_path) / newest.name) if newest else NEWEST


def _check_whole(database: Path) -> list[str]:
    """Do what the next start and `db check` would do; return what is wrong."""
    with opened_file(database) as engine:
        runner.upgrade(engine)
        if findings := checks.check_database(engine):
            return findings
        with engine.connect() as connection:
            return find_wrong_counts(connection) + find_wrong_words(connection)
