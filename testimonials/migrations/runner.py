"""Runs the migrations: one transaction, safe when several processes start at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

FOLDER = Path(__file__).parent
# Any number will do, as long as every version of the program uses the same.
ADVISORY_LOCK = 7_263_540_189


class SchemaError(click.ClickException):
    """The database and the program don't fit; the message says what to do."""


def upgrade(engine: Engine) -> tuple[str | None, str]:
    """Bring the database to the newest schema; give the revisions before and after.

    Raises `SchemaError` when the database was made by a newer program.
    """
    with _exclusive(engine) as connection:
        before = _revision(connection)
        _refuse_newer(before)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        after = _revision(connection)
    assert after is not None  # noqa: S101 - there is at least one revision
    return before, after


def current(engine: Engine) -> str | None:
    """Give the database's revision, None for an empty one."""
    with engine.connect() as connection:
        return _revision(connection)


def head() -> str:
    """Give the newest revision that this program knows."""
    revision = _scripts().get_current_head()
    assert revision is not None  # noqa: S101 - there is at least one revision
    return revision


def require_head(engine: Engine) -> None:
    """Make sure that a command finds the schema it needs.

    A database that nobody has set up yet is set up; an older or a newer one is refused with
    `SchemaError`, since a running service may be using it.
    """
    revision = current(engine)
    if revision is None:
        upgrade(engine)
        return
    _refuse_newer(revision)
    if revision != head():
        raise SchemaError(
            f"The database is at revision {revision}, this program needs {head()}. Stop the "
            "service, then run: testimonials db upgrade"
        )


def _refuse_newer(revision: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise SchemaError(
            f"The database was made by a newer version of this program (revision {revision}). "
            "Install that version, or restore a backup made with this one."
        )


@contextmanager
def _exclusive(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that keeps every other migration out until it ends."""
    is_sqlite = engine.dialect.name == "sqlite"
    with engine.connect() as connection:
        if is_sqlite:
            # With foreign keys on, rebuilding a table deletes what refers to it; the switch works
            # only outside a transaction.
            _set_foreign_keys(connection, "OFF")
            connection = connection.execution_options(sqlite_begin="IMMEDIATE")
        try:
            with connection.begin():
                if not is_sqlite:
                    lock = text("SELECT pg_advisory_xact_lock(:lock)")
                    connection.execute(lock, {"lock": ADVISORY_LOCK})
                yield connection
        finally:
            if is_sqlite:
                _set_foreign_keys(connection, "ON")


def _set_foreign_keys(connection: Connection, value: str) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - the connection is open
    driver.execute(f"PRAGMA foreign_keys={value}")


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    # Alembic reads percent signs in this option as placeholders.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())
