"""Small disks that fill up or become read-only, where this machine lets one mount."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


def mount(*arguments: object) -> bool:
    """Run mount or umount; tell whether it was allowed."""
    return subprocess.run(map(str, arguments), capture_output=True, check=False).returncode == 0


def fill(path: Path) -> None:
    """Write a file for as long as its disk has room."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@contextmanager
def small_disk(folder: Path, size: str = "20m") -> Iterator[Path]:
    """Make `folder` a disk of its own of that size; skip the test where that is not allowed."""
    folder.mkdir()
    if not mount("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder):
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        # A test may have mounted another one over it.
        while mount("umount", "-l", folder):
            pass
