"""Where published files go: a folder, or a bucket."""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from testimonials.core.data.identifiers import new_identifier
from testimonials.publishing.buckets import BucketStore
from testimonials.settings.parsers import BUCKET

# A file that is being written; static hosts are told not to serve dot files.
UNFINISHED = ".unfinished-"


class Store(Protocol):
    """A place for files, each with a path such as ``widget/v1.js``."""

    def names(self, folder: str) -> set[str]:
        """Return the names of the files directly in a folder."""
        ...

    def folders(self, folder: str) -> Iterator[str]:
        """Return the names of the folders directly in a folder."""
        ...

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write files in any order; a reader gets the whole old or the whole new content."""
        ...

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, if they are there."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with its files, if it is there."""
        ...


class FolderStore:
    """A folder of this machine, or one that is mounted."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> set[str]:
        """Return the names of the files directly in a folder; what a crash left is removed."""
        found = set()
        with contextlib.suppress(FileNotFoundError), os.scandir(self._root / folder) as entries:
            for entry in entries:
                if entry.name.startswith(UNFINISHED):
                    Path(entry.path).unlink(missing_ok=True)
                elif entry.is_file():
                    found.add(entry.name)
        return found

    def folders(self, folder: str) -> Iterator[str]:
        """Return the names of the folders directly in a folder."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self._root / folder) as entries:
            yield from (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write each file beside its place, and move it there."""
        for path, content in files:
            self._write(self._root / path, content)

    def _write(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(UNFINISHED + new_identifier())
        try:
            unfinished.write_bytes(content)
            unfinished.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, if they are there."""
        for path in paths:
            (self._root / path).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with its files, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / folder)


def open_store(place: str) -> Store:
    """Return the store that the setting PUBLISH_TO names."""
    return BucketStore(place) if place.startswith(BUCKET) else FolderStore(Path(place))
