"""PostgreSQL: an SQLite instance moved to it whole, backups that either restores, and its dumps."""

import fcntl
import itertools
import os
import sqlite3
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from sqlalchemy import JSON, create_engine, func, inspect, select, text

from testimonials.auth.accounts import start_account
from testimonials.core.db import migrate
from testimonials.core.db.engine import Base
from testimonials.core.db.migrate import FORMER_HEAD, head, upgrade
from testimonials.core.extensions import db, lock_for_writing
from testimonials.core.settings.table import current_settings
from testimonials.operations.database import BATCH
from testimonials.testimonials.counts import find_wrong_counts
from tests.conftest import Caller
from tests.operations.database.conftest import ROWS, move, read_all, tables_of
from tests.operations.instances import app_on, back_up, query, refused_here, restore_here
from tests.support.schemas import make_filled
from tests.support.servers import POSTGRES, new_database
from tests.transfer.archives.projects import fill_project, read_rows

pytestmark = pytest.mark.postgres


def test_everything_is_there_afterwards(source, target, tmp_path):
    before = read_all(source)
    result = move(source, target)
    assert result.exit_code == 0, result.output
    assert "Set TESTIMONIALS_DATABASE_URL" in result.output
    moved = app_on(tmp_path / "instance", database_url=target)
    assert read_all(moved) == before
    # One of the testimonials came without a visit.
    others = {name: len(rows) for name, rows in before.items() if len(rows) != ROWS}
    assert others == {"insight_visit": ROWS - 1}
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
    tables = {table.name for table in Base.metadata.sorted_tables} - {"insight_visit"}
    assert {counted[name] for name in tables} == {ROWS}
    # The source is what it was.
    assert read_all(source) == before
    # A sequence would have to be set after the copy; there is none.
    tables = Base.metadata.sorted_tables
    assert [t.name for t in tables if t.autoincrement_column is not None] == []
    # What is NULL stays so, rather than becoming null in JSON.
    columns = [each for table in tables for each in table.columns if each.nullable]
    values = [each.type for each in columns if isinstance(each.type, JSON)]
    assert all(each.none_as_null for each in values)


def test_more_rows_than_fit_into_a_batch(source, target):
    """To an address from standard input, so that no list of processes shows its password."""
    table = Base.metadata.tables["rate_limit_counter"]
    rows = [{"key": f"k{n}", "hits": n, "expires_at": n / 7} for n in range(BATCH * 2 + 1)]
    with source.app_context(), db.engine.begin() as connection:
        connection.execute(table.insert(), rows)
    result = move(source, "-", "--json", text=f"{target}\n")
    assert result.exit_code == 0, result.output
    assert f'"rows": {len(rows) + ROWS}' in result.output
    with psycopg.connect(target) as connection:
        (count,) = connection.execute("SELECT count(*) FROM rate_limit_counter").fetchone() or (0,)
    assert count == len(rows) + ROWS


