"""The Flask extensions, and how a database connection is set up."""

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from flask import Flask, current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.pool import ConnectionPoolEntry

from testimonials.core.db.engine import Base
from testimonials.core.db.prepared import Prepared, in_one_trip
from testimonials.core.db.sqlite import Reader, require_log
from testimonials.core.http.rate_limits import RateLimiter

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
LOG_BYTES = 16 * 1024 * 1024
# SQLite retries its lock at least every 100 ms, so no waiting writer misses a pause.
PAUSE_SECONDS = 0.11
# Marks a connection whose transaction, begun by a request's reads, may also write.
_MAY_WRITE = "may_write"
# The extension with the `Reader` of an application on SQLite.
READER = "testimonials_reader"

db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})
limiter = RateLimiter()


def init_extensions(app: Flask) -> None:
    """Attach the extensions to `app`; nothing connects yet."""
    db.init_app(app)
    limiter.init_app(app)
    with app.app_context():
        engine = db.engine
    prepare_engine(engine)
    if engine.dialect.name == "sqlite":
        app.extensions[READER] = Reader(engine)


def kept(name: str, make: Callable[[], T]) -> T:
    """Return the application's extension of this name, made on first use."""
    found: T = current_app.extensions.get(name) or current_app.extensions.setdefault(name, make())
    return found


def prepare_engine(engine: Engine) -> None:
    if engine.dialect.name != "sqlite":
        # PostgreSQL's driver is an extra.
        from testimonials.core.db.postgres_watch import watch_database

        watch_database(engine)
        return
    file = Path(engine.url.database or "").absolute()
    # By default SQLite would create an empty database if the file is missing.
    address = f"file:{quote(str(file))}?mode=rw"
    event.listen(engine, "do_connect", lambda *how: sqlite3.connect(address, uri=True, **how[-1]))
    event.listen(engine, "connect", lambda *_: require_log(file))
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    engine.update_execution_options(**{_LOCK_OF_TURNS: threading.Lock()})
    event.listen(engine, "checkin", _end_turn)


def find_apart(statement: Prepared, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the row of a statement, without beginning a transaction on SQLite."""
    session, reader = db.session(), current_app.extensions.get(READER)
    if reader and not session.in_transaction():
        # An error is raised again below, as SQLAlchemy's.
        with suppress(sqlite3.Error):
            return statement.one_by(reader.driver, reader.engine, values)
    connection = session.connection()
    with in_one_trip(connection):
        return statement.one(connection, values)


def read_apart(*, is_long: bool) -> None:
    """Keep PostgreSQL from opening a transaction of its own for the reads before a write.

    Beginning and ending one takes as long as two statements. Instead the writing transaction begins
    now, since it sees what others commit meanwhile. If it would stay open too long (`is_long`), the
    reads have no transaction.
    """
    if READER not in current_app.extensions:
        options = {"isolation_level": "AUTOCOMMIT"} if is_long else {_MAY_WRITE: True}
        db.session().connection(execution_options=options)


def lock_for_writing() -> None:
    """Take SQLite's write lock, on the connection that the request already uses if there is one.

    Otherwise wait for the turn first: the pool then returns the connection that wrote last, which
    still has the changed pages. Any other connection would read them again.
    """
    session = db.session()
    connection = session.connection() if session.in_transaction() else None
    if READER not in current_app.extensions:
        if connection is None or _MAY_WRITE not in connection.get_execution_options():
            session.rollback()
    elif connection is not None:
        connection.connection.rollback()
        _lock_sqlite(connection)
    else:
        turn = _Turn(session.get_bind())
        try:
            session.connection(execution_options={"sqlite_begin": "IMMEDIATE", _TURN: turn})
        except BaseException:
            turn.end()
            raise


def let_others_write() -> None:
    """Pause between two transactions of a long job.

    SQLite allows one writer, and others retry only now and then: without a pause they would always
    find the database locked.
    """
    time.sleep(PAUSE_SECONDS)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # `_begin_sqlite` begins transactions; the driver would guess when.
    connection.isolation_level = None
    cursor = connection.cursor()
    # First, since the other PRAGMAs may have to wait for a lock too.
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    # For new files: a write changes pages of twenty indexes, each of which is written as a whole.
    cursor.execute("PRAGMA page_size=2048")
    _switch_to_wal(cursor)
    # An acknowledged testimonial survives a power cut.
    cursor.execute("PRAGMA synchronous=FULL")
    # A checkpoint waits for the disk twice, and most pages that one write changes (the ends of the
    # same indexes) are changed again by the next.
    (page_bytes,) = cursor.execute("PRAGMA page_size").fetchone()
    cursor.execute(f"PRAGMA wal_autocheckpoint={LOG_BYTES // page_bytes}")
    cursor.execute("PRAGMA foreign_keys=ON")
    # Overwrite what is deleted, which not every build of SQLite does by default.
    cursor.execute("PRAGMA secure_delete=ON")
    cursor.close()


def _switch_to_wal(cursor: sqlite3.Cursor) -> None:
    """Turn on the write-ahead log, which only the first connection to a file has to do.

    SQLite doesn't wait for locks here, so of simultaneous first starts all but one would fail.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    if connection.get_execution_options().get("sqlite_begin") == "IMMEDIATE":
        _lock_sqlite(connection)
    else:
        connection.exec_driver_sql("BEGIN DEFERRED")


# The threads of a process take turns at writing, using a lock of their own: one that
# waits for SQLite's sleeps for up to 100 ms even if nobody is writing.
_TURN, _LOCK_OF_TURNS = "turn", "lock_of_turns"
# Shorter waits don't count.
SHORT_MS = 100
_LOCK = Prepared(text("BEGIN IMMEDIATE"))


class _Turn:
    """A thread's turn at writing. After waiting too long, the thread goes on without one."""

    def __init__(self, bind: Any) -> None:
        self._lock: threading.Lock = bind.get_execution_options()[_LOCK_OF_TURNS]
        begun = time.monotonic()
        self._is_held = self._lock.acquire(timeout=BUSY_TIMEOUT_MS / 1000)
        self.waited_ms = int((time.monotonic() - begun) * 1000)

    def end(self) -> None:
        if self._is_held:
            self._is_held = False
            self._lock.release()


def _lock_sqlite(connection: Connection) -> None:
    """Take SQLite's write lock, and keep the turn until the connection is returned to its pool.

    The time spent waiting for the turn is subtracted from SQLite's timeout.
    """
    info, waited = connection.info, 0
    if _TURN not in info:
        turn = connection.get_execution_options().get(_TURN) or _Turn(connection)
        info[_TURN], waited = turn, turn.waited_ms
    if waited < SHORT_MS:
        _LOCK.run(connection, {})
        return
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA busy_timeout={max(BUSY_TIMEOUT_MS - waited, 0)}")
    try:
        _LOCK.run(connection, {})
    finally:
        driver.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")


def _end_turn(_driver: object, record: ConnectionPoolEntry) -> None:
    if turn := record.info.pop(_TURN, None):
        turn.end()
