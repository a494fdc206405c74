"""The address that an account left takes it back, whatever somebody did with it since."""

import re
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.models import FormerAddress
from testimonials.core import clock
from testimonials.core.web.signing import TokenPurpose
from testimonials.operations.jobs.expiry import sweep
from tests.auth.browsers import is_signed_in, mailed_path, open_browser, purposes, sign_in
from tests.auth.links import ask_for_link, init, mailed_links, mails
from tests.conftest import PASSWORD, Caller, MakeCaller, MovableClock
from tests.projects.team.test_team import NOOR, Team
from tests.support.rows import count_rows

THEIRS = "thief@example.net"
NEW = "seven green lanterns"
HERE = "/dashboard/account"


@pytest.fixture
def thief(app: Flask, owner: Caller) -> FlaskClient:
    """A browser of somebody who has the owner's password."""
    return open_browser(app, owner)


def move(app: Flask, browser: FlaskClient, email: str) -> str:
    """Change the address in a browser; return the path of the link that takes it back."""
    assert (
        browser.post(f"{HERE}/email", data={"email": email, "proof": PASSWORD}).status_code == 303
    )
    assert browser.post(mailed_path(app, "email-change")).status_code == 303
    return mailed_path(app, "address-changed")


def take_back(app: Flask, link: str, password: str = NEW) -> FlaskClient:
    """Follow a link to its end; return the browser."""
    browser = app.test_client()
    assert "Take your account back?" in browser.get(link).text
    answer = browser.post(link)
    assert answer.status_code == 303, answer.text
    reset = urlsplit(answer.headers["Location"])
    assert 'name="replace_key" value="1" checked' in browser.get(f"{reset.path}?{reset.query}").text
    answer = browser.post(reset.path, data={"password": password, "replace_key": "1"})
    assert answer.status_code == 200
    return browser


def test_the_old_address_is_told_and_takes_the_account_back(
    app: Flask, owner: Caller, thief: FlaskClient
) -> None:
    link = move(app, thief, THEIRS)
    mail = mails(app)[-1]
    assert (mail.purpose, mail.recipient) == ("address-changed", owner.email)
    words = " ".join(mail.text.split())
    assert f"You now sign in as {THEIRS}" in words
    assert f"On {clock.day(clock.now())} your account left this address" in words
    # Looking changes nothing.
    assert app.test_client().get(link).status_code == 200
    assert is_signed_in(thief)
    browser = take_back(app, link)
    assert is_signed_in(browser)
    assert not is_signed_in(thief)
    assert owner.email in browser.get(HERE).text
    # The thief's password, their address and the key that they may have seen are worth nothing.
    for email in (owner.email, THEIRS):
        assert sign_in(app.test_client(), email).status_code == 422
    assert owner.get("/v1/me").status_code == 401
    assert sign_in(app.test_client(), owner.email, NEW).status_code == 303
    assert ("security", THEIRS) in purposes(app)
    assert app.test_client().get(link).status_code == 404


def test_the_password_of_before_is_worth_nothing_even_before_there_is_a_new_one(
    app: Flask, owner: Caller, thief: FlaskClient
) -> None:
    link = move(app, thief, THEIRS)
    client = app.test_client()
    assert client.post(link).status_code == 303
    assert sign_in(app.test_client(), owner.email).status_code == 422
    # Whoever stops there gets on by mail, at the old address again.
    ask_for_link(client, "/forgot", owner.email)
    assert purposes(app)[-1] == ("reset", owner.email)


def test_the_first_address_wins_over_later_ones(
    app: Flask, owner: Caller, thief: FlaskClient, moved_clock: MovableClock
) -> None:
    first = move(app, thief, THEIRS)
    moved_clock.move(hours=1)
    form = {"current": PASSWORD, "password": "another five ladders"}
    assert thief.post(f"{HERE}/password", data=form).status_code == 200
    second = move(app, thief, "thief-2@example.net")
    moved_clock.move(hours=1)
    assert sign_in(thief, "thief-2@example.net", "another five ladders").status_code == 303
    third = move(app, thief, "thief-3@example.net")
    # The thief takes it "back" to an address of theirs; the owner's link goes on working.
    take_back(app, second, "another six ladders")
    moved_clock.move(days=6)
    browser = take_back(app, first)
    assert owner.email in browser.get(HERE).text
    for link in (first, second, third):
        assert app.test_client().post(link).status_code == 404
    assert sign_in(app.test_client(), owner.email, NEW).status_code == 303


