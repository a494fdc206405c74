"""Databases of every schema that may be in use, with something in every table.

`python -m tests.support.schemas` writes the newest one for a new SQLite file.
"""

import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Connection,
    Engine,
    LargeBinary,
    MetaData,
    StaticPool,
    Table,
    create_engine,
    types,
)

from testimonials.core.db.migrate import (
    FOLDER,
    FORMER_HEAD,
    SCHEMA,
    SEPARATOR,
    find_file,
    head,
    revisions,
    run_statements,
)
from tests.support.servers import POSTGRES, new_database

ROWS = 3
VERSION = "alembic_version"
# Made and filled by the last version with the 21 revisions before the first one: an SQLite file,
# and for PostgreSQL all statements of these revisions, then the rows as pg_dump wrote them.
FORMER = Path(__file__).parents[1] / "migrations"
# Triggers fill them.
KEPT = {"answer_count", "day_count", "insight_visit", "tag_count", "testimonial_count"}
# What each revision drops.
DROPPED = {
    "0002": {
        "access_request", "former_address", "notification_choice.is_monthly",
        "notification_choice.told_of_month",
    },
    # Their rows are in `member` and `team_invitation`.
    "0005": {"project_member", "workspace_member", "member_invitation", "workspace_invitation"},
    # Known from the testimonial.
    "0006": {"testimonial_change.project_id"},
    # Their rows are in `job`.
    "0007": {"background_job", "link_request", "outbox_mail.next_attempt_at"},
    "0008": {"table_import.leased_until"},
    # It counted openings, of which nobody knows what came of them.
    "0011": {"insight_funnel_day"},
    # Counted again, by what is genuine; a check of the database compares them with its rows.
    "0014": {"testimonial_count", "day_count"},
    # Nothing wrote it.
    "0016": {"event.hash"},
    # Archives that waited for a confirmation are chosen again.
    "0020": {"waiting_archive"},
}  # fmt: skip

# What differs where the schema does.
SCHEMA_OF = {
    "sqlite": "SELECT sql FROM sqlite_master",
    "postgresql": "SELECT version_num, table_name, column_name, udt_name, is_generated FROM "
    "alembic_version, information_schema.columns WHERE table_schema = 'public' ORDER BY 2, 3",
}

Rows = dict[str, list[dict[str, Any]]]
_known: dict[tuple[Any, ...], list[Table]] = {}


@contextmanager
def empty_database(backend: str, folder: Path) -> Iterator[dict[str, str]]:
    """Return the settings of a database that nobody has set up."""
    settings = {"instance_path": str(folder / "instance")}
    if backend == "sqlite":
        yield settings
        return
    with new_database(os.environ[POSTGRES]) as url:
        yield settings | {"database_url": url}


def in_use() -> list[str]:
    """Return the revisions that a database in use may have, but the newest."""
    return [FORMER_HEAD, *revisions()[:-1]]


def make_filled(engine: Engine, revision: str) -> None:
    """Bring an empty database to `revision`, with rows in every table."""
    if revision != FORMER_HEAD:
        migrate_to(engine, revision)
        fill(engine)
    elif file := find_file(engine):
        file.write_bytes(lzma.decompress((FORMER / "head_0021.sqlite.xz").read_bytes()))
    else:
        statements = lzma.decompress((FORMER / "head_0021.postgresql.sql.xz").read_bytes())
        with engine.begin() as connection:
            run_statements(connection, statements.decode())


def migrate_to(engine: Engine, revision: str) -> None:
    """Bring an empty database to the schema that `revision` ended in."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    if file := find_file(engine):
        file.touch()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def render_schema() -> str:
    """Return the statements that make an empty SQLite file what all migrations make of it."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    migrate_to(engine, head())
    # FTS5 makes the tables of an index itself.
    made = (
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT IN (SELECT name FROM "
        "pragma_table_list WHERE type = 'shadow') AND name <> 'sqlite_sequence' ORDER BY rowid"
    )
    with engine.connect() as connection:
        statements = [str(row[0]) for row in connection.exec_driver_sql(made)]
    statements.append(f"INSERT INTO {VERSION} (version_num) VALUES ('{head()}')")
    return SEPARATOR.join(statements) + "\n"


def fill(engine: Engine) -> None:
    with engine.begin() as connection:
        for table in _tables(connection):
            for number in range(0 if table.name in KEPT else ROWS):
                columns = [column for column in table.columns if column.computed is None]
                row = {each.name: _value(table, each, number) for each in columns}
                connection.execute(table.insert().values(row))


def read(engine: Engine) -> Rows:
    with engine.connect() as connection:
        found = {
            table.name: [dict(row) for row in connection.execute(table.select()).mappings()]
            for table in _tables(connection)
        }
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def kept(before: Rows, after: Rows, revision: str) -> tuple[Rows, Rows]:
    """Return what both have, without what later revisions drop, which `before` must have.

    What they add is left out too.
    """
    was = "testimonial_change"
    if was in before and was not in after:
        # It is among the events since.
        changes = {row["id"] for row in before[was]}
        events = {False: [], True: []}
        for row in after["event"]:
            events[row["id"] in changes].append(row)
        after = after | {"event": events[False], was: events[True]}
    later = [each for each in revisions() if revision == FORMER_HEAD or each > revision]
    gone = set().union(*(DROPPED.get(each, set()) for each in later))
    columns = {
        f"{table}.{name}" for table, rows in before.items() for row in rows[:1] for name in row
    }
    # Only some had it.
    assert gone <= before.keys() | columns | {"event.hash"}
    assert after.keys() >= before.keys() - gone
    tables = before.keys() - gone
    return _only(before, columns - gone, tables), _only(after, columns - gone, tables)


def _only(rows: Rows, columns: set[str], tables: set[str]) -> Rows:
    return {
        table: sorted(
            ({name: row[name] for name in row if f"{table}.{name}" in columns} for row in found),
            key=repr,
        )
        for table, found in rows.items()
        if table in tables
    }


def _tables(connection: Connection) -> list[Table]:
    """Return the tables that there are; found out once for each schema, as it takes long."""
    schema = tuple(connection.exec_driver_sql(SCHEMA_OF[connection.dialect.name]).all())
    if schema not in _known:
        metadata = MetaData()
        metadata.reflect(connection)
        _known[schema] = [
            table
            for table in metadata.sorted_tables
            if table.name != VERSION
            and not table.name.startswith(("testimonial_search", "sqlite_"))
        ]
    return _known[schema]


def _value(table: Table, column: Any, number: int) -> Any:
    if column.foreign_keys:
        (key,) = column.foreign_keys
        # A row that refers to one of its own table refers to itself.
        return _value(key.column.table, key.column, number)
    kind = column.type
    if isinstance(kind, types.Boolean):
        return number % 2 == 0
    if isinstance(kind, types.JSON):
        return {"number": number, "text": "“Füße” 🌿"}
    if isinstance(kind, LargeBinary):
        return bytes([number]) * 1000
    if isinstance(kind, types.Float | types.Numeric):
        return number + 0.5
    if isinstance(kind, types.Integer):
        return number + 1
    assert isinstance(kind, types.String), f"{table.name}.{column.name} is {kind!r}"
    text = f"{number} {table.name}.{column.name} “Füße” 🌿"
    return text[: kind.length] if kind.length else text


if __name__ == "__main__":
    SCHEMA.write_text(render_schema(), encoding="utf-8")
