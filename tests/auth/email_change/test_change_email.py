"""Changing the address: the new one counts once its mail was read (decisions, "Sessions")."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.core import clock
from tests.auth.browsers import mailed_path, open_browser, purposes, sign_in
from tests.auth.links import init, mails
from tests.conftest import PASSWORD, Caller

NEW = "new-address@example.com"


def ask(browser: FlaskClient, email: str = NEW) -> TestResponse:
    return browser.post("/dashboard/account/email", data={"email": email}, follow_redirects=True)


@pytest.fixture
def link(app: Flask, browser: FlaskClient) -> str:
    assert ask(browser).status_code == 200
    return mailed_path(app, "email-change")


def confirm(browser: FlaskClient, link: str) -> TestResponse:
    answer = browser.post(link)
    assert answer.status_code == 303, answer.text
    return browser.get(answer.headers["Location"])


def email_of(caller: Caller) -> str:
    return str(caller.get("/v1/me").json["data"]["email"])  # type: ignore[index]


def test_an_address_that_is_the_accounts_already_gets_no_mail(app, browser, owner):
    answer = ask(browser, owner.email.upper())
    assert answer.status_code == 422
    assert "This is already your address." in answer.text
    assert ("email-change", owner.email) not in purposes(app)


def test_the_link_alone_changes_nothing(app, client, owner, outsider, link):
    assert link.startswith("/email/")
    assert ("email-change", NEW) in purposes(app)
    # Nor does another account that is signed in.
    other = open_browser(app, outsider)
    page = other.post(link, follow_redirects=True).text
    assert "You are signed in as <bdi>outsider@example.org</bdi>." in page
    assert ">Confirm</button>" not in page
    assert email_of(outsider) == outsider.email
    # Whoever reads the mail is asked to sign in first, and comes back.
    for method in ("GET", "POST"):
        answer = client.open(link, method=method, follow_redirects=True)
        assert "Sign in with your current address" in answer.text
    assert email_of(owner) == owner.email
    there = sign_in(client, owner.email, next=link).headers["Location"]
    assert there == link
    assert NEW in client.get(there).text.replace("<wbr>", "")
    assert f"New address: {NEW}" in confirm(client, there).text
    assert email_of(owner) == NEW


def test_an_old_address_is_told_and_the_link_works_once(app, owner, browser, link):
    confirm(browser, link)
    mail = mails(app)[-1]
    assert (mail.purpose, mail.recipient) == ("address-changed", owner.email)
    # Lines break at hyphens too.
    words = " ".join(mail.text.split()).replace("new- address", "new-address")
    assert f"You now sign in as {NEW}" in words
    assert f"On {clock.day(clock.now())} your account left this address" in words
    assert "from this address: testimonials@testimonials.example.com." in words
    assert browser.post(link).status_code == 404
    # Not even after the account has gone back to the address from which the link led away.
    ask(browser, owner.email)
    confirm(browser, mailed_path(app, "email-change"))
    assert email_of(owner) == owner.email


def test_a_taken_address(app, owner, browser, outsider):
    # Asking tells nothing of who has an account.
    page = ask(browser, outsider.email).text
    assert page.replace(outsider.email, "X") == ask(browser, "free@example.com").text.replace(
        "free@example.com", "X"
    )
    ask(browser, outsider.email)
    answer = browser.post(mailed_path(app, "email-change"))
    assert 400 <= answer.status_code < 500
    assert "Another account has this address" in answer.text
    assert (email_of(owner), email_of(outsider)) == (owner.email, outsider.email)


def test_an_account_whose_days_have_passed_holds_no_address(app, client, owner, moved_clock):
    init(client, NEW)
    moved_clock.move(days=8)
    browser = open_browser(app, owner)
    ask(browser)
    confirm(browser, mailed_path(app, "email-change"))
    assert email_of(owner) == NEW


def test_a_change_ends_with_its_hour_or_a_new_password(app, browser, owner, link, moved_clock):
    moved_clock.move(hours=1, seconds=2)
    answer = browser.post(link)
    assert (answer.status_code, 'href="/dashboard/account"' in answer.text) == (404, True)
    assert "/forgot" not in answer.text
    # Somebody who knew the old password asked again; the owner has locked them out since.
    ask(browser)
    form = {"current": PASSWORD, "password": "seven green lanterns"}
    assert browser.post("/dashboard/account/security/password", data=form).status_code == 200
    assert browser.post(mailed_path(app, "email-change")).status_code == 404
    assert email_of(owner) == owner.email
    assert [ask(browser).status_code for _ in range(3)] == [200, 200, 429]
