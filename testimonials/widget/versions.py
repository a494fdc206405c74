"""The current feed versions of projects: read from SQLite, or pushed by PostgreSQL."""

import math
import secrets
import select
import sqlite3
import threading
import time
from dataclasses import dataclass
from typing import Any

from flask import Flask
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from testimonials.core.db.prepared import Prepared
from testimonials.core.db.sqlite import Reader
from testimonials.core.extensions import db
from testimonials.core.settings.table import current_settings

# Stands for a version while the database is away, and kept answers may be sent as stale.
STALE = -1

# The same condition as `projects.projects.is_shown`; a test compares the two.
VERSION_QUERY = """
SELECT project.feed_version, account.claimed_at, account.claim_expires_at
FROM project JOIN account ON account.id = project.account_id
WHERE project.id = :id AND project.deleted_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > :now)
"""
# For callers of the API with an account's key: the project's version and the key's hash.
CALLERS_QUERY = """
SELECT project.feed_version, account.key_hash
FROM project JOIN account ON account.id = project.account_id
WHERE project.id = :id AND account.id = :account_id AND project.deleted_at IS NULL
AND account.suspended_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > :now)
"""


@dataclass
class SqliteVersions:
    """Reads each version from the file."""

    reader: Reader

    def find(self, project_id: str) -> int | None:
        """Return the version of a public project; None leaves the request to the view."""
        row = self._read(VERSION_QUERY, _bind(project_id))
        return row[0] if row else None

    def find_for(self, project_id: str, account_id: str) -> tuple[int, str | None] | None:
        """Return the version of an account's project and the hash of its key.

        None leaves the request to the view.
        """
        values = {**_bind(project_id), "account_id": account_id}
        return self._read(CALLERS_QUERY, values)  # type: ignore[no-any-return]

    def _read(self, query: str, values: Any) -> Any:
        try:
            return self.reader.driver.execute(query, values).fetchone()
        except sqlite3.Error:
            # The view queries again, and its error is handled as usual.
            return None


# On PostgreSQL versions are kept in memory until a notification of a change.
#
# A trigger notifies every process of each change (NOTIFY). A process relies on this as long as the
# messages that it sends itself every `TURN_SECONDS` come back: each proves, for `TRUSTED_SECONDS`
# after it was sent, that earlier notifications have arrived. Otherwise the process queries every
# version. While the database doesn't answer, kept answers may be sent as stale, for as long as the
# setting allows.

EXTENSION = "testimonials_versions"
CHANNEL = "testimonials_versions"
TURN_SECONDS = 0.25
TRUSTED_SECONDS = 0.8
# While a query takes longer than this, no others are made; nor in the pause after a failure.
PATIENCE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
MAX_KNOWN = 50_000


