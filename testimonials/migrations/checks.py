"""Whether a database is sound, and of the schema that this program needs."""

from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DatabaseError

from testimonials.core.data.database import Base
from testimonials.migrations.runner import head, open_connection, read_revision

MOST_FINDINGS = 20


def check_database(engine: Engine) -> list[str]:
    """Return what is wrong, one sentence each; [] for a sound database of the newest schema.

    Reads every page and every row on SQLite, beside a running service. Raises `SchemaError` where
    there is no database.
    """
    try:
        with open_connection(engine) as connection:
            findings = _find_damage(connection) if engine.dialect.name == "sqlite" else []
            return findings + _find_differences(connection)
    except DatabaseError as error:
        # So damaged that it can't even be asked.
        return ["the database can't be read: " + " ".join(str(error.orig).split())]


def find_differences(engine: Engine) -> list[str]:
    """Return how the schema differs from what this program needs, one sentence each."""
    with open_connection(engine) as connection:
        return _find_differences(connection)


def _find_differences(connection: Connection) -> list[str]:
    revision = read_revision(connection)
    if revision != head():
        return [f"the schema is at {revision or 'no revision'}, this program needs {head()}"]
    return [f"the schema differs: {each}" for each in _compare(connection)]


def _find_damage(connection: Connection) -> list[str]:
    query = text(f"PRAGMA integrity_check({MOST_FINDINGS})")
    found = [str(row[0]) for row in connection.execute(query) if row[0] != "ok"]
    rows = connection.execute(text("PRAGMA foreign_key_check")).fetchmany(MOST_FINDINGS)
    return found + [
        f"row {row[1]} of {row[0]} refers to a row of {row[2]} that is gone" for row in rows
    ]


def _compare(connection: Connection) -> list[str]:
    """Return how the tables differ from those of the models."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(connection, opts={"compare_type": True})
    differences: list[Any] = []
    for each in compare_metadata(context, Base.metadata):
        # Changes of one column come as a list of their own.
        differences += each if isinstance(each, list) else [each]
    return [_describe(each) for each in differences]


def _describe(difference: tuple[Any, ...]) -> str:
    names = [
        str(getattr(part, "name", part))
        for part in difference[1:]
        if part is not None and not isinstance(part, dict)
    ]
    return f"{difference[0].replace('_', ' ')} {' '.join(names)}"
