"""Where copies of backups go: a folder, or a bucket."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from testimonials.operations.backup.elsewhere.buckets import BucketPlace, PlaceFailed
from testimonials.operations.backup.kept import KeptBackup, list_kept
from testimonials.settings.instance_folder import give_to_owner, sync
from testimonials.settings.parsers import BUCKET

# A file that is being written.
UNFINISHED = ".unfinished-copy-"
CHUNK = 1024 * 1024
# Written to the disk as often: a burst would hold up the service's commits.
FLUSHED_AFTER = 16 * CHUNK


class Place(Protocol):
    """A place for backups; what fails raises `PlaceFailed`."""

    def list_backups(self) -> list[KeptBackup]:
        """Return the backups that are there, newest first."""
        ...

    def write(self, name: str, chunks: Iterable[bytes], size: int) -> None:
        """Write a file of about `size` bytes, which is there only when it is whole.

        What `chunks` raises ends it.
        """
        ...

    def read(self, name: str) -> Iterator[bytes]:
        """Return the content of a file, in parts."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...


class FolderPlace:
    """A folder that is mounted; it is never made, as its disk may be away."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def list_backups(self) -> list[KeptBackup]:
        """Return the backups that are there, newest first."""
        with _told():
            if not self._root.is_dir():
                raise PlaceFailed(f"there is no folder {self._root}; is its disk mounted?")
            return list_kept(self._root)

    def write(self, name: str, chunks: Iterable[bytes], size: int) -> None:
        """Write a file beside its place, and move it there once it is on the disk."""
        unfinished = self._root / f"{UNFINISHED}{name}"
        with _told():
            for abandoned in self._root.glob(f"{UNFINISHED}*"):
                abandoned.unlink()
            try:
                self._write(unfinished, chunks)
                give_to_owner(unfinished, self._root)
                unfinished.replace(self._root / name)
            except BaseException:
                with contextlib.suppress(OSError):
                    unfinished.unlink(missing_ok=True)
                raise
        # Not every kind of network disk can do this.
        with contextlib.suppress(OSError):
            sync(self._root)

    def _write(self, path: Path, chunks: Iterable[bytes]) -> None:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            left = FLUSHED_AFTER
            for chunk in chunks:
                file.write(chunk)
                left -= len(chunk)
                if left <= 0:
                    os.fsync(file.fileno())
                    left = FLUSHED_AFTER
            file.flush()
            os.fsync(file.fileno())

    def read(self, name: str) -> Iterator[bytes]:
        """Return the content of a file, in parts."""
        with _told(), (self._root / name).open("rb") as file:
            yield from iter(lambda: file.read(CHUNK), b"")

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _told():
            (self._root / name).unlink(missing_ok=True)


def open_place(address: str) -> Place:
    """Return the place that the setting BACKUP_TO names."""
    return BucketPlace(address) if address.startswith(BUCKET) else FolderPlace(Path(address))


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = f": {error.filename}" if error.filename else ""
        raise PlaceFailed(f"{error.strerror or error}{path}") from None
