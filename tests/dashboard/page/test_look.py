"""The page editor: every setting of the collection page that the API leaves to the dashboard."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from PIL import Image
from werkzeug.test import TestResponse

from testimonials.core.images.colors import contrast, find_text
from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON, UNDO
from tests.support.pictures import to_bytes

CHANGES = {
    "headline": "How was your visit?",
    "description": "Two sentences.\nOr three.", "thankYouMessage": "This made our morning.",
    "theme": "dark", "showConfetti": False,
}  # fmt: skip


def picture() -> bytes:
    return to_bytes(Image.new("RGB", (900, 300), "#047857"), "PNG")


def save(browser: FlaskClient, project: str, **changes: Any) -> TestResponse:
    return browser.post(f"/dashboard/projects/{project}/collect/page", data=changes, headers=JSON)


def upload(browser: FlaskClient, project: str, content: bytes, **options: Any) -> TestResponse:
    # Written out, since the client leaves the file open in which it builds a large form.
    head = '--x\r\nContent-Disposition: form-data; name="cover"; filename="cover.png"\r\n\r\n'
    return browser.post(
        f"/dashboard/projects/{project}/collect/page/cover",
        data=head.encode() + content + b"\r\n--x--\r\n",
        content_type="multipart/form-data; boundary=x",
        **options,
    )


def config_of(owner: Caller, project: str) -> dict[str, Any]:
    return dict(owner.get(f"/v1/projects/{project}").json["data"]["publicPageConfig"])


def test_every_setting_is_saved_and_shown_at_the_next_load_and_what_is_chosen_is_asked(
    browser, client, owner, project
):
    for name, value in CHANGES.items():
        sent = json.dumps(value) if isinstance(value, bool) else value
        assert save(browser, project, **{name: sent}).json["values"][name] == value
    shown = config_of(owner, project)
    assert {name: shown[name] for name in CHANGES} == CHANGES
    page = client.get("/fern").text
    for expected in ("How was your visit?", 'data-theme="dark"'):
        assert expected in page
    thanks = client.get("/fern/thanks").text
    assert "This made our morning." in thanks
    assert "confetti.js" not in thanks
    for name in ("rating", "role", "company", "email"):
        for is_asked in (False, True):
            sent = json.dumps(is_asked)
            assert save(browser, project, **{f"ask-{name}": sent}).status_code == 200
            assert config_of(owner, project)["collectFields"][name] is is_asked
            assert (f'name="{name}"' in client.get("/fern").text) is is_asked


def test_only_what_changed_is_written(browser, owner, project):
    before = json.dumps({"headline": "What the form showed", "theme": "light"})
    save(browser, project, headline="A colleague’s headline")
    form = {"before": before, "headline": "What the form showed", "theme": "dark"}
    assert browser.post(f"/dashboard/projects/{project}/collect/page", data=form).status_code == 303
    config = config_of(owner, project)
    assert (config["headline"], config["theme"]) == ("A colleague’s headline", "dark")


def test_a_bad_value_changes_nothing(browser, owner, project):
    before = config_of(owner, project)
    for name, value, words in (
        ("headline", "x" * 161, "Shorten this to 160"), ("headline", "two\nlines", "a single line"),
        ("description", "x" * 501, "Shorten this to 500"),
        ("thankYouMessage", "x" * 501, "Shorten this to 500"),
        ("theme", "blue", "one of the options"),
        ("ask-rating", "", "Fill in this"), ("showConfetti", "", "Fill in this"),
    ):  # fmt: skip
        answer = save(browser, project, **{"thankYouMessage": "New", name: value})
        assert answer.status_code == 422
        assert words in answer.json["message"]
        page = browser.post(f"/dashboard/projects/{project}/collect/page", data={name: value})
        assert page.status_code == 422
    assert config_of(owner, project) == before


def test_the_colour_offered_can_be_read():
    for ground in ("#FFFFFF", "#000000", "#808080", "#2F8F6B", "#FFFF00"):
        for text in ("#FFFFFF", "#000000", "#767676", "#777777", "#FF0000"):
            found = find_text(ground, text)
            assert contrast(ground, found) >= 4.5
            assert (found == text) == (contrast(ground, text) >= 4.5)
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def test_a_cover_is_checked_shown_and_can_be_taken_off(browser, client, project):
    words = "can’t be read as a picture"
    answer = upload(browser, project, b"no picture at all", headers=JSON)
    assert (answer.status_code, words in answer.json["message"]) == (422, True)
    assert words in upload(browser, project, b"no picture at all").text
    assert 'class="cover"' not in client.get("/fern").text
    assert upload(browser, project, picture()).status_code == 303
    assert 'class="cover"' in client.get("/fern").text
    path = f"/dashboard/projects/{project}/collect/page/cover/remove"
    told = browser.post(path, follow_redirects=True).text
    assert 'class="cover"' not in client.get("/fern").text
    back, undo = path.replace("remove", "undo"), {"undo": UNDO.findall(told)[0]}
    assert browser.post(back, data=undo).status_code == 303
    assert 'class="cover"' in client.get("/fern").text
    again = browser.post(back, data=undo)
    assert (again.status_code, 'name="before" value="{' in again.text) == (422, True)
