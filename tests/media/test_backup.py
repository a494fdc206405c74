"""Recordings in backups: each that the database knows, and none that it doesn't."""

import tarfile
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from tests.conftest import Caller
from tests.media.recorded import VIDEO, Upload, make_page, send, upload
from tests.operations.instances import back_up, query, refused_here, restore_here


def recordings(folder: Path) -> dict[str, bytes]:
    """Return the files that an instance folder has."""
    return {path.name: path.read_bytes() for path in (folder / "media").iterdir()}


def test_a_backup_has_the_recordings_and_restores_them_as_a_whole(
    app: Flask, client: FlaskClient, owner: Caller, instance: Path, tmp_path: Path
) -> None:
    make_page(app, owner)
    assert send(client, recording=upload(client)).status_code == 303
    (sent,) = recordings(instance)
    # What is still being uploaded can go on in no other database.
    Upload(client).send(0, VIDEO[:1000])
    archive = tmp_path / "backup.tar.gz"
    made = back_up(instance, archive)
    assert set(made["members"]) == {"testimonials.db", "secret_key", f"media/{sent}"}
    with tarfile.open(archive) as tar:
        assert tar.getmember(f"media/{sent}").size == made["members"][f"media/{sent}"]["size"]
    target = tmp_path / "restored"
    restore_here(target, archive)
    assert recordings(target) == {sent: recordings(instance)[sent]}
    assert query(target, "SELECT id FROM recording WHERE state = 'ready'") == [(sent,)]
    # Over another instance, whose recordings are kept aside with its database.
    (target / "testimonials.db").unlink()
    (target / "media" / sent).rename(target / "media" / ("0" * 24))
    assert "Add --replace" in refused_here("restore", target, archive)
    restore_here(target, archive, "--replace")
    assert list(recordings(target)) == [sent]
    (aside,) = target.glob("before-restore-*")
    assert list(recordings(aside)) == ["0" * 24]


def test_a_damaged_recording_is_noticed_before_anything_changes(
    app: Flask, client: FlaskClient, owner: Caller, instance: Path, tmp_path: Path
) -> None:
    make_page(app, owner)
    upload(client)
    archive = tmp_path / "backup.tar.gz"
    back_up(instance, archive)
    content = archive.read_bytes()
    # In the middle of the recording, which is stored as it is.
    at = content.index(VIDEO[-2000:-1900])
    archive.write_bytes(content[:at] + b"damage" + content[at + 6 :])
    assert "damaged" in refused_here("restore", tmp_path / "restored", archive)
    assert not (tmp_path / "restored" / "media").exists()
