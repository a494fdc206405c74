"""Runs all migrations in one transaction, and checks a database.

Alembic is imported only to migrate, since that takes an eighth of a second and 10 MB. A new SQLite
file gets its schema from `schema.sql` (written by `python -m tests.support.schemas`), which equals
that of all migrations together.

The current revision 0001 replaces former revisions 0001 to 0021. It has the schema of the old 0021,
so such a database only gets the new name; older databases are refused.
"""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import DatabaseError

from testimonials.core.db.engine import Base
from testimonials.core.db.outages import MAKE_ROOM
from testimonials.core.db.sqlite import describe_damage, find_damage, is_damage, is_lost
from testimonials.core.extensions import BUSY_TIMEOUT_MS
from testimonials.core.late import load_all
from testimonials.core.settings.instance import AS_ITS_OWNER

FOLDER = Path(__file__).parents[2] / "migrations"
SCHEMA = FOLDER / "schema.sql"
# Between the statements of a file.
SEPARATOR = ";\n\n"
# The file name contains the revision's id: rev_0001_first_schema.py.
FILES = "rev_*.py"
# The SQL of all tables, indexes and triggers but SQLite's own.
WRITTEN = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
# Arbitrary, but the same in every version of the program.
ADVISORY_LOCK = 7_263_540_189
# How long a start waits for another that makes a backup and migrates.
WAIT_SECONDS = 600
# SQLite needs this much space to open a file, but doesn't say so when there is less.
MIN_FREE_BYTES = 64 * 1024
READ_ONLY = "The disk is read-only: `dmesg` says why."
FIRST = "0001"
# The revision that `FIRST` replaces.
FORMER_HEAD = "0021"
# A column of `account` that older databases lack.
SINCE_FORMER_HEAD = "language"
# The suffix of a database that a restore is about to put in place.
RESTORED = ".restored"
# What `read_revision` returns for these.
OLDER = f"before {FORMER_HEAD}"
OLDER_ADVICE = (
    f"it is older than revision {FORMER_HEAD}: start it once with the version that CHANGELOG.md "
    "names for this, then again with this one"
)
HOW_TO_CREATE = "Run `testimonials serve` or `testimonials db upgrade` to create one."

# Called with the new revision.
Prepare = Callable[[str], None]


class SchemaError(click.ClickException):
    """The database doesn't fit this program; the message says what to do."""


def upgrade(
    engine: Engine, prepare: Prepare | None = None, *, is_trial: bool = False
) -> tuple[str | None, str]:
    """Bring the database to the newest schema; return the revisions before and after.

    `prepare` is called under the lock, before a database with data is changed; its exceptions end
    the upgrade. With `is_trial` everything is rolled back. Raises `SchemaError` if the database is
    newer than this program or too old, and `DatabaseError` if it has tables without a revision.
    """
    newest = head()
    if not is_trial:
        _make_file(engine)
    if current(engine) == newest:
        return newest, newest
    with _exclusive(engine) as connection:
        # Read it again under the lock, as another start may have been faster.
        before = read_revision(connection)
        _refuse_unknown(before)
        _refuse_encoding(connection)
        if prepare is not None and before not in (None, newest):
            prepare(newest)
        if before == FORMER_HEAD:
            connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": FIRST})
        _migrate(connection)
        if is_trial and (transaction := connection.get_transaction()):
            transaction.rollback()
    return before, newest


def current(engine: Engine) -> str | None:
    """Return the database's revision, or None if it is empty.

    Raises `SchemaError` if it can't be opened, or if it is empty although there is a backup.
    """
    with open_connection(engine) as connection:
        revision = read_revision(connection)
    if revision is None and is_lost(find_file(engine)):
        raise SchemaError(describe_damage("it is empty"))
    return revision


def head() -> str:
    return revisions()[-1]


def revisions() -> list[str]:
    return sorted(path.name.split("_")[1] for path in (FOLDER / "versions").glob(FILES))


