"""Answering an invitation: with an account, without one, with one that an agent began, or not."""

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.auth.models import Account, Session
from testimonials.core.extensions import db
from testimonials.projects.models import Member
from tests.auth.browsers import is_signed_in, mailed_path, open_browser, session_ids, sign_in
from tests.auth.links import init
from tests.conftest import PASSWORD
from tests.projects.team.team_page import NOOR, Team, invited, members
from tests.support.racing import at_once
from tests.support.rows import count_rows, everything, expire_account

GONE = "This invitation no longer works"


@pytest.fixture
def link(team: Team) -> str:
    assert team.invite().status_code == 303
    return mailed_path(team.app, "invitation")


def accept(client: FlaskClient, link: str, ip: str = "10.0.0.9", **data: str) -> TestResponse:
    return client.post(link, data=data, environ_base={"REMOTE_ADDR": ip})


def is_in(browser: FlaskClient, team: Team) -> bool:
    return browser.get(f"/dashboard/projects/{team.project}/inbox").status_code == 200


def test_somebody_new_chooses_a_password(team, client, link):
    # A project in the trash lets nobody in until it is back.
    here = team.base.removesuffix("/people")
    team.browser.post(f"{here}/settings/delete", data={"confirm": "fern"})
    assert client.get(link).status_code == 410
    assert team.browser.post(f"{here}/take-back").status_code == 303
    assert accept(client, link, password=NOOR).status_code == 422
    assert members(team.app) == {}
    answer = accept(client, link, password=PASSWORD)
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"/dashboard/projects/{team.project}/inbox"
    assert is_in(client, team)
    assert (members(team.app), invited(team.app)) == ({NOOR: "moderator"}, {})
    assert client.get(f"/dashboard/projects/{team.project}/people").status_code == 403
    # It is an account like any other.
    other = team.app.test_client()
    assert sign_in(other, NOOR).status_code == 303
    assert is_in(other, team)
    again = accept(team.app.test_client(), link, password="another fine password")
    assert (again.status_code, GONE in again.text) == (410, True)
    assert "This link was already used." in again.text
    assert "Set-Cookie" not in again.headers


@pytest.mark.parametrize("signup", ["closed", "domains"])
def test_an_invitation_is_enough(make_app, make_caller, signup):
    app = make_app(signup=signup, signup_domains="elsewhere.example")
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project(slug="fern")["_id"]
    team = Team(app, open_browser(app, owner), project)
    team.invite()
    client = app.test_client()
    link = mailed_path(app, "invitation")
    assert accept(client, link, password=PASSWORD).status_code == 303
    assert is_in(client, team)
    assert init(client, "stranger@example.com").status_code == 400


def test_who_has_an_account_signs_in_and_comes_back(team, client, link, make_caller):
    make_caller(NOOR, is_claimed=True)
    page = client.get(link).text
    assert f'href="/login?next={link}"' in page
    assert "new-password" not in page
    # A form that was opened before there was an account can't set its password.
    answer = accept(client, link, password="another fine password")
    assert (answer.status_code, answer.headers["Location"]) == (303, link)
    assert members(team.app) == {}
    assert sign_in(client, NOOR, next=link).headers["Location"] == link
    assert "Join the project" in client.get(link).text
    assert members(team.app) == {}
    assert accept(client, link).headers["Location"] == f"/dashboard/projects/{team.project}/inbox"
    assert is_in(client, team)
    assert count_rows(team.app, Account) == 2
    assert client.get(link).status_code == 410


@pytest.mark.parametrize("has_account", [True, False])
def test_somebody_else_who_is_signed_in_does_not_join(
    team, link, outsider, make_caller, has_account
):
    if has_account:
        make_caller(NOOR, is_claimed=True)
    browser = open_browser(team.app, outsider)
    page = browser.get(link).text
    assert "You are signed in as <bdi>outsider@example.org</bdi>" in page
    assert f"The invitation is for <bdi>{NOOR}</bdi>" in page
    before = everything(team.app)
    answer = accept(browser, link, password=PASSWORD)
    assert (answer.status_code, answer.headers["Location"]) == (303, link)
    assert everything(team.app) == before
    answer = browser.post("/logout", data={"next": link})
    assert (answer.status_code, answer.headers["Location"]) == (303, link)
    assert not is_signed_in(browser)
    for target in ("https://evil.example", "//evil.example", "/\\evil.example"):
        answer = open_browser(team.app, outsider).post("/logout", data={"next": target})
        assert answer.headers["Location"] == "/login?notice=signed-out"
    page = browser.get(link).text
    assert ("Sign in to join" if has_account else "new-password") in page


