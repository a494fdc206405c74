"""Recordings in archives of a project, checked like uploads, and in backups."""

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.extensions import db, lock_for_writing
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.media import recordings as store
from testimonials.transfer.archives.reading import ArchiveRefused, open_archive, storing_recordings
from testimonials.transfer.archives.restoring import restore_project
from testimonials.transfer.archives.writing import reading_snapshot, write_archive
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.operations.instances import back_up, query, refused_here, restore_here
from tests.support.pictures import photo, to_bytes
from tests.support.rows import read_testimonials
from tests.testimonials.media.recorded import VIDEO, Upload, make_page, send, upload


@pytest.fixture
def archive(app: Flask, client: FlaskClient, owner: Caller) -> bytes:
    """The archive of a project with a video without words, whose transcript was written since."""
    project = make_page(app, owner)["_id"]
    sent = Upload(client)
    sent.finish()
    client.put(f"{sent.path}/poster", data=to_bytes(photo(320, 240), "WEBP"))
    assert send(client, text="", recording=sent.id).status_code == 303
    (row,) = read_testimonials(app, project)
    path = f"/v1/projects/{project}/testimonials/{row.id}"
    assert give_token(app, owner).patch(path, {"transcript": "Warm buns."}).status_code == 200
    out = io.BytesIO()
    with app.app_context(), reading_snapshot():
        write_archive(db.session.get_one(Project, project), out)
    return out.getvalue()


def restore(app: Flask, content: bytes) -> Any:
    with (
        app.app_context(),
        open_archive(io.BytesIO(content)) as opened,
        storing_recordings(opened) as stored,
    ):
        lock_for_writing()
        account = db.session.scalars(select(Account)).one()
        done = restore_project(opened, account, stored, slug="copy")
        db.session.commit()
        query = select(models.Recording).where(models.Recording.project_id == done.project.id)
        return db.session.scalars(query).one()


def test_a_recording_goes_along(app, archive):
    copy = restore(app, archive)
    copied = (copy.transcript, copy.media_type, copy.codecs)
    assert copied == ("Warm buns.", "video/webm", "vp8, opus")
    with app.app_context():
        files = [store.path_of(name).read_bytes() for name in store.list_files()]
        assert files[0] == files[1]
        assert db.session.get_one(models.Testimonial, copy.testimonial_id).kind == "video"
        originals = db.session.scalars(select(models.Recording.poster_id)).all()
    assert len(set(originals)) == 2


def test_an_archive_that_lies_about_a_recording_is_refused(app, archive):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            lie = b"<html>" * 100 + VIDEO
            new.writestr(name, lie if name.startswith("recordings/") else old.read(name))
    with pytest.raises(ArchiveRefused, match="This file can’t be played"):
        restore(app, out.getvalue())
    with app.app_context():
        assert len(store.list_files()) == 1


def recordings(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "media").iterdir()}


def test_a_backup_has_the_recordings_and_restores_them_as_a_whole(
    app, client, owner, instance, tmp_path
):
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
    app, client, owner, instance, tmp_path
):
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
