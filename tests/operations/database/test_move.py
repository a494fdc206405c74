"""`testimonials db move`: an SQLite instance on PostgreSQL, all of it or nothing."""

import fcntl
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from sqlalchemy import func, select

from testimonials import create_app
from testimonials.core.data.database import Base
from testimonials.extensions import db
from testimonials.migrations.runner import head, upgrade
from testimonials.operations.database.copying import BATCH
from testimonials.settings.current import current_settings
from testimonials.settings.table import load_settings
from tests.operations.database.conftest import ROWS, move, read_all, tables_of

pytestmark = pytest.mark.postgres


def test_everything_is_there_afterwards(source: Flask, target: str, tmp_path: Path) -> None:
    before = read_all(source)
    result = move(source, target)
    assert result.exit_code == 0, result.output
    assert "Set TESTIMONIALS_DATABASE_URL" in result.output
    settings = {"instance_path": str(tmp_path / "instance"), "database_url": target}
    moved = create_app(load_settings({}, settings))
    assert read_all(moved) == before
    assert all(len(rows) == ROWS for rows in before.values())
    # Both truth values, so that the generated column is compared at all.
    table = Base.metadata.tables["testimonial"]
    with moved.app_context():
        with db.engine.connect() as connection:
            count = select(table.c.is_visible, func.count()).group_by(table.c.is_visible)
            assert {row[0] for row in connection.execute(count)} == {True, False}
        assert upgrade(db.engine) == (head(), head())
        db.engine.dispose()
    with psycopg.connect(target) as connection:
        query = "SELECT relname, reltuples FROM pg_class WHERE relkind = 'r'"
        # Without counts its first pages over many thousand rows take tens of seconds.
        counted = dict(connection.execute(query).fetchall())
    assert {counted[table.name] for table in Base.metadata.sorted_tables} == {ROWS}
    # The source is what it was.
    assert read_all(source) == before


def test_more_rows_than_fit_into_a_batch(source: Flask, target: str) -> None:
    table = Base.metadata.tables["rate_limit_counter"]
    rows = [{"key": f"k{n}", "hits": n, "expires_at": n / 7} for n in range(BATCH * 2 + 1)]
    with source.app_context(), db.engine.begin() as connection:
        connection.execute(table.insert(), rows)
    result = move(source, target, "--json")
    assert result.exit_code == 0, result.output
    assert f'"rows": {len(rows) + ROWS}' in result.output
    with psycopg.connect(target) as connection:
        (count,) = connection.execute("SELECT count(*) FROM rate_limit_counter").fetchone() or (0,)
    assert count == len(rows) + ROWS


def test_no_key_is_counted_by_the_database() -> None:
    """A sequence would have to be set after the copy; there is none."""
    tables = Base.metadata.sorted_tables
    assert [t.name for t in tables if t.autoincrement_column is not None] == []


def test_a_target_that_is_not_empty_is_refused_and_left_alone(source: Flask, target: str) -> None:
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text text)")
    result = move(source, target)
    assert result.exit_code == 1
    assert "Error: The target is not empty: it has 1 table(s), such as notes." in result.stderr
    assert tables_of(target) == ["notes"]


def test_a_source_that_is_not_at_head_is_refused(source: Flask, target: str) -> None:
    with source.app_context(), db.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    result = move(source, target)
    assert result.exit_code == 1
    assert "The database is at revision 0001, this program needs" in result.stderr
    assert tables_of(target) == []


def test_what_postgresql_can_not_hold_takes_the_whole_move_back(source: Flask, target: str) -> None:
    table = Base.metadata.tables["testimonial_tag"]
    with source.app_context(), db.engine.begin() as connection:
        connection.execute(table.update().values(name="null\0byte").where(table.c.name == "key 1"))
    result = move(source, target)
    assert result.exit_code == 1
    assert "Error: The copy failed and was rolled back: " in result.stderr
    assert "Traceback" not in result.output
    assert tables_of(target) == []


def test_nobody_writes_to_the_source_meanwhile(source: Flask, target: str) -> None:
    """Another writer's lock keeps the move waiting; it fails, whole, when that takes too long."""
    file = current_settings(source).instance_path / "testimonials.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = move(source, target)
        other.execute("ROLLBACK")
    assert result.exit_code == 1
    assert "database is locked" in result.stderr
    assert tables_of(target) == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://x", "TARGET must start with"),
        ("sqlite:////tmp/x.db", "TARGET must be a postgresql:// address."),
        ("postgresql://u:hidden@host:nope/x", "TARGET must start with"),
        ("postgresql://u:hidden@127.0.0.1:1/x", "The copy failed and was rolled back"),
    ],
)
def test_a_wrong_address_is_one_sentence_without_the_password(
    source: Flask, address: str, words: str
) -> None:
    result = move(source, address)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "hidden" not in result.output
    assert "Traceback" not in result.output


def test_the_address_can_come_from_standard_input(source: Flask, target: str) -> None:
    result = move(source, "-", text=f"{target}\n")
    assert result.exit_code == 0, result.output
    assert len(tables_of(target)) == len(Base.metadata.sorted_tables) + 1


def test_an_instance_on_postgresql_has_nothing_to_move(target: str, tmp_path: Path) -> None:
    settings = {"instance_path": str(tmp_path / "instance"), "database_url": target}
    app = create_app(load_settings({}, settings))
    result = move(app, target)
    assert result.exit_code == 1
    assert "Only an SQLite database can be moved" in result.stderr


def test_a_move_beside_a_running_service_is_refused(source: Flask, target: str) -> None:
    """What the service would write afterwards would stay behind."""
    lock = current_settings(source).instance_path / "instance.lock"
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        result = move(source, target)
    assert result.exit_code == 1
    assert "is in use. Stop the service" in result.stderr
    assert tables_of(target) == []
    assert move(source, target).exit_code == 0


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_target_that_can_not_hold_every_letter_is_refused(
    source: Flask, target: str, encoding: str
) -> None:
    server, _, name = target.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}"')
        connection.execute(
            f"CREATE DATABASE \"{name}\" ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' "
            "LC_CTYPE 'C'"
        )
    result = move(source, target)
    assert result.exit_code == 1
    assert f"The database has the encoding {encoding}, which can't hold" in result.stderr
    assert tables_of(target) == []
