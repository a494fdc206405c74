"""Runs the migrations once, in one transaction, and checks whether a database is sound.

Alembic is loaded only when something is to be migrated, since it takes an eighth of a second and
10 MB. An empty SQLite file gets the schema that all migrations together make from `schema.sql`
(written by `python -m tests.support.schemas`).

Before the first revision there were 21 others, of the same names. The last of them ended in the
schema of the first, so a database of it gets the first's name; older ones are refused.
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
# Between two statements of a file.
SEPARATOR = ";\n\n"
# A revision's id is in its file name: rev_0001_first_schema.py.
FILES = "rev_*.py"
# What was written of all tables, indexes and triggers, without what SQLite adds.
WRITTEN = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
# Any number, as long as every version of the program uses the same.
ADVISORY_LOCK = 7_263_540_189
# How long a start waits for another one that makes a backup and migrates.
WAIT_SECONDS = 600
# What SQLite writes beside a file when it opens it; it doesn't say what keeps it from that.
LEAST_TO_OPEN = 64 * 1024
READ_ONLY = "The disk is read-only: `dmesg` says why."
FIRST = "0001"
# What `FIRST` replaces.
FORMER_HEAD = "0021"
# A column of every account since then, by which a database of 0001 to 0020 is known as older.
SINCE_FORMER_HEAD = "language"
# What those are called here.
OLDER = f"before {FORMER_HEAD}"
OLDER_ADVICE = (
    f"it is older than revision {FORMER_HEAD}: start it once with the version that CHANGELOG.md "
    "names for this, then again with this one"
)
HOW_TO_CREATE = "Run `testimonials serve` or `testimonials db upgrade` to create one."

# Called with the new revision.
Prepare = Callable[[str], None]


class SchemaError(click.ClickException):
    """The database doesn't fit the program; the message says what to do."""


def upgrade(
    engine: Engine, prepare: Prepare | None = None, *, is_trial: bool = False
) -> tuple[str | None, str]:
    """Bring the database to the newest schema; return the revisions before and after.

    `prepare` is called before a database with data is changed, when nobody else can write; what it
    raises ends the upgrade. With `is_trial` everything is rolled back. Raises `SchemaError` if the
    database was made by a newer program, by one that is too old, or by one that doesn't say its
    version.
    """
    newest = head()
    if not is_trial:
        _make_file(engine)
    if current(engine) == newest:
        return newest, newest
    with _exclusive(engine) as connection:
        # Read again under the lock: another start may have been faster.
        before = read_revision(connection)
        _refuse_unknown(before)
        _refuse_encoding(connection)
        if before is None:
            _refuse_tables(connection)
        if prepare is not None and before not in (None, newest):
            prepare(newest)
        if before == FORMER_HEAD:
            connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": FIRST})
        _migrate(connection)
        if is_trial and (transaction := connection.get_transaction()):
            transaction.rollback()
    return before, newest


def _refuse_tables(connection: Connection) -> None:
    """Refuse a database without a revision that has tables of this program."""
    if names := inspect(connection).get_table_names():
        load_all()
        if found := set(names) & Base.metadata.tables.keys():
            raise SchemaError(
                f"The database already has tables such as {min(found)}, but not the version of the "
                "program that made them. Use an empty database, or restore a backup."
            )


def current(engine: Engine) -> str | None:
    """Return the database's revision, None if it is empty.

    Raises `SchemaError` if it can't be opened, or if there is a backup and so should be data.
    """
    with open_connection(engine) as connection:
        revision = read_revision(connection)
    if revision is None and is_lost(find_file(engine)):
        raise SchemaError(describe_damage("it is empty"))
    return revision


def head() -> str:
    """Return the newest revision that this program knows."""
    return revisions()[-1]


def revisions() -> list[str]:
    return sorted(path.name.split("_")[1] for path in (FOLDER / "versions").glob(FILES))


def list_pending(before: str | None) -> list[str]:
    """Return the revisions that an upgrade of a database at `before` runs."""
    at = FIRST if before == FORMER_HEAD else before
    return [each for each in revisions() if at is None or each > at]


def build_schema(connection: Connection) -> None:
    """Bring an empty PostgreSQL database to the newest schema in the caller's transaction.

    Raises `SchemaError` if its encoding isn't UTF8.
    """
    _refuse_encoding(connection)
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
    _run_alembic(connection)


