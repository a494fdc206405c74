"""The base of all models and the column types that SQLite and PostgreSQL share."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Dialect,
    ForeignKey,
    Index,
    MetaData,
    Table,
    bindparam,
    insert,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import (
    DeclarativeBase,
    MappedColumn,
    Session,
    make_transient_to_detached,
    mapped_column,
)
from sqlalchemy.sql.schema import CallableColumnDefault, ScalarElementColumnDefault
from sqlalchemy.types import TypeDecorator

from testimonials.core import clock
from testimonials.core.db.prepared import Prepared
from testimonials.core.text import to_snake

# Makes a column's default.
Make = Callable[..., Any]


class Base(DeclarativeBase):
    """The declarative base, with fixed constraint names for migrations.

    The table of `AccessToken` is access_token, unless the model names another.
    """

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    def __init_subclass__(cls, **options: Any) -> None:
        if "__tablename__" not in vars(cls):
            cls.__tablename__ = to_snake(cls.__name__)
        super().__init_subclass__(**options)


def present() -> datetime:
    """Return the time; unlike `clock.now` itself, this default sees a clock replaced by tests."""
    return clock.now()


def child_of(parent: Any, **options: Any) -> MappedColumn[Any]:
    """Return a foreign key to a parent row; deleting that also deletes the row."""
    return mapped_column(ForeignKey(parent, ondelete="CASCADE"), **options)


def insert_into(session: Session, model: type[Base], **values: Any) -> sqlite.Insert:
    """Return an INSERT that supports ON CONFLICT, for this session's database."""
    make = sqlite.insert
    if session.get_bind().dialect.name != "sqlite":
        # Both have the same methods.
        from sqlalchemy.dialects.postgresql import insert as make  # type: ignore[assignment]

    return make(model).values(values) if values else make(model)


def insert_if_missing(session: Session, model: type[Base], **values: Any) -> None:
    session.execute(insert_into(session, model, **values).on_conflict_do_nothing())


def insert_row(session: Session, row: Base) -> None:
    """Insert a new model with one plain statement; afterwards it counts as loaded.

    This takes a third of the time of a flush, which prepares for many models that depend on each
    other. Only the columns of `row` may be set.
    """
    if session.new:
        # Such as pictures that the row refers to.
        session.flush()
    row.__dict__.update(insert_values(session, type(row), row.__dict__))
    make_transient_to_detached(row)
    session.add(row)


def insert_values(session: Session, model: type[Base], given: Mapping[str, Any]) -> dict[str, Any]:
    """Insert a row with one plain statement; return its columns, including defaults."""
    statement, defaults = _plan_insert(model)
    values = {
        name: given[name] if name in given else make(None) if make else value
        for name, make, value in defaults
    }
    statement.run(session.connection(), values)
    return values


@cache
def _plan_insert(model: type[Base]) -> tuple[Prepared, list[tuple[str, Make | None, Any]]]:
    """Return a model's INSERT, and the name and default of each column that it writes."""
    table, defaults = Base.metadata.tables[model.__tablename__], []
    for column in table.columns:
        default = column.default
        make = default.arg if isinstance(default, CallableColumnDefault) else None
        value = default.arg if isinstance(default, ScalarElementColumnDefault) else None
        if column.computed is None:
            defaults.append((column.name, make, value))
    columns: Any = {name: bindparam(name) for name, _, _ in defaults}
    return Prepared(insert(table).values(columns)), defaults


def count_for_planner(connection: Connection, tables: Iterable[Table]) -> None:
    """Update PostgreSQL's statistics of tables that got many rows, without committing.

    PostgreSQL does so a minute later, but until then assumes that a new table is empty, and may
    scan its thousands of rows for each row of another. SQLite doesn't plan by counts.
    """
    if connection.dialect.name == "postgresql":
        names = map(connection.dialect.identifier_preparer.format_table, tables)
        # A locked table is being analyzed already.
        connection.execute(text(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}"))


class Timestamp(TypeDecorator[datetime]):
    """A time in UTC, stored as whole milliseconds since the epoch.

    A number sorts the same way in both databases, with exactly the API's precision.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else clock.to_milliseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else clock.from_milliseconds(value)


def list_columns(model: type[Base]) -> list[str]:
    """Return a table's columns without hashes of secrets, which only a thief could use."""
    return [each.name for each in model.__table__.columns if not each.name.endswith("_hash")]


def to_name(column: str) -> str:
    """Return the name of a column in an archive: `author_name` is `authorName`."""
    first, *others = column.split("_")
    return first + "".join(each.capitalize() for each in others)


def index_some(name: str, condition: str, *columns: str) -> Index:
    """Return an index of the rows that meet a condition, unique if its name begins with `uq`.

    The condition is set for SQLite alone, since migrations create the tables: naming PostgreSQL
    would load all of its drivers, which take 3 MB of each worker.
    """
    return Index(name, *columns, unique=name.startswith("uq"), sqlite_where=text(condition))


def write_columns(row: Any, columns: Iterable[str]) -> dict[str, Any]:
    return {to_name(name): write_value(getattr(row, name)) for name in columns}


def write_value(value: Any) -> Any:
    return clock.iso(value) if isinstance(value, datetime) else value
