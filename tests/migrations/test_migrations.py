"""Migrations (architecture, rule 8): whole or not at all, once, and as the models say."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from flask import Flask
from sqlalchemy import create_engine, inspect, text

from testimonials import create_app
from testimonials.core.data.database import Base
from testimonials.extensions import db
from testimonials.migrations.runner import SCHEMA, SchemaError, current, head, require_head, upgrade
from testimonials.settings.table import load_settings
from tests.support.schemas import empty_database, migrate_to, render_schema

pytestmark = pytest.mark.postgres


@pytest.fixture
def database(backend: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of an empty database."""
    with empty_database(backend, tmp_path) as settings:
        yield settings


@pytest.fixture
def app(database: dict[str, str]) -> Iterator[Flask]:
    """An application on the empty database."""
    app = create_app(load_settings({}, database))
    with app.app_context():
        yield app
        db.session.remove()
        db.engine.dispose()


def tables() -> set[str]:
    names = inspect(db.engine).get_table_names()
    return {name for name in names if not name.startswith("testimonial_search")}


def execute(statement: str) -> None:
    with db.engine.begin() as connection:
        connection.execute(text(statement))


def test_a_new_sqlite_file_gets_what_all_migrations_together_make(tmp_path: Path) -> None:
    assert SCHEMA.read_text() == render_schema()
    made = []
    for name, build in (("new", upgrade), ("migrated", lambda engine: migrate_to(engine, head()))):
        engine = create_engine(f"sqlite:///{tmp_path / name}")
        build(engine)
        engine.dispose()
        with closing(sqlite3.connect(tmp_path / name)) as file:
            things = file.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
            made.append((sorted(things, key=str), list(file.iterdump())))
    assert made[0] == made[1]


def test_a_first_start_goes_from_nothing_to_the_newest(app: Flask) -> None:
    assert upgrade(db.engine) == (None, head())
    assert upgrade(db.engine) == (head(), head())
    assert current(db.engine) == head()
    assert tables() == {table.name for table in Base.metadata.sorted_tables} | {"alembic_version"}


def test_first_starts_at_once_migrate_once(database: dict[str, str]) -> None:
    apps = [create_app(load_settings({}, database)) for _ in range(4)]
    barrier = Barrier(4)

    def start(app: Flask) -> tuple[str | None, str]:
        with app.app_context():
            barrier.wait()
            try:
                return upgrade(db.engine)
            finally:
                db.engine.dispose()

    with ThreadPoolExecutor(4) as pool:
        moves = list(pool.map(start, apps))
    assert sorted(moves, key=str) == sorted([(None, head())] + [(head(), head())] * 3, key=str)


def test_a_failing_migration_leaves_nothing_behind(app: Flask) -> None:
    # The last index that the first migration makes is in its way.
    execute("CREATE TABLE of_somebody (id INTEGER)")
    execute("CREATE INDEX ix_testimonial_change_batch_id ON of_somebody (id)")
    result = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "The upgrade failed, and the database is as it was: " in result.stderr
    assert "ix_testimonial_change_batch_id" in result.stderr
    assert tables() == {"of_somebody"}
    assert current(db.engine) is None
    execute("DROP TABLE of_somebody")
    assert upgrade(db.engine) == (None, head())


def test_tables_that_say_no_version_are_left_alone(app: Flask) -> None:
    upgrade(db.engine)
    execute("DELETE FROM alembic_version")
    for command in (["db", "upgrade"], ["db", "upgrade", "--dry-run"]):
        result = app.test_cli_runner().invoke(args=command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "The database already has tables such as abuse_report" in result.stderr
    assert "not set up" in app.test_cli_runner().invoke(args=["accounts", "list"]).stderr


def test_foreign_keys_are_on_again_after_a_migration(app: Flask) -> None:
    upgrade(db.engine)
    with pytest.raises(Exception, match=r"(?i)foreign key|violates"):
        execute(
            "INSERT INTO project (id, account_id, status, business_name, slug, page_config, "
            "widget_config, feed_version, created_at, updated_at) "
            "VALUES ('p', 'nobody', 'active', '', 's', '{}', '{}', 1, 1, 1)"
        )


def test_a_database_of_a_newer_program_is_refused_and_left_alone(app: Flask) -> None:
    upgrade(db.engine)
    execute("UPDATE alembic_version SET version_num = '9999'")
    for use in (upgrade, require_head):
        with pytest.raises(SchemaError, match=r"newer version of this program \(revision 9999\)"):
            use(db.engine)
    assert current(db.engine) == "9999"
    result = app.test_cli_runner().invoke(args=["accounts", "list"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The database was made by a newer version")


def test_db_current_says_where_both_stand(app: Flask) -> None:
    runner = app.test_cli_runner()
    if db.engine.dialect.name == "postgresql":
        empty = runner.invoke(args=["db", "current"])
        assert empty.output == f"database empty, program {head()}\n"
    runner.invoke(args=["db", "upgrade"])
    result = runner.invoke(args=["db", "current", "--json"])
    assert '"isHead": true' in result.output
