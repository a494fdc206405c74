"""The extensions, and how a connection to the database is set up."""

from typing import Any

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Engine, event

from testimonials.core.database import Base
from testimonials.core.ratelimit import RateLimiter

BUSY_TIMEOUT_MS = 5000

db = SQLAlchemy(model_class=Base, session_options={"expire_on_commit": False})
limiter = RateLimiter()


def init_extensions(app: Flask) -> None:
    """Attach the extensions to `app`; nothing connects yet."""
    db.init_app(app)
    limiter.init_app(app)
    with app.app_context():
        prepare_engine(db.engine)


def prepare_engine(engine: Engine) -> None:
    """Set up each SQLite connection of `engine`; PostgreSQL needs nothing."""
    if engine.dialect.name != "sqlite":
        return
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)


def begin_write() -> None:
    """Begin the one writing transaction of this request or command.

    SQLite takes its write lock now, and waits for it, since a transaction that reads first and
    writes later fails at once when another has written between. What was read before (credentials)
    is over by then; the models it gave stay usable.
    """
    end_read()
    db.session.connection(execution_options={"sqlite_begin": "IMMEDIATE"})


def end_read() -> None:
    """End a reading transaction and give its connection back; the models it gave stay usable.

    A rollback would mark them as out of date, and they could not be read again on their own.
    """
    db.session.close()


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by the event below, not by the driver's own guess.
    connection.isolation_level = None
    cursor = connection.cursor()
    # First of all: the other PRAGMAs may have to wait for a lock too.
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    # An acknowledged testimonial survives a power cut.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
