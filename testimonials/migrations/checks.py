"""Whether a database is sound, and has the schema that this program needs."""

import sqlite3
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError

import testimonials.migrations.tables  # noqa: F401
from testimonials.core.db import sqlite
from testimonials.core.db.engine import Base
from testimonials.core.db.sqlite import is_damage
from testimonials.migrations.runner import current, find_file, head, open_connection


def check_database(engine: Engine, describe: Callable[[str], str] = str) -> list[str]:
    """Return the problems of a database, a sentence each; none if it is sound and up to date.

    Reads all of an SQLite file, while the service may be running; what is damaged in it is told as
    `describe` does. Raises `SchemaError` if there is no database.
    """
    try:
        differences = find_differences(engine)
        file = find_file(engine)
        damage = sqlite.find_damage(file) if file is not None else []
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
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_name": _is_compared}
    )
    differences: list[Any] = []
    for each in compare_metadata(context, Base.metadata):
        # Changes of one column come as a list.
        differences += each if isinstance(each, list) else [each]
    return [_describe(each) for each in differences]


def _is_compared(name: str | None, _kind: str, _parents: Any) -> bool:
    # The index of words has tables of SQLite's own, and an expression on PostgreSQL.
    return not (name or "").startswith("testimonial_search")


def _describe(difference: tuple[Any, ...]) -> str:
    names = [
        str(getattr(part, "name", part))
        for part in difference[1:]
        if part is not None and not isinstance(part, dict)
    ]
    return f"{difference[0].replace('_', ' ')} {' '.join(names)}"
