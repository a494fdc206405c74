"""Statements that are compiled once, and run on the driver's own cursor.

For a short statement SQLAlchemy takes several times as long as SQLite: it looks up the compiled
text, prepares for any kind of value, and wraps the cursor and its rows. So the statements that
almost every call runs are `Prepared`; all others go through SQLAlchemy, which can do more.
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
    """A statement compiled for one dialect, with the processors of its values and columns."""

    text: str
    # A missing value defaults to that of the parameter.
    binds: Sequence[tuple[str, Process, BindParameter[Any]]]
    # The names in order, if the text has positional parameters.
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
    """A statement whose text never changes: no lists of values, no optional columns.

    It runs in the connection's transaction, and has SQLAlchemy's errors and events.
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
        """Return the row like `one`, but with SQLite's driver alone, whose errors are raised."""
        plan = self._plan(engine)
        values = plan.bind(given)
        for listen in engine.dispatch.before_cursor_execute if engine._has_events else ():
            listen(None, None, plan.text, values, None, False)
        row = driver.execute(plan.text, values).fetchone()
        return None if row is None else plan.read(row)

    def run(self, connection: Connection, *rows: Values) -> None:
        """Run the statement for each row, without reading results."""
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
    """Send the block's statements to PostgreSQL without waiting for each result.

    It waits only where a row is read, and at the end. Only prepared statements may run in the
    block. It does nothing on SQLite.
    """
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        yield
        return
    try:
        with driver.pipeline():
            yield
    except connection.dialect.loaded_dbapi.Error as error:
        # An error of a statement whose result wasn't awaited.
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
        # Wraps the error, notifies listeners, and invalidates a lost connection.
        inner._handle_dbapi_exception(error, text, values, cursor, None)
    return cursor
