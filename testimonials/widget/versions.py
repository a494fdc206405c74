"""Which version of a project is current: read on SQLite, told by PostgreSQL."""

import math
import secrets
import select
import sqlite3
import threading
import time
from typing import Any
from urllib.parse import quote

from flask import Flask
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from testimonials.core.db.prepared import Prepared
from testimonials.core.extensions import db
from testimonials.core.settings.current import current_settings

# Instead of a version: the database is away, and what is kept may be shown, marked as stale.
STALE = -1

# The same condition as `projects.projects.is_shown`; a test compares the two.
VERSION_QUERY = """
SELECT project.feed_version FROM project JOIN account ON account.id = project.account_id
WHERE project.id = ? AND project.deleted_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > ?)
"""


# For who calls the API with an account's key: the version of its project, and the key's hash.
CALLERS_QUERY = """
SELECT project.feed_version, account.key_hash
FROM project JOIN account ON account.id = project.account_id
WHERE project.id = :id AND account.id = :account_id AND project.deleted_at IS NULL
AND account.suspended_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > :now)
"""


class SqliteVersions:
    """Reads each version from the file; each thread has a connection of its own."""

    def __init__(self, database: str) -> None:
        self._database = f"file:{quote(database)}?mode=ro"
        self._local = threading.local()

    def find(self, project_id: str) -> int | None:
        """Return the version of a project that is shown, or None to let a view decide."""
        row = self._read(VERSION_QUERY, (project_id, time.time_ns() // 1_000_000))
        return row[0] if row else None

    def find_for(self, project_id: str, account_id: str) -> tuple[int, str | None] | None:
        """Return the version of an account's project and the hash of the account's key, or None to
        let a view decide."""
        found: tuple[int, str | None] | None = self._read(
            CALLERS_QUERY, _name_call(project_id, account_id)
        )
        return found

    def _read(self, query: str, values: Any) -> Any:
        try:
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = sqlite3.connect(self._database, uri=True, isolation_level=None)
                connection.execute("PRAGMA busy_timeout=5000")
                self._local.connection = connection
            return connection.execute(query, values).fetchone()
        except sqlite3.Error:
            # The view asks again, and its error is logged and answered as usual.
            return None


# The versions of projects on PostgreSQL: kept in memory, and forgotten when a host says so.
#
# A trigger tells every process of a change (NOTIFY). That is believed for as long as a message that
# the process sends to itself comes back, which proves that all earlier ones have: each is sent at
# most `TURN_SECONDS` after the last, and counts for `TRUSTED_SECONDS` from when it was sent.
# Without such a proof every version is asked for. While the database doesn't answer at all, what is
# kept may be shown as stale, for as long as the setting says.

EXTENSION = "testimonials_versions"
CHANNEL = "testimonials_versions"
TURN_SECONDS = 0.25
TRUSTED_SECONDS = 0.8
# An answer that takes longer is none for the others who wait; and how long nobody asks again.
PATIENCE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
MAX_KNOWN = 50_000
QUERY = text("""
SELECT project.feed_version, account.claimed_at, account.claim_expires_at
FROM project JOIN account ON account.id = project.account_id
WHERE project.id = :id AND project.deleted_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > :now)
""")


class ToldVersions:
    """What this process knows; `find` leaves everything to the views until `begin`."""

    def __init__(self, stale_seconds: float) -> None:
        self._stale_seconds = stale_seconds
        self._engine: Engine | None = None
        # The same, for one statement without a transaction around it.
        self._apart: Engine | None = None
        self._lock = threading.Lock()
        # Each version, and until when the account has it if nobody claims it, in milliseconds.
        self._known: dict[str, tuple[int, float]] = {}
        self._gone: set[str] = set()
        # Who asks for which project, and since when.
        self._asking: dict[object, tuple[str, float]] = {}
        self._proven_at = -math.inf
        self._away_since: float | None = None
        self._failed_at = -math.inf
        # The channel of the messages to itself, which say when they were sent.
        self._own = ""
        self._is_ended = threading.Event()

    def begin(self, engine: Engine) -> None:
        """Listen from now on, in a thread of its own."""
        self._engine = engine
        self._apart = engine.execution_options(isolation_level="AUTOCOMMIT")
        # Without waiting for the message, so that whoever wrote sees it.
        event.listen(db.session, "after_commit", self._forget_all)
        threading.Thread(target=self._run, args=[engine], name="versions", daemon=True).start()

    def end(self) -> None:
        """Stop listening, soon."""
        self._is_ended.set()

    def find(self, project_id: str) -> int | None:
        """Return the version of a project that is shown, `STALE`, or None to let a view decide."""
        if time.monotonic() - self._proven_at < TRUSTED_SECONDS:
            known = self._known.get(project_id)
            if known is not None and known[1] > time.time_ns() // 1_000_000:
                return known[0]
        return None if self._engine is None else self._ask(self._engine, project_id)

    def find_for(self, project_id: str, account_id: str) -> tuple[int, str | None] | None:
        if self._apart is None:
            return None
        try:
            with self._apart.connect() as connection:
                row = _CALLERS.one(connection, _name_call(project_id, account_id))
        except SQLAlchemyError:
            return None
        return (row[0], row[1]) if row else None

    def _ask(self, engine: Engine, project_id: str) -> int | None:
        now = time.monotonic()
        ticket = object()
        with self._lock:
            slowest = min((since for _, since in self._asking.values()), default=now)
            if now - slowest > PATIENCE_SECONDS or now - self._failed_at < PAUSE_SECONDS:
                return self._judge(project_id, now)
            if self._away_since is not None:
                # One at a time tries whether it is back.
                self._failed_at = now
            self._asking[ticket] = project_id, now
        try:
            row = _read(engine, project_id)
        except SQLAlchemyError:
            with self._lock:
                self._asking.pop(ticket, None)
                self._failed_at = time.monotonic()
                self._away_since = self._away_since or now
                return self._judge(project_id, self._failed_at)
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

    def _judge(self, project_id: str, now: float) -> int | None:
        """Return `STALE` if the database has not been away for too long; the lock is held."""
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
        # What is sent is for nobody but this process.
        connection.execute("SET synchronous_commit = off")
        connection.execute(f"LISTEN {CHANNEL}")
        connection.execute(f"LISTEN {own}")
        self._own = own
        self._forget_all()
        # `select` takes no descriptor above 1,023, and a worker may have more connections.
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        while not self._is_ended.is_set():
            sent_at = time.monotonic()
            connection.execute("SELECT pg_notify(%s, %s)", [own, str(sent_at)])
            until = sent_at + TURN_SECONDS
            while (left := until - time.monotonic()) > 0:
                if not waiting.poll(left * 1000):
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
            for ticket in [
                each for each, (asked, _) in self._asking.items() if asked == project_id
            ]:
                del self._asking[ticket]
            if payload != project_id:
                self._gone.add(project_id)

    def _forget_all(self, *_: object) -> None:
        with self._lock:
            self._known.clear()
            self._asking.clear()


_CALLERS = Prepared(text(CALLERS_QUERY))


def _name_call(project_id: str, account_id: str) -> dict[str, Any]:
    return {"id": project_id, "account_id": account_id, "now": time.time_ns() // 1_000_000}


def _read(engine: Engine, project_id: str) -> Any:
    values = {"id": project_id, "now": time.time_ns() // 1_000_000}
    try:
        with engine.connect() as connection:
            return connection.execute(QUERY, values).first()
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
    # That one was cut; the pool has forgotten the others too.
    with engine.connect() as connection:
        return connection.execute(QUERY, values).first()


def begin_versions(app: Flask) -> None:
    """Let this process, which answers requests, listen; without effect on SQLite."""
    versions: ToldVersions | None = app.extensions.get(EXTENSION)
    if versions is not None:
        with app.app_context():
            versions.begin(db.engine)


def make_versions(app: Flask) -> ToldVersions:
    """Attach to `app` the versions that it will know."""
    versions = app.extensions[EXTENSION] = ToldVersions(current_settings(app).stale_while_away)
    return versions
