"""Suspending an account: what stops, what stays, and that restoring brings everything back."""

import pytest
from flask import Flask

from testimonials.auth.tokens import Scope
from testimonials.testimonials import models
from tests.auth.browsers import is_signed_in, open_browser, purposes, sign_in
from tests.auth.links import mails
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.commands import run, run_well
from tests.support.rows import add_member, count_rows
from tests.support.shapes import error_of

OTHERS_WORDS = "It simply works."


def suspend(app: Flask, caller: Caller, *flags: str) -> None:
    run_well(app, "accounts", "suspend", caller.email, "--reason", "Invented praise", *flags)


@pytest.fixture
def project(owner: Caller) -> dict[str, str]:
    made = owner.create_project(businessName="Larkspur", slug="larkspur")
    owner.create_testimonial(made["_id"])
    return made


def test_keys_and_tokens_are_refused_in_words(app, owner, outsider):
    token = give_token(app, owner, Scope.READ)
    suspend(app, owner)
    for headers in (owner.headers, token.headers):
        error = error_of(owner.client.get("/v1/me", headers=headers), 403, "ACCOUNT_SUSPENDED")
        assert "Invented praise." in error["message"]
        assert "Ask testimonials@testimonials.example.com." in error["message"]
    # Who doesn't have the key learns nothing.
    wrong = owner.headers | {"x-api-key": outsider.api_key}
    error_of(owner.client.get("/v1/me", headers=wrong), 401, "INVALID_CREDENTIALS")
    assert outsider.get("/v1/me").status_code == 200
    run_well(app, "accounts", "restore", owner.email)
    assert owner.get("/v1/me").status_code == 200
    assert owner.client.get("/v1/me", headers=token.headers).status_code == 200


def test_nobody_stays_signed_in_and_signing_in_says_why(app, browser, owner):
    assert is_signed_in(browser)
    suspend(app, owner)
    assert not is_signed_in(browser)
    answer = sign_in(browser, owner.email)
    assert (answer.status_code, "This account is suspended" in answer.text) == (403, True)
    assert "Invented praise." in answer.text
    assert "Set-Cookie" not in answer.headers
    # A wrong password is refused as ever, so that strangers learn nothing.
    assert sign_in(browser, owner.email, "not this one").status_code == 422
    run_well(app, "accounts", "restore", owner.email)
    assert sign_in(browser, owner.email).status_code == 303


def test_colleagues_read_that_the_project_is_suspended(app, owner, outsider, project):
    add_member(app, project["_id"], outsider, "admin")
    browser = open_browser(app, outsider)
    path = f"/dashboard/projects/{project['_id']}/inbox"
    assert browser.get(path).status_code == 200
    suspend(app, owner)
    answer = browser.get(path)
    assert (answer.status_code, "suspended" in answer.text) == (403, True)
    assert "Invented praise." not in answer.text
    assert is_signed_in(browser)
    run_well(app, "accounts", "restore", owner.email)
    assert browser.get(path).status_code == 200


def test_pages_take_nothing_and_widgets_stay(app, client, owner, project):
    feed = f"/widget/{project['_id']}/feed"
    before = client.get(feed).json
    suspend(app, owner)
    form = {"name": "Theo", "text": "Words that nobody takes.", "consent": "on", "rating": "5"}
    for answer in (client.get("/larkspur"), client.post("/larkspur", data=form)):
        assert answer.status_code in (200, 409)
        assert "<form" not in answer.text.partition("<main")[2].partition("<footer")[0]
    assert client.get(feed).json["items"] == before["items"]  # type: ignore[index]
    assert OTHERS_WORDS in client.get("/larkspur/wall").text
    run_well(app, "accounts", "restore", owner.email)
    assert count_rows(app, models.Testimonial) == 1
    assert "<form" in client.get("/larkspur").text.partition("<main")[2]


def test_hidden_widgets_are_empty_wherever_they_were_kept(app, client, owner, project):
    base = f"/widget/{project['_id']}"
    paths = [f"{base}/feed", "/larkspur/wall", f"{base}/fragment"]

    # Twice, so that each is kept.
    for _ in range(2):
        assert all(OTHERS_WORDS in client.get(path).text for path in paths)
    suspend(app, owner, "--hide-widgets")
    assert not any(OTHERS_WORDS in client.get(path).text for path in paths)
    run_well(app, "accounts", "restore", owner.email)
    assert all(OTHERS_WORDS in client.get(path).text for path in paths)


def test_the_owner_is_told_and_the_record_says_it(app, owner):
    suspend(app, owner)
    mail = mails(app)[-1]
    assert (mail.purpose, mail.recipient) == ("suspended", owner.email)
    assert "Invented praise." in mail.text
    assert "What your widgets and walls show stays there." in mail.text
    run_well(app, "accounts", "restore", owner.email)
    assert purposes(app)[-1] == ("restored", owner.email)
    browser = open_browser(app, owner)
    page = browser.get("/dashboard/account/activity").text
    assert "suspended the account: Invented praise." in page
    assert "restored the account" in page


def test_what_is_no_sense_is_refused(server, boss):
    for arguments, words in (
        (["suspend", "boss@example.com", "--reason", "x"], "is an operator"),
        (["suspend", "nobody@example.com", "--reason", "x"], "There is no account"),
        (["suspend", "boss@example.com", "--reason", "  "], "Give a reason"),
        (["restore", "boss@example.com"], "is not suspended"),
    ):
        result = run(server, "accounts", *arguments)
        assert (result.exit_code, words in result.output) == (1, True)
