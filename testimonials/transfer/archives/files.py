"""Files that commands write: whole or not at all, and readable by their owner alone."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from testimonials.core.commands import print_json
from testimonials.core.web.errors import ServiceError

force_option = click.option("--force", is_flag=True, help="Replace FILE if it exists.")


class FileRefused(ServiceError):
    code = "FILE_REFUSED"


def print_written(what: str, path: Path, *, as_json: bool) -> None:
    size = path.stat().st_size
    if as_json:
        print_json({"file": str(path), "bytes": size})
    else:
        click.echo(f"Wrote {what} to {path} ({size:,} bytes).")


@contextmanager
def writing_file(path: Path, *, is_forced: bool) -> Iterator[IO[bytes]]:
    """Yield a file that gets its name once all of it is written; raise `FileRefused`."""
    try:
        _require_place(path, is_forced=is_forced)
        # mkstemp makes a file that nobody else can read.
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise FileRefused(f"{path} can’t be written: {error.strerror}.") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError as error:
        raise FileRefused(f"{path} can’t be written: {error.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def _require_place(path: Path, *, is_forced: bool) -> None:
    if not path.exists():
        return
    if not path.is_file():
        # Replacing a device such as /dev/stdout would break the machine for everybody.
        raise FileRefused(f"{path} is not a file that can be replaced.")
    if not is_forced:
        raise FileRefused(f"{path} already exists; --force replaces it.")
