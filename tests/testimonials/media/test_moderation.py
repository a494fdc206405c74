"""Deciding about recordings: what is said in them, captions, and who may play them when."""

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.operations.expiry import sweep
from testimonials.testimonials.media import recordings
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.applications import change_settings
from tests.support.commands import run, run_json
from tests.support.rows import change_project, change_testimonial, read_testimonials
from tests.testimonials.media.conftest import row_of
from tests.testimonials.media.recorded import JSON, VIDEO, VOICE, Upload, as_file, send, upload

pytestmark = pytest.mark.recount

CAPTIONS = "WEBVTT\n\nNOTE by hand\n\n1\n00:00.000 --> 00:01.500 align:start\nWarm buns.\n"
# A second line at the same time, in a cue of its own.
CAPTIONS += "\n2\n00:00.000 --> 00:01.500\nAlways.\n"


@pytest.fixture
def token(app: Flask, owner: Caller) -> Any:
    return give_token(app, owner)


def read(caller: Any, page: str, testimonial: str) -> dict[str, Any]:
    answer = caller.get(f"/v1/projects/{page}/testimonials/{testimonial}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json["data"])


def test_only_a_key_opens_what_is_not_public(app, client, token, page, sent, moved_clock):
    recording = read(token, page, sent)["recording"]
    assert (recording["kind"], recording["transcript"]) == ("video", "")
    path, _, key = recording["url"].partition("example.com")[2].partition("?")
    assert client.get(path).status_code == 404
    assert client.get(f"{path}?key=wrong").status_code == 404
    answer = client.get(f"{path}?{key}")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    # With the duration that was written into it.
    assert answer.data[-9000:] == VIDEO[-9000:]
    change_testimonial(app, sent, status="approved")
    # Its address has no key any more.
    assert read(token, page, sent)["recording"]["url"].endswith(path)
    assert client.get(path).headers["Cache-Control"] == "public, no-cache"
    for state in ({"status": "withdrawn"}, {"status": "approved", "deleted_at": moved_clock.time}):
        change_testimonial(app, sent, **state)
        assert client.get(f"{path}?{key}").status_code == 404
    change_testimonial(app, sent, status="rejected", deleted_at=None)
    assert client.get(path).status_code == 404
    assert client.get(f"{path}?{key}").status_code == 200
    moved_clock.move(days=15)
    assert client.get(f"{path}?{key}").status_code == 404
    change_testimonial(app, sent, status="approved")
    change_project(app, page, status="inactive")
    assert client.get(path).status_code == 404
    # The owner still plays it.
    url = read(token, page, sent)["recording"]["url"]
    assert client.get(url.partition("example.com")[2]).status_code == 200


def test_parts_served(app, client, token, page, sent):
    change_testimonial(app, sent, status="approved")
    path = read(token, page, sent)["recording"]["url"].partition("example.com")[2]
    whole = client.get(path)
    assert whole.headers["Content-Type"] == "video/webm"
    assert whole.headers["Accept-Ranges"] == "bytes"
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    assert whole.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "sandbox" in whole.headers["Content-Security-Policy"]
    size = len(whole.data)
    for asked, begin, end in (
        ("bytes=0-99", 0, 100), ("bytes=100-", 100, size), ("bytes=-50", size - 50, size),
        (f"bytes=10-{size * 2}", 10, size),
    ):  # fmt: skip
        part = client.get(path, headers={"Range": asked})
        assert part.status_code == 206
        assert part.data == whole.data[begin:end]
        assert part.headers["Content-Range"] == f"bytes {begin}-{end - 1}/{size}"
    assert client.get(path, headers={"Range": f"bytes={size}-"}).status_code == 416
    # Several parts, and a part of an earlier file: the whole.
    for headers in ({"Range": "bytes=0-1,5-6"}, {"Range": "bytes=0-1", "If-Range": '"old"'}):
        assert client.get(path, headers=headers).data == whole.data
    etag = whole.headers["ETag"]
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    head = client.head(path)
    assert (head.headers["Content-Length"], head.data) == (str(size), b"")


def test_a_transcript_becomes_text(client, token, page, sent):
    path = f"/v1/projects/{page}/testimonials/{sent}"
    words = "I came for the rye & stayed for the cardamom buns. " * 3
    assert token.patch(path, {"transcript": words}).status_code == 200
    found = read(token, page, sent)
    assert found["text"] == ""
    vtt = client.get(found["recording"]["captionsUrl"].partition("example.com")[2])
    assert vtt.content_type == "text/vtt; charset=utf-8"
    assert vtt.text.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:0")
    assert vtt.text.count("-->") == 2
    assert "rye &amp; stayed" in vtt.text
    for change, shown in (
        ({"showsTranscript": True}, words.strip()),
        ({"transcript": "Warm buns."}, "Warm buns."),
        ({"showsTranscript": False}, ""),
    ):
        assert token.patch(path, change).status_code == 200
        assert read(token, page, sent)["text"] == shown
    assert token.patch(path, {"captions": CAPTIONS}).status_code == 200
    vtt = client.get(found["recording"]["captionsUrl"].partition("example.com")[2])
    cues = [f"00:00:00.000 --> 00:00:01.500\n{words}" for words in ("Warm buns.", "Always.")]
    assert vtt.text == "\n\n".join(["WEBVTT", *cues])


def test_captions_are_checked(owner, token, page, sent):
    for captions, problem in (
        ("1\n00:00:01,000 --> 00:00:02,000\nA subtitle file", "begins with the line WEBVTT"),
        ("WEBVTT", "no cue"),
        ("WEBVTT\n\n00:02.000 --> 00:01.000\nBackwards", "must have a time"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\n", "must have words"),
        ("WEBVTT\n\nsoon\nWords", "must have a time"),
    ):
        answer = token.patch(f"/v1/projects/{page}/testimonials/{sent}", {"captions": captions})
        assert answer.status_code == 400
        assert problem in answer.text
    # Written words have no transcript.
    row = owner.create_testimonial(page)
    assert not row.keys() & {"kind", "recording"}
    path = f"/v1/projects/{page}/testimonials/{row['_id']}"
    assert token.patch(path, {"transcript": "Said"}).status_code == 409


def test_captions_needed(app, client, token, page, sent):
    change_project(app, page, page_design={"video": True, "voice": True, "needsCaptions": True})
    decisions = f"/v1/projects/{page}/submissions/decisions"
    refused = token.post(decisions, {"decision": "approve", "ids": [sent]})
    assert refused.status_code == 409
    assert "needs a transcript or captions" in refused.json["message"]
    # Among others it stays, and stops none.
    assert send(client, text="Written.").status_code == 303
    written = next(row.id for row in read_testimonials(app, page) if row.kind == "written")
    both = token.post(decisions, {"decision": "approve", "ids": [sent, written]})
    assert [each["result"] for each in both.json["data"]["results"]] == ["unchanged", "done"]
    assert token.post(decisions, {"decision": "reject", "ids": [sent]}).status_code == 200
    path = f"/v1/projects/{page}/testimonials/{sent}"
    assert token.patch(path, {"transcript": "Warm buns."}).status_code == 200
    assert token.post(decisions, {"decision": "approve", "ids": [sent]}).status_code == 200
    assert read(token, page, sent)["status"] == "approved"


def test_files_go_with_what_they_belong_to(app, client, page, sent, moved_clock):
    unsent = Upload(client)
    unsent.send(0, VIDEO[:1000])

    def files() -> int:
        with app.app_context():
            sweep()
            return len(recordings.list_files())

    assert files() == 2
    moved_clock.move(hours=25)
    assert files() == 1
    # A file without a row is left alone for an hour, in which its row may come.
    with app.app_context():
        recordings.append_piece("f" * 24, 0, VIDEO)
        path = recordings.path_of("f" * 24)
    moved_clock.move(hours=-25)
    assert files() == 2
    moved_clock.move(hours=25)
    assert files() == 1
    assert not path.exists()
    change_testimonial(app, sent, deleted_at=moved_clock.time)
    moved_clock.move(days=31)
    assert files() == 0


def find_own(client: FlaskClient, thanks: str) -> str:
    token = client.get(thanks).text.partition("/yours/")[2].partition("?")[0].partition('"')[0]
    return f"/yours/{token}"


def test_an_author_keeps_the_words(app, client, token, page):
    own = find_own(client, send(client, recording=upload(client)).headers["Location"])
    row = row_of(app, page)
    change_testimonial(app, row.id, status="approved")
    recording = read(token, page, row.id)["recording"]["url"].partition("example.com")[2]
    assert client.get(recording).status_code == 200
    feed = f"/widget/{page}/feed.json"
    before = client.get(feed).text
    assert recording in before
    assert "Your words stay" in client.get(f"{own}/recording").text
    assert client.post(f"{own}/recording").status_code == 303
    # A second tap finds it done.
    assert client.post(f"{own}/recording").status_code == 303
    with app.app_context():
        assert recordings.list_files() == {}
    assert client.get(recording).status_code == 404
    assert recording not in client.get(feed).text
    shown = read(token, page, row.id)
    assert (shown["text"], shown["status"]) == ("They listened.", "approved")
    assert not shown.keys() & {"kind", "recording"}
    assert "<video" not in client.get(own).text
    assert client.get(f"{own}/recording").status_code == 303


def test_a_recording_alone_is_withdrawn(app, client, page):
    own = find_own(client, send(client, text="", recording=upload(client)).headers["Location"])
    asked = client.get(f"{own}/recording").text
    assert f'href="{own}/withdraw"' in asked
    assert f'href="{own}/delete"' in asked
    assert "<form" not in asked
    assert client.post(f"{own}/recording").status_code == 303
    assert row_of(app, page).kind == "video"
    with app.app_context():
        assert len(recordings.list_files()) == 1
    # The author deletes the file at once.
    assert "<video" in client.get(own).text
    assert client.post(f"{own}/delete").status_code == 303
    with app.app_context():
        assert recordings.list_files() == {}
    assert read_testimonials(app, page) == []


def test_owners_remove_it_for_good(app, browser, page, sent):
    editor = f"/dashboard/projects/{page}/testimonials/{sent}"
    assert "nothing would be left" in browser.get(editor).text
    refused = browser.post(f"{editor}/recording/remove", headers=JSON)
    assert "nothing would be left" in refused.json["message"]
    form = {"transcript": "Warm buns.", "shows_transcript": "true"}
    assert browser.post(f"{editor}/transcript", data=form).status_code == 303
    assert "deleted permanently" in browser.get(editor).text
    answer = browser.post(f"{editor}/recording/remove", data={"return_to": editor})
    assert answer.headers["Location"].startswith(editor)
    with app.app_context():
        assert recordings.list_files() == {}
    assert "Recording removed" in browser.get(editor).text
    # Neither the removal nor what was done to the recording before.
    assert browser.post(f"/dashboard/projects/{page}/inbox/undo", headers=JSON).status_code == 409
    row = row_of(app, page)
    assert (row.kind, row.text) == ("written", "Warm buns.")


def test_the_row_plays_it_and_all_but_its_words_is_edited(app, client, browser, page, sent):
    shown = browser.get(f"/dashboard/projects/{page}/inbox").text
    assert "No transcript yet." in shown
    one = browser.get(f"/dashboard/projects/{page}/testimonials/{sent}").text
    assert "Safari before 17.4 can’t play this." in one
    url = shown.partition('<video controls playsinline preload="none" src="')[2].partition('"')[0]
    assert client.get(url.partition("example.com")[2]).status_code == 200
    shares = browser.get("/dashboard/account/projects").text
    assert "1 recording takes 0.0 of 2,000 MB." in shares
    form = {"text": "", "author_name": "Theo B.", "submitted_on": "2024-01-01"}
    path = f"/dashboard/projects/{page}/testimonials/{sent}"
    assert browser.post(path, data=form).status_code == 303
    assert row_of(app, page).author_name == "Theo B."


def test_captions_saved(app, client, browser, page):
    send(client, text="", recording=upload(client, VOICE, "voice"))
    path = f"/dashboard/projects/{page}/testimonials/{row_of(app, page).id}/transcript"
    vtt = b"WEBVTT\n\n00:00.000 --> 00:02.000\nWarm buns."
    form: dict[str, Any] = {"transcript": "Warm buns.", "shows_transcript": "true"}
    form["captions"] = as_file(vtt, "me.vtt")
    saved = browser.post(path, data=form, headers=JSON)
    assert saved.json | {"text": "Warm buns.", "highlights": [], "ok": True} == saved.json
    assert row_of(app, page).text == "Warm buns."
    browser.post(path.replace("transcript", "highlights"), data={"words": "Warm"})
    assert browser.post(path, data=form | {"captions": ""}, headers=JSON).json["highlights"]
    # Without a script, back to the list; and captions that are none are refused in words.
    assert browser.post(path, data={"transcript": ""}).status_code == 303
    assert row_of(app, page).text == ""
    form = {"transcript": "", "captions": as_file(b"\xff\xfe", "me.vtt")}
    refused = browser.post(path, data=form, headers=JSON)
    said = "The captions aren’t UTF-8 text."
    assert (refused.status_code, refused.json["message"]) == (409, said)


def doctor(app: Flask) -> list[str]:
    found = json.loads(run(app, "doctor", "--json").stdout)
    checks = {each["check"]: each["findings"] for each in found["checks"]}
    return [finding["problem"] for finding in checks["recordings"]]


def test_operators_see_what_is_missing(app, sent, moved_clock):
    (listed,) = run_json(app, "recordings", "list")
    assert (listed["mediaType"], listed["state"]) == ("video/webm", "ready")
    with app.app_context():
        assert list(recordings.list_files()) == [listed["_id"]]
    assert doctor(app) == []
    with app.app_context():
        recordings.append_piece("f" * 24, 0, VIDEO)
        recordings.path_of(listed["_id"]).unlink()
    moved_clock.move(hours=2)
    assert any("such as " + listed["_id"] in each for each in doctor(app))
    run_json(app, "prune")
    with app.app_context():
        assert recordings.list_files() == {}
    change_settings(app, all_recordings_megabytes=0)
    assert any("take 0 of 0 MB" in each for each in doctor(app))
