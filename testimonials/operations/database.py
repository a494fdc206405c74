"""Moving all data from SQLite to PostgreSQL and back."""

import contextlib
import hashlib
import hmac
import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
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

from testimonials.core.clock import to_milliseconds
from testimonials.core.db.engine import Base, count_for_planner, insert_if_missing
from testimonials.core.db.migrate import build_schema, current, head, upgrade
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, prepare_engine
from testimonials.core.late import find_late, load_all
from testimonials.core.settings.current import current_settings

# Databases that are opened for one piece of work, apart from the application's own.


class MoveRefused(click.ClickException):
    """The database can't be copied and nothing was changed; the message says why."""


@contextmanager
def opened_postgres(url: str) -> Iterator[Engine]:
    """Open a PostgreSQL database; raise `MoveRefused`, also for what the database refuses."""
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
    """Open an SQLite file, which need not be there yet, and which nobody else has open."""
    file.touch()
    engine = create_engine(URL.create("sqlite", database=str(file)))
    prepare_engine(engine)
    try:
        yield engine
    finally:
        engine.dispose()


# Copying all rows of one database to another, which may be of the other kind, and comparing.

# Rows read and sent at a time; a photo is a row of a few hundred kilobytes.
BATCH = 200
COUNTERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'count!_%'"

Batch = Sequence[Row[tuple[object, ...]]]


@dataclass(frozen=True)
class MovedTable:
    """A table that was copied: how many rows it has on both sides, and the sum of their hashes."""

    name: str
    rows: int
    checksum: str


def copy_tables(origin: Connection, to: Connection) -> list[MovedTable]:
    """Copy every row, counts included, to a database with the schema and no rows.

    Both are then read and compared, generated columns included. The caller commits. Raises
    `MoveRefused` if they differ.
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
    """Let the rows be added without counting them; return what makes SQLite's triggers again."""
    if to.dialect.name == "postgresql":
        find_late("testimonials.counts:pause_counting")(to)
        return []
    found = to.execute(text(f"{COUNTERS} ESCAPE '!'")).all()
    for name, _ in found:
        to.exec_driver_sql(f"DROP TRIGGER {name}")
    return [statement for _, statement in found]


def _copy(table: Table, origin: Connection, to: Connection) -> MovedTable:
    stored = [column for column in table.columns if column.computed is None]

    def copied() -> Iterator[Batch]:
        for batch in _read(table, origin):
            rows = [{column.name: row._mapping[column] for column in stored} for row in batch]
            to.execute(insert(table), rows)
            yield batch

    read, written = _add_up(copied()), _add_up(_read(table, to))
    if written != read:
        raise MoveRefused(
            f"The table {table.name} differs after the copy ({read[0]} row(s) went in, "
            f"{written[0]} came out, or their contents differ). It was rolled back."
        )
    return MovedTable(table.name, *read)


def _read(table: Table, connection: Connection) -> Iterator[Batch]:
    # The oldest come first: SQLite's index of words finds what was added last as the newest.
    query = select(table).order_by(*table.primary_key)
    yield from connection.execute(query.execution_options(yield_per=BATCH)).partitions()


def _add_up(batches: Iterable[Batch]) -> tuple[int, str]:
    """Return the number of rows, and the sum of their hashes, which their order doesn't change."""
    count = total = 0
    for batch in batches:
        for row in batch:
            words = json.dumps([_plain(value) for value in row], sort_keys=True)
            total += int.from_bytes(hashlib.sha256(words.encode()).digest()[:16])
        count += len(batch)
    return count, f"{total % 2**128:032x}"


def _plain(value: object) -> object:
    """Return a value that JSON writes the same way from both databases."""
    if isinstance(value, bytes):
        return value.hex()
    return to_milliseconds(value) if isinstance(value, datetime) else value


# Moving an instance from an SQLite file to PostgreSQL, and from there to a file.


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


# Whether the hosts that share a database sign links with the same secret key.

logger = logging.getLogger("testimonials.operations.server.serve")


class SecretMark(Base):
    """One row with a digest of the secret key, from which the key can't be computed."""

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]


def require_known_secret() -> None:
    """Compare the secret key with the one of earlier starts.

    Raises `click.ClickException` on PostgreSQL, where another host may be using the right one. An
    SQLite file has no other host, so a new key is accepted.
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
    """Refuse to make a link by a key that the service doesn't have, as commands may be run."""
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
