"""Migrations (architecture, rule 8): whole or not at all, once, and as the models say."""

import os
import re
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from flask import Flask
from sqlalchemy import create_engine, inspect, text

from testimonials import create_app
from testimonials.core.db import migrate
from testimonials.core.db.engine import Base
from testimonials.core.db.migrate import FORMER_HEAD, SchemaError, current, head, upgrade
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from tests.migrations.conftest import execute
from tests.support.schemas import make_filled, migrate_to, render_schema
from tests.support.servers import POSTGRES, find_program, new_database

pytestmark = pytest.mark.postgres


def tables() -> set[str]:
    names = inspect(db.engine).get_table_names()
    return {name for name in names if not name.startswith("testimonial_search")}


def test_a_new_sqlite_file_gets_what_all_migrations_together_make(tmp_path):
    assert migrate.SCHEMA.read_text() == render_schema(), "python -m tests.support.schemas"
    made = []
    for name, build in (("new", upgrade), ("migrated", lambda engine: migrate_to(engine, head()))):
        engine = create_engine(f"sqlite:///{tmp_path / name}")
        build(engine)
        engine.dispose()
        with closing(sqlite3.connect(tmp_path / name)) as file:
            things = file.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
            made.append((sorted(things, key=str), list(file.iterdump())))
    assert made[0] == made[1]


def test_the_first_revision_is_the_former_head_on_sqlite(tmp_path):
    made = []
    for name, build in (("former", make_filled), ("first", migrate_to)):
        engine = create_engine(f"sqlite:///{tmp_path / name}")
        build(engine, FORMER_HEAD if name == "former" else migrate.FIRST)
        engine.dispose()
        with closing(sqlite3.connect(tmp_path / name)) as file:
            # In this order: it is the one in which triggers of the same event run.
            query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid"
            made.append(file.execute(query).fetchall())
    assert made[0] == made[1]


def test_the_first_revision_is_the_former_head_on_postgresql(empty_postgres):
    with new_database(os.environ[POSTGRES]) as other:
        made = []
        for url, build in ((empty_postgres, make_filled), (other, migrate_to)):
            engine = create_engine(url)
            build(engine, FORMER_HEAD if url == empty_postgres else migrate.FIRST)
            engine.dispose()
            made.append(dump_schema(url))
    assert "CREATE TABLE" in made[0]
    assert made[0] == made[1]


def dump_schema(url: str) -> str:
    program = find_program("pg_dump")
    assert program is not None
    address = url.replace("+psycopg", "")
    done = subprocess.run(
        [program, "--schema-only", address], check=True, capture_output=True, text=True
    )
    # Newer ones begin and end with a word of their own for each dump.
    return re.sub(r"^\\(un)?restrict .*$", "", done.stdout, flags=re.MULTILINE)


def test_no_revision_has_the_former_heads_name():
    # Databases that were never opened since would be taken for ones of the new revision.
    assert FORMER_HEAD not in migrate.revisions()


def test_a_first_start_goes_from_nothing_to_the_newest(app):
    invoke = app.test_cli_runner().invoke
    if db.engine.dialect.name == "postgresql":
        empty = invoke(args=["db", "current"])
        assert empty.output == f"database empty, program {head()}\n"
    assert upgrade(db.engine) == (None, head())
    assert upgrade(db.engine) == (head(), head())
    assert '"isHead": true' in invoke(args=["db", "current", "--json"]).output
    assert current(db.engine) == head()
    assert tables() == {table.name for table in Base.metadata.sorted_tables} | {"alembic_version"}
    # Foreign keys are on again after a migration.
    with pytest.raises(Exception, match=r"(?i)foreign key|violates"):
        execute(
            "INSERT INTO project (id, account_id, status, business_name, slug, page_config, "
            "widget_config, feed_version, created_at, updated_at) "
            "VALUES ('p', 'nobody', 'active', '', 's', '{}', '{}', 1, 1, 1)"
        )


@pytest.mark.parametrize("before", [None, FORMER_HEAD])
def test_starts_at_once_migrate_once(app, database, before):
    if before:
        make_filled(db.engine, before)
        db.engine.dispose()
    apps = [create_app(load_settings({}, database)) for _ in range(8)]
    barrier = Barrier(8)

    def start(app: Flask) -> tuple[str | None, str]:
        with app.app_context():
            barrier.wait()
            try:
                return upgrade(db.engine)
            finally:
                db.engine.dispose()

    with ThreadPoolExecutor(8) as pool:
        moves = list(pool.map(start, apps))
    assert sorted(moves, key=str) == sorted([(before, head())] + [(head(), head())] * 7, key=str)
    assert current(db.engine) == head()


def test_a_failing_migration_leaves_nothing_behind(app):
    # The last index that the first migration makes is in its way.
    index = "CREATE INDEX ix_testimonial_change_batch_id ON of_somebody (id)"
    execute("CREATE TABLE of_somebody (id INTEGER)", index)
    result = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "The upgrade failed, and the database is as it was: " in result.stderr
    assert "ix_testimonial_change_batch_id" in result.stderr
    assert tables() == {"of_somebody"}
    assert current(db.engine) is None
    execute("DROP TABLE of_somebody")
    assert upgrade(db.engine) == (None, head())


def test_a_database_of_a_newer_program_or_of_no_version_is_refused_and_left_alone(app):
    upgrade(db.engine)
    execute("UPDATE alembic_version SET version_num = '9999'")
    for use in (upgrade, migrate.require_head):
        with pytest.raises(SchemaError, match=r"newer version of this program \(revision 9999\)"):
            use(db.engine)
    assert current(db.engine) == "9999"
    result = app.test_cli_runner().invoke(args=["accounts", "list"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The database was made by a newer version")
    execute("DELETE FROM alembic_version")
    for command in (["db", "upgrade"], ["db", "upgrade", "--dry-run"]):
        result = app.test_cli_runner().invoke(args=command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "already exists" in result.stderr
    assert "not set up" in app.test_cli_runner().invoke(args=["accounts", "list"]).stderr


OLD = "older than revision 0021: start it once with the version that CHANGELOG.md names for this"


@pytest.mark.parametrize("stored", ["0001", "0020"])
def test_a_database_older_than_the_former_head_is_refused_and_left_alone(app, stored):
    # The names of these revisions are those of new ones, too.
    execute(
        "CREATE TABLE account (id VARCHAR NOT NULL PRIMARY KEY)",
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        f"INSERT INTO alembic_version VALUES ('{stored}')",
    )
    for use in (upgrade, migrate.require_head):
        with pytest.raises(SchemaError, match=OLD):
            use(db.engine)
    invoke = app.test_cli_runner().invoke
    for command in (["db", "upgrade"], ["db", "upgrade", "--dry-run"], ["accounts", "list"]):
        result = invoke(args=command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert OLD in result.stderr
    assert "the schema is at before 0021" in invoke(args=["db", "check"]).output
    assert OLD in invoke(args=["doctor"]).output
    assert tables() == {"account", "alembic_version"}
    with db.engine.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    assert found == [stored]