def require_head(engine: Engine) -> None:
    """Raise `SchemaError` unless the database has the newest schema.

    For commands: a service may be running on another schema, and without any the command most
    likely looks into the wrong folder.
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
    found = connection.scalar(text("SHOW server_encoding"))
    if found != "UTF8":
        raise SchemaError(
            f"The database has the encoding {found}, which can't hold every text. Create one with: "
            "createdb --encoding UTF8 --template template0 NAME"
        )


def open_connection(engine: Engine) -> Connection:
    """Open a connection; raises `SchemaError` if there is no database, or it can't be opened.

    If it is damaged, `DatabaseError`.
    """
    file = find_file(engine)
    if file is not None and not file.exists():
        # Connecting would create an empty one.
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
        if file is not None and shutil.disk_usage(file.parent).free < LEAST_TO_OPEN:
            reason += f". The disk is full. {MAKE_ROOM}"
        elif file is not None and not os.access(file, os.R_OK | os.W_OK):
            is_read_only = os.statvfs(file).f_flag & os.ST_RDONLY
            reason += f". {READ_ONLY if is_read_only else AS_ITS_OWNER}"
        raise _unopened(reason) from None


def find_file(engine: Engine) -> Path | None:
    """Return the SQLite file; None for PostgreSQL, and for a database in memory."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" else None


def _make_file(engine: Engine) -> None:
    file = find_file(engine)
    try:
        if file is not None:
            file.touch()
    except OSError as error:
        advice = READ_ONLY if error.errno == errno.EROFS else AS_ITS_OWNER
        raise _unopened(f"{file}: {error.strerror}. {advice}") from None


def _unopened(reason: str) -> SchemaError:
    return SchemaError(f"The database in TESTIMONIALS_DATABASE_URL can't be opened: {reason}")


@contextmanager
def _exclusive(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that keeps every other migration out until it ends."""
    is_sqlite = engine.dialect.name == "sqlite"
    with open_connection(engine) as connection:
        if is_sqlite:
            # With foreign keys on, rebuilding a table deletes what refers to it. They can only be
            # switched outside a transaction.
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
    """Return the revision of a database, `OLDER` for all that are too old, None if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    stored = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if stored is None or stored >= FORMER_HEAD:
        return stored
    columns = connection.execute(text("SELECT * FROM account LIMIT 0")).keys()
    return name_revision(stored, columns)


def name_revision(stored: str, columns: Collection[str]) -> str:
    """Return what a revision is called here; `columns` are those of the table `account`."""
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
    """Return the problems of a database, a sentence each; none if it is sound and up to date.

    Reads all of an SQLite file, while the service may be running; what is damaged in it is told as
    `describe` does. Raises `SchemaError` if there is no database.
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
    """Return how the schema differs from what this program needs, a sentence each."""
    if (revision := current(engine)) != head():
        return [f"the schema is at {revision or 'no revision'}, this program needs {head()}"]
    with open_connection(engine) as connection:
        return [f"the schema differs: {each}" for each in _compare(connection)]


def _compare(connection: Connection) -> list[str]:
    """Return how the tables differ from those of the models."""
    if connection.dialect.name == "sqlite" and _is_as_written(connection):
        return []
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    load_all()

    # The index of words has tables of SQLite's own, and an expression on PostgreSQL.
    def is_compared(name: str | None, *_: Any) -> bool:
        return not (name or "").startswith("testimonial_search")

    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_name": is_compared}
    )
    differences: list[Any] = []
    for each in compare_metadata(context, Base.metadata):
        # Changes of one column come as a list.
        differences += each if isinstance(each, list) else [each]
    return [_describe(each) for each in differences]


def _is_as_written(connection: Connection) -> bool:
    """Return whether an SQLite file has to the letter what `schema.sql` makes.

    Migrations make the same, so for what differs alone Alembic is loaded, which takes 20 MB.
    """
    with create_engine("sqlite://").connect() as new:
        run_statements(new, SCHEMA.read_text(encoding="utf-8"))
        made, found = ({*each.execute(text(WRITTEN))} for each in (new, connection))
    return made == found


def _describe(difference: tuple[Any, ...]) -> str:
    names = [
        str(getattr(part, "name", part))
        for part in difference[1:]
        if part is not None and not isinstance(part, dict)
    ]
    return f"{difference[0].replace('_', ' ')} {' '.join(names)}"
