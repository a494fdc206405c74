"""Outages: the database is busy or away, the disk is full, or Redis doesn't answer.

The response is 503, so that clients retry, and the log gets one line.
"""

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from limits.errors import StorageError
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from testimonials.core.db.sqlite import describe_damage, is_damage
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.logs import scrub


@dataclass(frozen=True)
class Outage:
    """A kind of outage, and what the response says."""

    code: str
    message: str
    # In seconds.
    retry_after: int


BUSY = Outage(
    "BUSY", gettext_noop("The database is busy. Nothing was changed; try again."), retry_after=1
)
# The change may have been made before the outage.
AWAY = Outage(
    "DATABASE_AWAY",
    gettext_noop("The database can’t be reached. Try again in a moment."),
    retry_after=5,
)
FULL = Outage(
    "STORAGE_FAILED",
    gettext_noop("Nothing can be saved right now. Try again later."),
    retry_after=60,
)
UNCOUNTED = Outage(
    "COUNTING_FAILED",
    gettext_noop("Redis doesn’t answer. Nothing was changed; try again."),
    retry_after=1,
)

# For errors, the log, the doctor and the operator's page; docs/operating.md says the same.
MAKE_ROOM = (
    "Run `testimonials backup drop`, which removes old backups, then delete folders named "
    "`before-restore-`, or enlarge the disk. What was acknowledged is safe; the service goes on by "
    "itself."
)
_FULL = {errno.ENOSPC, errno.EDQUOT}
_DISK = _FULL | {errno.EROFS, errno.EIO}
_SQLITE = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_CANTOPEN: AWAY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: FULL,
    sqlite3.SQLITE_CORRUPT: FULL,
    sqlite3.SQLITE_NOTADB: FULL,
    sqlite3.SQLITE_PERM: FULL,
    sqlite3.SQLITE_READONLY: FULL,
}
# PostgreSQL's codes by prefix: locks, deadlocks and timeouts; full disks and read-only standbys;
# servers that can't work or be reached.
_POSTGRESQL = (
    (("40", "55P03", "57014"), BUSY),
    (("53100", "58", "25006"), FULL),
    (("08", "28", "3D", "53", "57"), AWAY),
)


def find_outage(error: BaseException) -> Outage | None:
    """Return the outage that caused `error`, or None if there is none."""
    if isinstance(error, PoolTimeout):
        return BUSY
    if isinstance(error, StorageError):
        return UNCOUNTED
    if isinstance(error, OSError):
        return FULL if error.errno in _DISK else None
    if not isinstance(error, DBAPIError):
        return None
    if isinstance(error.orig, sqlite3.Error):
        return _SQLITE.get(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        # The error comes from the driver: it couldn't connect, or lost the connection.
        is_away = isinstance(error, OperationalError) or error.connection_invalidated
        return AWAY if is_away else None
    return next((outage for starts, outage in _POSTGRESQL if state.startswith(starts)), None)


def is_disk_full(error: BaseException) -> bool:
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno in _FULL)


def log_fault(
    logger: logging.Logger, message: str, error: BaseException, **extra: object
) -> Outage | None:
    """Log an outage in one line, or any other error with its traceback; return the outage."""
    outage = find_outage(error)
    if outage is None:
        logger.error(message, exc_info=error, extra=extra)
        return None
    reason = " ".join(str(getattr(error, "orig", error)).split())
    if is_damage(error):
        reason = describe_damage(reason)
    elif is_disk_full(error):
        reason += f". {MAKE_ROOM}"
    message = f"{message} ({outage.code})"
    logger.error("%s: %s", message, reason, extra=extra | {"fault": message})
    return outage


@contextmanager
def explaining_database_errors() -> Iterator[None]:
    """Turn errors of the database, but not of our own SQL, into `ClickException`."""
    try:
        yield
    except DatabaseError as error:
        # A damaged file is a plain DatabaseError.
        is_plain = isinstance(error, OperationalError) or type(error) is DatabaseError
        if not is_plain and find_outage(error) is None:
            raise
        raise click.ClickException(describe_database_error(error)) from None


def describe_database_error(error: DatabaseError) -> str:
    reason = scrub(" ".join(str(error.orig).split()))
    if is_damage(error):
        return describe_damage(reason)
    if is_disk_full(error):
        return f"The database failed: {reason}. {MAKE_ROOM}"
    if "locked" in reason:
        return (
            "The database is busy: another program has locked it for writing. Try again, or stop "
            "that program."
        )
    return f"The database failed: {reason}. Run `testimonials doctor` for details."
