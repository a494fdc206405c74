"""Making a backup: one file with an instance as it was at one moment."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from click import ClickException

from testimonials import __version__
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.damage import describe_damage, is_damage
from testimonials.core.data.sqlite_file import (
    copy_database,
    count_rows,
    find_damage,
    list_recordings,
    read_revision,
)
from testimonials.core.repeated_work import repeating
from testimonials.media.store import FOLDER
from testimonials.operations.backup.archive import (
    DATABASE,
    FORMAT,
    FORMAT_VERSION,
    SECRET,
    SETTINGS,
    Manifest,
    describe_member,
    require_room,
    working_folder,
    write_archive,
)
from testimonials.operations.database.move import copy_to_file, measure_postgres
from testimonials.settings.instance_folder import give_to_owner, sync
from testimonials.settings.table import Settings

WORK = ".unfinished-backup-"
FLUSH_SECONDS = 0.2


class BackupFailed(Exception):
    """No backup was made, and nothing was left behind; the message says why."""

    what = "no backup"


def name_backup(kind: str) -> str:
    """Return the file name of a backup made now, such as scheduled-20260131T235959Z.tar.gz."""
    return f"{kind}-{clock.now():%Y%m%dT%H%M%SZ}.tar.gz"


def make_backup(settings: Settings, target: Path) -> Manifest:
    """Write a backup of the instance, which may be running, to the new file `target`.

    The file appears once it is complete and on the disk. Raises `BackupFailed`.
    """
    if not settings.has_instance:
        raise BackupFailed(f"there is no database at {settings.database_file}")
    try:
        with working_folder(target.parent, WORK) as folder, _flowing(folder):
            if os.path.lexists(target):
                raise BackupFailed(f"{target} already exists")
            # The copy and, at worst, an archive of the same size.
            recorded = sum(path.stat().st_size for path in _find_media(settings.instance_path))
            require_room(folder, 2 * _measure_database(settings) + recorded)
            manifest = _write(settings, folder)
            give_to_owner(folder / "archive", target.parent)
            (folder / "archive").rename(target)
        sync(target.parent)
    except sqlite3.Error as error:
        reason = f"the database can't be copied: {error}"
        if is_damage(error):
            reason = _begin_small(describe_damage(str(error)))
        raise BackupFailed(reason) from None
    except ClickException as error:
        raise BackupFailed(_begin_small(error.message)) from None
    except OSError as error:
        raise BackupFailed(
            f"{target.parent} can't be written to: {error.strerror or error}"
        ) from None
    return manifest


def _measure_database(settings: Settings) -> int:
    """Return how many bytes a copy of the database may take."""
    if settings.database_file is None:
        return measure_postgres(settings.database_url)
    return settings.database_file.stat().st_size


def _write(settings: Settings, folder: Path) -> Manifest:
    copy, instance = folder / DATABASE, settings.instance_path
    if settings.database_file is None:
        copy_to_file(settings.database_url, copy)
    else:
        # Links are followed, because SQLite keeps its log beside the file itself.
        copy_database(settings.database_file.resolve(), copy)
    revision = read_revision(copy)
    if revision is None:
        raise BackupFailed(f"{settings.database_file} is not a database of this program")
    # Backups of a damaged database must not push out the last sound ones.
    if damage := find_damage(copy):
        raise BackupFailed(_begin_small(describe_damage(damage[0])))
    files = {DATABASE: copy}
    for name in (SECRET, SETTINGS):
        if (source := instance / name).exists():
            files[name] = folder / name
            files[name].write_bytes(_read(source))
    files |= _take_recordings(instance, copy, folder)
    manifest: Manifest = {
        "format": FORMAT,
        "formatVersion": FORMAT_VERSION,
        "programVersion": __version__,
        "schemaRevision": revision,
        "createdAt": iso(clock.now()),
        "rows": count_rows(copy),
        "members": {name: describe_member(path) for name, path in files.items()},
    }
    write_archive(folder / "archive", manifest, files)
    return manifest


def _find_media(instance: Path) -> list[Path]:
    folder = instance / FOLDER
    return list(folder.iterdir()) if folder.is_dir() else []


def _take_recordings(instance: Path, copy: Path, folder: Path) -> dict[str, Path]:
    """Return the files of the recordings that the copied database has, by their names in a backup.

    Whole ones never change. They are linked, so that one that is deleted meanwhile is still there.
    """
    taken = {}
    (folder / FOLDER).mkdir()
    for recording_id in list_recordings(copy):
        source, link = instance / FOLDER / recording_id, folder / FOLDER / recording_id
        with contextlib.suppress(FileNotFoundError):
            try:
                os.link(source, link)
            except FileNotFoundError:
                raise
            except OSError:
                # On another disk, or one that knows no links.
                link = source
            taken[f"{FOLDER}/{recording_id}"] = link
    return taken


def _begin_small(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackupFailed(f"{path} can't be read: {error.strerror or error}") from None


@contextlib.contextmanager
def _flowing(folder: Path) -> Iterator[None]:
    """Flush to the disk bit by bit: a burst would hold up the service's commits for seconds."""

    def flush() -> None:
        for path in list(folder.iterdir()):
            # It may be gone already; the writer notices if writing fails.
            with contextlib.suppress(OSError):
                sync(path)

    with repeating(flush, FLUSH_SECONDS, "flush"):
        yield
