"""Moving an instance from an SQLite file to PostgreSQL, and from there to a file."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine, func, inspect

from testimonials.migrations.runner import build_schema, current, head, upgrade
from testimonials.operations.database.copying import MovedTable, copy_tables
from testimonials.operations.database.engines import MoveRefused, opened_file, opened_postgres


def move_database(
    source: Engine, url: str, before_commit: Callable[[], object] = lambda: None
) -> list[MovedTable]:
    """Copy everything in the SQLite database `source` to the empty PostgreSQL database at `url`.

    All of it is there afterwards, compared, or nothing. Nobody can write to the source meanwhile.
    `before_commit` is called when only the commit is left; what it raises ends the move. Raises
    `MoveRefused`.
    """
    if source.dialect.name != "sqlite":
        raise MoveRefused("Only an SQLite database can be moved, and this instance has none.")
    _require_head(source)
    writer = source.connect().execution_options(sqlite_begin="IMMEDIATE")
    # One transaction keeps writers out of the source; the target's is rolled back by an error.
    with opened_postgres(url) as target, target.begin() as to, writer as origin, origin.begin():
        if found := inspect(to).get_table_names():
            raise MoveRefused(
                f"The target is not empty: it has {len(found)} table(s), such as {found[0]}. "
                "Create a new database for it."
            )
        build_schema(to)
        moved = copy_tables(origin, to)
        before_commit()
        return moved


def restore_to_postgres(file: Path, url: str, before_commit: Callable[[], object]) -> None:
    """Bring an SQLite file to this program's schema, and move it; see `move_database`."""
    with opened_file(file) as engine:
        upgrade(engine)
        move_database(engine, url, before_commit)


def copy_to_file(url: str, file: Path) -> None:
    """Write the PostgreSQL database at `url`, as it is at one moment, to the new SQLite file.

    It holds nobody up. Raises `MoveRefused`, or `SchemaError` if it can't be opened.
    """
    with opened_postgres(url) as source, opened_file(file) as target:
        _require_head(source)
        upgrade(target)
        snapshot = source.connect().execution_options(isolation_level="REPEATABLE READ")
        with snapshot as origin, target.begin() as to:
            copy_tables(origin, to)
    # A single file, without a write-ahead log.
    with contextlib.closing(sqlite3.connect(file)) as whole:
        whole.execute("PRAGMA journal_mode=DELETE")


def measure_postgres(url: str) -> int:
    """Return how many bytes the PostgreSQL database at `url` has; raise `MoveRefused`."""
    with opened_postgres(url) as engine, engine.connect() as connection:
        return int(connection.scalar(func.pg_database_size(func.current_database())) or 0)


def _require_head(source: Engine) -> None:
    revision = current(source)
    if revision != head():
        raise MoveRefused(
            f"The database is at revision {revision or 'empty'}, this program needs {head()}. "
            "Run: testimonials db upgrade"
        )