def list_pending(before: str | None) -> list[str]:
    """Return the revisions that an upgrade from `before` runs."""
    start = FIRST if before == FORMER_HEAD else before
    return [each for each in revisions() if start is None or each > start]


def build_schema(connection: Connection) -> None:
    """Bring an empty PostgreSQL database to the newest schema in the caller's transaction.

    Raises `SchemaError` if its encoding isn't UTF8.
    """
    _refuse_encoding(connection)
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
    _run_alembic(connection)


def require_head(engine: Engine) -> None:
    """Raise `SchemaError` unless the database has the newest schema.

    Commands call this instead of upgrading: a service may be running on another schema, and if
    there is none, the command probably uses the wrong folder.
    """
    revision = current(engine)
    if revision is None:
        raise SchemaError(f"The database is not set up. {HOW_TO_CREATE}")
    _refuse_unknown(revision)
    if revision != head():
        raise SchemaError(
            f"The database is at revision {revision}, this program needs {head()}. Stop the "
            "service, then run: testimonials db upgrade"
        )


def is_newer(revision: str) -> bool:
    return revision not in {*revisions(), FORMER_HEAD, OLDER}


def _refuse_unknown(revision: str | None) -> None:
    if revision == OLDER:
        raise SchemaError(f"The database can't be upgraded: {OLDER_ADVICE}.")
    if revision is not None and is_newer(revision):
        raise SchemaError(
            f"The database was made by a newer version of this program (revision {revision}). "
            "Install that version, or restore a backup made with this one."
        )


