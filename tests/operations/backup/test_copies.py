"""Backups off this machine: into a folder that is mounted, or a bucket, encrypted or not."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from testimonials.core import clock
from testimonials.core.data.leases import BackgroundJob
from testimonials.extensions import db
from testimonials.operations.backup.elsewhere.buckets import BucketPlace
from testimonials.operations.backup.elsewhere.places import FolderPlace
from testimonials.operations.backup.kept import read_time
from testimonials.operations.backup.models import COPY_JOB
from testimonials.operations.backup.state import describe_backups
from testimonials.privacy.erased_list import FORMAT, NAME
from testimonials.settings.secret import SettingError
from testimonials.settings.table import load_settings
from tests.conftest import Caller, MovableClock, StartService
from tests.operations.backup.conftest import Key, Make, mails, names, work
from tests.operations.backup.s3_server import BUCKET, S3Server
from tests.operations.disks import fill, small_disk
from tests.operations.instances import emails, make_instance, query, refusal, restore_here
from tests.support.killing import run_until_event
from tests.support.process import clean_environment, run_command
from tests.support.rows import add_testimonial
from tests.support.servers import free_port, wait_for
from tests.transfer.archives.projects import run_well

FIRST = "scheduled-20310505T090000Z.tar.gz"
SECOND = "scheduled-20310506T090000Z.tar.gz"
PREFIX = f"s3://{BUCKET}/our/backups"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is mounted."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    return folder


@pytest.fixture
def app(make: Make, place: Path) -> Flask:
    """An instance whose backups are copied there."""
    return make(backup_to=str(place))


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> BucketPlace:
    """An empty bucket."""
    for name, value in s3_server.variables.items():
        monkeypatch.setenv(name, value)
    found = BucketPlace(PREFIX)
    found.write("made", [b""], 0)
    for each in found._bucket().list():
        for there in each:
            found.remove(there["path"])
    return found


def job_error(app: Flask) -> str | None:
    with app.app_context():
        error = db.session.get_one(BackgroundJob, COPY_JOB).error
        db.session.rollback()
        return error


def test_each_backup_is_copied_once_and_old_copies_go(
    make: Make, owner: Caller, place: Path, moved_clock: MovableClock, tmp_path: Path
) -> None:
    app = make(backup_to=str(place), backup_keep=2, backup_keep_weeks=2)
    others = {"before-0004-20300101T000000Z.tar.gz", "notes.txt", ".unfinished-copy-half"}
    for name in others:
        (place / name).write_text("")
    work(app)
    work(app)
    assert set(names(place)) == {*others, FIRST} - {".unfinished-copy-half"}
    assert (place / FIRST).stat().st_mode & 0o777 == 0o600
    for _ in range(9):
        moved_clock.move(days=1)
        work(app)
    kept = [name for name in names(place) if name.startswith("scheduled")]
    # The newest two, and the newest of the week before, which ended on Sunday 11 May.
    assert [name[10:18] for name in kept] == ["20310511", "20310513", "20310514"]
    assert len(names(tmp_path / "ours" / "backups")) == 2
    with app.app_context():
        state = describe_backups()
    assert [each.name for each in state.kept_elsewhere][:3] == kept[::-1]
    assert (state.place, state.last_error) == (str(place), None)
    assert state.last_at == read_time(kept[-1])
    assert restore_here(tmp_path / "new", place / kept[0])["restored"]


def test_a_place_that_is_away_costs_no_local_backup_and_is_told(
    make: Make, owner: Caller, tmp_path: Path, moved_clock: MovableClock
) -> None:
    place = tmp_path / "not mounted"
    app = make(backup_to=str(place), backup_keep=2)
    for _ in range(30):
        work(app)
        moved_clock.move(hours=1)
    local = tmp_path / "ours" / "backups"
    assert names(local) == [FIRST, SECOND]
    assert not place.exists()
    assert job_error(app) == f"CopyFailed: there is no folder {place}; is its disk mounted?"
    told = f"The backup was not copied: there is no folder {place}; is its disk mounted?"
    assert mails(app) == [told, told]
    place.mkdir()
    work(app)
    # What came in between isn't worth its time any more.
    assert names(place) == [SECOND]
    assert mails(app)[2:] == ["Backups are copied again"]
    assert job_error(app) is None


def test_an_empty_folder_under_a_disk_that_is_not_mounted_is_not_filled(
    app: Flask, owner: Caller, place: Path, moved_clock: MovableClock, tmp_path: Path
) -> None:
    work(app)
    place.rename(tmp_path / "the disk")
    place.mkdir()
    moved_clock.move(days=1)
    work(app)
    assert names(place) == []
    assert "is empty, but had 1 backup(s); is its disk mounted?" in str(job_error(app))
    # Emptied on purpose.
    moved_clock.move(minutes=1)
    done = app.test_cli_runner().invoke(args=["backup", "now"])
    assert done.exit_code == 0, done.output
    assert f"It was copied to {place} as scheduled-" in done.output
    assert len(names(place)) == 1


def test_a_disk_that_is_full_leaves_nothing_and_takes_the_next_once_there_is_room(
    make: Make, owner: Caller, tmp_path: Path, moved_clock: MovableClock
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        app = make(backup_to=str(disk))
        fill(disk / "full")
        work(app)
        assert names(disk) == ["full"]
        assert "No space left on device" in str(job_error(app))
        (disk / "full").unlink()
        moved_clock.move(hours=1)
        work(app)
        assert names(disk) == [FIRST]


def test_only_who_has_the_private_key_reads_what_is_encrypted(
    make: Make, owner: Caller, place: Path, age_key: Key, tmp_path: Path
) -> None:
    settings = {"backup_to": str(place), "backup_age_recipients": age_key.public}
    app = make(**settings)
    work(app)
    assert names(place) == [f"{FIRST}.age"]
    assert (place / f"{FIRST}.age").read_bytes().startswith(b"age-encryption.org/v1")
    work(app)
    assert names(place) == [f"{FIRST}.age"]
    new = tmp_path / "new"
    for name in ("newest", FIRST, f"{FIRST}.age"):
        words = refusal(new, "restore", name, **settings)
        assert "it is encrypted, and BACKUP_AGE_IDENTITY names no file" in words
    other = tmp_path / "other.txt"
    subprocess.run(["age-keygen", "-o", other], check=True, capture_output=True)
    words = refusal(new, "restore", "newest", "--identity", other, **settings)
    assert "age can't decrypt it: no identity matched any of the recipients" in words
    assert "Nothing was changed." in words
    done = restore_here(new, "newest", "--identity", age_key.file, **settings)
    assert done["restored"]
    assert emails(new) == {"owner@example.com"}
    # From the file itself, wherever it was brought.
    restore_here(tmp_path / "newer", place / f"{FIRST}.age", backup_age_identity=str(age_key.file))


def test_what_was_cut_or_changed_is_refused(
    make: Make, owner: Caller, place: Path, age_key: Key, tmp_path: Path
) -> None:
    work(make(backup_to=str(place), backup_age_recipients=age_key.public))
    whole = (place / f"{FIRST}.age").read_bytes()
    identity = {"backup_age_identity": str(age_key.file)}
    for number, content in enumerate(
        (whole[:-1], whole[: len(whole) // 2], whole[:-9] + bytes(9), whole + b"more", b"")
    ):
        file = tmp_path / f"{number}.tar.gz.age"
        file.write_bytes(content)
        words = refusal(tmp_path / "new", "restore", file, **identity)
        assert "Nothing was changed." in words
        assert names(tmp_path / "new") in ([], ["instance.lock"])


def test_without_age_nothing_leaves_unencrypted(
    make: Make, owner: Caller, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    app = make(backup_to=str(place), backup_age_recipients="age1" + "q" * 58)
    work(app)
    assert names(place) == []
    assert "the program age is not installed" in str(job_error(app))


def test_a_key_that_age_refuses_is_said(make: Make, owner: Caller, place: Path) -> None:
    app = make(backup_to=str(place), backup_age_recipients="age1" + "q" * 58)
    work(app)
    assert names(place) == []
    assert "CopyFailed: age can't encrypt it: malformed recipient" in str(job_error(app))


def test_a_bucket_takes_them_encrypted_and_gives_them_back(
    make: Make,
    owner: Caller,
    bucket: BucketPlace,
    age_key: Key,
    tmp_path: Path,
    moved_clock: MovableClock,
) -> None:
    settings = {"backup_to": PREFIX, "backup_age_recipients": age_key.public}
    settings |= {"backup_age_identity": str(age_key.file)}
    app = make(**settings, backup_keep=1, backup_keep_weeks=0)
    bucket.write("notes.txt", [b"{}"], 2)
    work(app)
    assert [each.name for each in bucket.list_backups()] == [f"{FIRST}.age"]
    moved_clock.move(days=1)
    work(app)
    assert [each.name for each in bucket.list_backups()] == [f"{SECOND}.age"]
    assert b"".join(bucket.read("notes.txt")) == b"{}"
    assert restore_here(tmp_path / "new", "newest", **settings)["restored"]
    assert emails(tmp_path / "new") == {"owner@example.com"}
    listed = _command(tmp_path / "new", "list", **settings)
    assert [(each["name"], each["place"]) for each in listed] == [(f"{SECOND}.age", PREFIX)]
    fetched = _command(tmp_path / "new", "get", SECOND, str(tmp_path), **settings)
    assert fetched["file"] == str(tmp_path / SECOND)
    local = tmp_path / "ours" / "backups" / SECOND
    assert (tmp_path / SECOND).read_bytes() == local.read_bytes()
    again = refusal(tmp_path / "new", "backup", "get", "newest", tmp_path, **settings)
    assert f"{SECOND} already exists" in again


def test_a_bucket_has_the_list_of_what_was_erased_for_a_new_machine(
    make: Make, owner: Caller, bucket: BucketPlace, tmp_path: Path, moved_clock: MovableClock
) -> None:
    app = make(backup_to=PREFIX)
    project = owner.create_project(slug="fern")["_id"]
    add_testimonial(app, project, author_email="noor@example.com", text="Xylophones")
    bucket.write(NAME, [b"not a list"], 10)
    work(app)
    assert json.loads(b"".join(bucket.read(NAME)))["erased"] == []
    run_well(app, "authors", "erase", "noor@example.com", "--yes")
    work(app)
    assert json.loads(b"".join(bucket.read(NAME)))["erased"] == [], "A minute hasn't passed."
    moved_clock.move(minutes=1)
    work(app)
    written = b"".join(bucket.read(NAME))
    assert {each["kind"] for each in json.loads(written)["erased"]} == {"testimonial", "person"}
    assert b"noor" not in written
    rehearsed = _command(tmp_path / "ours", "rehearse", FIRST, backup_to=PREFIX)
    assert rehearsed["erasedAgain"] == 1
    assert restore_here(tmp_path / "new", "newest", backup_to=PREFIX)["erasedAgain"] == 1
    assert query(tmp_path / "new", "SELECT count(*) FROM testimonial") == [(0,)]
    bucket.write(NAME, [b"not a list"], 10)
    said = refusal(tmp_path / "newer", "restore", "newest", backup_to=PREFIX)
    assert f"{PREFIX}/{NAME} is damaged. Nothing was changed." in said


def test_an_empty_instance_takes_nothing_from_the_list_in_the_bucket(
    make: Make, owner: Caller, bucket: BucketPlace
) -> None:
    app = make(backup_to=PREFIX)
    at = clock.to_milliseconds(clock.now())
    row = {"kind": "testimonial", "id": "a" * 24, "at": at}
    listed = json.dumps({"format": FORMAT, "erased": [row]}).encode()
    bucket.write(NAME, [listed], len(listed))
    work(app)
    assert json.loads(b"".join(bucket.read(NAME)))["erased"] == [row]


def test_a_large_one_goes_in_parts_and_one_that_is_cut_is_not_there(bucket: BucketPlace) -> None:
    parts = [os.urandom(1024 * 1024) for _ in range(20)]
    bucket.write(FIRST, iter(parts), 20 * 1024 * 1024)
    assert [each.size for each in bucket.list_backups()] == [20 * 1024 * 1024]
    assert b"".join(bucket.read(FIRST)) == b"".join(parts)

    def end_early() -> Any:
        yield from parts
        raise OSError("the disk has gone")

    with pytest.raises(OSError, match="the disk has gone"):
        bucket.write(SECOND, end_early(), 20 * 1024 * 1024)
    assert [each.name for each in bucket.list_backups()] == [FIRST]


@pytest.mark.parametrize("wrong", ["secret", "port"])
def test_a_bucket_that_can_not_be_used_says_why(
    make: Make, owner: Caller, bucket: BucketPlace, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    if wrong == "secret":
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    else:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    app = make(backup_to=PREFIX)
    work(app)
    said = {"secret": "SignatureDoesNotMatch: The request signature", "port": "error sending"}
    assert said[wrong] in str(job_error(app))
    assert "Debug" not in str(job_error(app))
    assert len(mails(app)) == 1


@pytest.mark.process
def test_a_store_that_never_answers_holds_up_nothing(
    start: StartService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = make_instance(tmp_path / "service", "owner@example.com")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }.items():
            monkeypatch.setenv(name, value)
        service = start(backup_to=PREFIX, workers="1")
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(100).startswith(b"GET /")
            done = "SELECT count(*) FROM background_job WHERE finished_at IS NOT NULL"
            wait_for(lambda: query(instance, done) == [(5,)], what="the other jobs")
            assert service.stop() == 0
    assert len(names(instance / "backups")) == 1


@pytest.mark.process
def test_a_copy_that_is_killed_has_no_name(tmp_path: Path, place: Path) -> None:
    instance = make_instance(tmp_path / "service", "owner@example.com")
    environment = clean_environment(instance, {"backup_to": str(place)})
    run_until_event("os.rename", ".unfinished-copy", 1, ["backup", "now"], environment)
    (unfinished,) = names(place)
    assert unfinished.startswith(".unfinished-copy-scheduled")
    assert FolderPlace(place).list_backups() == []
    words = refusal(instance, "backup", "now", backup_to=str(place))
    assert "another process is doing the same" in words
    # As two minutes later.
    shutil.rmtree(instance / "backups")
    query(instance, "UPDATE background_job SET leased_until = 1")
    copied = _command(instance, "now", backup_to=str(place))["copiedAs"]
    assert names(place) == [copied]


def _command(instance: Path, name: str, *arguments: str, **settings: str) -> Any:
    environment = clean_environment(instance, settings)
    done = run_command(["backup", name, *arguments, "--json"], environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_settings_name_public_keys_and_complete_paths(tmp_path: Path) -> None:
    def load(**values: object) -> Any:
        return load_settings({}, {"instance_path": str(tmp_path), **values})

    settings = load(backup_to="copies", backup_age_identity="key.txt")
    assert settings.backup_to == str(tmp_path / "copies")
    assert settings.backup_age_identity == str(tmp_path / "key.txt")
    keys = "age1" + "q" * 58, "ssh-ed25519 AAAAC3Nz me@example.com"
    assert load(backup_age_recipients=", ".join(keys)).backup_age_recipients == keys
    with pytest.raises(SettingError, match="BACKUP_TO must be another folder than BACKUP_PATH"):
        load(backup_to="backups")
    with pytest.raises(SettingError, match="public keys of age"):
        load(backup_age_recipients="--identity=/etc/shadow")