def refuse(source: Flask, target: str, words: str, *tables: str) -> None:
    """Move where it is refused in one sentence, and leaves the target with these tables."""
    result = move(source, target)
    assert (result.exit_code, tables_of(target)) == (1, list(tables))
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_what_can_not_be_moved_leaves_the_target_as_it_was(source, target):
    folder, tag = current_settings(source).instance_path, Base.metadata.tables["testimonial_tag"]

    def set_revision(revision: str) -> None:
        with source.app_context(), db.engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")

    # Nobody writes to the source meanwhile: the move waits for their lock, and not for ever.
    with closing(sqlite3.connect(folder / "testimonials.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refuse(source, target, "database is locked")
        other.execute("ROLLBACK")
    # What a running service would write afterwards would stay behind.
    with (folder / "instance.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        refuse(source, target, "is in use. Stop the service")
    set_revision("0001")
    refuse(source, target, "The database is at revision 0001, this program needs")
    set_revision(head())
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text text)")
        told = "Error: The target is not empty: it has 1 table(s), such as notes."
        refuse(source, target, told, "notes")
        connection.execute("DROP TABLE notes")
    # The last, since its triggers leave the name where tags are counted.
    with source.app_context(), db.engine.begin() as connection:
        connection.execute(tag.update().values(name="null\0byte").where(tag.c.name == "key 1"))
    refuse(source, target, "Error: The copy failed and was rolled back: ")


def test_a_wrong_address_is_told_without_password(source):
    for address, words in (
        ("mysql://x", "TARGET must start with"),
        ("sqlite:////tmp/x.db", "TARGET must be a postgresql:// address."),
        ("postgresql://u:hidden@host:nope/x", "TARGET must start with"),
        ("postgresql://u:hidden@127.0.0.1:1/x", "The copy failed and was rolled back"),
    ):
        result = move(source, address)
        assert result.exit_code == 1
        assert words in result.stderr
        assert "hidden" not in result.output
        assert "Traceback" not in result.output


def test_a_target_lacking_letters_is_refused(source, target):
    server, _, name = target.rpartition("/")
    for encoding in ("LATIN1", "SQL_ASCII"):
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}"')
            connection.execute(
                f"CREATE DATABASE \"{name}\" ENCODING '{encoding}' TEMPLATE template0 "
                "LC_COLLATE 'C' LC_CTYPE 'C'"
            )
        refuse(source, target, f"The database has the encoding {encoding}, which can't hold")


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
    with new_database(os.environ[POSTGRES]) as url:
        yield url


def test_it_is_restored_on_either(source, moved, target, other, tmp_path):
    before = read_all(source)
    archive = tmp_path / "backup.tar.gz"
    printed = back_up(moved, archive, database_url=target)
    assert set(printed["members"]) == {"testimonials.db", "secret_key"}
    assert {path.name for path in moved.iterdir()} == {"secret_key", "instance.lock"}

    on_file = tmp_path / "file"
    restore_here(on_file, archive)
    assert read_all(app_on(on_file)) == before
    with app_on(on_file).app_context():
        assert migrate.check_database(db.engine) == []
        assert find_wrong_counts(db.session.connection()) == []
        db.session.remove()
        db.engine.dispose()

    there = tmp_path / "there"
    printed = restore_here(there, archive, database_url=other)
    assert (printed["database"], read_all(app_on(there, database_url=other))) == (other, before)
    assert (there / "secret_key").read_text() == "k" * 40
    assert not (there / "testimonials.db").exists()
    # What triggers keep goes on from there.
    with psycopg.connect(other) as connection:
        connection.execute("DELETE FROM testimonial")
        left = connection.execute("SELECT sum(number) FROM testimonial_count").fetchone()
    assert left == (0,)


def test_it_is_the_database_at_one_moment(moved, target, tmp_path):
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


def test_a_database_with_anything_is_left_alone(moved, target, tmp_path):
    archive = tmp_path / "backup.tar.gz"
    back_up(moved, archive, database_url=target)
    place = tmp_path / "restored"
    said = refused_here("restore", place, archive, "--replace", database_url=target)
    assert "the target is not empty" in said.lower()
    assert "Nothing was changed." in said
    assert {path.name for path in place.iterdir()} <= {"instance.lock"}
    assert restore_here(place, archive, "--dry-run", database_url=target)["restored"] is False


def test_an_older_backup_of_sqlite_is_upgraded_on_its_way(other, tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    engine = create_engine(f"sqlite:///{folder / 'testimonials.db'}")
    make_filled(engine, FORMER_HEAD)
    engine.dispose()
    archive = tmp_path / "old.tar.gz"
    back_up(folder, archive)
    restore_here(tmp_path / "new", archive, database_url=other)
    with app_on(tmp_path / "new", database_url=other).app_context():
        assert migrate.check_database(db.engine) == []
        assert db.session.scalar(text("SELECT count(*) FROM testimonial")) == 3
        db.session.remove()
        db.engine.dispose()


OPERATING = Path("docs/operating.md")
FOLDER = "/mnt/backups"
INSTANCE = "/var/lib/testimonials"


def read_commands(heading: str, program: str) -> list[str]:
    """Return the indented lines of a section, from the one that starts with `program` to the
    last."""
    section = OPERATING.read_text().split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    return lines[next(n for n, line in enumerate(lines) if line.startswith(program)) :]


@pytest.fixture
def app(empty_postgres: str, tmp_path: Path) -> Iterator[Flask]:
    app = app_on(tmp_path / "instance", database_url=empty_postgres)
    with app.app_context():
        upgrade(db.engine)
        yield app
        db.session.remove()
        db.engine.dispose()


def test_a_database_that_takes_no_writes(app):
    """As a standby is after a failover, and much as on a full disk."""
    name = db.engine.url.database
    db.session.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    db.session.commit()
    db.engine.dispose()
    told = app.test_cli_runner().invoke(args=["accounts", "create", "mira@example.com"])
    assert told.stderr.startswith("Error: The database failed: cannot execute ")
    assert told.stderr.count("\n") == 1
    looked = app.test_cli_runner().invoke(args=["doctor"])
    assert "The database can't be written to: cannot execute CREATE TABLE AS" in looked.stdout


def run_in_shell(app: Flask, command: str, folder: Path) -> None:
    instance = current_settings(app).instance_path
    command = command.replace(FOLDER, str(folder)).replace(INSTANCE, str(instance))
    environment = {
        "PATH": os.environ["PATH"],
        "TESTIMONIALS_DATABASE_URL": current_settings(app).database_url,
    }
    done = subprocess.run(["bash", "-ec", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def test_all_of_it_comes_back(app, tmp_path):
    lock_for_writing()
    access = start_account("owner@example.com")
    assert access is not None
    db.session.commit()
    owner = Caller(app.test_client(), access.account.id, "owner@example.com", access.api_key)
    project = fill_project(app, owner)
    before, secret = read_rows(app, project), current_settings(app).secret_key
    backups = tmp_path / "backups"
    backups.mkdir()
    dumping = read_commands("### Backups of PostgreSQL", "pg_dump")
    assert len(dumping) == 2
    for command in dumping:
        run_in_shell(app, command, backups)

    db.session.execute(text("DROP TABLE event"))
    db.session.execute(text("UPDATE testimonial SET text = 'Lost'"))
    db.session.execute(text("CREATE INDEX left_behind ON testimonial (text)"))
    db.session.commit()
    for command in read_commands("### Restore into PostgreSQL", "pg_restore"):
        run_in_shell(app, command, backups)
    assert read_rows(app, project) == before
    assert "left_behind" not in {
        each["name"] for each in inspect(db.engine).get_indexes("testimonial")
    }
    counted = "SELECT reltuples FROM pg_class WHERE oid = 'testimonial'::regclass"
    assert db.session.execute(text(counted)).scalar_one() == len(before["testimonial"])
    assert (backups / "secret_key").read_text().strip() == secret
