"""SQLite files: copying one in use, checking it, reporting damage; and which backups exist."""

import contextlib
import os
import re
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from flask import has_app_context
from sqlalchemy import Engine

from testimonials.core.settings.table import Settings, current_settings, load_settings

# How long to wait for a lock that another program holds.
WAIT_SECONDS = 30
MAX_PROBLEMS = 20
# The length of a write-ahead log's header, and its first bytes for either byte order.
LOG_HEAD, LOG_BEGINNINGS = 32, (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


@contextlib.contextmanager
def open_file(path: Path, *, wait: float = WAIT_SECONDS) -> Iterator[sqlite3.Connection]:
    """Open an existing file. Raises `sqlite3.Error`."""
    require_log(path)
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=wait, isolation_level=None
    )
    with contextlib.closing(connection):
        yield connection


class Reader:
    """Reads a file outside of transactions, with a connection for each thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._address = f"file:{quote(engine.url.database or '')}?mode=ro"
        self._local = threading.local()
        # Kept to be closed: for threads that ended, Python does so only on garbage collection.
        self._drivers: list[sqlite3.Connection] = []

    @property
    def driver(self) -> sqlite3.Connection:
        """This thread's connection. Raises `sqlite3.Error`."""
        driver: sqlite3.Connection | None = getattr(self._local, "driver", None)
        if driver is None:
            driver = sqlite3.connect(
                self._address, uri=True, isolation_level=None, check_same_thread=False
            )
            driver.execute("PRAGMA busy_timeout=5000")
            self._local.driver = driver
            self._drivers.append(driver)
        return driver

    def close(self) -> None:
        """Close the connections of all threads, before the file is replaced."""
        while self._drivers:
            self._drivers.pop().close()
        self._local = threading.local()


