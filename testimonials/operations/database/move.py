"""Moving an instance from its SQLite file to PostgreSQL: all of it, checked, or nothing."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, Table, create_engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from testimonials.core.clock import to_milliseconds
from testimonials.core.data.database import Base, count_for_planner
from testimonials.core.web.errors import ServiceError
from testimonials.extensions import prepare_engine
from testimonials.migrations.runner import build_schema, current, head

# Rows that are read, and sent, at a time; a picture is a row of some hundred kilobytes.
BATCH = 200


class MoveRefused(ServiceError):
    """The database can't be moved; the message says why, and nothing has changed."""

    status = 400
    code = "MOVE_REFUSED"


@dataclass(frozen=True)
class MovedTable:
    """One table that was copied: how many rows it has on both sides, and the sum over them."""

    name: str
    rows: int
    checksum: str


@dataclass
class _Sum:
    """Counts rows and adds up their digests, so that their order doesn't matter."""

    rows: int = 0
    total: int = 0

    def add(self, row: Sequence[Any]) -> None:
        """Take in one row."""
        text = json.dumps([_plain(value) for value in row], sort_keys=True)
        self.total += int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
        self.rows += 1

    @property
    def checksum(self) -> str:
        """The sum as 32 hexadecimal digits."""
        return f"{self.total % 2**128:032x}"


def move_database(source: Engine, url: str) -> list[MovedTable]:
    """Copy everything in the SQLite database `source` to the empty PostgreSQL database at `url`.

    Both are read again and compared, generated columns included, before it counts. Nobody can
    write to the source meanwhile. Raises `MoveRefused`; then the target is as it was.
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
        # As the service does it, whatever the environment or the database would choose.
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
        raise MoveRefused(f"The move failed and was taken back: {reason}") from None
    finally:
        target.dispose()


def _move(source: Engine, target: Engine) -> list[MovedTable]:
    writer = source.connect().execution_options(sqlite_begin="IMMEDIATE")
    # One transaction on each side: the one keeps writers out, the other is taken back by an error.
    with target.begin() as to, writer as origin, origin.begin():
        if found := inspect(to).get_table_names():
            raise MoveRefused(
                f"The target is not empty: it has {len(found)} table(s), {found[0]} among them. "
                "Make a new database for it."
            )
        build_schema(to)
        moved = [_copy(table, origin, to) for table in Base.metadata.sorted_tables]
        count_for_planner(to, Base.metadata.sorted_tables)
        return moved


def _copy(table: Table, origin: Connection, to: Connection) -> MovedTable:
    stored = [column for column in table.columns if column.computed is None]
    read = _Sum()
    for batch in _read(table, origin):
        for row in batch:
            read.add(row)
        to.execute(
            insert(table),
            [{column.name: row._mapping[column] for column in stored} for row in batch],
        )
    written = _Sum()
    for batch in _read(table, to):
        for row in batch:
            written.add(row)
    if written != read:
        raise MoveRefused(
            f"The table {table.name} came out differently ({read.rows} row(s) went in, "
            f"{written.rows} came out, or their contents differ). The move was taken back."
        )
    return MovedTable(table.name, read.rows, read.checksum)


def _read(table: Table, connection: Connection) -> Iterator[Sequence[Row[Any]]]:
    query = select(table).execution_options(yield_per=BATCH)
    yield from connection.execute(query).partitions()


def _plain(value: Any) -> Any:
    """Return a value as it is written alike from both databases."""
    if isinstance(value, bytes):
        return value.hex()
    return to_milliseconds(value) if isinstance(value, datetime) else value
