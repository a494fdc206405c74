"""Moving all data from SQLite to PostgreSQL and back."""

import contextlib
import hashlib
import hmac
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Row,
    Table,
    create_engine,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.engine import Base, count_for_planner, insert_if_missing
from testimonials.core.db.migrate import build_schema, current, head, upgrade
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, prepare_engine
from testimonials.core.late import find_late, load_all
from testimonials.core.settings.table import current_settings

# Opening databases other than the application's own, for a single task.


class MoveRefused(click.ClickException):
    """The database can't be copied, and nothing was changed."""


@contextmanager
def opened_postgres(url: str) -> Iterator[Engine]:
    """Open a PostgreSQL database; raise `MoveRefused`, also after errors within the context."""
    try:
        encoding = {"client_encoding": "utf8"}
        engine = create_engine(url, hide_parameters=True, connect_args=encoding)
    except ImportError:
        raise MoveRefused(
            "PostgreSQL needs an extra package: pip install 'testimonials[postgres]'"
        ) from None
    prepare_engine(engine)
    try:
        yield engine
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise MoveRefused(f"The copy failed and was rolled back: {reason}") from None
    finally:
        engine.dispose()


@contextmanager
def opened_file(file: Path) -> Iterator[Engine]:
    """Open an SQLite file that nobody else has open; create it if needed."""
    file.touch()
    engine = create_engine(URL.create("sqlite", database=str(file)))
    prepare_engine(engine)
    try:
        yield engine
    finally:
        engine.dispose()


# Copying all rows to another database, perhaps of the other kind, and counting them.

# Rows in a batch; a row with a photo has a few hundred kilobytes.
BATCH = 200
COUNTERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'count!_%'"

Batch = Sequence[Row[tuple[object, ...]]]


@dataclass(frozen=True)
class MovedTable:
    """A copied table, with its number of rows."""

    name: str
    rows: int


def copy_tables(origin: Connection, to: Connection) -> list[MovedTable]:
    """Copy all rows, counts included, to a database that has the schema but no rows.

    The caller commits. Raises `MoveRefused` if the number of rows in a table differs afterwards.
    """
    load_all()
    counters = _stop_counting(to)
    tables = Base.metadata.sorted_tables
    moved = [_copy(table, origin, to) for table in tables]
    for statement in counters:
        to.exec_driver_sql(statement)
    count_for_planner(to, tables)
    return moved


def _stop_counting(to: Connection) -> list[str]:
    """Stop the counting of added rows; return the statements that restore SQLite's triggers."""
    if to.dialect.name == "postgresql":
        find_late("testimonials.counts:pause_counting")(to)
        return []
    triggers = to.execute(text(f"{COUNTERS} ESCAPE '!'")).all()
    for name, _ in triggers:
        to.exec_driver_sql(f"DROP TRIGGER {name}")
    return [statement for _, statement in triggers]


def _copy(table: Table, origin: Connection, to: Connection) -> MovedTable:
    stored = [column for column in table.columns if column.computed is None]

    count = 0
    for batch in _read(table, origin):
        rows = [{column.name: row._mapping[column] for column in stored} for row in batch]
        to.execute(insert(table), rows)
        count += len(rows)
    written = to.scalar(select(func.count()).select_from(table))
    if written != count:
        raise MoveRefused(
            f"The table {table.name} differs after the copy ({count} row(s) went in, {written} "
            "came out). It was rolled back."
        )
    return MovedTable(table.name, count)


def _read(table: Table, connection: Connection) -> Iterator[Batch]:
    # Oldest first, since SQLite's full-text index takes the row that was added last for the newest.
    query = select(table).order_by(*table.primary_key)
    yield from connection.execute(query.execution_options(yield_per=BATCH)).partitions()


# Moving an instance between an SQLite file and PostgreSQL.


def move_database(
    source: Engine, url: str, before_commit: Callable[[], object] = lambda: None
) -> list[MovedTable]:
    """Copy the SQLite database `source` to the empty PostgreSQL database at `url`, or nothing.

    Nobody can write to the source meanwhile. `before_commit` is called last; if it raises an error,
    the copy is rolled back. Raises `MoveRefused`.
    """
    if source.dialect.name != "sqlite":
        raise MoveRefused("Only an SQLite database can be moved, and this instance has none.")
    _require_head(source)
    writer = source.connect().execution_options(sqlite_begin="IMMEDIATE")
    # The source's transaction keeps writers out.
    with opened_postgres(url) as target, target.begin() as to, writer as origin, origin.begin():
        if tables := inspect(to).get_table_names():
            raise MoveRefused(
                f"The target is not empty: it has {len(tables)} table(s), such as {tables[0]}. "
                "Create a new database for it."
            )
        build_schema(to)
        moved = copy_tables(origin, to)
        before_commit()
        return moved


def copy_to_file(url: str, file: Path) -> None:
    """Write a snapshot of the PostgreSQL database at `url` to the new SQLite file.

    It blocks nobody. Raises `MoveRefused`, or `SchemaError` if it can't be opened.
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
    """Return the size of the PostgreSQL database at `url` in bytes; raise `MoveRefused`."""
    with opened_postgres(url) as engine, engine.connect() as connection:
        return int(connection.scalar(func.pg_database_size(func.current_database())) or 0)


def _require_head(source: Engine) -> None:
    revision = current(source)
    if revision != head():
        raise MoveRefused(
            f"The database is at revision {revision or 'empty'}, this program needs {head()}. "
            "Run: testimonials db upgrade"
        )


# Checking that all hosts with one database have the same secret key.

logger = logging.getLogger("testimonials.operations.server.serve")


class SecretMark(Base):
    """A single row with a digest of the secret key."""

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]


def require_known_secret() -> None:
    """Compare the secret key with the one of earlier starts.

    If it differs, `click.ClickException` is raised on PostgreSQL, where another host may have the
    right key. With SQLite there are no other hosts, so a new key is accepted.
    """
    with write():
        insert_if_missing(db.session(), SecretMark, id=1, mark=instance_mark())
        row = db.session.get_one(SecretMark, 1)
        if row.mark == instance_mark():
            return
        if db.engine.dialect.name != "sqlite":
            raise click.ClickException(
                "The secret key differs from the one that was used with this database, so hosts "
                "would reject each other's links. Set TESTIMONIALS_SECRET_KEY to the same value on "
                "all of them. If you changed it on purpose, run: testimonials db forget-secret"
            )
        logger.warning(
            "the secret key has changed: links sent before now are invalid. If nobody did that on "
            "purpose, put the old secret_key back from a backup"
        )
        row.mark = instance_mark()


def require_service_secret() -> None:
    """Raise `click.ClickException` if this command's secret key isn't that of the service."""
    row = db.session.get(SecretMark, 1)
    if row is not None and row.mark != instance_mark():
        raise click.ClickException(
            "The secret key here differs from the service's, which would refuse the link. Set "
            "TESTIMONIALS_SECRET_KEY and TESTIMONIALS_INSTANCE_PATH as `serve` has them. If you "
            "changed the key on purpose, start the service with it first."
        )


def instance_mark() -> str:
    """Return a digest of the secret key that doesn't reveal it."""
    key = current_settings().secret_key.encode()
    return hmac.new(key, b"testimonials:instance", hashlib.sha256).hexdigest()[:16]