@pytest.mark.parametrize(("choice", "drop"), [("keep", False), ("drop", True)])
def test_an_account_that_an_agent_began_is_claimed_and_its_key_is_decided_on(
    team, client, link, make_caller, choice, drop
):
    agent = make_caller(NOOR)
    own = agent.create_project(businessName="Noor's own", slug="noors")["_id"]
    page = client.get(link).text
    assert "Nobody has claimed the account" in page
    assert "Noor&#39;s own" in page
    assert "An agent has had a key to this account since" in page
    # No other key takes its place.
    assert "Revoke" in page
    assert "Replace its key" not in page
    assert " checked" not in page
    # A form from before there was an agent doesn't decide for the person.
    answer = accept(client, link, password=PASSWORD)
    assert answer.status_code == 422
    assert "Choose whether the agent keeps its key." in answer.text
    assert members(team.app) == {}
    form = {"password": PASSWORD, "key": choice, "key_seen": agent.api_key[-4:]}
    if choice == "keep":
        assert accept(client, link, **form | {"key_seen": "0000"}).status_code == 422
    assert accept(client, link, **form, **({"drop": "1"} if drop else {})).status_code == 303
    assert is_in(client, team)
    assert agent.get("/v1/me").status_code == (200 if choice == "keep" else 401)
    assert client.get(f"/dashboard/projects/{own}/inbox").status_code == (404 if drop else 200)
    # The agent's key never reaches the project of somebody else.
    assert agent.get(f"/v1/projects/{team.project}").status_code in (404, 401)
    assert init(client, NOOR).get_json()["data"]["claimRequired"] is False
    assert client.get("/dashboard/account").status_code == 200


def test_an_account_left_unclaimed_counts_as_none(team, client, link, make_caller):
    agent = make_caller(NOOR)
    agent.create_project(businessName="Left behind", slug="left")
    expire_account(team.app, agent.account_id)
    page = client.get(link).text
    assert "Left behind" not in page
    assert "An agent has had a key" not in page
    assert accept(client, link, password=PASSWORD).status_code == 303
    assert is_in(client, team)
    assert client.get("/dashboard/projects").text.count("Left behind") == 0
    with team.app.app_context():
        assert db.session.get(Account, agent.account_id) is None


def test_an_invitation_is_declined_or_withdrawn(team, client, link):
    page = client.get(f"{link}/decline").text
    assert "Decline the invitation?" in page
    assert client.post(f"{link}/decline").headers["Location"] == "/invite/declined"
    assert "Invitation declined" in client.get("/invite/declined").text
    assert (invited(team.app), members(team.app)) == ({}, {})
    for is_again in (False, True):
        if is_again:
            team.invite()
            link = mailed_path(team.app, "invitation")
            assert team.post("invitations/withdraw", email=NOOR).status_code == 303
        for gone in (
            client.get(link), accept(client, link, password=PASSWORD),
            client.get(f"{link}/decline"), client.post(f"{link}/decline"),
        ):  # fmt: skip
            assert (gone.status_code, GONE in gone.text) == (410, True)
            assert "Fern" not in gone.text
    assert count_rows(team.app, Account) == 1


def test_who_took_the_address_keeps_a_role(team, link, make_caller):
    colleague = make_caller("old@example.com", is_claimed=True)
    with team.app.app_context():
        row = Member(project_id=team.project, account_id=colleague.account_id, role="admin")
        db.session.add(row)
        db.session.get_one(Account, colleague.account_id).email = NOOR
        db.session.commit()
    browser = open_browser(team.app, colleague)
    assert accept(browser, link).status_code == 303
    assert (members(team.app), invited(team.app)) == ({NOOR: "admin"}, {})


def test_joining_needs_no_room_of_its_own(team, client, link):
    for number in range(19):
        assert team.invite(f"person{number}@example.com").status_code == 303
    assert accept(client, link, password=PASSWORD).status_code == 303
    assert is_in(client, team)
    assert team.invite("one-more@example.com").status_code == 422


def race(*jobs: Callable[[], TestResponse]) -> list[int]:
    """Let requests go at the same moment; return their statuses."""
    return at_once(len(jobs), lambda number: jobs[number]().status_code)


@pytest.mark.postgres
def test_accepting_twice_makes_one_member(team, link, make_caller):
    noor = make_caller(NOOR, is_claimed=True)
    browsers = [open_browser(team.app, noor) for _ in range(2)]
    answers = race(*(lambda browser=browser: accept(browser, link) for browser in browsers))
    assert (sorted(answers), members(team.app)) == ([303, 410], {NOOR: "moderator"})


@pytest.mark.postgres
def test_two_new_passwords_at_once_make_one_account(team, link):
    words = ["quiet yellow harbour", "seven paper lanterns"]
    answers = race(
        *(lambda word=word: accept(team.app.test_client(), link, password=word) for word in words)
    )
    assert (sorted(answers), members(team.app)) == ([303, 410], {NOOR: "moderator"})
    assert count_rows(team.app, Account) == 2
    signed = [sign_in(team.app.test_client(), NOOR, word).status_code for word in words]
    assert sorted(signed) == [303, 422]


def test_signing_in_while_signed_in_ends_the_session_before(app, owner):
    browser = app.test_client()
    assert sign_in(browser, owner.email).status_code == 303
    (first,) = session_ids(app, owner.account_id)
    assert sign_in(browser, owner.email).status_code == 303
    (second,) = session_ids(app, owner.account_id)
    assert first != second
    assert is_signed_in(browser)
    # A wrong password leaves the session as it is.
    assert sign_in(browser, owner.email, "wrong").status_code == 422
    assert (session_ids(app, owner.account_id), count_rows(app, Session)) == ([second], 1)
