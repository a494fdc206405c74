"""`testimonials backup`: one file with everything, whole or not there."""

import json
import os
import re
import resource
import sqlite3
import stat
import subprocess
import tarfile
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from testimonials.operations.backup.cli import backup
from testimonials.operations.backup.making import BackupFailed, find_instance, make_backup
from testimonials.settings.table import load_settings
from tests.conftest import StartService
from tests.killing import run_until_event
from tests.operations.disks import mount, small_disk
from tests.operations.instances import (
    answer,
    command,
    emails,
    make_instance,
    query,
    refusal,
    restore_here,
)
from tests.process import COMMAND, clean_environment
from tests.servers import PATIENCE, wait_for
from tests.serving.test_durability import Stream

pytestmark = pytest.mark.process


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    return make_instance(tmp_path / "instance", "owner@example.com")


def _members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        assert all(info.isreg() and info.mode == 0o600 for info in tar)
        return {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]


def test_a_backup_is_one_private_file_with_all_that_an_instance_is(
    instance: Path, tmp_path: Path
) -> None:
    (instance / "testimonials.toml").write_text("claim_days = 3\n")
    image = os.urandom(100_000)
    query(
        instance,
        "INSERT INTO image (id, content, width, height, created_at) VALUES ('i', ?, 1, 1, 1)",
        [image],
    )
    printed = answer(instance, "backup", tmp_path / "b.tar.gz")
    archive = tmp_path / "b.tar.gz"
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "instance"]
    members = _members(archive)
    manifest = json.loads(members.pop("manifest.json"))
    assert manifest.items() <= printed.items()
    assert manifest["format"] == "testimonials-backup"
    assert manifest["schemaRevision"] == "0005"
    assert manifest["createdAt"].endswith("Z")
    assert manifest["rows"]["account"] == manifest["rows"]["outbox_mail"] + 1 == 1
    assert {name: sha256(content).hexdigest() for name, content in members.items()} == {
        name: member["sha256"] for name, member in manifest["members"].items()
    }
    assert members["secret_key"] == (instance / "secret_key").read_bytes()
    assert members["testimonials.toml"] == b"claim_days = 3\n"
    (tmp_path / "copy.db").write_bytes(members["testimonials.db"])
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy.db").rename(tmp_path / "copy" / "testimonials.db")
    assert query(tmp_path / "copy", "SELECT content FROM image") == [(image,)]


