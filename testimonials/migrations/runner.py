"""Runs the migrations: one transaction, safe when several processes start at once.

Alembic is loaded only when there is something to migrate: it takes an eighth of a second and 10 MB,
and nearly every start finds the database where it should be. An empty SQLite file gets the schema
that all migrations together make, which `schema.sql` keeps (`python -m tests.schemas` writes it).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DatabaseError

from testimonials.core.data.database import Base
from testimonials.extensions import BUSY_TIMEOUT_MS

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "schema.sql"
# Between its statements.
SEPARATOR = ";\n\n"
# A revision's id stands in its file's name: rev_0001_first_schema.py.
FILES = "rev_*.py"
# Any number will do, as long as every version of the program uses the same.
ADVISORY_LOCK = 7_263_540_189


# Called with the revision to come.
Prepare = Callable[[str], None]
HOW_TO_MAKE_ONE = "`testimonials serve` or `testimonials db upgrade` sets up a new one."
# How long a start waits for another one that migrates, and backs up before that.
WAIT_SECONDS = 600


class SchemaError(click.ClickException):
    """The database and the program don't fit; the message says what to do."""


def upgrade(engine: Engine, prepare: Prepare | None = None) -> tuple[str | None, str]:
    """Bring the database to the newest schema; return the revisions before and after.

    `prepare` is called before a database that holds something is changed, when nobody can write to
    it any more; what it raises ends the upgrade. Raises `SchemaError` when the database was made
    by a newer program, or by none that says its version.
    """
    newest = head()
    _make_file(engine)
    if current(engine) == newest:
        return newest, newest
    with _exclusive(engine) as connection:
        # Read again under the lock: another start may have been faster.
        before = read_revision(connection)
        _refuse_unknown(connection, before)
        if prepare is not None and before not in (None, newest):
            prepare(newest)
        _migrate(connection)
    return before, newest


def try_upgrade(engine: Engine) -> list[str]:
    """Run the migrations that are pending, take them back, and return their revisions.

    Nobody can write meanwhile. Raises what a migration raises, and `SchemaError` as `upgrade` does.
    """
    with _exclusive(engine) as connection:
        before = read_revision(connection)
        _refuse_unknown(connection, before)
        _migrate(connection)
        connection.get_transaction().rollback()  # type: ignore[union-attr]
    return [revision for revision in revisions() if before is None or revision > before]


def current(engine: Engine) -> str | None:
    """Return the database's revision, None for an empty one."""
    with open_connection(engine) as connection:
        return read_revision(connection)


def head() -> str:
    """Return the newest revision that this program knows."""
    return revisions()[-1]


def build_schema(connection: Connection) -> None:
    """Bring an empty PostgreSQL database to the newest schema inside the caller's transaction.

    Raises `SchemaError` where its encoding isn't UTF8.
    """
    _refuse_encoding(connection)
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": ADVISORY_LOCK})
    _run_alembic(connection)


def require_head(engine: Engine) -> None:
    """Make sure that a command finds the schema it needs.

    Raises `SchemaError` for any other: a running service may be using an older or a newer one, and
    where there is none the command most likely looks into the wrong folder.
    """
    revision = current(engine)
    if revision is None:
        raise SchemaError(f"The database is not set up. {HOW_TO_MAKE_ONE}")
    _refuse_newer(revision)
    if revision != head():
        raise SchemaError(
            f"The database is at revision {revision}, this program needs {head()}. Stop the "
            "service, then run: testimonials db upgrade"
        )


def _refuse_unknown(connection: Connection, revision: str | None) -> None:
    _refuse_newer(revision)
    _refuse_encoding(connection)
    found = set(inspect(connection).get_table_names()) & Base.metadata.tables.keys()
    if revision is None and found:
        raise SchemaError(
            f"The database holds tables such as {min(found)} already, and does not say which "
            "version of this program made them, if any did. Name an empty database, or restore a "
            "backup."
        )


def _refuse_encoding(connection: Connection) -> None:
    """Refuse a PostgreSQL database that can't hold every letter that people write."""
    if connection.dialect.name == "sqlite":
        return
    found = connection.scalar(text("SHOW server_encoding"))
    if found != "UTF8":
        raise SchemaError(
            f"The database has the encoding {found}, which can't hold every text. Make one with: "
            "createdb --encoding UTF8 --template template0 NAME"
        )


def _refuse_newer(revision: str | None) -> None:
    if revision is not None and revision not in revisions():
        raise SchemaError(
            f"The database was made by a newer version of this program (revision {revision}). "
            "Install that version, or restore a backup made with this one."
        )


def open_connection(engine: Engine) -> Connection:
    """Open a connection; raise `SchemaError`, in one sentence, where there is no database."""
    file = _find_file(engine)
    if file is not None and not file.exists():
        # To connect would make an empty one.
        raise SchemaError(
            f"There is no database at {file}. {HOW_TO_MAKE_ONE} If there should be data, check "
            "TESTIMONIALS_INSTANCE_PATH and TESTIMONIALS_DATABASE_URL."
        )
    try:
        return engine.connect()
    except DatabaseError as error:
        reason = " ".join(str(error.orig).split())
        raise SchemaError(
            f"The database that TESTIMONIALS_DATABASE_URL names can't be opened: {reason}"
        ) from None


def _make_file(engine: Engine) -> None:
    try:
        if (file := _find_file(engine)) is not None:
            file.touch()
    except OSError as error:
        raise SchemaError(
            "The database that TESTIMONIALS_DATABASE_URL names can't be opened: "
            f"{file}: {error.strerror}"
        ) from None


def _find_file(engine: Engine) -> Path | None:
    """Return the SQLite file; None for PostgreSQL, and for a database in memory."""
    name = engine.url.database if engine.dialect.name == "sqlite" else None
    return Path(name) if name and name != ":memory:" else None


@contextmanager
def _exclusive(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that keeps every other migration out until it ends."""
    is_sqlite = engine.dialect.name == "sqlite"
    with open_connection(engine) as connection:
        if is_sqlite:
            # With foreign keys on, rebuilding a table deletes what refers to it; the switch works
            # only outside a transaction.
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
    """Return the revision of the database on the other side, None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if revision is None else str(revision)


def revisions() -> list[str]:
    """Return the ids of all revisions, oldest first."""
    return sorted(path.name.split("_")[1] for path in (FOLDER / "versions").glob(FILES))


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "sqlite" and not inspect(connection).get_table_names():
        for statement in SCHEMA.read_text(encoding="utf-8").split(SEPARATOR):
            connection.exec_driver_sql(statement)
    else:
        _run_alembic(connection)


def _run_alembic(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads percent signs in this option as placeholders.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
