"""Choosing a new password with a mailed link (decisions, "Sessions")."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.auth.browsers import (
    COOKIE,
    is_signed_in,
    mailed_path,
    open_browser,
    purposes,
    session_ids,
    sign_in,
)
from tests.auth.links import ask_for_link
from tests.conftest import Caller
from tests.support.racing import at_once

NEW = "seven green lanterns"


@pytest.fixture
def link(app: Flask, client: FlaskClient, owner: Caller) -> str:
    assert ask_for_link(client, "/forgot", owner.email).status_code == 200
    return mailed_path(app, "reset")


def reset(client: FlaskClient, link: str, password: str = NEW) -> TestResponse:
    return client.post(link, data={"password": password})


def assert_refused(answer: TestResponse) -> None:
    assert (answer.status_code, "This link doesn’t work" in answer.text) == (404, True)
    assert ('href="/forgot"' in answer.text, answer.headers["Cache-Control"]) == (True, "no-store")
    assert "Set-Cookie" not in answer.headers


def test_who_gets_no_mail_is_told_whom_to_ask(make_app):
    client = make_app(operators="operator@example.com").test_client()
    asked = client.post("/forgot", data={"email": "moved@example.com"})
    for page in (asked, client.get("/reset/x")):
        assert "Ask <bdi>operator@example.com</bdi>." in page.text


def test_the_link_sets_a_new_password_and_ends_every_session(app, client, owner, outsider, link):
    before, strange = open_browser(app, owner), open_browser(app, outsider)
    assert client.get(link).headers["Referrer-Policy"] == "same-origin"
    weak = reset(client, link, "password123")
    assert (weak.status_code, is_signed_in(client), is_signed_in(before)) == (422, False, True)
    answer = reset(client, link)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")
    assert answer.headers["Set-Cookie"].startswith(f"{COOKIE}=")
    assert [is_signed_in(each) for each in (client, before, strange)] == [True, False, True]
    client.post("/logout")
    assert sign_in(client, owner.email).status_code == 422
    assert sign_in(client, owner.email, NEW).status_code == 303


@pytest.mark.postgres
def test_of_two_at_once_one_wins(app, link):
    answers = at_once(2, lambda n: reset(app.test_client(), link, f"seven green lanterns {n}"))
    assert sorted(answer.status_code for answer in answers) == [303, 404]
    assert len(session_ids(app)) == 1


def test_a_link_works_for_one_hour(client, owner, link, moved_clock):
    moved_clock.move(minutes=59, seconds=50)
    assert client.get(link).status_code == 200
    moved_clock.move(seconds=20)
    assert_refused(client.get(link))
    assert_refused(reset(client, link))
    assert sign_in(client, owner.email).status_code == 303


def test_a_link_to_an_address_that_is_given_up_works_no_more(app, browser, client, link):
    # Whoever reads the old mailbox must not get into the account by it.
    browser.post("/dashboard/account/email", data={"email": "next@example.com"})
    assert browser.post(mailed_path(app, "email-change")).status_code == 303
    assert_refused(reset(client, link))


def test_an_owner_whose_domain_was_listed_later_gets_it(make_app, owner):
    strict = make_app(email_deny_domains="example.com")
    assert ask_for_link(strict.test_client(), "/forgot", owner.email).status_code == 200
    assert ("reset", owner.email) in purposes(strict)
