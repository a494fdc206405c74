"""Rehearsals: a backup is restored on trial, by itself and by the command."""

import json
import sqlite3
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import create_engine

from testimonials.core.data.leases import BackgroundJob
from testimonials.extensions import begin_write, db, prepare_engine
from testimonials.migrations.runner import FORMER_HEAD
from testimonials.operations.backup.models import REHEARSAL_JOB
from testimonials.operations.backup.state import describe_backups
from tests.conftest import Caller, MovableClock
from tests.operations.backup.conftest import Key, Make, mails, names, work
from tests.operations.disks import fill, small_disk
from tests.operations.instances import back_up, make_instance
from tests.support.schemas import make_filled

FIRST = "scheduled-20310505T090000Z.tar.gz"


@pytest.fixture
def app(make: Make) -> Flask:
    """An instance with backups of its own."""
    return make()


def rehearsed(app: Flask) -> tuple[bool, str | None]:
    """Return whether a rehearsal has worked, and why the last one didn't."""
    with app.app_context():
        state = describe_backups()
        db.session.rollback()
        return state.rehearsed_at is not None, state.rehearsed_error


def test_the_newest_is_rehearsed_when_there_is_one_and_then_each_week(
    make: Make, owner: Caller, moved_clock: MovableClock, tmp_path: Path
) -> None:
    app = make()
    work(app)
    with app.app_context():
        first = describe_backups().rehearsed_at
        db.session.rollback()
    assert first == moved_clock.time
    for days, is_again in ((6, False), (1, True)):
        moved_clock.move(days=days)
        work(app)
        with app.app_context():
            assert (describe_backups().rehearsed_at == moved_clock.time) is is_again
            db.session.rollback()
    # Nothing of it stays.
    assert not [name for name in names(tmp_path / "ours") if name.startswith(".unfinished")]


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_what_is_elsewhere_is_what_is_rehearsed(
    make: Make, owner: Caller, tmp_path: Path, age_key: Key, is_encrypted: bool
) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    settings = {"backup_to": str(place)}
    if is_encrypted:
        settings |= {"backup_age_recipients": age_key.public}
        settings |= {"backup_age_identity": str(age_key.file)}
    app = make(**settings)
    work(app)
    assert rehearsed(app) == (True, None)
    (copy,) = place.iterdir()
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with app.app_context():
        begin_write()
        db.session.get_one(BackgroundJob, REHEARSAL_JOB).started_at = None
        db.session.commit()
    work(app)
    has_worked, error = rehearsed(app)
    assert has_worked
    assert str(error).startswith(f"RehearsalFailed: {copy.name}: ")
    # The service is as it was, and the local backup sound.
    assert (
        app.test_cli_runner()
        .invoke(args=["backup", "rehearse", str(tmp_path / "ours" / "backups" / FIRST)])
        .output.endswith("its database sound.\n")
    )


def test_without_the_private_key_the_local_one_is_rehearsed(
    make: Make, owner: Caller, tmp_path: Path, age_key: Key
) -> None:
    app = make(backup_to=str(tmp_path), backup_age_recipients=age_key.public)
    work(app)
    assert rehearsed(app) == (True, None)
    runner = app.test_cli_runner()
    done = runner.invoke(args=["backup", "rehearse", f"{FIRST}.age"])
    assert "BACKUP_AGE_IDENTITY names no file" in done.output
    done = runner.invoke(args=["backup", "rehearse", "--json"])
    assert json.loads(done.output)["source"].endswith(f"/backups/{FIRST}")


def test_a_failure_is_mailed_once_a_day_until_it_works(
    make: Make, owner: Caller, tmp_path: Path, moved_clock: MovableClock
) -> None:
    app = make(backup_hours=8760)
    work(app)
    file = tmp_path / "ours" / "backups" / FIRST
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    moved_clock.move(days=7)
    for _ in range(12):
        work(app)
        moved_clock.move(hours=4)
    told = [f"A backup could not be restored on trial: {file}: it is damaged or cut off"] * 2
    assert [each.partition(" (")[0] for each in mails(app)] == told
    file.write_bytes(whole)
    moved_clock.move(days=1)
    work(app)
    assert mails(app)[2:] == ["Backups can be restored again"]
    assert rehearsed(app) == (True, None)