def test_an_existing_file_is_never_replaced_and_a_folder_gets_a_named_one(
    instance: Path, tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert f"{taken} is there already" in refusal(instance, "backup", taken)
    assert taken.read_text() == "mine"
    printed = answer(instance, "backup", tmp_path)
    assert Path(printed["file"]).parent == tmp_path
    assert Path(printed["file"]).name.startswith("backup-20")
    done = command(instance, "backup", tmp_path / "two.tar.gz", secret_key="s" * 32)
    assert "1 account(s)" in done.stdout


def test_a_secret_of_the_environment_is_said_to_be_missing(instance: Path, tmp_path: Path) -> None:
    (instance / "secret_key").unlink()
    done = command(instance, "backup", tmp_path / "b.tar.gz", secret_key="s" * 32)
    assert "The secret key is in the environment and not in this file" in done.stdout
    assert not (instance / "secret_key").exists()


def test_postgresql_is_refused_with_what_to_do(instance: Path, tmp_path: Path) -> None:
    url = "postgresql://user:hidden@127.0.0.1:1/x"
    sentence = refusal(instance, "backup", tmp_path / "b", database_url=url)
    assert "run pg_dump" in sentence
    assert "hidden" not in sentence


def test_what_is_no_database_of_ours_is_refused(instance: Path, tmp_path: Path) -> None:
    assert "there is no database at" in refusal(tmp_path / "empty", "backup", tmp_path / "b")
    query(instance, "DROP TABLE alembic_version")
    assert "holds no data of this program" in refusal(instance, "backup", tmp_path / "b")
    (instance / "testimonials.db").write_bytes(b"notes " * 1000)
    assert "file is not a database" in refusal(instance, "backup", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_damaged_database_is_no_backup(instance: Path, tmp_path: Path) -> None:
    query(instance, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray((instance / "testimonials.db").read_bytes())
    content[-4096:] = b"\xaa" * 4096
    (instance / "testimonials.db").write_bytes(content)
    sentence = refusal(instance, "backup", tmp_path / "b")
    assert "damaged" in sentence or "malformed" in sentence
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("cut", ["copy", "archive"])
def test_a_full_disk_leaves_nothing_behind(instance: Path, tmp_path: Path, cut: str) -> None:
    """The kernel refuses to write more: to the copy of the database, or to the archive."""
    size = 300_000
    if cut == "archive":
        # What can't be compressed, and the settings, make it larger than the copy alone.
        query(instance, "CREATE TABLE ballast AS SELECT randomblob(2000000) AS content")
        (instance / "testimonials.toml").write_text(f"# {os.urandom(700_000).hex()}")
        size = (instance / "testimonials.db").stat().st_size + 4096
    target = tmp_path / "backups" / "b.tar.gz"
    target.parent.mkdir()
    done = subprocess.run(
        [*COMMAND, "backup", str(target)],
        env=clean_environment(instance, {}),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    words = {"copy": "disk", "archive": "File too large"}[cut]
    assert re.fullmatch(rf"Error: There is no backup: .*{words}.*\.\n", done.stderr)
    assert list(target.parent.iterdir()) == []


def test_a_file_that_can_not_be_read_is_named(instance: Path, tmp_path: Path) -> None:
    (instance / "testimonials.toml").mkdir()
    found = find_instance(instance, f"sqlite:///{instance}/testimonials.db")
    with pytest.raises(BackupFailed, match=r"testimonials\.toml can't be read: Is a directory"):
        make_backup(found, tmp_path / "backup.tar.gz")
    assert not (tmp_path / "backup.tar.gz").exists()


def test_a_folder_that_can_not_be_written_to_is_said(instance: Path, tmp_path: Path) -> None:
    sentence = refusal(instance, "backup", tmp_path / "nowhere" / "b.tar.gz")
    assert "No such file or directory" in sentence
    # Whoever writes it so means a folder, and would look for a file in it.
    sentence = refusal(instance, "backup", f"{tmp_path / 'nowhere'}/")
    assert sentence == f"Error: There is no folder {tmp_path / 'nowhere'}. Create it first.\n"
    sentence = refusal(instance, "backup", "/proc/b.tar.gz")
    assert sentence.startswith("Error: There is no backup: ")


@pytest.mark.parametrize(
    ("event", "word"),
    [("open", "/archive'"), ("os.link", "/archive'")],
)
def test_a_backup_that_is_killed_has_no_name(
    instance: Path, tmp_path: Path, event: str, word: str
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    target = folder / "b.tar.gz"
    run_until_event(event, word, 1, ["backup", str(target)], clean_environment(instance, {}))
    assert any(path.name.startswith(".unfinished") for path in folder.iterdir())
    assert not target.exists()
    # The next one needs no tidying up by hand, and does it itself.
    answer(instance, "backup", target)
    assert [path.name for path in folder.iterdir()] == ["b.tar.gz"]


def test_under_a_load_of_writes_every_row_acknowledged_before_is_in_it(
    start: StartService, tmp_path: Path
) -> None:
    service = start()
    headers = service.sign_up()
    created = service.call("POST", "/v1/projects", {"skipDemoTestimonials": True}, headers)
    path = f"/v1/projects/{created.data['_id']}/testimonials"
    streams = [Stream(service, path, headers) for _ in range(4)]
    for stream in streams:
        stream.start()
    wait_for(lambda: _count(streams) > 60, what="a stream of testimonials")
    backups = []
    for number in range(2):
        before = {row for stream in streams for row in stream.acknowledged}
        archive = tmp_path / f"{number}.tar.gz"
        printed = answer(tmp_path / "service", "backup", archive)
        backups.append((archive, before, printed["rows"]["testimonial"]))
    at_end = _count(streams)
    wait_for(lambda: _count(streams) > at_end, what="writes that go on")
    service.kill()
    for stream in streams:
        stream.join(PATIENCE)
    archive, before, count = backups[1]
    assert count > backups[0][2] >= len(backups[0][1])
    restored = tmp_path / "restored"
    assert answer(restored, "restore", archive)["rows"]["testimonial"] == count
    assert before <= {row[0] for row in query(restored, "SELECT id FROM testimonial")}
    # The keys of before work on it.
    again = start(instance=restored)
    assert again.call("GET", path, headers=headers).status == 200
    feed = again.call("GET", f"/widget/{created.data['_id']}/feed").json
    assert feed["total"] == count
    secrets = [(folder / "secret_key").read_text() for folder in (restored, tmp_path / "service")]
    assert secrets[0] == secrets[1]


def _count(streams: list[Stream]) -> int:
    return sum(len(stream.acknowledged) for stream in streams)


def test_backups_at_once_make_one_file(instance: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.tar.gz"
    done: list[Any] = []
    threads = [
        threading.Thread(target=lambda: done.append(command(instance, "backup", target)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.returncode for each in done) == [0, 1, 1], done
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "instance"]


@pytest.mark.parametrize("name", ["a folder", "100%41", "why?not", "one#two", "ü&x=1"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    instance = make_instance(tmp_path / name, "owner@example.com")
    assert (instance / "testimonials.db").exists()
    settings = load_settings({}, {"instance_path": str(instance)})
    make_backup(find_instance(instance, settings.database_url), instance / "backup.tar.gz")
    assert restore_here(tmp_path / f"{name} 2", instance / "backup.tar.gz").exit_code == 0
    assert emails(tmp_path / f"{name} 2") == {"owner@example.com"}


def test_a_disk_that_became_read_only_can_be_backed_up_to_another(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        instance = make_instance(disk / "instance", "owner@example.com")
        connection = sqlite3.connect(instance / "testimonials.db")
        connection.execute("UPDATE account SET email = 'in-the-log@example.com'")
        connection.commit()
        log = (instance / "testimonials.db-wal").read_bytes()
        whole = (instance / "testimonials.db").read_bytes()
        connection.close()
        # As kill -9 and a restart of the machine leave them.
        (instance / "testimonials.db").write_bytes(whole)
        (instance / "testimonials.db-wal").write_bytes(log)
        assert mount("mount", "-o", "remount,ro", disk)
        answer(instance, "backup", tmp_path / "backup.tar.gz")
    assert restore_here(tmp_path / "new", tmp_path / "backup.tar.gz").exit_code == 0
    assert emails(tmp_path / "new") == {"in-the-log@example.com"}


def test_a_relative_file_in_a_folder_that_is_gone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    runner = CliRunner(env={"TESTIMONIALS_INSTANCE_PATH": str(tmp_path / "instance")})
    result = runner.invoke(backup, ["backup.tar.gz"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: The folder in which backup.tar.gz would be is gone.\n"


def test_a_file_with_another_secret_does_not_hide_that_one_is_missing(tmp_path: Path) -> None:
    """Also where the folder has a file with another one, from before; not one of the settings."""
    instance = make_instance(tmp_path / "instance", "owner@example.com")
    environment = {"TESTIMONIALS_INSTANCE_PATH": str(instance)}
    runner = CliRunner(env=environment | {"TESTIMONIALS_SECRET_KEY": "s" * 40})
    result = runner.invoke(backup, [str(tmp_path / "one.tar.gz")])
    assert "The secret key is in the environment and not in this file" in result.output
    (instance / "secret_key").unlink()
    (instance / "testimonials.toml").write_text(f'secret_key = "{"s" * 40}"\n')
    result = CliRunner(env=environment).invoke(backup, [str(tmp_path / "two.tar.gz")])
    assert (result.exit_code, len(result.output.splitlines())) == (0, 1)
