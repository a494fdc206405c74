"""Restoring a backup: checked to the last byte first, then put in place all at once."""

import contextlib
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testimonials.core import clock
from testimonials.core.data.sqlite_file import count_rows, find_damage, is_in_use, read_revision
from testimonials.operations.backup.archive import (
    DATABASE,
    MARGIN_BYTES,
    SECRET,
    SETTINGS,
    ArchiveRefused,
    Manifest,
    megabytes,
    read_archive,
)
from testimonials.operations.backup.making import Instance
from testimonials.settings.instance_folder import (
    JOURNAL,
    RESTORED,
    UNFINISHED_RESTORE,
    FolderInUse,
    Move,
    own_folder,
    switch_files,
    sync,
    working_folder,
)
from testimonials.settings.secret import SettingError, read_secret_key

# What SQLite keeps beside a database; without it the database is not whole.
COMPANIONS = ("-wal", "-shm", "-journal")

# Gives the instance as it is with the settings of the backup, which lie in the folder named.
FindInstance = Callable[[Path], Instance]


class RestoreRefused(Exception):
    """Nothing was changed; the message says why."""


@dataclass(frozen=True)
class Restored:
    """What a restore has done, or would do."""

    manifest: Manifest
    instance: Instance
    # Where the old files are; None where there were none.
    kept: list[Path]
    # Whether it holds the secret: in a file of its own or among the settings.
    has_secret: bool


def restore_backup(
    source: Path,
    folder: Path,
    find_instance: FindInstance,
    *,
    known_revisions: list[str],
    is_replacing: bool,
    is_trial: bool,
) -> Restored:
    """Put the backup `source` into the instance folder; only check it if `is_trial`.

    Every check comes before the first change. Old files are put aside beside the new ones. Raises
    `RestoreRefused`, or `FolderInUse` while anything runs on the instance; a trial changes nothing
    and may be beside it.
    """
    owned = contextlib.nullcontext() if is_trial else own_folder(folder)
    try:
        with owned, working_folder(folder, UNFINISHED_RESTORE) as work:
            manifest = read_archive(source, work)
            _check(manifest, work, known_revisions)
            instance = find_instance(work)
            if not (is_replacing or is_trial):
                _refuse_loss(work, instance)
            has_secret = SECRET in manifest.members or _names_secret(work / SETTINGS)
            if is_trial:
                return Restored(manifest, instance, [], has_secret)
            if is_in_use(instance.database):
                raise FolderInUse(
                    f"Some program has {instance.database} open. Stop the service, then try again."
                )
            kept = _switch(manifest, work, instance)
            return Restored(manifest, instance, kept, has_secret)
    except ArchiveRefused as error:
        raise RestoreRefused(f"{source} can't be restored: {error}") from None
    except OSError as error:
        path = f": {error.filename}" if error.filename else ""
        raise RestoreRefused(f"The restore failed: {error.strerror or error}{path}") from None


def _check(manifest: Manifest, work: Path, known_revisions: list[str]) -> None:
    """Look into the unpacked files; raises `ArchiveRefused`."""
    if manifest.schema_revision not in known_revisions:
        raise ArchiveRefused(
            f"it was made by a newer version of this program ({manifest.program_version}, revision "
            f"{manifest.schema_revision}). Install that version"
        )
    database = work / DATABASE
    try:
        if damage := find_damage(database):
            raise ArchiveRefused(f"its database is damaged: {damage[0]}")
        if read_revision(database) != manifest.schema_revision:
            raise ArchiveRefused("its database has another revision than its manifest says")
        if count_rows(database) != manifest.rows:
            raise ArchiveRefused("its database has other rows than its manifest says")
    except sqlite3.Error as error:
        raise ArchiveRefused(f"its database can't be read: {error}") from None
    if SECRET in manifest.members:
        try:
            read_secret_key(work / SECRET)
        except SettingError:
            raise ArchiveRefused("its secret_key is none, or too short") from None


def _names_secret(settings: Path) -> bool:
    # The setting has the name of the file.
    return settings.exists() and SECRET in tomllib.loads(settings.read_text(encoding="utf-8"))


def _refuse_loss(work: Path, instance: Instance) -> None:
    """Refuse to put anything aside that is somebody's; raises `RestoreRefused`.

    Other settings, or another secret, belong to data that may lie elsewhere.
    """
    others = (
        instance.folder / name
        for name in (SECRET, SETTINGS)
        if (work / name).exists()
        and (instance.folder / name).exists()
        and (work / name).read_bytes() != (instance.folder / name).read_bytes()
    )
    for place in (instance.database, *others):
        if place.exists():
            raise RestoreRefused(
                f"{place} is there already. Add --replace to put this backup in its place; what is "
                "there now is kept beside it"
            )


def _switch(manifest: Manifest, work: Path, instance: Instance) -> list[Path]:
    places = {SECRET: instance.folder / SECRET, SETTINGS: instance.folder / SETTINGS}
    label = _new_label({instance.folder, instance.database.parent})
    moves: list[Move] = []
    # The old database's companions go before the new one comes.
    for ending in COMPANIONS:
        place = instance.database.with_name(instance.database.name + ending)
        if place.exists():
            moves.append(Move(str(place), None, str(place.parent / label / place.name)))
    try:
        for name in manifest.members:
            place = places.get(name, instance.database)
            aside = str(place.parent / label / place.name) if place.exists() else None
            moves.append(Move(str(place), str(_near(place)), aside))
            _bring_near(work / name, place)
        switch_files(instance.folder, moves)
    except BaseException:
        # Once it is written down what goes where, the next start does it.
        if not (instance.folder / JOURNAL).exists():
            for move in moves:
                if move.prepared is not None:
                    Path(move.prepared).unlink(missing_ok=True)
        raise
    return sorted({Path(move.aside).parent for move in moves if move.aside is not None})


def _new_label(folders: set[Path]) -> str:
    """Return a name for what is put aside that nothing in these folders has yet."""
    first = f"before-restore-{clock.now():%Y%m%dT%H%M%SZ}"
    names = (first, *(f"{first}-{number}" for number in range(2, 1000)))
    return next(name for name in names if not any((folder / name).exists() for folder in folders))


def _near(place: Path) -> Path:
    return place.with_name(f"{place.name}{RESTORED}")


def _bring_near(path: Path, place: Path) -> None:
    """Put an unpacked file beside the place it is for, perhaps on another disk."""
    near = _near(place)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_dev == place.parent.stat().st_dev:
        path.replace(near)
    else:
        _require_room(place.parent, path.stat().st_size)
        near.write_bytes(b"")
        near.chmod(0o600)
        with path.open("rb") as source, near.open("wb") as target:
            while chunk := source.read(1024 * 1024):
                target.write(chunk)
    sync(near)


def _require_room(folder: Path, needed: int) -> None:
    """Refuse what would fill a disk on which the service that goes on after a failure may be."""
    free = shutil.disk_usage(folder).free
    if free < needed + MARGIN_BYTES:
        raise RestoreRefused(
            f"The database needs {megabytes(needed + MARGIN_BYTES)} in {folder}, and "
            f"{megabytes(free)} are free"
        )