class PushedVersions:
    """The versions that this process knows; `find` returns None until `begin`."""

    def __init__(self, stale_seconds: float) -> None:
        self._stale_seconds = stale_seconds
        self._engine: Engine | None = None
        # The same without transactions.
        self._autocommit: Engine | None = None
        self._lock = threading.Lock()
        # Each version, and when the account expires unless it is claimed, in milliseconds.
        self._known: dict[str, tuple[int, float]] = {}
        self._gone: set[str] = set()
        # The project and start of each query that is running.
        self._asking: dict[object, tuple[str, float]] = {}
        self._proven_at = -math.inf
        self._away_since: float | None = None
        self._failed_at = -math.inf
        # A channel on which the process listens to itself; each message is the time at which it was
        # sent.
        self._own = ""
        self._is_ended = threading.Event()

    def begin(self, engine: Engine) -> None:
        self._engine = engine
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
        # So that whoever made a change sees it even before the notification arrives.
        event.listen(db.session, "after_commit", self._forget_all)
        threading.Thread(target=self._run, args=[engine], name="versions", daemon=True).start()

    def end(self) -> None:
        self._is_ended.set()

    def find(self, project_id: str) -> int | None:
        """Return the version of a public project, or `STALE`; None leaves it to the view."""
        if time.monotonic() - self._proven_at < TRUSTED_SECONDS:
            known = self._known.get(project_id)
            if known is not None and known[1] > time.time_ns() // 1_000_000:
                return known[0]
        return None if self._engine is None else self._ask(self._engine, project_id)

    def find_for(self, project_id: str, account_id: str) -> tuple[int, str | None] | None:
        if self._autocommit is None:
            return None
        try:
            with self._autocommit.connect() as connection:
                values = {**_bind(project_id), "account_id": account_id}
                row = _CALLERS.one(connection, values)
        except SQLAlchemyError:
            return None
        return (row[0], row[1]) if row else None

    def _ask(self, engine: Engine, project_id: str) -> int | None:
        now = time.monotonic()
        ticket = object()
        with self._lock:
            slowest = min((since for _, since in self._asking.values()), default=now)
            if now - slowest > PATIENCE_SECONDS or now - self._failed_at < PAUSE_SECONDS:
                return self._find_stale(project_id, now)
            if self._away_since is not None:
                # Keeps others from trying at the same time.
                self._failed_at = now
            self._asking[ticket] = project_id, now
        try:
            row = _read(engine, project_id)
        except SQLAlchemyError:
            with self._lock:
                self._asking.pop(ticket, None)
                self._failed_at = time.monotonic()
                self._away_since = self._away_since or now
                return self._find_stale(project_id, self._failed_at)
        with self._lock:
            self._away_since, self._failed_at = None, -math.inf
            is_fresh = self._asking.pop(ticket, None) is not None
            if row is None:
                self._gone.add(project_id)
                return None
            self._gone.discard(project_id)
            if is_fresh:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                until = row[2] if row[1] is None else math.inf
                self._known[project_id] = int(row[0]), until
            return int(row[0])

    def _find_stale(self, project_id: str, now: float) -> int | None:
        """Return `STALE` unless the database has been away for too long; the lock is held."""
        away = now - (now if self._away_since is None else self._away_since)
        is_kept = away < self._stale_seconds and project_id not in self._gone
        return STALE if is_kept else None

    def _run(self, engine: Engine) -> None:
        from psycopg import Error

        from testimonials.core.db.postgres_watch import CONNECT_SECONDS, WatchedConnection

        arguments, options = engine.dialect.create_connect_args(engine.url)
        while not self._is_ended.is_set():
            try:
                with WatchedConnection.connect(
                    *arguments, **options, connect_timeout=CONNECT_SECONDS, autocommit=True
                ) as connection:
                    self._listen(connection)
            except (Error, OSError):
                self._proven_at = -math.inf
            self._is_ended.wait(TURN_SECONDS)

    def _listen(self, connection: Any) -> None:
        own = f"testimonials_{secrets.token_hex(8)}"
        connection.add_notify_handler(lambda each: self._hear(each.channel, each.payload))
        # This connection sends nothing that needs to last.
        connection.execute("SET synchronous_commit = off")
        connection.execute(f"LISTEN {CHANNEL}")
        connection.execute(f"LISTEN {own}")
        self._own = own
        self._forget_all()
        # `select` can't watch descriptors from 1,024 on, which a worker may have.
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        while not self._is_ended.is_set():
            sent_at = time.monotonic()
            connection.execute("SELECT pg_notify(%s, %s)", [own, str(sent_at)])
            deadline = sent_at + TURN_SECONDS
            while (left := deadline - time.monotonic()) > 0:
                if not poll.poll(left * 1000):
                    break
                connection.pgconn.consume_input()
                while (notice := connection.pgconn.notifies()) is not None:
                    self._hear(notice.relname.decode(), notice.extra.decode())

    def _hear(self, channel: str, payload: str) -> None:
        if channel == CHANNEL:
            self._forget(payload)
        elif channel == self._own:
            self._proven_at = float(payload)

    def _forget(self, payload: str) -> None:
        if not payload:
            self._forget_all()
            return
        project_id = payload.removeprefix("-")
        with self._lock:
            self._known.pop(project_id, None)
            tickets = [each for each, (id, _) in self._asking.items() if id == project_id]
            for ticket in tickets:
                del self._asking[ticket]
            # The id of a deleted project is preceded by a minus.
            if payload != project_id:
                self._gone.add(project_id)

    def _forget_all(self, *_: object) -> None:
        with self._lock:
            self._known.clear()
            self._asking.clear()


_VERSION, _CALLERS = text(VERSION_QUERY), Prepared(text(CALLERS_QUERY))


def _bind(project_id: str) -> dict[str, Any]:
    return {"id": project_id, "now": time.time_ns() // 1_000_000}


def _read(engine: Engine, project_id: str) -> Any:
    values = _bind(project_id)
    try:
        with engine.connect() as connection:
            return connection.execute(_VERSION, values).first()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
    # The connection was lost; the pool has dropped all others too.
    with engine.connect() as connection:
        return connection.execute(_VERSION, values).first()


def begin_versions(app: Flask) -> None:
    """Start listening in this process, which answers requests; no effect on SQLite."""
    versions: PushedVersions | None = app.extensions.get(EXTENSION)
    if versions is not None:
        with app.app_context():
            versions.begin(db.engine)


def make_versions(app: Flask) -> PushedVersions:
    versions = app.extensions[EXTENSION] = PushedVersions(current_settings(app).stale_while_away)
    return versions
