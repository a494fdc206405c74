"""Copying all rows of one database to another, which may be of the other kind, and comparing."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, Table, insert, select, text

from testimonials.core.clock import to_milliseconds
from testimonials.core.data.database import Base, count_for_planner
from testimonials.operations.database.engines import MoveRefused
from testimonials.testimonials.counts.checking import stop_counting

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
        stop_counting(to)
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
