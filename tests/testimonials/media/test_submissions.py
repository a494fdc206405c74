"""Sending a recording with the form of the page: uploaded before, or as a file with it."""

import pytest

from testimonials.core.extensions import db
from testimonials.testimonials import models
from testimonials.testimonials.media import recordings
from tests.support.rows import change_project, read_testimonials
from tests.testimonials.media.recorded import (
    VIDEO,
    VOICE,
    Upload,
    as_file,
    form_token,
    make_page,
    send,
    upload,
)

pytestmark = [pytest.mark.recount, pytest.mark.usefixtures("page")]


def test_a_recording_needs_no_words(app, client, page):
    assert send(client, text="", recording=upload(client)).status_code == 303
    (row,) = read_testimonials(app, page)
    assert (row.kind, row.text, row.status) == ("video", "", "pending")
    assert "my video, voice, words" in (row.consent_text or "")
    said = upload(client, VOICE, "voice")
    assert send(client, text="So warm.", recording=said).status_code == 303
    voice = next(row for row in read_testimonials(app, page) if row.kind == "voice")
    with app.app_context():
        recording = db.session.get_one(models.Testimonial, voice.id).recording
    assert recording is not None
    assert (recording.transcript, recording.shows_transcript) == ("So warm.", False)
    assert "may play my voice and show my words" in (voice.consent_text or "")


def test_the_same_form_twice_is_one_testimonial(app, client, page):
    token = form_token(client)
    sent = upload(client)
    for _ in range(2):
        assert send(client, text="", recording=sent, token=token).status_code == 303
    for _ in range(2):
        file = as_file(VIDEO, "me.webm")
        assert send(client, text="", recording_file=file, token=token).status_code == 303
    assert len(read_testimonials(app, page)) == 2
    # The file that came a second time isn't kept.
    with app.app_context():
        assert len(recordings.list_files()) == 2
    assert send(client, text="", recording=upload(client)).status_code == 303
    assert len(read_testimonials(app, page)) == 3


def test_a_recording_belongs_to_one_testimonial(app, client, page):
    sent = upload(client)
    assert send(client, recording=sent).status_code == 303
    assert send(client, recording=sent).status_code == 404
    assert client.delete(f"/bakery/recordings/{sent}").status_code == 404
    assert client.put(f"/bakery/recordings/{sent}/poster", data=b"x").status_code == 404
    assert len(read_testimonials(app, page)) == 1


def test_only_whole_is_taken(app, client, owner, page):
    make_page(app, owner, "other")
    for sent in ("0" * 24, Upload(client).id, upload(client, slug="other")):
        answer = send(client, recording=sent, text="They listened.")
        assert answer.status_code == 404
        # The words are still there, to be sent alone.
        assert "They listened.</textarea>" in answer.text
    assert read_testimonials(app, page) == []


def test_a_file_needs_no_script_and_survives(app, client, page):
    answer = send(client, name="", text="", recording_file=as_file(VIDEO, "holiday.mov"))
    assert answer.status_code == 422
    kept = answer.text.partition('name="recording" value="')[2][:24]
    assert send(client, text="", recording=kept, recording_kept="1").status_code == 303
    (row,) = read_testimonials(app, page)
    with app.app_context():
        recording = db.session.get_one(models.Testimonial, row.id).recording
    assert recording is not None
    assert (recording.id, recording.media_type, recording.kind) == (kept, "video/webm", "video")
    # The sentence on a page without a script is about whatever comes.
    assert "my video or voice if I send one" in (row.consent_text or "")


def test_only_pages_that_record_get_a_camera(app, client, page):
    def policies() -> tuple[str, bool]:
        headers = client.get("/bakery").headers
        return headers["Permissions-Policy"], "blob:" in headers["Content-Security-Policy"]

    assert policies() == ("camera=(self), microphone=(self)", True)
    change_project(app, page, page_design={})
    assert policies() == ("camera=(), microphone=()", False)
    assert client.get("/").headers["Permissions-Policy"] == "camera=(), microphone=()"


def test_a_file_that_lies_loses_no_words(app, client, page):
    answer = send(client, text="They listened.", recording_file=as_file(b"<html>" * 99, "me.mp4"))
    assert (answer.status_code, "This file can’t be played" in answer.text) == (422, True)
    assert "They listened.</textarea>" in answer.text
    with app.app_context():
        assert recordings.list_files() == {}
    assert read_testimonials(app, page) == []
    answer = send(client, text="")
    assert (answer.status_code, "Write a sentence or two." in answer.text) == (422, True)
    answer = send(client, recording="later", name="", text="")
    assert (answer.status_code, "Enter your name" in answer.text) == (422, True)
    assert "no longer stored" not in answer.text
    assert "Write a sentence" not in answer.text


def test_a_page_that_takes_none_reads_none(app, client, page):
    sent = upload(client)
    change_project(app, page, page_design={})
    assert send(client, recording=sent, recording_file=as_file(VIDEO, "a.webm")).status_code == 303
    (row,) = read_testimonials(app, page)
    assert row.kind == "written"
