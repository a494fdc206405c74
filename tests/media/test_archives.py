"""Recordings in the archive of a project: taken along, and checked like uploads."""

import io
import zipfile
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.extensions import begin_write, db
from testimonials.media import store
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.transfer.archives.opening import ArchiveRefused, open_archive
from testimonials.transfer.archives.recordings import storing_recordings
from testimonials.transfer.archives.restoring import restore_project
from testimonials.transfer.archives.writing import reading_one_moment, write_archive
from tests.access.tokens import give_token
from tests.conftest import Caller
from tests.media.recorded import VIDEO, Upload, make_page, send
from tests.support.pictures import photo, to_bytes
from tests.support.rows import read_testimonials


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
    answer = give_token(app, owner).patch(path, {"transcript": "Warm buns."})
    assert answer.status_code == 200
    out = io.BytesIO()
    with app.app_context(), reading_one_moment():
        write_archive(db.session.get_one(Project, project), out)
    return out.getvalue()


def restore(app: Flask, content: bytes) -> Any:
    with (
        app.app_context(),
        open_archive(io.BytesIO(content)) as opened,
        storing_recordings(opened) as stored,
    ):
        begin_write()
        account = db.session.scalars(select(Account)).one()
        done = restore_project(opened, account, stored, slug="copy")
        db.session.commit()
        query = select(models.Recording).where(models.Recording.project_id == done.project.id)
        return db.session.scalars(query).one()


def test_a_recording_goes_along(app: Flask, archive: bytes) -> None:
    copy = restore(app, archive)
    assert (copy.transcript, copy.media_type, copy.codecs) == (
        "Warm buns.",
        "video/webm",
        "vp8, opus",
    )
    with app.app_context():
        files = [store.path_of(name).read_bytes() for name in store.list_files()]
        assert files[0] == files[1]
        assert db.session.get_one(models.Testimonial, copy.testimonial_id).kind == "video"
        originals = db.session.scalars(select(models.Recording.poster_id)).all()
    assert len(set(originals)) == 2


def test_an_archive_that_lies_about_a_recording_is_refused(app: Flask, archive: bytes) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            lie = b"<html>" * 100 + VIDEO
            new.writestr(name, lie if name.startswith("recordings/") else old.read(name))
    with pytest.raises(ArchiveRefused, match="play this file"):
        restore(app, out.getvalue())
    with app.app_context():
        assert len(store.list_files()) == 1
