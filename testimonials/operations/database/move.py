"""Moving an instance from its SQLite file to PostgreSQL: all of it, checked, or nothing."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import click
from sqlalchemy import Connection, Engine, Row, Table, create_engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.clock import to_milliseconds
from testimonials.core.data.database import Base, count_for_planner
from testimonials.extensions import prepare_engine
from testimonials.migrations.runner import build_schema, current, head
from testimonials.testimonials.counts.checking import stop_counting

# Rows read and sent at a time; a photo is a row of a few hundred kilobytes.
BATCH = 200

Batch = Sequence[Row[tuple[object, ...]]]


class MoveRefused(click.ClickException):
    """The database can't be moved and nothing was changed; the message says why."""


@dataclass(frozen=True)
class MovedTable:
    """A table that was copied: how many rows it has on both sides, and the sum of their hashes."""

    name: str
    rows: int
    checksum: str


def move_database(source: Engine, url: str) -> list[MovedTable]:
    """Copy everything in the SQLite database `source` to the empty PostgreSQL database at `url`.

    Both are then read and compared, generated columns included. Nobody can write to the source
    meanwhile. Raises `MoveRefused`.
    """
    if source.dialect.name != "sqlite":
        raise MoveRefused("Only an SQLite database can be moved, and this instance has none.")
    revision = current(source)
    if revision != head():
        raise MoveRefused(
            f"The database is at revision {revision or 'empty'}, this program needs {head()}. "
            "Run: testimonials db upgrade"
        )
    try:
        encoding = {"client_encoding": "utf8"}
        target = create_engine(url, hide_parameters=True, connect_args=encoding)
    except ImportError:
        raise MoveRefused(
            "PostgreSQL needs an extra package: pip install 'testimonials[postgres]'"
        ) from None
    prepare_engine(target)
    try:
        return _move(source, target)
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        raise MoveRefused(f"The move failed and was rolled back: {reason}") from None
    finally:
        target.dispose()


def _move(source: Engine, target: Engine) -> list[MovedTable]:
    writer = source.connect().execution_options(sqlite_begin="IMMEDIATE")
    # One transaction keeps writers out of the source; the target's is rolled back by an error.
    with target.begin() as to, writer as origin, origin.begin():
        if found := inspect(to).get_table_names():
            raise MoveRefused(
                f"The target is not empty: it has {len(found)} table(s), such as {found[0]}. "
                "Create a new database for it."
            )
        build_schema(to)
        stop_counting(to)
        moved = [_copy(table, origin, to) for table in Base.metadata.sorted_tables]
        count_for_planner(to, Base.metadata.sorted_tables)
        return moved


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
            f"{written[0]} came out, or their contents differ). The move was rolled back."
        )
    return MovedTable(table.name, *read)


def _read(table: Table, connection: Connection) -> Iterator[Batch]:
    yield from connection.execute(select(table).execution_options(yield_per=BATCH)).partitions()


def _add_up(batches: Iterable[Batch]) -> tuple[int, str]:
    """Return the number of rows, and the sum of their hashes, which their order doesn't change."""
    count = total = 0
    for batch in batches:
        for row in batch:
            text = json.dumps([_plain(value) for value in row], sort_keys=True)
            total += int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
        count += len(batch)
    return count, f"{total % 2**128:032x}"


def _plain(value: object) -> object:
    """Return a value that JSON writes the same way from both databases."""
    if isinstance(value, bytes):
        return value.hex()
    return to_milliseconds(value) if isinstance(value, datetime) else value
