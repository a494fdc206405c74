"""`testimonials backup`: one file with everything, whole or not there."""

import json
import os
import re
import resource
import sqlite3
import stat
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from testimonials.core.db.migrate import head
from tests.operations.disks import mount, small_disk
from tests.operations.instances import (
    back_up,
    command,
    emails,
    make_instance,
    query,
    refused_here,
    restore_here,
    run_here,
)
from tests.support.killing import run_until_event
from tests.support.load import Load
from tests.support.process import COMMAND, clean_environment


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    return make_instance(tmp_path / "instance", "owner@example.com")


def test_a_backup_is_one_private_file_with_all_that_an_instance_is(instance, tmp_path):
    (instance / "testimonials.toml").write_text("claim_days = 3\n")
    image = os.urandom(100_000)
    columns = "(id, content, width, height, created_at)"
    query(instance, f"INSERT INTO image {columns} VALUES ('i', ?, 1, 1, 1)", [image])
    archive = tmp_path / "b.tar.gz"
    printed = back_up(instance, archive)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "instance"]
    with tarfile.open(archive) as tar:
        assert all(info.isreg() and info.mode == 0o600 for info in tar)
        members = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    manifest = json.loads(members.pop("manifest.json"))
    assert manifest.items() <= printed.items()
    assert manifest["format"] == "testimonials-backup"
    assert manifest["schemaRevision"] == head()
    assert manifest["createdAt"].endswith("Z")
    assert manifest["rows"]["account"] == manifest["rows"]["outbox_mail"] + 1 == 1
    assert {name: sha256(content).hexdigest() for name, content in members.items()} == {
        name: member["sha256"] for name, member in manifest["members"].items()
    }
    assert members["secret_key"] == (instance / "secret_key").read_bytes()
    assert members["testimonials.toml"] == b"claim_days = 3\n"
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "testimonials.db").write_bytes(members["testimonials.db"])
    assert query(tmp_path / "copy", "SELECT content FROM image") == [(image,)]


def test_a_secret_of_the_environment_is_said_to_be_missing(instance, tmp_path):
    said = "The secret key is in the environment, not in this file."
    (instance / "secret_key").unlink()
    done = run_here("backup", instance, tmp_path / "b.tar.gz", secret_key="s" * 32)
    assert "1 account(s)" in done.stdout
    assert said in done.stdout
    assert not (instance / "secret_key").exists()
    (instance / "testimonials.toml").write_text(f'secret_key = "{"s" * 40}"\n')
    assert said not in run_here("backup", instance, tmp_path / "two.tar.gz").stdout


def test_only_a_sound_database_of_this_program_is_backed_up(instance, tmp_path):
    target = tmp_path / "b"
    assert "there is no database at" in refused_here("backup", tmp_path / "empty", target)
    query(instance, "PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (instance / "testimonials.db").read_bytes()
    (instance / "testimonials.db").write_bytes(whole[:-4096] + b"\xaa" * 4096)
    sentence = refused_here("backup", instance, target)
    assert "damaged" in sentence or "malformed" in sentence
    (instance / "testimonials.db").write_bytes(whole)
    query(instance, "DROP TABLE alembic_version")
    assert "is not a database of this program" in refused_here("backup", instance, target)
    (instance / "testimonials.db").write_bytes(b"notes " * 1000)
    assert "file is not a database" in refused_here("backup", instance, target)
    assert not target.exists()


@pytest.mark.process
def test_a_full_disk_leaves_nothing_behind(instance, tmp_path):
    """The kernel refuses to write more."""
    target = tmp_path / "backups" / "b.tar.gz"
    target.parent.mkdir()
    done = subprocess.run(
        [*COMMAND, "backup", str(target)],
        env=clean_environment(instance, {}),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"Error: The backup failed: .*disk.*\.\n", done.stderr)
    assert list(target.parent.iterdir()) == []


def test_what_can_not_be_read_or_written_is_named_and_no_file_is_replaced(instance, tmp_path):
    nowhere = tmp_path / "nowhere"
    assert "No such file or directory" in refused_here("backup", instance, nowhere / "b.tar.gz")
    # Whoever writes it so means a folder, and would look for a file in it.
    sentence = refused_here("backup", instance, f"{nowhere}/")
    assert sentence == f"Error: The folder {nowhere} does not exist. Create it first.\n"
    url = "postgresql://user:hidden@127.0.0.1:1/x"
    sentence = refused_here("backup", instance, tmp_path / "b", database_url=url)
    assert "connection failed" in sentence
    assert "hidden" not in sentence
    (instance / "testimonials.toml").mkdir()
    assert "testimonials.toml" in refused_here("backup", instance, tmp_path / "b.tar.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["instance"]
    (instance / "testimonials.toml").rmdir()
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert f"{taken} already exists" in refused_here("backup", instance, taken)
    assert taken.read_text() == "mine"
    printed = back_up(instance, tmp_path)
    assert Path(printed["file"]).parent == tmp_path
    assert Path(printed["file"]).name.startswith("backup-20")


@pytest.mark.process
def test_a_backup_that_is_killed_has_no_name_and_two_at_once_make_one_file(instance, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    target = folder / "b.tar.gz"
    run_until_event(
        "os.rename", "/archive'", 1, ["backup", str(target)], clean_environment(instance, {})
    )
    assert any(path.name.startswith(".unfinished") for path in folder.iterdir())
    assert not target.exists()
    # The next one needs no tidying up by hand, and does it itself.
    back_up(instance, target)
    assert [path.name for path in folder.iterdir()] == ["b.tar.gz"]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(
            lambda _: command(instance, "backup", folder / "two.tar.gz").returncode, range(2)
        )
    assert sorted(done) == [0, 1]
    assert sorted(path.name for path in folder.iterdir()) == ["b.tar.gz", "two.tar.gz"]


@pytest.mark.process
def test_under_a_load_of_writes_every_row_acknowledged_before_is_in_it(start, tmp_path):
    service = start()
    headers = service.sign_up()
    load = Load(service, headers, 4)
    load.go_on(20)
    before, archive = set(load.acknowledged), tmp_path / "b.tar.gz"
    kept = back_up(tmp_path / "service", archive)["rows"]["testimonial"]
    # The writes go on.
    load.go_on(1)
    service.kill()
    load.end()
    restored = tmp_path / "restored"
    assert restore_here(restored, archive)["rows"]["testimonial"] == kept >= len(before)
    assert before <= {row[0] for row in query(restored, "SELECT id FROM testimonial")}
    # The keys of before work on it.
    again = start(instance=restored)
    assert again.call("GET", "/v1/projects", headers=headers).status == 200
    secrets = [(folder / "secret_key").read_text() for folder in (restored, tmp_path / "service")]
    assert secrets[0] == secrets[1]


def test_a_disk_that_became_read_only_can_be_backed_up_to_another(tmp_path):
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
        back_up(instance, tmp_path / "backup.tar.gz")
    restore_here(tmp_path / "new", tmp_path / "backup.tar.gz")
    assert emails(tmp_path / "new") == {"in-the-log@example.com"}
