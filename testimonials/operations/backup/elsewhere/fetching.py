"""Backups as files to read, wherever they are: here or in BACKUP_TO, encrypted or not."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from testimonials.operations.backup.archive import RestoreRefused
from testimonials.operations.backup.elsewhere.buckets import PlaceFailed
from testimonials.operations.backup.elsewhere.places import CHUNK, FolderPlace, Place, open_place
from testimonials.operations.backup.elsewhere.sealing import SUFFIX, Chunks, SealFailed, unsealed
from testimonials.operations.backup.kept import read_time
from testimonials.settings.instance_folder import sync
from testimonials.settings.table import Settings

# Instead of a name: the newest scheduled one.
NEWEST = "newest"
NO_PLACE = "the setting BACKUP_TO, which says where backups are, is empty"


@contextlib.contextmanager
def opened_backup(settings: Settings, source: str) -> Iterator[IO[bytes]]:
    """Open a backup to be read once: a file, or the name of one in BACKUP_TO, or `newest` there.

    It is decrypted on the way. Raises `RestoreRefused`.
    """
    path = Path(source)
    is_file = path.is_file() or (read_time(source) is None and source != NEWEST)
    try:
        if is_file:
            place: Place = FolderPlace(path.absolute().parent)
            name = path.name
        else:
            place = require_place(settings)
            name = find_name(place, source)
        with _decrypted(place.read(name), name, settings) as file:
            yield file
    except (PlaceFailed, SealFailed) as error:
        raise RestoreRefused(str(error)) from None


def require_place(settings: Settings) -> Place:
    """Return the place BACKUP_TO; raise `RestoreRefused` if it isn't set."""
    if not settings.backup_to:
        raise RestoreRefused(NO_PLACE)
    return open_place(settings.backup_to)


def find_name(place: Place, name: str) -> str:
    """Return which file of a place is meant, by its name with or without .age, or by `newest`.

    Raises `RestoreRefused`.
    """
    found = place.list_backups()
    if name == NEWEST:
        found = [each for each in found if each.is_scheduled]
    else:
        found = [each for each in found if each.name in (name, f"{name}{SUFFIX}")]
    if not found:
        what = "no scheduled backup" if name == NEWEST else f"no backup {name}"
        raise RestoreRefused(f"there is {what} in BACKUP_TO; `testimonials backup list` has them")
    return found[0].name


def fetch_backup(settings: Settings, name: str, target: Path) -> Path:
    """Write a backup from BACKUP_TO, decrypted, to the new file `target`, or into that folder.

    Raises `RestoreRefused`.
    """
    try:
        if target.is_dir():
            target /= find_name(require_place(settings), name).removesuffix(SUFFIX)
        unfinished = target.with_name(f".unfinished-{target.name}")
        if os.path.lexists(target):
            raise RestoreRefused(f"{target} already exists")
        try:
            with (
                opened_backup(settings, name) as file,
                os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as copy,
            ):
                for chunk in iter(lambda: file.read(CHUNK), b""):
                    copy.write(chunk)
            sync(unfinished)
            unfinished.rename(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except PlaceFailed as error:
        raise RestoreRefused(str(error)) from None
    except OSError as error:
        raise RestoreRefused(f"{error.strerror or error}: {error.filename or target}") from None
    return target


@contextlib.contextmanager
def _decrypted(chunks: Iterator[bytes], name: str, settings: Settings) -> Iterator[IO[bytes]]:
    if not name.endswith(SUFFIX):
        yield cast(IO[bytes], io.BufferedReader(Chunks(chunks), CHUNK))
        return
    if not settings.backup_age_identity:
        raise SealFailed(
            "it is encrypted, and BACKUP_AGE_IDENTITY names no file with the private key"
        )
    with unsealed(chunks, Path(settings.backup_age_identity)) as file:
        yield file