def _refuse_encoding(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        return
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise SchemaError(
            f"The database has the encoding {encoding}, which can't hold every text. Create one "
            "with: createdb --encoding UTF8 --template template0 NAME"
        )


def open_connection(engine: Engine) -> Connection:
    """Raises `SchemaError` if the database can't be opened, `DatabaseError` if it is damaged."""
    file = find_file(engine)
    if file is not None and not file.exists():
        # Connecting would create an empty database.
        _refuse_unrestored(file)
        raise SchemaError(
            f"There is no database at {file}. {HOW_TO_CREATE} If there should be data, check "
            "TESTIMONIALS_INSTANCE_PATH and TESTIMONIALS_DATABASE_URL."
        )
    try:
        return engine.connect()
    except DatabaseError as error:
        if is_damage(error):
            raise
        reason = " ".join(str(error.orig).split())
        if file is not None and shutil.disk_usage(file.parent).free < MIN_FREE_BYTES:
            reason += f". The disk is full. {MAKE_ROOM}"
        elif file is not None and not os.access(file, os.R_OK | os.W_OK):
            is_read_only = os.statvfs(file).f_flag & os.ST_RDONLY
            reason += f". {READ_ONLY if is_read_only else AS_ITS_OWNER}"
        raise _unopened(reason) from None


def find_file(engine: Engine) -> Path | None:
    """Return the SQLite file, or None for PostgreSQL or a database in memory."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" else None


def _make_file(engine: Engine) -> None:
    file = find_file(engine)
    try:
        if file is not None:
            _refuse_unrestored(file)
            file.touch()
    except OSError as error:
        advice = READ_ONLY if error.errno == errno.EROFS else AS_ITS_OWNER
        raise _unopened(f"{file}: {error.strerror}. {advice}") from None


def _refuse_unrestored(file: Path) -> None:
    path = file.resolve()
    if not path.exists() and path.with_name(path.name + RESTORED).exists():
        raise SchemaError(
            f"A restore was interrupted before {path.name} was in place. Run it again with "
            "--replace, or move the files in before-restore-... back to where they were."
        )


def _unopened(reason: str) -> SchemaError:
    return SchemaError(f"The database in TESTIMONIALS_DATABASE_URL can't be opened: {reason}")


@contextmanager
def _exclusive(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that excludes all other migrations."""
    is_sqlite = engine.dialect.name == "sqlite"
    with open_connection(engine) as connection:
        if is_sqlite:
            # With foreign keys on, rebuilding a table would delete rows that refer to it. They can
            # only be switched outside of a transaction.
            _set(connection, "foreign_keys", "OFF")
            _set(connection, "busy_timeout", WAIT_SECONDS * 1000)
            connection = connection.execution_options(sqlite_begin="IMMEDIATE")
        try:
            with connection.begin():
                if not is_sqlite:
                    lock = text("SELECT pg_advisory_xact_lock(:lock)")
                    connection.execute(lock, {"lock": ADVISORY_LOCK})
                yield connection
        finally:
            if is_sqlite:
                _set(connection, "foreign_keys", "ON")
                _set(connection, "busy_timeout", BUSY_TIMEOUT_MS)


def _set(connection: Connection, name: str, value: object) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    driver.execute(f"PRAGMA {name}={value}")


def read_revision(connection: Connection) -> str | None:
    """Return the revision, `OLDER` if the database is too old, or None if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    stored = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if stored is None or stored >= FORMER_HEAD:
        return stored
    columns = connection.execute(text("SELECT * FROM account LIMIT 0")).keys()
    return name_revision(stored, columns)


def name_revision(stored: str, columns: Collection[str]) -> str:
    """Return the stored revision or `OLDER`, by the columns of the table `account`."""
    is_older = stored < FORMER_HEAD and SINCE_FORMER_HEAD not in columns
    return OLDER if is_older else stored


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "sqlite" and not inspect(connection).get_table_names():
        run_statements(connection, SCHEMA.read_text(encoding="utf-8"))
    else:
        _run_alembic(connection)


def run_statements(connection: Connection, statements: str) -> None:
    for statement in statements.strip().split(SEPARATOR):
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _run_alembic(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads percent signs in this option as placeholders.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def check_database(engine: Engine, describe: Callable[[str], str] = str) -> list[str]:
    """Return the problems with a database, each as a sentence; [] if it is intact and up to date.

    Reads a whole SQLite file, even while the service runs; `describe` words damage to it. Raises
    `SchemaError` if there is no database.
    """
    try:
        differences = find_differences(engine)
        file = find_file(engine)
        damage = find_damage(file) if file is not None else []
        return [*map(describe, damage), *differences]
    except (DatabaseError, sqlite3.Error) as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        return [describe(reason) if is_damage(error) else f"the database can't be read: {reason}"]


def find_differences(engine: Engine) -> list[str]:
    """Return the differences from the schema that this program needs, each as a sentence."""
    if (revision := current(engine)) != head():
        return [f"the schema is at {revision or 'no revision'}, this program needs {head()}"]
    with open_connection(engine) as connection:
        return [f"the schema differs: {each}" for each in _compare(connection)]


def _compare(connection: Connection) -> list[str]:
    """Return the differences between the tables and the models."""
    if connection.dialect.name == "sqlite" and _is_as_written(connection):
        return []
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    load_all()

    # The index of words has internal tables on SQLite, and an expression on PostgreSQL.
    def is_compared(name: str | None, *_: Any) -> bool:
        return not (name or "").startswith("testimonial_search")

    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_name": is_compared}
    )
    differences: list[Any] = []
    for each in compare_metadata(context, Base.metadata):
        # Changes of a column are a list.
        differences += each if isinstance(each, list) else [each]
    return [_describe(each) for each in differences]


def _is_as_written(connection: Connection) -> bool:
    """Return whether an SQLite file has exactly the schema of `schema.sql`.

    This is the usual case, and saves importing Alembic, which takes 20 MB.
    """
    with create_engine("sqlite://").connect() as new:
        run_statements(new, SCHEMA.read_text(encoding="utf-8"))
        expected, actual = ({*each.execute(text(WRITTEN))} for each in (new, connection))
    return expected == actual


def _describe(difference: tuple[Any, ...]) -> str:
    names = [
        str(getattr(part, "name", part))
        for part in difference[1:]
        if part is not None and not isinstance(part, dict)
    ]
    return f"{difference[0].replace('_', ' ')} {' '.join(names)}"
