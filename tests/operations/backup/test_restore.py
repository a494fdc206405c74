"""`testimonials restore`: everything of a backup or nothing, and the old data kept aside."""

import gzip
import io
import json
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.chain import Log, read_log
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.settings.instance import hold_alone
from testimonials.operations.backup.archive import DATABASE
from testimonials.projects.defaults import WIDGET_CONFIG, default_page_config
from testimonials.projects.models import Project
from testimonials.testimonials.record import begin_record
from testimonials.testimonials.record_heads import find_head, write_log
from tests.operations.disks import fill, small_disk
from tests.operations.instances import (
    app_on,
    back_up,
    emails,
    make_instance,
    query,
    refusal,
    refused_here,
    restore_here,
    run_here,
)
from tests.support.killing import run_until_event
from tests.support.process import clean_environment
from tests.support.rows import add_testimonial

OLD, NEW = {"old@example.com"}, {"new@example.com"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an instance and its backup, for all tests of this file to copy."""
    folder = tmp_path_factory.mktemp("made")
    instance = make_instance(folder / "instance", *NEW)
    (instance / "testimonials.toml").write_text("claim_days = 3\n")
    back_up(instance, folder / "backup.tar.gz")
    return folder


def refused(instance: Path, *arguments: str | Path, **settings: str) -> str:
    """Run a restore that is refused; return its one sentence."""
    return refused_here("restore", instance, *arguments, **settings)


@pytest.fixture
def archive(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made / "backup.tar.gz", tmp_path / "backup.tar.gz"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An instance of somebody else's."""
    return make_instance(tmp_path / "old", *OLD)


def names(folder: Path) -> set[str]:
    """Return what is in an instance folder, but for its lock and the database's companions."""
    return {path.name for path in folder.iterdir()} - {
        "instance.lock", "testimonials.db-wal", "testimonials.db-shm"
    }  # fmt: skip


FILES = {"testimonials.db", "secret_key", "testimonials.toml"}


def test_into_an_empty_folder_it_gives_back_exactly_what_was_there(made, archive, tmp_path):
    target = tmp_path / "restored"
    assert restore_here(target, archive, "--dry-run")["restored"] is False
    assert names(target) == set()
    printed = restore_here(target, archive)
    assert (printed["restored"], printed["keptIn"]) == (True, [])
    assert names(target) == FILES
    assert all(stat.S_IMODE((target / name).stat().st_mode) == 0o600 for name in FILES)
    for name in FILES - {"testimonials.db"}:
        assert (target / name).read_bytes() == (made / "instance" / name).read_bytes()
    dumps = []
    for folder in (target, made / "instance"):
        connection = sqlite3.connect(folder / "testimonials.db")
        dumps.append(list(connection.iterdump()))
        connection.close()
    assert dumps[0] == dumps[1]


def test_over_an_instance_only_when_told_and_the_old_is_kept(archive, old):
    secret = (old / "secret_key").read_text()
    # After kill -9 what was written last is in the log alone.
    connection = sqlite3.connect(old / "testimonials.db")
    connection.execute("INSERT INTO rate_limit_counter VALUES ('in the log', 1, 1)")
    connection.commit()
    files = {path: path.read_bytes() for path in old.glob("testimonials.db*")}
    connection.close()
    for path, content in files.items():
        path.write_bytes(content)
    assert "Add --replace" in refused(old, archive)
    assert emails(old) == OLD
    for path, content in files.items():
        path.write_bytes(content)
    done = run_here("restore", old, archive, "--replace")
    assert emails(old) == NEW
    assert query(old, "SELECT count(*) FROM rate_limit_counter") == [(0,)]
    # Back again, by hand, as the documentation says.
    (aside,) = old.glob("before-restore-*")
    assert f"The old files are in {aside}." in done.stdout
    assert query(aside, "SELECT key FROM rate_limit_counter") == [("in the log",)]
    assert emails(aside) == OLD
    assert (aside / "secret_key").read_text() == secret
    assert names(aside) == {"testimonials.db", "secret_key"}


@pytest.mark.thorough
@pytest.mark.process
def test_a_running_service_and_a_restore_keep_each_other_away(archive, old, start):
    service = start(instance=old)
    assert "is in use. Stop the service" in refusal(old, "restore", archive, "--replace")
    # Only looking at a backup disturbs nobody.
    assert restore_here(old, archive, "--dry-run")["restored"] is False
    assert service.stop() == 0
    # Started in another way than by the command, nobody holds the lock.
    connection = sqlite3.connect(old / "testimonials.db")
    connection.execute("SELECT count(*) FROM account").fetchone()
    assert "A program is using" in refused(old, archive, "--replace")
    connection.close()
    restore_here(old, archive, "--replace")
    assert emails(old) == NEW
    with hold_alone(old):
        assert "A backup is being restored into" in refusal(old, "serve", "--port", "0")


def test_the_database_goes_where_the_settings_name_it(archive, old, tmp_path):
    elsewhere = tmp_path / "data" / "other.db"
    url = f"sqlite:///{elsewhere}"
    elsewhere.parent.mkdir()
    shutil.copy(old / "testimonials.db", elsewhere)
    target = tmp_path / "restored"
    printed = restore_here(target, archive, "--replace", database_url=url)
    assert printed["database"] == str(elsewhere)
    assert printed["keptIn"][0].startswith(f"{tmp_path / 'data'}/before-restore-")
    assert names(target) == FILES - {"testimonials.db"}
    assert emails(elsewhere.parent, "other.db") == NEW


def test_settings_that_stay_say_where_the_database_goes(archive, old, tmp_path):
    """What is restored is what the next start uses, also where the backup has no settings."""

    _rewrite(archive, _remove("testimonials.toml"))
    (old / "testimonials.db").rename(old / "named.db")
    (old / "testimonials.toml").write_text('database_url = "sqlite:///named.db"\n')
    assert "named.db already exists. Add --replace" in refused(old, archive)
    restore_here(old, archive, "--replace")
    assert emails(old, "named.db") == NEW
    assert names(old) - {path.name for path in old.glob("before-*")} == {
        "named.db", "secret_key", "testimonials.toml"
    }  # fmt: skip
    away = tmp_path / "away"
    away.mkdir()
    (away / "testimonials.toml").write_text('database_url = "postgresql://u:p@127.0.0.1:1/x"\n')
    assert "connection failed" in refused(away, archive)
    assert names(away) == {"testimonials.toml"}


@pytest.mark.parametrize("name", ["secret_key", "testimonials.toml"])
def test_settings_and_secret_of_data_elsewhere_are_not_replaced_untold(archive, tmp_path, name):
    target = tmp_path / "restored"
    target.mkdir()
    content = 'database_url = "postgresql://u:p@127.0.0.1:1/x"\n'
    (target / name).write_text(content)
    assert f"{name} already exists. Add --replace" in refused(target, archive)
    assert names(target) == {name}
    restore_here(target, archive, "--replace")
    assert emails(target) == NEW
    [kept] = target.glob("before-restore-*")
    assert (kept / name).read_text() == content


def test_a_linked_database_is_replaced_where_it_really_is(archive, old, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (old / "testimonials.db").rename(disk / "data.db")
    (old / "testimonials.db").symlink_to("../disk/data.db")
    restore_here(old, archive, "--replace")
    assert (old / "testimonials.db").readlink() == Path("../disk/data.db")
    assert emails(old) == NEW
    [kept] = disk.glob("before-restore-*")
    (kept / "data.db").rename(kept / "testimonials.db")
    assert emails(kept) == OLD


def test_a_backup_without_the_secret_says_so(archive, tmp_path):
    said = "It has no secret_key"
    assert said not in run_here("restore", tmp_path / "with", archive).stdout
    _rewrite(archive, _remove("secret_key"))
    assert said in run_here("restore", tmp_path / "without", archive).stdout


Members = dict[str, bytes]
Spoil = Callable[[Members, dict[str, Any]], None]


def _rewrite(archive: Path, spoil: Spoil) -> None:
    """Write the archive anew with other contents; `spoil` changes members and manifest."""
    with tarfile.open(archive) as tar:
        members = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    manifest = json.loads(members.pop("manifest.json"))
    spoil(members, manifest)
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in {"manifest.json": json.dumps(manifest).encode(), **members}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def _put(members: Members, manifest: dict[str, Any], name: str, content: bytes) -> None:
    """Replace a member, and let the manifest agree."""
    members[name] = content
    manifest["members"][name] = {"size": len(content), "sha256": sha256(content).hexdigest()}


def _remove(name: str) -> Spoil:
    return lambda members, manifest: (members.pop(name), manifest["members"].pop(name))  # type: ignore[return-value]


def _change_database(statement: str) -> Spoil:
    def spoil(members: Members, manifest: dict[str, Any]) -> None:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(members["testimonials.db"])
        connection.execute(statement)
        connection.commit()
        _put(members, manifest, "testimonials.db", connection.serialize())
        connection.close()

    return spoil


SPOILS: dict[str, tuple[Spoil, str]] = {
    "another byte": (
        lambda members, _: members.update(secret_key=members["secret_key"].swapcase()),
        "secret_key is damaged"),
    "another size": (
        lambda members, _: members.update(secret_key=b"x"), "secret_key is damaged"),
    "a member is gone": (
        lambda members, _: members.pop("secret_key"),  # type: ignore[arg-type,return-value]
        "secret_key, which its manifest names, is missing"),
    "a path out of the folder": (
        lambda members, manifest: _put(members, manifest, "../escaped", b"x"),
        "names files that no backup has"),
    "a stranger": (
        lambda members, _: members.update({"/etc/passwd": b"x"}),
        "'/etc/passwd', which is not part of a backup"),
    "a newer format": (
        lambda _, manifest: manifest.update(formatVersion=2, programVersion="9.0"),
        "has format 2 and was made by version 9.0"),
    "a newer schema": (
        lambda _, manifest: manifest.update(schemaRevision="9999", programVersion="9.0"),
        "made by a newer version of this program (9.0, revision 9999)"),
    "an older schema": (
        _change_database("ALTER TABLE account DROP COLUMN language"),
        "older than revision 0021: start it once with the version that CHANGELOG.md names"),
    "a broken reference": (
        _change_database("INSERT INTO old_slug VALUES ('a', 'nobody', 1)"),
        "refers to a row of project that is gone"),
    "no database": (
        lambda members, manifest: _put(members, manifest, "testimonials.db", b"x" * 5000),
        "its database is damaged"),
    "an endless size": (
        lambda _, manifest: manifest["members"]["secret_key"].update(size=float("inf")),
        "its manifest is incomplete"),
    "another program's": (
        lambda _, manifest: manifest.update(format="photo-album"),
        "it is not a backup made by this program"),
    "half a manifest": (lambda _, manifest: manifest.pop("rows"), "its manifest is incomplete"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILS)
def test_what_can_not_be_trusted_is_refused_with_the_reason(archive, old, name):
    spoil, reason = SPOILS[name]
    _rewrite(archive, spoil)
    before = names(old)
    sentence = refused(old, archive, "--replace")
    assert f"{archive} can't be restored: " in sentence
    assert reason in sentence
    assert sentence.endswith(" Nothing was changed.\n")
    assert names(old) == before
    assert emails(old) == OLD
    assert not (old.parent / "escaped").exists()


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (tarfile.SYMTYPE, 0), (tarfile.GNUTYPE_SPARSE, 512), (tarfile.XHDTYPE, -1),
        (tarfile.GNUTYPE_LONGNAME, 64 * 1024**2), (tarfile.XHDTYPE, 64 * 1024**2),
    ],
)  # fmt: skip
def test_a_link_in_an_archive_is_not_followed(archive, old, kind, size, is_first):
    """Nor is anything else taken that is not a file: what follows it could fill the memory."""
    with tarfile.open(archive) as tar:
        manifest = tar.extractfile("manifest.json").read()  # type: ignore[union-attr]
    first, header = tarfile.TarInfo("manifest.json"), tarfile.TarInfo("testimonials.db")
    first.size, header.type, header.linkname, header.size = len(manifest), kind, "/etc/passwd", size
    with gzip.open(archive, "wb", compresslevel=1) as file:
        if not is_first:
            file.write(first.tobuf() + manifest + bytes(-len(manifest) % tarfile.BLOCKSIZE))
        file.write(header.tobuf(tarfile.GNU_FORMAT) + bytes(max(size, 0)))
    said = "(no manifest)" if is_first else "'testimonials.db', which is not part of a backup"
    assert said in refused(old, archive, "--replace")
    assert emails(old) == OLD


def test_a_backup_of_an_earlier_version_is_restored(archive, tmp_path):
    """They have a note of the time before each file."""
    with tarfile.open(archive) as tar:
        contents = {name: tar.extractfile(name).read() for name in tar.getnames()}  # type: ignore[union-attr]
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in contents.items():
            file = tmp_path / name
            file.write_bytes(content)
            tar.add(file, name)
    with gzip.open(archive) as file:
        assert file.read(512)[156:157] == tarfile.XHDTYPE
    restore_here(tmp_path / "restored", archive)
    assert emails(tmp_path / "restored") == NEW


def test_one_that_would_fill_the_disk_is_refused(archive, old):
    _rewrite(
        archive, lambda _, manifest: manifest["members"]["testimonials.db"].update(size=10**15)
    )
    assert "1000000034 MB are needed and " in refused(old, archive, "--dry-run")


def test_one_that_would_fill_another_disk_leaves_nothing_there(archive, tmp_path, monkeypatch):
    with small_disk(tmp_path / "disk", "1m") as disk:
        fill(disk / "filler")
        monkeypatch.setenv("TESTIMONIALS_DATABASE_URL", f"sqlite:///{disk}/data.db")
        assert "No space left on device" in refused(tmp_path / "target", archive)
        (disk / "filler").unlink()
        assert list(disk.iterdir()) == []
        assert names(tmp_path / "target") == set()
        restore_here(tmp_path / "target", archive)
        assert [path.name for path in disk.iterdir()] == ["data.db"]


def test_a_file_that_was_cut_off_or_is_something_else_is_refused(archive, old):
    whole = archive.read_bytes()
    parts = [whole[: int(len(whole) * part)] for part in (0.0, 0.3, 0.9, 0.999)]
    for content in (*parts, b"notes", gzip.compress(b"notes"), b"PK\x03\x04" + bytes(100)):
        archive.write_bytes(content)
        assert "can't be restored: it is " in refused(old, archive, "--replace")
    assert emails(old) == OLD


@pytest.mark.thorough
@pytest.mark.process
@pytest.mark.parametrize("count", [3, 5, 8])
def test_one_that_is_killed_can_be_run_again(archive, old, count):
    """While the new files are written beside the old ones, or among the replacements.

    Then there is no database, and a start must neither make an empty one nor use the old one with
    another secret.
    """
    arguments = ["restore", str(archive), "--replace"]
    run_until_event("os.rename", "", count, arguments, clean_environment(old, {}))
    assert (old / DATABASE).exists() == (count < 5)
    if count >= 5:
        for command in (["serve", "--port", "0"], ["db", "check"]):
            assert "A restore was interrupted" in refusal(old, *command)
    restore_here(old, archive, "--replace")
    assert emails(old) == NEW
    kept = [emails(path) for path in old.glob("before-restore-*") if (path / DATABASE).exists()]
    assert kept == [OLD]
    assert not list(old.glob(".unfinished*"))
    assert not list(old.glob("*.restored"))


def test_a_public_record_says_that_it_goes_on_from_a_backup(tmp_path):
    """And which head it had until then, so that what is lost was at least there."""
    instance = make_instance(tmp_path / "instance", *NEW)

    def add(app: Flask, project: str) -> Log:
        """Add a testimonial; return the log after it."""
        add_testimonial(app, project, rating=4)
        begin_record(project)
        head = find_head(project)
        assert head is not None
        return read_log("".join(f"{line}\n" for line in write_log(head)).encode())

    app = app_on(instance)
    with app.app_context():
        with write():
            account = db.session.scalars(select(Account)).one()
            configs = {"page_config": default_page_config("Fern"), "widget_config": WIDGET_CONFIG}
            made = [Project(account_id=account.id, slug=slug, **configs) for slug in ("fern", "no")]
            db.session.add_all(made)
        project, empty = (each.id for each in made)
        kept = add(app, project)
        back_up(instance, tmp_path / "backup.tar.gz")
        lost = add(app, project)
        db.session.remove()
        db.engine.dispose()
    restore_here(instance, tmp_path / "backup.tar.gz", "--dry-run")
    restore_here(instance, tmp_path / "backup.tar.gz", "--replace")
    app = app_on(instance)
    with app.app_context():
        after = add(app, project)
        first, restored, newest = after.entries
        assert find_head(empty) is None
        db.engine.dispose()
    assert [first] == list(kept.entries)
    assert (restored["kind"], restored["by"]) == ("restored", "operator")
    assert restored["replaced"] == {name: lost.head[name] for name in ("seq", "hash")}
    assert (newest["seq"], newest["kind"]) == (3, "received")
    # Where nothing is replaced, nobody knows.
    restore_here(tmp_path / "new", tmp_path / "backup.tar.gz")
    ((entry,),) = query(tmp_path / "new", "SELECT entry FROM event WHERE entry LIKE '%restored%'")
    assert json.loads(entry)["replaced"] is None
