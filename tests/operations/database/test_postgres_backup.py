"""Backups of PostgreSQL: the same files as those of SQLite, and restored into either."""

import itertools
import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from sqlalchemy import create_engine, text

from testimonials import create_app
from testimonials.extensions import db
from testimonials.migrations import checks
from testimonials.migrations.runner import FORMER_HEAD
from testimonials.privacy.erased_list import write_list
from testimonials.settings.table import load_settings
from testimonials.testimonials.counts.checking import find_wrong_counts
from tests.operations.database.conftest import move, read_all
from tests.operations.instances import back_up, query, refused_here, restore_here
from tests.support.schemas import make_filled
from tests.support.servers import POSTGRES, new_database

pytestmark = pytest.mark.postgres

COUNT_UP = "UPDATE rate_limit_counter SET hits = %s WHERE key = 'key 0'"
RENAME = "UPDATE old_slug SET slug = %s WHERE project_id = 'key 0'"


@pytest.fixture
def moved(source: Flask, target: str, tmp_path: Path) -> Path:
    """The folder of an instance whose data is in the PostgreSQL database `target`."""
    assert move(source, target).exit_code == 0
    folder = tmp_path / "on-postgresql"
    folder.mkdir()
    (folder / "secret_key").write_text("k" * 40)
    return folder


@pytest.fixture
def other(target: str) -> Iterator[str]:
    """Another empty database."""
    with new_database(os.environ[POSTGRES]) as url:
        yield url


def app_on(folder: Path, **settings: str) -> Flask:
    """Return an application on what was restored."""
    return create_app(load_settings({}, {"instance_path": str(folder)} | settings))


def test_it_comes_back_on_either_database(
    source: Flask, moved: Path, target: str, other: str, tmp_path: Path
) -> None:
    before = read_all(source)
    archive = tmp_path / "backup.tar.gz"
    printed = back_up(moved, archive, database_url=target)
    assert set(printed["members"]) == {"testimonials.db", "secret_key"}
    assert {path.name for path in moved.iterdir()} == {"secret_key", "instance.lock"}

    on_file = tmp_path / "file"
    restore_here(on_file, archive)
    assert read_all(app_on(on_file)) == before
    with app_on(on_file).app_context():
        assert checks.check_database(db.engine) == []
        assert find_wrong_counts(db.session.connection()) == []
        db.session.remove()
        db.engine.dispose()

    there = tmp_path / "there"
    printed = restore_here(there, archive, database_url=other)
    assert printed["database"] == other
    assert read_all(app_on(there, database_url=other)) == before
    assert (there / "secret_key").read_text() == "k" * 40
    assert not (there / "testimonials.db").exists()
    # What triggers keep goes on from there.
    with psycopg.connect(other) as connection:
        connection.execute("DELETE FROM testimonial")
        left = connection.execute("SELECT sum(number) FROM testimonial_count").fetchone()
    assert left == (0,)


def test_it_is_the_database_at_one_moment(moved: Path, target: str, tmp_path: Path) -> None:
    """Two tables that change in one transaction are alike in it, however often they change."""
    ended = threading.Event()

    def write() -> None:
        with psycopg.connect(target, autocommit=True) as connection:
            for number in itertools.takewhile(lambda _: not ended.is_set(), itertools.count()):
                with connection.transaction():
                    connection.execute(COUNT_UP, [number])
                    connection.execute(RENAME, [f"s{number}"])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for attempt in range(3):
            archive = tmp_path / f"{attempt}.tar.gz"
            back_up(moved, archive, database_url=target)
            with tarfile.open(archive) as tar:
                database = tar.extractfile("testimonials.db")
                assert database is not None
                (tmp_path / "testimonials.db").write_bytes(database.read())
            [(hits, slug)] = query(
                tmp_path,
                "SELECT hits, slug FROM rate_limit_counter, old_slug "
                "WHERE key = 'key 0' AND project_id = 'key 0'",
            )
            assert slug == f"s{hits}"
    finally:
        ended.set()
        writer.join()


def test_a_database_with_anything_in_it_is_left_alone(
    moved: Path, target: str, tmp_path: Path
) -> None:
    archive = tmp_path / "backup.tar.gz"
    back_up(moved, archive, database_url=target)
    place = tmp_path / "restored"
    said = refused_here("restore", place, archive, "--replace", database_url=target)
    assert "the target is not empty" in said.lower()
    assert "Nothing was changed." in said
    assert {path.name for path in place.iterdir()} <= {"instance.lock"}
    assert restore_here(place, archive, "--dry-run", database_url=target)["restored"] is False


def test_what_was_erased_since_stays_away(
    source: Flask, moved: Path, target: str, other: str, tmp_path: Path
) -> None:
    archive = tmp_path / "backup.tar.gz"
    back_up(moved, archive, database_url=target)
    write_list(tmp_path, {("testimonial", "key 0"): 1_900_000_000_000})
    printed = restore_here(tmp_path / "restored", archive, database_url=other)
    assert printed["erasedAgain"] == 1
    with psycopg.connect(other) as connection:
        found = connection.execute("SELECT id FROM testimonial ORDER BY id").fetchall()
    assert found == [("key 1",), ("key 2",)]


def test_a_backup_of_sqlite_that_is_older_is_upgraded_on_its_way(
    other: str, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    engine = create_engine(f"sqlite:///{folder / 'testimonials.db'}")
    make_filled(engine, FORMER_HEAD)
    engine.dispose()
    archive = tmp_path / "old.tar.gz"
    back_up(folder, archive)
    restore_here(tmp_path / "new", archive, database_url=other)
    with app_on(tmp_path / "new", database_url=other).app_context():
        assert checks.check_database(db.engine) == []
        assert db.session.scalar(text("SELECT count(*) FROM testimonial")) == 3
        db.session.remove()
        db.engine.dispose()
