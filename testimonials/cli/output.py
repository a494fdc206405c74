"""How a command is declared, and what it prints: JSON, a table, a record or sentences."""

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
from testimonials.core.db.outages import telling_trouble
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.text import make_printable, write_json
from testimonials.projects.models import Project
from testimonials.projects.projects import get_project, lock_project

Record = dict[str, Any]
Rows = list[Record]
Command = Callable[..., Any]

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
FORCE = click.option("--force", is_flag=True, help="Replace FILE if it exists.")
YES = click.option("--yes", is_flag=True, help="Don't ask for confirmation.")


class Said(NamedTuple):
    """What a command says: `value` with --json, otherwise `shown` and notes, and problems."""

    value: object
    shown: Record | Rows | str
    notes: Sequence[str] = ()
    # On standard error.
    problems: Sequence[str] = ()
    # The exit code is 1 then.
    is_failure: bool = False


class Reference(click.ParamType[str]):
    """What names a row: the command gets the row itself, locked if it writes."""

    def __init__(self, name: str, find: Command, lock: Command) -> None:
        self.name, self.find, self.lock = name, find, lock

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self.name


def _lock_project(reference: str) -> Project:
    return lock_project(get_project(reference).id)


PROJECT = Reference("ID_OR_SLUG", get_project, _lock_project)
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
    """Declare a command, whose function returns what is printed: a record, rows, or `Said`.

    Rows are shown as a table of `columns`, or as `empty`. With `writes` it all happens in a
    transaction, and nothing is printed unless that was committed. A `ServiceError`, or a database
    that is busy, full, read-only or unreachable, becomes a sentence on standard error.
    """

    def declare(function: Command) -> click.Command:
        @functools.wraps(function)
        def run(*, as_json: bool, **options: Any) -> None:
            try:
                with telling_trouble():
                    if needs_app and needs_schema:
                        require_head(db.engine)
                    with _transaction(writes):
                        said = function(**_find_all(options, writes))
            except ServiceError as error:
                raise click.ClickException(make_printable(error.message)) from None
            except UnicodeEncodeError:
                raise click.ClickException("An argument is not valid UTF-8 text.") from None
            _print(said, as_json, columns, empty)

        declared = with_appcontext(run) if needs_app else run
        json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        return click.command(name)(json_option(declared))

    return declare


class Group(click.Group):
    """A group whose commands are declared by `command`."""

    @overload
    def command(self, __function: Command, /) -> click.Command: ...
    @overload
    def command(self, *name: Any, **how: Any) -> Callable[[Command], click.Command]: ...
    def command(self, *name: Any, **how: Any) -> Any:
        def declare(function: Command) -> click.Command:
            made = command(*name, **how)(function)
            self.add_command(made)
            return made

        return declare


def _transaction(writes: bool) -> AbstractContextManager[object]:
    return write() if writes else nullcontext()


def wants_json() -> bool:
    return bool(click.get_current_context().params["as_json"])


def confirm(question: str, *, yes: bool) -> None:
    """Ask before harm, unless --yes is given; standard output stays pure JSON."""
    if not yes:
        click.confirm(question, abort=True, err=wants_json())


def _find_all(options: dict[str, Any], writes: bool) -> dict[str, Any]:
    """Return a command's options with rows in place of what names them."""
    found = dict(options)
    for param in click.get_current_context().command.params:
        value = options.get(param.name or "")
        if isinstance(param.type, Reference) and value is not None:
            found[str(param.name)] = (param.type.lock if writes else param.type.find)(value)
    return found


def _print(said: Any, as_json: bool, columns: Sequence[str], empty: str) -> None:
    if said is None:
        return
    if not isinstance(said, Said):
        said = Said(said, said)
    if as_json:
        click.echo(write_json(said.value))
    else:
        _show(said.shown, columns, empty)
        for note in said.notes:
            click.echo(note)
    for problem in said.problems:
        click.echo(problem, err=True)
    if said.is_failure:
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


def tell_written(what: str, path: Path) -> Said:
    size = path.stat().st_size
    value = {"file": str(path), "bytes": size}
    return Said(value, f"Wrote {what} to {path} ({size:,} bytes).")
