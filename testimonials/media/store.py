"""Where recordings are kept: files named by their ids, in the folder `media` of the instance."""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from testimonials.core.data.identifiers import is_identifier
from testimonials.media.refusals import NoRoom, OffsetWrong, RecordingGone
from testimonials.settings.current import current_settings
from testimonials.settings.instance_folder import sync

FOLDER = "media"
# The database and everything else need the rest of the disk.
SPARED_BYTES = 256 * 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def media_folder() -> Path:
    return current_settings().instance_path / FOLDER


def path_of(recording_id: str) -> Path:
    if not is_identifier(recording_id):
        raise ValueError(recording_id)
    return media_folder() / recording_id


def size_of(recording_id: str) -> int:
    """Return how many bytes of a recording there are; 0 if there is no file."""
    try:
        return path_of(recording_id).stat().st_size
    except FileNotFoundError:
        return 0


def require_room(size: int) -> None:
    """Raise `NoRoom` if a file of `size` bytes would nearly fill the disk."""
    media_folder().mkdir(mode=0o700, exist_ok=True)
    if shutil.disk_usage(media_folder()).free < size + SPARED_BYTES:
        raise NoRoom


def append_piece(recording_id: str, offset: int, piece: bytes) -> int:
    """Append a piece that begins at `offset`; return where it ends.

    The file alone knows how much has arrived, so that a process killed in the middle of a piece
    loses nothing. Raises `OffsetWrong`, and `NoRoom` with the file as it was.
    """
    media_folder().mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path_of(recording_id), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if end != offset:
            raise OffsetWrong(end)
        try:
            left = memoryview(piece)
            while left:
                left = left[os.write(descriptor, left) :]
        except OSError as error:
            os.ftruncate(descriptor, end)
            if error.errno in FULL:
                raise NoRoom from None
            raise
        return end + len(piece)
    finally:
        os.close(descriptor)


def keep_file(recording_id: str, source: IO[bytes]) -> None:
    """Store a whole file, on the disk once this returns. Raises `NoRoom` and leaves nothing."""
    media_folder().mkdir(mode=0o700, exist_ok=True)
    path = path_of(recording_id)
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(source, file, 1024 * 1024)
        flush(recording_id)
    except OSError as error:
        path.unlink(missing_ok=True)
        if error.errno in FULL:
            raise NoRoom from None
        raise


@contextlib.contextmanager
def hold(recording_id: str) -> Iterator[Path]:
    """Let nobody else hold or append to a file meanwhile. Raises `RecordingGone` and `NoRoom`."""
    path = path_of(recording_id)
    try:
        with contextlib.ExitStack() as held:
            while True:
                file = held.enter_context(path.open("rb"))
                fcntl.flock(file, fcntl.LOCK_EX)
                # While this waited, it may have been written anew.
                if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                    break
            yield path
    except FileNotFoundError:
        raise RecordingGone from None
    except OSError as error:
        if error.errno in FULL:
            raise NoRoom from None
        raise


def flush(recording_id: str) -> None:
    """Wait until a file and its name are on the disk."""
    sync(path_of(recording_id))
    sync(media_folder())


def remove_files(names: Iterable[str]) -> None:
    for name in names:
        (media_folder() / name).unlink(missing_ok=True)


def list_files() -> dict[str, os.stat_result]:
    """Return what is known of each file by its recording's id."""
    found = {}
    with contextlib.suppress(FileNotFoundError), os.scandir(media_folder()) as entries:
        for entry in entries:
            # It may have been removed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                found[entry.name] = entry.stat()
    return found
