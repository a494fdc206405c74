"""Whose turn it is: of all processes on one database, one publishes.

On SQLite, all are on one machine and share the instance folder: a lock of a file there. On
PostgreSQL, an advisory lock of a connection. Either is free at once when its process dies.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from testimonials.extensions import db
from testimonials.settings.current import current_settings

FILE_NAME = "publishing.lock"
# The number of the advisory lock, unique in this service.
LOCK = 7_364_202_611


class Turn:
    """The turn of this process, if it has it, and the connection by which it looks for changes."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._file: int | None = None

    def take(self) -> bool:
        """Return whether it is this process's turn, from now on or still."""
        if self._connection is not None:
            return True
        settings = current_settings()
        if settings.is_sqlite and not self._lock_file(settings.instance_path / FILE_NAME):
            return False
        connection = db.engine.connect()
        if not settings.is_sqlite:
            query = text("SELECT pg_try_advisory_lock(:lock)")
            if not connection.scalar(query, {"lock": LOCK}):
                connection.close()
                return False
            connection.rollback()
        self._connection = connection
        return True

    def ask(self, query: Any, values: dict[str, Any] | None = None) -> list[Any]:
        """Return the rows that a query finds; if the connection fails, the turn is over."""
        if self._connection is None:
            raise RuntimeError("it is another process's turn")
        try:
            rows = self._connection.execute(query, values or {}).all()
            self._connection.rollback()
        except Exception:
            self.end()
            raise
        return list(rows)

    def end(self) -> None:
        """Let another process have its turn."""
        if (connection := self._connection) is not None:
            self._connection = None
            with contextlib.suppress(SQLAlchemyError):
                if connection.dialect.name != "sqlite":
                    connection.execute(text("SELECT pg_advisory_unlock_all()"))
            # Whatever has become of it, the pool must not keep a lock.
            connection.invalidate()
            connection.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _lock_file(self, path: Path) -> bool:
        if self._file is None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
