"""The versions of projects, by which kept bytes are known to be current."""

import sqlite3
import threading
import time
from typing import Protocol
from urllib.parse import quote

# Instead of a version: the database is away, and what is kept may be shown, marked as stale.
STALE = -1

# The same condition as `projects.services.is_shown`; a test compares the two.
VERSION_QUERY = """
SELECT project.feed_version FROM project JOIN account ON account.id = project.account_id
WHERE project.id = ? AND project.deleted_at IS NULL
AND (account.claimed_at IS NOT NULL OR account.claim_expires_at > ?)
"""


class Versions(Protocol):
    """Finds versions without Flask."""

    def find(self, project_id: str) -> int | None:
        """Return the version of a project that is shown, `STALE`, or None to let a view decide."""


class SqliteVersions:
    """Reads each version from the file; each thread has a connection of its own."""

    def __init__(self, database: str) -> None:
        self._database = f"file:{quote(database)}?mode=ro"
        self._local = threading.local()

    def find(self, project_id: str) -> int | None:
        """Return the version of a project that is shown."""
        try:
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = sqlite3.connect(self._database, uri=True, isolation_level=None)
                connection.execute("PRAGMA busy_timeout=5000")
                self._local.connection = connection
            row = connection.execute(
                VERSION_QUERY, (project_id, time.time_ns() // 1_000_000)
            ).fetchone()
        except sqlite3.Error:
            # The view asks again, and its error is logged and answered as usual.
            return None
        return row[0] if row else None

    def let_go(self) -> None:
        """Forget the file's connections."""
        self._local = threading.local()
