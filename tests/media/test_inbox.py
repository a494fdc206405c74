"""The row of a recording in the inbox: it plays, and what is said in it is written there."""

import io
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.media.recorded import VOICE, make_page, send, upload
from tests.support.rows import read_testimonials

JSON = {"Accept": "application/json"}


@pytest.fixture
def page(app: Flask, owner: Caller) -> str:
    """A page that takes recordings; return the project's id."""
    return str(make_page(app, owner)["_id"])


@pytest.fixture
def browser(app: Flask, owner: Caller) -> FlaskClient:
    """The owner's browser, signed in."""
    return open_browser(app, owner)


def row_of(app: Flask, page: str) -> Any:
    (row,) = read_testimonials(app, page)
    return row


def test_the_row_plays_and_says_who_cannot(
    app: Flask, client: FlaskClient, browser: FlaskClient, page: str
) -> None:
    send(client, text="", recording=upload(client))
    shown = browser.get(f"/dashboard/projects/{page}/inbox").text
    assert "No words yet." in shown
    assert "Safari before 17.4 can’t play this." in shown
    url = shown.partition('<video controls playsinline preload="none" src="')[2].partition('"')[0]
    assert client.get(url.partition("example.com")[2]).status_code == 200


def test_what_is_said_is_saved_with_its_captions(
    app: Flask, client: FlaskClient, browser: FlaskClient, page: str
) -> None:
    send(client, text="", recording=upload(client, VOICE, "voice"))
    path = f"/dashboard/projects/{page}/testimonials/{row_of(app, page).id}/transcript"
    vtt = b"WEBVTT\n\n00:00.000 --> 00:02.000\nWarm buns."
    form = {
        "transcript": "Warm buns.",
        "shows_transcript": "true",
        "captions": (io.BytesIO(vtt), "me.vtt"),
    }
    saved = browser.post(path, data=form, headers=JSON)
    assert saved.json == {"ok": True, "text": "Warm buns.", "hasCaptions": True}
    assert row_of(app, page).text == "Warm buns."
    # Without a script, back to the list; and captions that are none are refused in words.
    assert browser.post(path, data={"transcript": ""}).status_code == 303
    assert row_of(app, page).text == ""
    form = {"transcript": "", "captions": (io.BytesIO(b"\xff\xfe"), "me.vtt")}
    refused = browser.post(path, data=form, headers=JSON)
    assert (refused.status_code, refused.json) == (
        409,
        {"message": "The captions are not text in UTF-8."},
    )


def test_a_recording_without_words_can_be_edited(
    app: Flask, client: FlaskClient, browser: FlaskClient, page: str
) -> None:
    send(client, text="", recording=upload(client))
    path = f"/dashboard/projects/{page}/testimonials/{row_of(app, page).id}"
    form = {"text": "", "author_name": "Theo B.", "submitted_on": "2024-01-01"}
    assert browser.post(path, data=form).status_code == 303
    assert row_of(app, page).author_name == "Theo B."
