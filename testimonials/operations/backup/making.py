"""Making a backup: one file that holds an instance as it was at one moment."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url

from testimonials import __version__
from testimonials.core import clock
from testimonials.core.clock import iso
from testimonials.core.data.sqlite_file import copy_database, count_rows, find_damage, read_revision
from testimonials.core.repeated_work import doing_meanwhile
from testimonials.operations.backup.archive import (
    DATABASE,
    MARGIN_BYTES,
    SECRET,
    SETTINGS,
    Manifest,
    describe_member,
    megabytes,
    write_archive,
)
from testimonials.settings.instance_folder import give_to_owner, sync, working_folder

WORK = ".unfinished-backup-"
ENDING = ".tar.gz"
FLUSH_SECONDS = 0.2


class BackupFailed(Exception):
    """There is no backup; the message says why, and nothing was left behind."""


@dataclass(frozen=True)
class Instance:
    """Where an instance keeps what a backup holds."""

    folder: Path
    database: Path


def find_instance(folder: Path, database_url: str) -> Instance:
    """Return the instance in `folder`; raises `BackupFailed` where it isn't on SQLite.

    Its database is the file itself, where a link stands in its place: SQLite keeps the log there.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise BackupFailed(
            "The data is in PostgreSQL, which is backed up with its own tools: run pg_dump "
            "--format=custom for the database, and keep secret_key and testimonials.toml of "
            f"{folder} with it. docs/operating.md has the commands"
        )
    return Instance(folder, Path(url.database).resolve())


def name_backup(kind: str) -> str:
    """Return the file name of a backup made now, such as scheduled-20260131T235959Z.tar.gz."""
    return f"{kind}-{clock.now():%Y%m%dT%H%M%SZ}{ENDING}"


def make_backup(instance: Instance, target: Path) -> Manifest:
    """Write a backup of a running or a stopped instance to the new file `target`.

    The file gets its name when it is complete and on the disk. One that is there is never
    replaced. Raises `BackupFailed`.
    """
    if os.path.lexists(target):
        raise BackupFailed(f"{target} is there already")
    if not instance.database.exists():
        raise BackupFailed(f"there is no database at {instance.database}")
    try:
        _require_room(instance, target.parent)
        with working_folder(target.parent, WORK) as folder, _flowing(folder):
            manifest = _write(instance, folder)
            finished = folder / "archive"
            give_to_owner(finished, target.parent)
            _give_name(finished, target)
        sync(target.parent)
    except sqlite3.Error as error:
        raise BackupFailed(f"the database can't be copied: {error}") from None
    except OSError as error:
        raise BackupFailed(f"{target.parent} can't be written to: {_describe(error)}") from None
    return manifest


def _write(instance: Instance, folder: Path) -> Manifest:
    copy = folder / DATABASE
    copy_database(instance.database, copy)
    revision = read_revision(copy)
    if revision is None:
        raise BackupFailed(f"{instance.database} holds no data of this program")
    # A damaged database must not push the last sound backups out.
    if damage := find_damage(copy):
        raise BackupFailed(f"the database is damaged: {damage[0]}")
    files = {DATABASE: copy}
    for name in (SECRET, SETTINGS):
        if (source := instance.folder / name).exists():
            files[name] = folder / name
            files[name].write_bytes(_read(source))
    manifest = Manifest(
        program_version=__version__,
        schema_revision=revision,
        created_at=iso(clock.now()),
        rows=count_rows(copy),
        members={name: describe_member(path) for name, path in files.items()},
    )
    write_archive(folder / "archive", manifest, files)
    return manifest


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackupFailed(f"{path} can't be read: {_describe(error)}") from None


@contextlib.contextmanager
def _flowing(folder: Path) -> Iterator[None]:
    """Let what is written go to the disk bit by bit.

    Hundreds of megabytes at once would make every commit of the service wait, for many seconds.
    """

    def flush() -> None:
        for path in list(folder.iterdir()):
            # It may be gone again; whether writing works is found out by those who write.
            with contextlib.suppress(OSError):
                sync(path)

    with doing_meanwhile(flush, FLUSH_SECONDS, "flush"):
        yield


def _require_room(instance: Instance, folder: Path) -> None:
    """Refuse what would fill the disk: the copy and, at worst, an archive as large as it."""
    needed = 2 * instance.database.stat().st_size + MARGIN_BYTES
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < needed:
        raise BackupFailed(
            f"there is too little room in {folder}: {megabytes(needed)} are needed for a while, "
            f"{megabytes(free)} are free"
        )


def _give_name(finished: Path, target: Path) -> None:
    try:
        # A link, unlike a rename, never replaces what somebody has just put there.
        os.link(finished, target)
    except FileExistsError:
        raise BackupFailed(f"{target} is there already") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
            raise
        # Some disks have no links.
        finished.rename(target)


def _describe(error: OSError) -> str:
    return error.strerror or str(error)
