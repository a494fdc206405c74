"""The base of all models and the column types that SQLite and PostgreSQL share."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Dialect, MetaData, Table, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator

from testimonials.core import clock


class Base(DeclarativeBase):
    """The declarative base, with fixed constraint names for migrations."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


def present() -> datetime:
    """Return the time, as a column's default that sees a `clock.now` replaced by tests."""
    return clock.now()


def insert_into(session: Session, model: type[Base], **values: Any) -> sqlite.Insert:
    """Return an INSERT that can say what to do on conflict, for this session's database."""
    insert = sqlite.insert
    if session.get_bind().dialect.name != "sqlite":
        # Written alike, for what both can do.
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]

    return insert(model).values(values)


def insert_if_missing(session: Session, model: type[Base], **values: Any) -> None:
    """Insert a row unless it violates a unique constraint."""
    session.execute(insert_into(session, model, **values).on_conflict_do_nothing())


def count_for_planner(connection: Connection, tables: Iterable[Table]) -> None:
    """Update PostgreSQL's statistics of tables that got many rows; doesn't commit.

    By itself it does so a minute later. Until then it assumes that a new table is empty, and scans
    its thousands of rows for each row of another. SQLite doesn't plan by counts.
    """
    if connection.dialect.name == "postgresql":
        names = map(connection.dialect.identifier_preparer.format_table, tables)
        # A locked table is being analyzed already.
        connection.execute(text(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}"))


class Timestamp(TypeDecorator[datetime]):
    """A time in UTC, kept as whole milliseconds since the epoch.

    A number sorts the same way in both databases, with exactly the API's precision.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else clock.to_milliseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else clock.from_milliseconds(value)
