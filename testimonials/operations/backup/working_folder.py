"""The temporary folders in which backups are packed and unpacked."""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# The service needs room to write, too.
MARGIN_BYTES = 32 * 1024 * 1024


@contextlib.contextmanager
def working_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in `parent`, and remove it with everything in it at the end.

    Only one process at a time works in `parent`, so any other such folder was left by a process
    that was killed, and is removed first.
    """
    descriptor = os.open(parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for abandoned in parent.glob(f"{prefix}*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as folder:
            yield Path(folder)
    finally:
        os.close(descriptor)


def require_room(folder: Path, size: int) -> None:
    """Raise `OSError` if `size` bytes would nearly fill the disk."""
    needed, free = size + MARGIN_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            errno.ENOSPC, f"{needed / 1e6:.0f} MB are needed and {free / 1e6:.0f} MB are free"
        )
