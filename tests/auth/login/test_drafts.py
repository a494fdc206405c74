"""A form whose session had ended, and a session that lasts for as long as it is used."""

import io
import re
from html import unescape

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.auth.browsers import COOKIE, draft_of, sign_in
from tests.conftest import PASSWORD, Caller
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox
from tests.support import pictures
from tests.support.rows import read_testimonials

WORDS = "<b>Many words</b>, typed\nby hand."
FORM = {"author_name": "Aiko", "text": WORDS, "submitted_on": "2025-03-12", "tags": "one, two"}


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="salon")


def log_in(client: FlaskClient, email: str, draft: str, password: str = PASSWORD) -> TestResponse:
    return client.post("/login", data={"email": email, "password": password, "draft": draft})


def fields_of(page: str) -> list[tuple[str, str]]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return [(name, unescape(value)) for name, value in found]


def test_what_was_typed_is_shown_after_signing_in_and_then_sent(app, inbox):
    browser, path = app.test_client(), f"{inbox.base}/testimonials/new"
    asked = browser.post(path, data=FORM)
    assert (asked.status_code, "what you typed is kept" in asked.text) == (401, True)
    assert asked.headers["Cache-Control"] == "no-store"
    wrong = log_in(browser, inbox.owner.email, draft_of(asked.text), "not this one")
    assert wrong.status_code == 422
    page = log_in(browser, inbox.owner.email, draft_of(wrong.text))
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert "&lt;b&gt;Many words&lt;/b&gt;" in page.text
    assert WORDS not in page.text
    # Nothing is sent by itself.
    assert read_testimonials(app, inbox.project) == []
    assert f'action="{path}"' in page.text
    assert browser.post(path, data=dict(fields_of(page.text))).status_code == 303
    (row,) = read_testimonials(app, inbox.project)
    assert (row.author_name, row.text) == ("Aiko", WORDS)


def test_secrets_decisions_and_floods_are_not_kept(app, inbox):
    for path, form in (
        (
            "/dashboard/account/security/password",
            {"current": PASSWORD, "password": "another one here"},
        ),
        ("/dashboard/account/key", {"proof": PASSWORD}),
        (f"{inbox.base}/settings/delete", {"confirm": "salon"}),
        (f"{inbox.base}/inbox/bulk", {"action": "delete", "all": "1", "status": "all"}),
        (f"{inbox.base}/testimonials/new", {"text": "x" * 100_000}),
        (f"{inbox.base}/testimonials/new", {}),
        ("/dashboard/theme", {"theme": "dark"}),
    ):
        answer = app.test_client().post(path, data=form)
        assert answer.status_code == 303
        assert answer.location == "/login?next=/dashboard&notice=expired"
    # A script is told in JSON.
    answer = app.test_client().post(f"{inbox.base}/inbox/bulk", data={"action": "x"}, headers=JSON)
    assert (answer.status_code, "signed out" in answer.json["message"]) == (401, True)


def test_photos_go_and_words_are_kept(app, inbox, moved_clock):
    browser = app.test_client()
    file = (io.BytesIO(pictures.GIF + bytes(300_000)), "me.gif")
    asked = browser.post(f"{inbox.base}/testimonials/new", data=FORM | {"avatar": file})
    assert asked.status_code == 401
    page = log_in(browser, inbox.owner.email, draft_of(asked.text))
    assert "Choose the file again" in page.text
    moved_clock.move(minutes=61)
    assert log_in(app.test_client(), inbox.owner.email, draft_of(asked.text)).status_code == 303


def test_a_cookie_follows_its_session(browser, moved_clock):
    for _ in range(3):
        moved_clock.move(minutes=30)
        assert "Set-Cookie" not in browser.get("/dashboard/account").headers
        moved_clock.move(days=29)
        answer = browser.get("/dashboard/account")
        assert answer.status_code == 200
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        assert f"Max-Age={30 * 86400}" in cookie
        assert "HttpOnly" in cookie


def test_renewals_undo_no_signing_out(browser, owner, moved_clock):
    moved_clock.move(days=2)
    answer = browser.post("/dashboard/account/security/sessions/end", data={"proof": PASSWORD})
    cookies = answer.headers.getlist("Set-Cookie")
    assert len(cookies) == 1
    assert "Max-Age=0" in cookies[0]
    assert sign_in(browser, owner.email).status_code == 303