def spoil(change: str) -> Callable[[Path], None]:
    """Change the database of an instance behind the program's back."""

    def apply(instance: Path) -> None:
        connection = sqlite3.connect(instance / "testimonials.db")
        connection.executescript(change)
        connection.close()

    return apply


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP INDEX ix_outbox_mail_state", "the schema differs: "),
        ("CREATE TABLE theirs (id INTEGER)", "the schema differs: "),
        ("UPDATE testimonial_count SET number = 99", "count"),
        ("UPDATE alembic_version SET version_num = '0001'", "can't be used: "),
    ],
)
def test_what_db_check_would_find_after_a_restore_is_found_before(
    make: Make, owner: Caller, tmp_path: Path, change: str, words: str
) -> None:
    project = owner.create_project()["_id"]
    owner.create_testimonial(project)
    app = make()
    instance = tmp_path / "ours"
    copy = tmp_path / "copy"
    copy.mkdir()
    connection = sqlite3.connect(instance / "testimonials.db")
    connection.execute("VACUUM INTO ?", [str(copy / "testimonials.db")])
    connection.close()
    spoil(change)(copy)
    back_up(copy, tmp_path / "spoiled.tar.gz")
    runner = app.test_cli_runner()
    done = runner.invoke(args=["backup", "rehearse", str(tmp_path / "spoiled.tar.gz")])
    assert done.exit_code == 1
    assert "The rehearsal failed: " in done.output
    assert words in done.output
    # It was asked about a file, so nothing is recorded.
    with app.app_context():
        assert db.session.get(BackgroundJob, REHEARSAL_JOB) is None


def test_one_of_an_older_version_is_upgraded_on_trial(
    make: Make, owner: Caller, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    engine = create_engine(f"sqlite:///{tmp_path}/old/testimonials.db")
    prepare_engine(engine)
    make_filled(engine, FORMER_HEAD)
    engine.dispose()
    back_up(tmp_path / "old", tmp_path / "old.tar.gz")
    done = (
        make()
        .test_cli_runner()
        .invoke(args=["backup", "rehearse", str(tmp_path / "old.tar.gz"), "--json"])
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["schemaRevision"] == FORMER_HEAD


def test_recordings_are_compared_and_take_no_room(
    make: Make, owner: Caller, tmp_path: Path
) -> None:
    app = make()
    work(app)
    source = tmp_path / "ours" / "backups" / FIRST
    with tarfile.open(source) as tar:
        tar.extractall(tmp_path / "unpacked")  # noqa: S202 - our own
    unpacked = tmp_path / "unpacked"
    manifest = json.loads((unpacked / "manifest.json").read_text())
    name = "media/0123456789abcdef01234567"
    (unpacked / "media").mkdir()
    (unpacked / name).write_bytes(b"film" * 1000)

    good = sha256(b"film" * 1000).hexdigest()
    for digest, code in ((good, 0), ("0" * 64, 1)):
        manifest["members"][name] = {"size": 4000, "sha256": digest}
        (unpacked / "manifest.json").write_text(json.dumps(manifest))
        target = tmp_path / f"{code}.tar.gz"
        with tarfile.open(target, "w:gz") as tar:
            for each in ("manifest.json", "testimonials.db", "secret_key", name):
                tar.add(unpacked / each, each)
        done = app.test_cli_runner().invoke(args=["backup", "rehearse", str(target)])
        assert done.exit_code == code, done.output
    assert f"{name} is damaged: its size or checksum is wrong" in done.output


def test_a_disk_without_room_for_it_is_said(owner: Caller, make: Make, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "60m") as disk:
        instance = make_instance(disk / "instance", "owner@example.com")
        back_up(instance, tmp_path / "b.tar.gz")
        app = make(instance_path=str(instance))
        work(app)
        fill(disk / "full")
        done = app.test_cli_runner().invoke(args=["backup", "rehearse", str(tmp_path / "b.tar.gz")])
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
    assert "MB are needed and 0 MB are free" in done.output


def test_0_days_and_no_backup_mean_no_rehearsal(make: Make, owner: Caller) -> None:
    app = make(backup_rehearsal_days=0)
    work(app)
    assert rehearsed(app) == (False, None)
    done = make(backup_path="empty").test_cli_runner().invoke(args=["backup", "rehearse"])
    assert "BACKUP_TO, which says where backups are, is empty" in done.output
