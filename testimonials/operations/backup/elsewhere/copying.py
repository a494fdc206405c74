"""The job that copies backups to BACKUP_TO."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import IO

from sqlalchemy import delete, select

from testimonials.core.data.leases import BackgroundJob, is_over
from testimonials.extensions import begin_write, db
from testimonials.operations.backup.elsewhere.buckets import PlaceFailed
from testimonials.operations.backup.elsewhere.places import CHUNK, Place, open_place
from testimonials.operations.backup.elsewhere.sealing import SUFFIX, SealFailed, seal
from testimonials.operations.backup.kept import KeptBackup, choose_expired, sort_kept
from testimonials.operations.backup.making import BackupFailed
from testimonials.operations.backup.models import StoredBackup
from testimonials.operations.backup.notices import tell_of_failed_copy, tell_that_copies_work
from testimonials.operations.backup.scheduled import RETRIED_AFTER, find_newest
from testimonials.settings.current import current_settings

logger = logging.getLogger("testimonials")

LONGEST_COPY = timedelta(days=1)


class CopyFailed(BackupFailed):
    """A backup was not copied; the message says why."""

    what = "no copy of the backup"


def is_copy_wanted() -> bool:
    """Return whether backups of this instance are copied."""
    return bool(current_settings().backup_to)


def is_copy_due(row: BackgroundJob) -> bool:
    """Return whether the newest backup isn't in BACKUP_TO, an hour after a failure.

    Of several hosts, each with a BACKUP_PATH of its own, the one that made it copies it.
    """
    if (newest := find_newest()) is None:
        return False
    stored = read_stored(current_settings().backup_to)
    if any(each.made_at > newest.made_at for each in stored if each.is_scheduled):
        return False
    if row.error is not None or row.leased_until is not None:
        return is_over(row.started_at, RETRIED_AFTER)
    return _names_of(newest).isdisjoint(each.name for each in stored)


def read_stored(address: str) -> list[KeptBackup]:
    """Return the backups that were in BACKUP_TO when it was last asked, newest first."""
    rows = db.session.scalars(select(StoredBackup).where(StoredBackup.place == address))
    return sort_kept(KeptBackup(row.name, row.size, row.made_at) for row in rows)


def copy_newest() -> str:
    """Copy the newest backup to BACKUP_TO, and return its name there; mail about failures.

    Old copies are removed. Commits. Raises `CopyFailed`.
    """
    try:
        name = _copy(current_settings().backup_to)
    except (PlaceFailed, SealFailed, OSError) as error:
        failure = CopyFailed(str(error))
        begin_write()
        tell_of_failed_copy(str(failure))
        db.session.commit()
        raise failure from None
    begin_write()
    tell_that_copies_work()
    db.session.commit()
    logger.info("backup copied: %s", name)
    return name


def forget_stored() -> None:
    """Forget what was in BACKUP_TO, which may have been emptied on purpose; the caller commits."""
    db.session.execute(delete(StoredBackup))


def _copy(address: str) -> str:
    place = open_place(address)
    found = place.list_backups()
    known = read_stored(address)
    db.session.rollback()
    if known and not found:
        # A disk that isn't mounted leaves an empty folder.
        raise PlaceFailed(
            f"{address} is empty, but had {len(known)} backup(s); is its disk mounted? If it was "
            "emptied on purpose, run `testimonials backup now`"
        )
    if (newest := find_newest()) is None:
        raise PlaceFailed(f"there is no scheduled backup in {current_settings().backup_path}")
    names = [each.name for each in found if each.name in _names_of(newest)]
    name = names[0] if names else _send(place, newest)
    try:
        for each in choose_expired(place.list_backups(), current_settings()):
            # Kept even if the clock was ahead when the others were made.
            if each.name != name:
                place.remove(each.name)
    finally:
        _note(address, place.list_backups())
    return name


def _names_of(backup: KeptBackup) -> set[str]:
    return {backup.name, f"{backup.name}{SUFFIX}"}


def _send(place: Place, backup: KeptBackup) -> str:
    recipients = current_settings().backup_age_recipients
    name = f"{backup.name}{SUFFIX}" if recipients else backup.name
    with (Path(current_settings().backup_path) / backup.name).open("rb") as file:
        chunks = seal(file, recipients) if recipients else _read(file)
        place.write(name, chunks, backup.size)
    return name


def _read(file: IO[bytes]) -> Iterator[bytes]:
    yield from iter(lambda: file.read(CHUNK), b"")


def _note(address: str, found: list[KeptBackup]) -> None:
    begin_write()
    db.session.execute(delete(StoredBackup))
    db.session.add_all(
        StoredBackup(name=each.name, size=each.size, made_at=each.made_at, place=address)
        for each in found
    )
    db.session.commit()
