"""Detecting a PostgreSQL server that has stopped answering.

The kernel of a frozen server still acknowledges packets, and the server's own timeouts are frozen
too. So a thread that has waited for a moment checks on another connection whether the server
answers at all, and gives up only if it doesn't. Commands and upgrades are watched too, but only
`serve` limits the time of statements.
"""

import math
import threading
import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import Engine, event

# How long a statement waits before the server is checked, and between checks.
QUIET_SECONDS = 1.5
# The driver's minimum. The two together stay below the five seconds that a visitor waits.
CONNECT_SECONDS = 2
# After a failed check, no thread tries to connect for this long.
PAUSE_SECONDS = 1.0
# The time after which the kernel drops a connection that a firewall has forgotten.
UNACKNOWLEDGED_MS = 4000
# Locks are waited for as long as on SQLite. No statement of a page takes a minute.
SESSION_LIMITS = "SET lock_timeout = '5s'; SET statement_timeout = '60s'; COMMIT"
# By then the server has ended the statement, unless the process that runs it is frozen.
MAX_SECONDS = 65.0


class NoAnswer(psycopg.OperationalError):
    def __init__(self) -> None:
        super().__init__("the database server does not answer")


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server no longer answers."""

    heartbeat: "Heartbeat | None" = None
    max_seconds = math.inf

    def wait(self, gen: PQGen[Any], *args: Any, **options: Any) -> Any:
        return super().wait(self._watch(gen), *args, **options)

    def _watch(self, gen: PQGen[Any]) -> Generator[Any, Any, Any]:
        began_at = asked_at = time.monotonic()
        try:
            state = next(gen)
            while True:
                is_ready = yield state
                if not is_ready and time.monotonic() - asked_at > QUIET_SECONDS:
                    is_late = time.monotonic() - began_at > self.max_seconds
                    if self.heartbeat is None or is_late or not self.heartbeat.is_answering():
                        self.pgconn.finish()
                        raise NoAnswer
                    asked_at = time.monotonic()
                state = gen.send(is_ready)
        except StopIteration as end:
            return end.value


class Heartbeat:
    """Connects to the server, and remembers whether it answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parameters: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self._checked_at = 0.0
        self._is_away = False

    def connect(self, *args: Any, **parameters: Any) -> WatchedConnection:
        """Connect, or raise `psycopg.OperationalError` within `CONNECT_SECONDS`."""
        self._parameters = args, parameters
        if self._is_away and time.monotonic() - self._checked_at < PAUSE_SECONDS:
            # Waiting would only keep the thread from serving other requests.
            raise NoAnswer
        connection = self._try()
        connection.heartbeat = self
        return connection

    def is_answering(self) -> bool:
        """Return whether the server answers, by a check made now by this thread or another."""
        asked_at = time.monotonic()
        with self._lock:
            if self._checked_at < asked_at:
                try:
                    self._try().close()
                except (NoAnswer, psycopg.errors.ConnectionTimeout):
                    pass
                except psycopg.Error:
                    # A refusal is an answer too.
                    self._note(is_away=False)
            return not self._is_away

    def _try(self) -> WatchedConnection:
        args, parameters = self._parameters
        try:
            connection = WatchedConnection.connect(*args, **parameters)
        except (NoAnswer, psycopg.errors.ConnectionTimeout):
            self._note(is_away=True)
            raise
        self._note(is_away=False)
        return connection

    def _note(self, *, is_away: bool) -> None:
        self._is_away, self._checked_at = is_away, time.monotonic()


def watch_database(engine: Engine) -> None:
    """Watch all connections that `engine` opens from now on."""
    heartbeat = Heartbeat()

    @event.listens_for(engine, "do_connect")
    def connect(
        _dialect: object, _record: object, args: list[Any], parameters: dict[str, Any]
    ) -> WatchedConnection:
        parameters.setdefault("connect_timeout", CONNECT_SECONDS)
        parameters.setdefault("tcp_user_timeout", UNACKNOWLEDGED_MS)
        return heartbeat.connect(*args, **parameters)


def limit_statements(engine: Engine) -> None:
    """Limit the time of statements on all connections that `engine` opens from now on."""

    @event.listens_for(engine, "connect")
    def limit(connection: WatchedConnection, _record: object) -> None:
        connection.execute(SESSION_LIMITS)
        connection.max_seconds = MAX_SECONDS

    engine.dispose()
