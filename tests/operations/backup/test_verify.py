"""Verifying: a backup is restored on trial, by itself and by the command."""

import json
import sqlite3
import tarfile
from hashlib import sha256

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import create_engine

from testimonials.core.db.migrate import FORMER_HEAD
from testimonials.core.extensions import db, prepare_engine
from testimonials.core.jobs import Job
from testimonials.operations.backup.creating import VERIFY_JOB
from testimonials.operations.backup.restoring import describe_backups
from tests.operations.backup.conftest import FIRST, mails, names, work
from tests.operations.disks import fill, small_disk
from tests.operations.instances import back_up, make_instance
from tests.support.schemas import make_filled

pytestmark = pytest.mark.usefixtures("owner")


def verified(app: Flask) -> tuple[bool, str | None]:
    """Return whether one has worked, and why the last one didn't."""
    with app.app_context():
        state = describe_backups()
        db.session.rollback()
        return state.verified_at is not None, state.verified_error


def verify(app: Flask, *arguments: object) -> Result:
    return app.test_cli_runner().invoke(args=["backup", "verify", *map(str, arguments)])


def test_the_newest_is_verified_at_first_and_then_each_night(make, moved_clock, tmp_path):
    app = make(backup_hours=8760)
    # Left by one that was killed.
    (tmp_path / "ours" / ".unfinished-verify-killed").mkdir()
    (tmp_path / "ours" / ".unfinished-verify-killed" / "testimonials.db").write_text("half of it")
    for hours, is_again in ((0, True), (23, False), (1, True)):
        moved_clock.move(hours=hours)
        work(app)
        with app.app_context():
            assert (describe_backups().verified_at == moved_clock.time) is is_again
            db.session.rollback()
    # Nothing of it stays.
    assert not [name for name in names(tmp_path / "ours") if name.startswith(".unfinished")]


def test_what_is_elsewhere_is_what_is_verified(make, place, tmp_path, moved_clock):
    app = make(backup_to=str(place), backup_hours=8760)
    work(app)
    assert verified(app) == (True, None)
    copy = place / FIRST
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    moved_clock.move(days=1)
    work(app)
    has_worked, error = verified(app)
    assert has_worked
    assert str(error).startswith(f"{copy}: ")
    # The service is as it was, and the local backup sound.
    local = tmp_path / "ours" / "backups" / FIRST
    assert verify(app, local).output.endswith("its database sound.\n")


def test_a_failure_is_told_by_the_job_alone_and_tried_again_each_day(make, tmp_path, moved_clock):
    app = make(backup_hours=8760, backup_verify_days=7)
    work(app)
    file = tmp_path / "ours" / "backups" / FIRST
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    moved_clock.move(days=7)
    work(app)
    _, error = verified(app)
    assert str(error).startswith(f"{file}: it is damaged or cut off")
    file.write_bytes(whole)
    moved_clock.move(hours=23)
    work(app)
    assert verified(app)[1] == error
    moved_clock.move(hours=1)
    work(app)
    assert verified(app) == (True, None)
    assert mails(app) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP INDEX ix_outbox_mail_state", "the schema differs: "),
        ("CREATE TABLE theirs (id INTEGER)", "the schema differs: "),
        ("UPDATE testimonial_count SET number = 99", "count"),
        ("UPDATE alembic_version SET version_num = '0001'", "can't be used: "),
    ],
)
def test_what_db_check_finds_is_found_before_a_restore(make, owner, tmp_path, change, words):
    project = owner.create_project()["_id"]
    owner.create_testimonial(project)
    app = make()
    instance, copy = tmp_path / "ours", tmp_path / "copy"
    copy.mkdir()
    for folder, statement in (
        (instance, f"VACUUM INTO '{copy}/testimonials.db'"),
        (copy, change),
    ):
        connection = sqlite3.connect(folder / "testimonials.db")
        connection.executescript(statement)
        connection.close()
    back_up(copy, tmp_path / "spoiled.tar.gz")
    done = verify(app, tmp_path / "spoiled.tar.gz")
    assert done.exit_code == 1
    assert "The backup can't be restored: " in done.output
    assert words in done.output
    # It was asked about a file, so nothing is recorded.
    with app.app_context():
        assert db.session.get(Job, VERIFY_JOB) is None


def test_one_of_an_older_version_is_upgraded_on_trial(make, tmp_path):
    (tmp_path / "old").mkdir()
    engine = create_engine(f"sqlite:///{tmp_path}/old/testimonials.db")
    prepare_engine(engine)
    make_filled(engine, FORMER_HEAD)
    engine.dispose()
    back_up(tmp_path / "old", tmp_path / "old.tar.gz")
    done = verify(make(), tmp_path / "old.tar.gz", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["schemaRevision"] == FORMER_HEAD


def test_recordings_are_compared_and_take_no_room(make, tmp_path):
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
        done = verify(app, target)
        assert done.exit_code == code, done.output
    assert f"{name} is damaged: its size or checksum is wrong" in done.output


def test_a_disk_without_room_for_it_is_said(make, tmp_path):
    with small_disk(tmp_path / "disk", "60m") as disk:
        instance = make_instance(disk / "instance", "owner@example.com")
        back_up(instance, tmp_path / "b.tar.gz")
        app = make(instance_path=str(instance))
        work(app)
        fill(disk / "full")
        done = verify(app, tmp_path / "b.tar.gz")
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
    assert "MB are needed and 0 MB are free" in done.output


def test_0_days_and_no_backup_mean_none(make):
    app = make(backup_verify_days=0)
    work(app)
    assert verified(app) == (False, None)
    done = verify(make(backup_path="empty"))
    assert "there is no scheduled backup in " in done.output
