"""What the admin commands share: JSON or a table, and errors as one sentence."""

import contextlib
import errno
import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import with_appcontext

from testimonials.core.db.migrate import require_head
from testimonials.core.db.outages import MAKE_ROOM, is_disk_full, telling_trouble
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.text import make_printable, write_json

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def database_command(command: Command) -> Command:
    """Run a command in the application, after checking the database's schema.

    A `ServiceError`, or a database that is busy, full, read-only or unreachable, becomes a sentence
    on standard error.
    """

    @functools.wraps(command)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        try:
            with telling_trouble():
                require_head(db.engine)
                return command(*arguments, **options)
        except ServiceError as error:
            raise click.ClickException(make_printable(error.message)) from None
        except UnicodeEncodeError:
            raise click.ClickException("An argument is not valid UTF-8 text.") from None

    return with_appcontext(wrapper)


def describe_refusal(error: OSError) -> str | None:
    """Return a sentence about what the system refused; None if the program is at fault."""
    # A closed pipe is handled by click.
    if error.errno in (None, errno.EPIPE):
        return None
    where = f" ({error.filename})" if error.filename else ""
    advice = f" {MAKE_ROOM}" if is_disk_full(error) else ""
    return f"The operating system refused: {error.strerror}{where}.{advice}"


def print_json(value: object) -> None:
    click.echo(write_json(value))


def print_rows(rows: Sequence[dict[str, Any]], *, as_json: bool, empty: str) -> None:
    """Print rows as JSON or as aligned columns, or `empty` if there are none."""
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo(empty)
        return
    names = list(rows[0])
    table = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(names))]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def print_record(record: dict[str, Any], *, as_json: bool) -> None:
    """Print one record as JSON or as lines of name and value."""
    if as_json:
        print_json(record)
        return
    width = max(len(name) for name in record)
    for name, value in record.items():
        click.echo(f"{name.ljust(width)}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return make_printable(text)


# Files that commands write: whole or not at all, and readable by their owner alone.

force_option = click.option("--force", is_flag=True, help="Replace FILE if it exists.")


class FileRefused(ServiceError):
    code = "FILE_REFUSED"


def print_written(what: str, path: Path, *, as_json: bool) -> None:
    size = path.stat().st_size
    if as_json:
        print_json({"file": str(path), "bytes": size})
    else:
        click.echo(f"Wrote {what} to {path} ({size:,} bytes).")


@contextlib.contextmanager
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
