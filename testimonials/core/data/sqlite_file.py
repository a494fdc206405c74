"""An SQLite database as a file: copied while it is written to, and looked through."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

# How long another program may keep a lock that stands in the way.
WAIT_SECONDS = 30
MOST_PROBLEMS = 20
# What SQLite answers where the file itself may be sound.
OBSTACLES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


@contextlib.contextmanager
def open_file(path: Path, *, wait: float = WAIT_SECONDS) -> Iterator[sqlite3.Connection]:
    """Open a file that is there; raises `sqlite3.Error`."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=wait, isolation_level=None
    )
    try:
        yield connection
    finally:
        connection.close()


def copy_database(source: Path, target: Path) -> None:
    """Copy the database as it is at one moment into a new file; nobody's writing is held up.

    All in one step: a copy in several steps begins anew whenever somebody writes in between, and
    under a steady load it never ends. Raises `sqlite3.Error`.
    """
    with contextlib.closing(sqlite3.connect(target)) as copy:
        # Whoever made the copy makes sure that it is on the disk, once it is complete.
        copy.execute("PRAGMA synchronous=OFF")
        if os.statvfs(source.parent).f_flag & os.ST_RDONLY:
            _copy_files(source, target)
        else:
            with open_file(source) as opened:
                opened.backup(copy)
        # A file for itself, without a write-ahead log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")


def _copy_files(source: Path, target: Path) -> None:
    """Copy a database of a read-only disk, where SQLite can't make the files that it reads with.

    Nobody writes to it meanwhile. What its log holds is written into the copy by the next reader.
    """
    for ending in ("", "-wal", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{source}{ending}", f"{target}{ending}")


def fold_log(path: Path) -> bool:
    """Bring what is in the write-ahead log into the file itself; return whether it has everything.

    It has not while another program reads it, or where the disk is full.
    """
    with contextlib.suppress(sqlite3.Error), open_file(path, wait=1) as opened:
        is_busy, _, _ = opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
    return False


def find_damage(path: Path) -> list[str]:
    """Return what is wrong with the file or its references, at most 20 sentences; [] when sound.

    Raises `sqlite3.OperationalError` where it can't be read, on a full disk for example, which says
    nothing of the file.
    """
    try:
        with open_file(path) as opened:
            query = f"PRAGMA integrity_check({MOST_PROBLEMS})"
            found = [str(row[0]) for row in opened.execute(query) if row[0] != "ok"]
            for table, row_id, other, _ in opened.execute("PRAGMA foreign_key_check"):
                found.append(f"row {row_id} of {table} refers to a row of {other} that is gone")
                if len(found) >= MOST_PROBLEMS:
                    break
    except sqlite3.OperationalError:
        raise
    except sqlite3.Error as error:
        return [str(error)]
    return found


def find_obstacle(path: Path) -> str | None:
    """Say why a file that may be sound can't be read here: its disk, its mode, a lock; or None."""
    try:
        with open_file(path) as opened:
            opened.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        # Without a code it is Python's own, which says nothing of the file.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return str(error) if code in OBSTACLES else None
    return None


def count_rows(path: Path) -> dict[str, int]:
    """Return how many rows each table has, by name; raises `sqlite3.Error`."""
    with open_file(path) as opened:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%'"
        names = sorted(row[0] for row in opened.execute(f"{query} ESCAPE '!'"))
        # A name can't be bound; these are the database's own, quoted as SQL wants it.
        quoted = {name: name.replace('"', '""') for name in names}
        return {
            name: opened.execute(f'SELECT count(*) FROM "{quoted[name]}"').fetchone()[0]  # noqa: S608
            for name in names
        }


def read_revision(path: Path) -> str | None:
    """Return the revision of the schema, None where there is none; raises `sqlite3.Error`."""
    with open_file(path) as opened:
        try:
            row = opened.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
    return None if row is None else str(row[0])


def is_in_use(path: Path) -> bool:
    """Tell whether any program has the database open, in whatever way it was started."""
    try:
        with open_file(path, wait=0) as opened:
            # Whoever has a database with a write-ahead log open holds a shared lock on it.
            opened.execute("PRAGMA locking_mode=EXCLUSIVE")
            opened.execute("BEGIN EXCLUSIVE")
            opened.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.Error:
        # What is no database has no users.
        return False
    return False
