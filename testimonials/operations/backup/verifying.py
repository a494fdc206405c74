"""Whether the newest backup is good, and in what state backups are."""

import logging
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from testimonials.core import clock
from testimonials.core.db import migrate
from testimonials.core.db.kept_backups import KeptBackup, list_kept
from testimonials.core.extensions import db
from testimonials.core.jobs import Job, every, is_over
from testimonials.core.settings.current import current_settings
from testimonials.core.settings.table import Settings
from testimonials.operations.backup import archive, creating, offsite
from testimonials.operations.backup.restoring import check_backup, list_erased
from testimonials.operations.database import opened_file
from testimonials.testimonials.counts import find_wrong_counts
from testimonials.testimonials.search import find_wrong_words
from testimonials.transfer.erasure import ListDamaged, erase_again

# How backups are: for the operator's page and the commands.


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


def describe_backups() -> BackupState:
    """Return how backups are; asks no other machine."""
    settings = current_settings()
    names = (creating.BACKUP_JOB, creating.COPY_JOB, creating.VERIFY_JOB)
    made, copied, verified = (db.session.get(Job, name) or Job(id=name) for name in names)
    place = settings.backup_to
    found = offsite.read_stored(place) if place else list_kept(Path(settings.backup_path))
    newest = next((each for each in found if each.is_scheduled), None)
    steps = [made, copied] if offsite.is_copy_wanted() else [made]
    return BackupState(
        place=settings.backup_to or settings.backup_path,
        last_at=newest.made_at if newest else None,
        last_size=newest.size if newest else None,
        last_error=next((row.error for row in steps if row.error), None),
        verified_at=verified.finished_at,
        verified_error=verified.error,
        is_running=any(row.leased_until and row.leased_until > clock.now() for row in steps),
    )


def drop_old(*, is_trial: bool = False) -> list[KeptBackup]:
    """Remove from BACKUP_PATH all but the newest scheduled and the newest other one; return them.

    BACKUP_TO keeps what it has. Raises `BackupFailed`.
    """
    folder = Path(current_settings().backup_path)
    kept = list_kept(folder)
    newest = {each.is_scheduled: each for each in reversed(kept)}
    old = [each for each in kept if each not in newest.values()]
    creating.remove_backups(folder, [] if is_trial else [each.name for each in old])
    return old


# Whether the newest backup can be restored: it is, into a temporary folder, and checked there.

logger = logging.getLogger("testimonials")

LONGEST_VERIFY = timedelta(days=1)
RETRIED_AFTER = timedelta(days=1)
WORK = ".unfinished-verify-"


class VerifyFailed(creating.BackupFailed):
    """A backup can't be restored; the message says why."""

    what = "no backup that can be restored"


@dataclass(frozen=True)
class Verified:
    """A backup that was restored on trial."""

    source: Path
    manifest: archive.Manifest
    # How much of it was erased after it was made, and was again.
    erased_again: int


def is_verify_due(row: Job) -> bool:
    """Return whether it is time to verify again, sooner if the last time failed."""
    settings = current_settings()
    has_one = (
        offsite.read_stored(settings.backup_to) if settings.backup_to else creating.find_newest()
    )
    if not settings.backup_verify_days or not has_one:
        return False
    length = timedelta(days=settings.backup_verify_days)
    if row.error is not None or row.leased_until is not None:
        length = min(length, RETRIED_AFTER)
    return is_over(row.started_at, length)


@every(creating.VERIFY_JOB, "backups", longest=LONGEST_VERIFY, is_due=is_verify_due)
def verify_newest() -> Verified:
    """Verify the newest backup in BACKUP_TO, or in BACKUP_PATH; raise `VerifyFailed`."""
    settings = current_settings()
    folder = Path(settings.backup_to or settings.backup_path)
    try:
        found = offsite.list_copies(folder) if settings.backup_to else list_kept(folder)
    except offsite.CopyFailed as error:
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
        with archive.working_folder(settings.instance_path, WORK) as work:
            with source.open("rb") as stream:
                manifest = archive.read_archive(stream, work, keeps_recordings=False)
            check_backup(manifest, work)
            erased = list_erased(source, settings, settings.database_file, work / archive.DATABASE)
            erased_again = erase_again(work, work / archive.DATABASE, erased)
            findings = _check_whole(work / archive.DATABASE)
    except (archive.RestoreRefused, ListDamaged, migrate.SchemaError) as error:
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
        migrate.upgrade(engine)
        if findings := migrate.check_database(engine):
            return findings
        with engine.connect() as connection:
            return find_wrong_counts(connection) + find_wrong_words(connection)
