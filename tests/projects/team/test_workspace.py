"""The team in all projects of an owner: inviting, roles, removing, leaving."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import AccessToken
from testimonials.core.audit import Event
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, lock_for_writing
from testimonials.projects.models import Member, NotificationChoice, TeamInvitation
from testimonials.projects.projects import lock_account
from testimonials.projects.team import set_role
from tests.auth.browsers import mailed_path, open_browser
from tests.auth.links import mails
from tests.collection.authors.authors import Visitor
from tests.conftest import PASSWORD, Caller, MakeCaller
from tests.support.rows import add_member, add_workspace_member, count_rows

TEAM = "/dashboard/account/people"
NOOR = "noor@example.com"


@pytest.fixture
def mine(app: Flask, owner: Caller) -> FlaskClient:
    return open_browser(app, owner)


@pytest.fixture
def fern(owner: Caller) -> str:
    return str(owner.create_project(businessName="Fern & Fable", slug="fern")["_id"])


@pytest.fixture
def noor(make_caller: MakeCaller) -> Caller:
    return make_caller(NOOR, is_claimed=True)


def invite(browser: FlaskClient, role: str = "moderator", **more: object) -> int:
    form = {"email": NOOR, "role": role, "reach": "all"} | more
    return browser.post(TEAM, data=form).status_code


def sees(app: Flask, caller: Caller, project: str, page: str = "inbox") -> int:
    return open_browser(app, caller).get(f"/dashboard/projects/{project}/{page}").status_code


def roles(app: Flask) -> list[tuple[str, str]]:
    with app.app_context():
        query = select(Member.role, Member.source).where(Member.owner_id.is_not(None))
        return [(row[0], row[1]) for row in db.session.execute(query)]


def events(app: Flask, owner: Caller) -> list[str]:
    with app.app_context():
        query = select(Event.type).where(
            Event.account_id == owner.account_id,
            Event.type.like("member%") | Event.type.like("invitation%"),
        )
        return list(db.session.scalars(query.order_by(Event.id)))


def test_accepting(app, mine, owner, noor, fern):
    assert invite(mine) == 303
    assert "all of their projects" in mails(app)[-1].text
    theirs, link = open_browser(app, noor), mailed_path(app, "invitation")
    assert "all of their projects" in theirs.get(link).text
    assert sees(app, noor, fern) == 404
    assert theirs.post(link).status_code == 303
    later = owner.create_project(slug="later")["_id"]
    assert (sees(app, noor, fern), sees(app, noor, later)) == (200, 200)
    assert sees(app, noor, later, "people") == 403
    page = theirs.get("/dashboard/projects").text
    assert "Fern &amp; Fable" in page
    assert "Decides" in page
    assert "owner@example.com" in theirs.get(TEAM).text
    assert NOOR in mine.get(TEAM).text
    assert "In all your projects" in mine.get(f"/dashboard/projects/{fern}/people").text
    # The link works once.
    assert theirs.post(link).status_code == 410
    assert events(app, owner) == ["invitation.sent", "invitation.accepted"]


def test_somebody_new_joins_chosen_projects_with_a_password(app, client, mine, owner, fern):
    other = owner.create_project(slug="other")["_id"]
    assert invite(mine, "reader", reach="some", projects=[fern, "0" * 24]) == 303
    link = mailed_path(app, "invitation")
    assert "Fern &amp; Fable" in client.get(link).text
    assert client.post(link, data={"password": PASSWORD}).status_code == 303
    assert client.get(f"/dashboard/projects/{fern}/inbox").status_code == 200
    assert client.get(f"/dashboard/projects/{other}/inbox").status_code == 404
    assert client.get(f"/dashboard/projects/{fern}/testimonials/new").status_code == 403
    with app.app_context():
        assert db.session.scalars(select(Member.role)).all() == ["reader"]
    assert roles(app) == []


def test_what_cannot_be_invited_is_said(app, mine, owner, outsider):
    theirs = outsider.create_project()["_id"]
    for more, words in (
        ({"email": "nonsense"}, "valid"),
        ({"email": owner.email}, "is already in all of your projects"),
        ({"role": "owner"}, "Choose one of the options."),
        ({"reach": "some"}, "Choose at least one option."),
        ({"reach": "some", "projects": theirs}, "Choose at least one option."),
    ):
        form = {"email": NOOR, "role": "admin"} | more
        answer = mine.post(TEAM, data=form)
        assert answer.status_code == 422
        assert words in answer.text
    assert count_rows(app, TeamInvitation) == 0


def test_invitations_are_sent_anew_or_end(app, client, mine):
    invite(mine)
    first = mailed_path(app, "invitation")
    assert invite(mine) == 303
    second = mailed_path(app, "invitation")
    assert (client.get(first).status_code, client.get(second).status_code) == (410, 200)
    assert client.post(f"{second}/decline").status_code == 303
    invite(mine)
    third = mailed_path(app, "invitation")
    assert mine.post(f"{TEAM}/invitations/withdraw", data={"email": NOOR}).status_code == 303
    assert client.get(third).status_code == 410
    assert mine.post(f"{TEAM}/invitations/withdraw", data={"email": "a\0"}).status_code == 404


def test_the_higher_of_both_roles_counts(app, mine, owner, noor, fern):
    add_member(app, fern, noor, "admin")
    add_workspace_member(app, owner, noor, "reader")
    later = owner.create_project(slug="later")["_id"]
    assert [sees(app, noor, each, "people") for each in (fern, later)] == [200, 403]
    assert sees(app, noor, later) == 200
    path = f"{TEAM}/{noor.account_id}/role"
    assert mine.post(path, data={"role": "admin"}).status_code == 303
    assert sees(app, noor, later, "people") == 200


@pytest.mark.parametrize("way", ["leave", "company", "account"])
def test_what_hung_on_a_role_ends_with_it(app, mine, owner, noor, fern, way):
    with app.app_context(), write():
        source = "company" if way == "company" else "owner"
        assert set_role(lock_account(owner.account_id), noor.account_id, "admin", source)
    theirs, base = open_browser(app, noor), f"/dashboard/projects/{fern}"
    form = {"name": "Till", "scopes": "read", "project": fern}
    made = theirs.post(f"{base}/settings/developers/tokens/new", data=form)
    token = re.search(r"tst_tok_\w+", made.text)
    assert token
    headers = {"Authorization": f"Bearer {token[0]}"}
    asked = f"/v1/projects/{fern}/testimonials"
    assert theirs.get(asked, headers=headers).status_code == 200
    form = {"email": "third@example.com", "role": "moderator"}
    assert theirs.post(f"{base}/people", data=form).status_code == 303
    assert "In all your projects" not in theirs.get(f"{base}/people").text
    assert theirs.post(f"{base}/settings/mail", data={"mode": "daily"}).status_code == 303
    if way == "leave":
        leaving = f"{TEAM}/of/{owner.account_id}/leave"
        assert theirs.get(leaving).status_code == 200
        assert theirs.post(leaving).status_code == 303
        assert theirs.post(leaving).status_code == 404
    elif way == "company":
        with app.app_context(), write():
            assert set_role(lock_account(owner.account_id), noor.account_id, None, "company")
    else:
        done = theirs.post("/dashboard/account/delete", data={"confirm": NOOR})
        assert done.status_code == 303
    assert app.test_client().get(asked, headers=headers).status_code == 401
    with app.app_context():
        assert db.session.scalar(select(TeamInvitation.email)) is None
        left = db.session.scalars(select(AccessToken).where(AccessToken.revoked_at.is_(None)))
        assert left.all() == []
        assert db.session.scalars(select(NotificationChoice)).all() == []
    if way != "account":
        assert sees(app, noor, fern) == 404


def test_company_groups_take_back_what_they_gave(app, owner, noor):
    def give(role: str | None, source: str) -> bool:
        with app.app_context():
            lock_for_writing()
            is_changed = set_role(lock_account(owner.account_id), noor.account_id, role, source)
            db.session.commit()
            return is_changed

    assert give("moderator", "company")
    assert give("admin", "owner")
    assert not give(None, "company")
    assert not give("reader", "company")
    assert roles(app) == [("admin", "owner")]
    assert give(None, "owner")
    assert give("reader", "company")
    assert give(None, "company")
    assert roles(app) == []


def test_a_reader_in_all_projects_gets_no_mail_and_is_not_ended_in_one(
    app, mine, owner, noor, fern
):
    add_workspace_member(app, owner, noor, "reader")
    Visitor(app.test_client(), fern, "fern").write(text="A fine shop.")
    told = [mail.recipient for mail in mails(app) if mail.purpose == "submissions"]
    assert told == [owner.email]
    assert sees(app, noor, fern, "settings/mail") == 403
    theirs, base = open_browser(app, noor), f"/dashboard/projects/{fern}"
    assert f"{fern}/settings/mail" not in theirs.get("/dashboard/account/mail").text
    member, role = f"{base}/people/{noor.account_id}", {"role": "admin"}
    assert mine.post(f"{member}/remove").status_code == 409
    assert mine.post(f"{member}/role", data=role).status_code == 409
    assert theirs.post(f"{base}/people/leave").status_code == 409
    assert sees(app, noor, fern) == 200


def test_the_owner_manages_it_alone(app, owner, noor, make_caller):
    add_workspace_member(app, owner, noor, "admin")
    third = make_caller("third@example.com", is_claimed=True)
    add_workspace_member(app, owner, third, "reader")
    theirs = open_browser(app, noor)
    assert "third@example.com" not in theirs.get(TEAM).text
    path = f"{TEAM}/{third.account_id}"
    assert theirs.post(f"{path}/role", data={"role": "admin"}).status_code == 404
    assert theirs.post(f"{path}/remove").status_code == 404
    assert dict.fromkeys(role for role, _ in roles(app)) == {"admin": None, "reader": None}