def require_log(path: Path) -> None:
    """Raise `sqlite3.DatabaseError` if the write-ahead log of a database has an invalid header.

    Call this before opening the file: SQLite would ignore such a log, and lose the newest changes.
    """
    try:
        with Path(f"{path}-wal").open("rb") as log:
            head = log.read(LOG_HEAD)
            is_empty = len(head) < LOG_HEAD or not (any(head) or any(log.read(LOG_HEAD)))
    except OSError:
        return
    if not is_empty and head[:4] not in LOG_BEGINNINGS:
        error = sqlite3.DatabaseError(f"the log of the newest changes, {path.name}-wal, is damaged")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def copy_database(source: Path, target: Path) -> None:
    """Copy a consistent state of the database to a new file, without blocking its writers.

    This takes one step, since a copy in several starts over after each write. The caller syncs the
    copy. Raises `sqlite3.Error`.
    """
    with contextlib.closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        if os.statvfs(source.parent).f_flag & os.ST_RDONLY:
            # SQLite can't create the files that it needs there, but nobody can write either.
            for suffix in ("", "-wal", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
        else:
            with open_file(source) as opened:
                opened.backup(copy)
        # Make the copy a single file, without a write-ahead log.
        copy.execute("PRAGMA journal_mode=DELETE")


def checkpoint_log(path: Path) -> bool:
    """Move the write-ahead log into the file; return whether the file is complete now.

    That fails while another program reads the file, or if the disk is full.
    """
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        return True
    with contextlib.suppress(sqlite3.Error), open_file(path, wait=1) as opened:
        is_busy, _, _ = opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
    return False


def find_damage(path: Path) -> list[str]:
    """Return at most 20 problems with the file and its foreign keys, each as a sentence.

    Raises `sqlite3.OperationalError` if it can't be read for another reason, such as a full disk.
    """
    try:
        with open_file(path) as opened:
            query = f"PRAGMA integrity_check({MAX_PROBLEMS})"
            problems = [str(row[0]) for row in opened.execute(query) if row[0] != "ok"]
            rows = opened.execute("PRAGMA foreign_key_check").fetchmany(MAX_PROBLEMS)
    except sqlite3.OperationalError:
        raise
    except sqlite3.Error as error:
        return [str(error)]
    for table, row, target, _ in rows:
        problems.append(f"row {row} of {table} refers to a row of {target} that is gone")
    return problems[:MAX_PROBLEMS]


def list_recordings(path: Path) -> list[str]:
    """Return the ids of the complete recordings. Raises `sqlite3.Error`."""
    with open_file(path) as opened:
        rows = opened.execute("SELECT id FROM recording WHERE state = 'ready' ORDER BY id")
        return [row[0] for row in rows]


def count_rows(path: Path) -> dict[str, int]:
    """Return the number of rows by table. Raises `sqlite3.Error`."""
    with open_file(path) as opened:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%'"
        names = sorted(row[0] for row in opened.execute(f"{query} ESCAPE '!'"))
        # Names can't be bound parameters; these come from the database itself.
        quoted = {name: name.replace('"', '""') for name in names}
        return {
            name: opened.execute(f'SELECT count(*) FROM "{quoted[name]}"').fetchone()[0]  # noqa: S608
            for name in names
        }


def read_revision(path: Path) -> str | None:
    """Return the revision of the schema, or None without one. Raises `sqlite3.Error`."""
    with open_file(path) as opened:
        try:
            row = opened.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
    return None if row is None else str(row[0])


def list_columns(path: Path, table: str) -> list[str]:
    """Return the columns of a table, or [] if it doesn't exist. Raises `sqlite3.Error`."""
    with open_file(path) as opened:
        return [row[0] for row in opened.execute("SELECT name FROM pragma_table_info(?)", [table])]


def is_in_use(path: Path) -> bool:
    """Return whether any program has the database open."""
    try:
        with open_file(path, wait=0) as opened:
            # Every program with an open database in WAL mode holds a shared lock.
            opened.execute("PRAGMA locking_mode=EXCLUSIVE")
            opened.execute("BEGIN EXCLUSIVE")
            opened.execute("ROLLBACK")
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False


def choose_temporary_folder(instance_path: Path) -> str:
    """Return the folder for temporary files: the system's, or else the instance folder.

    In a container, that may be the only writable folder.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = str(instance_path)
        # SQLite doesn't use Python's choice.
        os.environ.setdefault("SQLITE_TMPDIR", tempfile.tempdir)
        return tempfile.tempdir


def is_damage(error: BaseException) -> bool:
    """Return whether an error from SQLite or SQLAlchemy means that the file is damaged."""
    code: int = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_lost(file: Path | None) -> bool:
    """Return whether an empty file has lost its data: a new instance wouldn't have backups."""
    settings = _find_settings()
    return (
        file is not None
        and file == settings.database_file
        and bool(list_kept(Path(settings.backup_path)))
    )


def describe_damage(reason: str) -> str:
    return f"The database is damaged: {reason.rstrip('.')}. {advise_restore()}"


def advise_restore() -> str:
    """Say where the newest backup is, and which command restores it."""
    settings = _find_settings()
    for place in filter(None, (settings.backup_path, settings.backup_to)):
        with contextlib.suppress(OSError):
            if kept := list_kept(Path(place)):
                return (
                    f"The newest backup is {kept[0].name} in {place}. Stop the service, then run "
                    f"`testimonials restore {kept[0].name} --replace`; the damaged files are kept."
                )
    return (
        "There is no backup in BACKUP_PATH or BACKUP_TO. Fetch one from where you keep others, "
        "stop the service, then run `testimonials restore FILE --replace`."
    )


def _find_settings() -> Settings:
    return current_settings() if has_app_context() else load_settings(makes_instance=False)


# The prefix of the daily backups of `serve`.
SCHEDULED = "scheduled"
_NAME = re.compile(r"(scheduled|backup|before-[0-9]{4})-([0-9]{8}T[0-9]{6}Z)\.tar\.gz")
_TIME = "%Y%m%dT%H%M%SZ"


class KeptBackup(NamedTuple):
    name: str
    size: int
    made_at: datetime

    @property
    def is_scheduled(self) -> bool:
        return self.name.startswith(SCHEDULED)


def read_time(name: str) -> datetime | None:
    """Return the time in the name of a backup, or None if it isn't one."""
    if (match := _NAME.fullmatch(name)) is None:
        return None
    try:
        return datetime.strptime(match[2], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def list_kept(folder: Path) -> list[KeptBackup]:
    """Return the backups in a folder, newest first, or [] if it doesn't exist."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sort_kept(
        KeptBackup(path.name, path.stat().st_size, made_at)
        for path in paths
        if (made_at := read_time(path.name)) is not None and path.is_file()
    )


def find_kept(file: Path, settings: Settings) -> Path:
    """Return the path of a backup, given as a path or as a name in BACKUP_PATH or BACKUP_TO."""
    if not file.exists() and file.name == str(file):
        for folder in filter(None, (settings.backup_path, settings.backup_to)):
            if (path := Path(folder) / file).is_file():
                return path
    return file


def sort_kept(backups: Iterable[KeptBackup]) -> list[KeptBackup]:
    return sorted(backups, key=lambda each: (each.made_at, each.name), reverse=True)


def choose_expired(backups: Iterable[KeptBackup], settings: Settings) -> list[KeptBackup]:
    """Return the scheduled backups in BACKUP_TO to delete, oldest first.

    The newest BACKUP_KEEP stay, and the newest of as many weeks and months as the settings say.
    """
    scheduled = sort_kept(each for each in backups if each.is_scheduled)
    kept = set(scheduled[: settings.backup_keep])
    for form, count in (
        ("%G-%V", settings.backup_keep_weeks),
        ("%Y-%m", settings.backup_keep_months),
    ):
        periods: dict[str, KeptBackup] = {}
        for each in scheduled:
            periods.setdefault(each.made_at.strftime(form), each)
        kept |= set(list(periods.values())[:count])
    return [each for each in reversed(scheduled) if each not in kept]
