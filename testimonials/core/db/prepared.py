"""Statements that are made once, and run on the driver's own cursor.

SQLAlchemy needs several times as long for a short statement as SQLite: it looks up the text that it
compiled, prepares for every kind of value, and wraps the cursor and its rows. Adding a testimonial
waited longer for that than for the database. So what almost every call asks is a `Prepared`; the
rest goes the usual way, which can do more.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, Dialect, Engine
from sqlalchemy.sql.elements import ClauseElement

Values = Mapping[str, Any]
Process = Callable[[Any], Any] | None


class _Plan(NamedTuple):
    """A statement for one database: its text, and how values are written and read."""

    text: str
    # A value that isn't given is the parameter's own.
    binds: Sequence[tuple[str, Process, BindParameter[Any]]]
    # Their names in the order of the text, if it doesn't have the names.
    order: Sequence[str]
    columns: Sequence[Process]

    def bind(self, given: Values) -> Any:
        values = {}
        for name, process, own in self.binds:
            value = given[name] if name in given else own.effective_value  # noqa: SIM401 - slow
            values[name] = process(value) if process else value
        return [values[name] for name in self.order] if self.order else values

    def read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self.columns:
            return row
        both = zip(row, self.columns, strict=True)
        return tuple(process(value) if process else value for value, process in both)


class Prepared:
    """A statement whose text never changes: no lists of values, no columns that come and go.

    It runs in the transaction that the connection has begun. Errors are SQLAlchemy's, and so are
    the events by which a statement is watched.
    """

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._plans: dict[str, _Plan] = {}

    def one(self, connection: Connection, given: Values) -> tuple[Any, ...] | None:
        plan = self._plan(connection)
        cursor = _execute(connection, plan.text, plan.bind(given))
        try:
            row = cursor.fetchone()
            return None if row is None else plan.read(row)
        finally:
            cursor.close()

    def one_by(
        self, driver: sqlite3.Connection, engine: Engine, given: Values
    ) -> tuple[Any, ...] | None:
        """Return the row as `one` does, by SQLite's driver alone, whose errors are raised."""
        plan = self._plan(engine)
        values = plan.bind(given)
        for listen in engine.dispatch.before_cursor_execute if engine._has_events else ():
            listen(None, None, plan.text, values, None, False)
        row = driver.execute(plan.text, values).fetchone()
        return None if row is None else plan.read(row)

    def run(self, connection: Connection, *rows: Values) -> None:
        """Run it for each of the rows; there is nothing to read."""
        plan = self._plan(connection)
        for row in rows:
            _execute(connection, plan.text, plan.bind(row)).close()

    def _plan(self, database: Connection | Engine) -> _Plan:
        dialect = database.dialect
        found = self._plans.get(dialect.name)
        if found is None:
            found = self._plans[dialect.name] = _make_plan(self._statement, dialect)
        return found


@contextmanager
def in_one_trip(connection: Connection) -> Iterator[None]:
    """Send PostgreSQL the prepared statements of the block without waiting for each one's answer.

    Only where a row is read are those before it waited for, and at the end. Nothing but prepared
    statements may run in the block. SQLite is no trip away.
    """
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        yield
        return
    try:
        with driver.pipeline():
            yield
    except connection.dialect.loaded_dbapi.Error as error:
        # Of a statement whose answer nobody had waited for.
        inner: Any = connection
        inner._handle_dbapi_exception(error, None, None, None, None)


def _make_plan(statement: ClauseElement, dialect: Dialect) -> _Plan:
    made: Any = statement.compile(dialect=dialect)
    binds = [
        (name, own.type.dialect_impl(dialect).bind_processor(dialect), own)
        for name, own in made.binds.items()
    ]
    read = [each.type.dialect_impl(dialect) for each in made._result_columns]
    columns = [each.result_processor(dialect, None) for each in read]
    return _Plan(str(made), binds, made.positiontup or (), columns if any(columns) else ())


def _execute(connection: Connection, text: str, values: Any) -> Any:
    inner: Any = connection
    cursor = inner.connection.cursor()
    try:
        if inner._has_events or inner.engine._has_events:
            for listen in inner.dispatch.before_cursor_execute:
                listen(inner, cursor, text, values, None, False)
        cursor.execute(text, values)
    except Exception as error:
        # Which says what it means, tells those who listen, and lets go of a lost connection.
        inner._handle_dbapi_exception(error, text, values, cursor, None)
    return cursor