def test_nobody_takes_the_old_address_meanwhile(
    app: Flask, owner: Caller, outsider: Caller, thief: FlaskClient, client: FlaskClient
) -> None:
    link = move(app, thief, THEIRS)
    answer = init(client, owner.email).get_json()["data"]
    assert answer["accountExists"] is True
    assert "apiKey" not in answer
    # Whoever reads the mail there is told how to take it back, by whichever way they come.
    for path in ("/signup", "/forgot"):
        ask_for_link(client, path, owner.email)
        assert purposes(app)[-1] == ("address-changed", owner.email)
        again = mailed_path(app, "address-changed")
        assert again.partition(".")[0] == link.partition(".")[0]
        assert client.get(again).status_code == 200
    other = open_browser(app, outsider)
    other.post(f"{HERE}/email", data={"email": owner.email})
    answer = other.post(mailed_path(app, "email-change"))
    assert answer.status_code == 400
    assert "Another account has this address." in answer.text
    assert mailed_links(app) == []
    take_back(app, link)


def test_an_invitation_to_the_old_address_waits(
    app: Flask, thief: FlaskClient, outsider: Caller, make_caller: MakeCaller
) -> None:
    noor = open_browser(app, make_caller(NOOR, is_claimed=True))
    team = Team(app, open_browser(app, outsider), outsider.create_project()["_id"])
    team.invite()
    invitation = mailed_path(app, "invitation")
    link = move(app, noor, THEIRS)
    answer = app.test_client().post(invitation, data={"password": PASSWORD})
    assert answer.status_code == 400
    assert "can still return to it" in answer.text
    browser = take_back(app, link)
    assert browser.post(invitation).status_code == 303


def test_a_link_works_for_seven_days(
    app: Flask, owner: Caller, thief: FlaskClient, client: FlaskClient, moved_clock: MovableClock
) -> None:
    link = move(app, thief, THEIRS)
    moved_clock.move(days=7, seconds=-1)
    with app.app_context():
        assert sweep()["formerAddresses"] == 0
    assert client.get(link).status_code == 200
    moved_clock.move(seconds=1)
    for answer in (client.get(link), client.post(link)):
        assert answer.status_code == 404
        assert answer.headers["Cache-Control"] == "no-store"
    # From then on the address is anybody's who reads its mail.
    assert "apiKey" in init(client, owner.email).get_json()["data"]
    with app.app_context():
        assert sweep()["formerAddresses"] == 1


def test_an_account_can_go_back_and_forth_by_itself(
    app: Flask, owner: Caller, thief: FlaskClient, client: FlaskClient, moved_clock: MovableClock
) -> None:
    first = move(app, thief, "home@example.com")
    moved_clock.move(hours=1)
    move(app, thief, owner.email)
    ask_for_link(client, "/signup", owner.email)
    assert purposes(app)[-1] == ("account-exists", owner.email)
    take_back(app, first)
    assert count_rows(app, FormerAddress) == 0


def test_made_up_and_foreign_tokens_take_nothing(
    app: Flask, owner: Caller, thief: FlaskClient, client: FlaskClient
) -> None:
    token = move(app, thief, THEIRS).removeprefix("/take-back/")
    with app.app_context():
        others = [TokenPurpose("take-back").sign(each) for each in (owner.account_id, "x", "")]
        others.append(TokenPurpose("email-change").sign(owner.account_id))
    for other in (*others, token[:-1], "x", "%00", "é"):
        for answer in (client.get(f"/take-back/{other}"), client.post(f"/take-back/{other}")):
            assert answer.status_code == 404
    assert is_signed_in(thief)
    assert re.search(THEIRS, thief.get(HERE).text)
