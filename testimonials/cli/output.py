"""Declaring commands and printing their output: JSON, a table, a record or sentences."""

import functools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple, overload

import click
from flask.cli import with_appcontext

from testimonials.auth.accounts import get_account
from testimonials.core.db.migrate import require_head
from testimonials.core.db.outages import explaining_database_errors
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.text import make_printable, write_json
from testimonials.projects.projects import get_project, lock_project

Record = dict[str, Any]
Rows = list[Record]
Command = Callable[..., Any]

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
FORCE = click.option("--force", is_flag=True, help="Replace FILE if it exists.")
YES = click.option("--yes", is_flag=True, help="Don't ask for confirmation.")


class Output(NamedTuple):
    """The output of a command: `value` with --json, and otherwise `shown` and `notes`."""

    value: object
    shown: Record | Rows | str
    notes: Sequence[str] = ()
    # Printed to standard error.
    problems: Sequence[str] = ()
    # Sets the exit code to 1.
    is_failure: bool = False


class Reference(click.ParamType[str]):
    """An argument that identifies a row; the command gets the row, which is locked if it writes."""

    def __init__(self, name: str, find: Command, lock: Command) -> None:
        self.name, self.find, self.lock = name, find, lock

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self.name


PROJECT = Reference("ID_OR_SLUG", get_project, lambda text: lock_project(get_project(text).id))
ACCOUNT = Reference("ID_OR_EMAIL", get_account, get_account)


def command(
    name: str,
    *,
    writes: bool = False,
    columns: Sequence[str] = (),
    empty: str = "",
    needs_schema: bool = True,
    needs_app: bool = True,
) -> Callable[[Command], click.Command]:
    """Declare a command, whose function returns a record, rows, or an `Output`.

    Rows are printed as a table of `columns`, or as `empty` if there are none. With `writes` the
    function runs in a transaction, and nothing is printed unless that is committed. A
    `ServiceError`, or a failing database, becomes a message on standard error.
    """

    def declare(function: Command) -> click.Command:
        @functools.wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            transaction: AbstractContextManager[object] = write() if writes else nullcontext()
            try:
                with explaining_database_errors():
                    if needs_app and needs_schema:
                        require_head(db.engine)
                    with transaction:
                        output = function(**_find_all(options, writes))
            except ServiceError as error:
                raise click.ClickException(make_printable(error.message)) from None
            except UnicodeEncodeError:
                raise click.ClickException("An argument is not valid UTF-8 text.") from None
            _print(output, as_json, columns, empty)

        wrapped = with_appcontext(run) if needs_app else run
        json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        return click.command(name)(json_option(wrapped))

    return declare


class Group(click.Group):
    """A group whose commands are declared like those of the decorator `command`."""

    @overload
    def command(self, __function: Command, /) -> click.Command: ...
    @overload
    def command(self, *name: Any, **options: Any) -> Callable[[Command], click.Command]: ...
    def command(self, *name: Any, **options: Any) -> Any:
        def declare(function: Command) -> click.Command:
            declared = command(*name, **options)(function)
            self.add_command(declared)
            return declared

        return declare


def wants_json() -> bool:
    return bool(click.get_current_context().params["as_json"])


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation unless --yes is given; with --json, ask on standard error."""
    if not yes:
        click.confirm(question, abort=True, err=wants_json())


def _find_all(options: dict[str, Any], writes: bool) -> dict[str, Any]:
    """Return a command's options, with references replaced by their rows."""
    values = dict(options)
    for param in click.get_current_context().command.params:
        value = options.get(param.name or "")
        if isinstance(param.type, Reference) and value is not None:
            values[str(param.name)] = (param.type.lock if writes else param.type.find)(value)
    return values


def _print(output: Any, as_json: bool, columns: Sequence[str], empty: str) -> None:
    if output is None:
        return
    if not isinstance(output, Output):
        output = Output(output, output)
    if as_json:
        click.echo(write_json(output.value))
    else:
        _show(output.shown, columns, empty)
        for note in output.notes:
            click.echo(note)
    for problem in output.problems:
        click.echo(problem, err=True)
    if output.is_failure:
        click.get_current_context().exit(1)


def _show(shown: Record | Rows | str, columns: Sequence[str], empty: str) -> None:
    if isinstance(shown, dict):
        width = max(len(name) for name in shown)
        for name, value in shown.items():
            click.echo(f"{name.ljust(width)}  {_cell(value)}")
    elif isinstance(shown, str) or not shown:
        click.echo(shown or empty)
    else:
        names = columns or list(shown[0])
        table = [names, *([_cell(row.get(name)) for name in names] for row in shown)]
        widths = [max(len(line[column]) for line in table) for column in range(len(names))]
        for line in table:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            click.echo("  ".join(cells).rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return make_printable(text)


class FileRefused(ServiceError):
    pass


@contextmanager
def writing_file(path: Path, *, is_forced: bool) -> Iterator[IO[bytes]]:
    """Yield a file that is renamed to `path` once it is complete. Raises `FileRefused`."""
    try:
        _require_writable(path, is_forced=is_forced)
        # The file that mkstemp creates can't be read by others.
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


def _require_writable(path: Path, *, is_forced: bool) -> None:
    if not path.exists():
        return
    if not path.is_file():
        # Replacing a device such as /dev/stdout would break the machine for everybody.
        raise FileRefused(f"{path} is not a file that can be replaced.")
    if not is_forced:
        raise FileRefused(f"{path} already exists; --force replaces it.")


def report_written(what: str, path: Path) -> Output:
    size = path.stat().st_size
    value = {"file": str(path), "bytes": size}
    return Output(value, f"Wrote {what} to {path} ({size:,} bytes).")
