"""What an agent asks for, as the owner decides about it."""

from datetime import timedelta

import pytest
from flask import Flask

from testimonials.access.callers import Caller as ApiCaller
from testimonials.access.models import AccessRequest, AccessToken
from testimonials.access.requests import ask_for_access, fetch_token
from testimonials.access.scopes import Scope
from testimonials.core import clock
from testimonials.extensions import begin_write, db
from tests.auth.browsers import open_browser
from tests.conftest import Caller
from tests.support.rows import add_member


@pytest.fixture
def project(owner: Caller) -> str:
    """A project of the owner's."""
    return str(owner.create_project(slug="fern", businessName="Fern & Fable")["_id"])


def ask(app: Flask, owner: Caller, project: str | None) -> str:
    """Ask for Read, Draft and Publish with the owner's key; return the page's path."""
    with app.app_context():
        begin_write()
        caller = ApiCaller(owner.account_id, owner.email, owner.api_key[-4:])
        scopes = (Scope.READ, Scope.DRAFT, Scope.PUBLISH)
        asked = ask_for_access(caller, "Bakery <bot>", scopes, project, "To tidy\n<b>up</b>")
        db.session.commit()
        return f"/dashboard/access-requests/{asked.id}"


def test_the_owner_grants_less_than_was_asked_for(app: Flask, owner: Caller, project: str) -> None:
    path, browser = ask(app, owner, project), open_browser(app, owner)
    overview = f"/dashboard/projects/{project}/integrations"
    assert path in browser.get(overview).text
    page = browser.get(path).text
    assert "“<bdi>Bakery &lt;bot&gt;</bdi>” asks for access" in page
    assert "To tidy\n&lt;b&gt;up&lt;/b&gt;" in page
    assert "Configure" not in page
    form = {"name": "Bakery <bot>", "scopes": ["read"], "project": project, "ends": "30"}
    answer = browser.post(f"{path}/grant", data=form)
    assert answer.status_code == 303
    assert "fetches its token by itself" in browser.get(path).text
    with app.app_context():
        token = db.session.query(AccessToken).one()
        assert (token.scopes, token.project_id, token.client) == (["read"], project, "request")
        assert token.made_by_id == owner.account_id
        asked = db.session.query(AccessRequest).one()
        assert fetch_token(asked)
        db.session.commit()
    assert "has fetched its token" in browser.get(path).text
    # A second answer, from another tab, changes nothing and says what became of it.
    for action in ("grant", "decline"):
        assert "has access" in browser.post(f"{path}/{action}", data=form).text
    assert path not in browser.get(overview).text


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"scopes": []}, "Choose at least one thing"), ({"project": "0" * 24}, "Choose one of your")],
)
def test_a_grant_with_mistakes_grants_nothing(
    app: Flask, owner: Caller, project: str, changes: dict[str, object], message: str
) -> None:
    path, browser = ask(app, owner, project), open_browser(app, owner)
    form = {"name": "x", "scopes": ["read"], "project": project, "ends": "30"} | changes
    answer = browser.post(f"{path}/grant", data=form)
    assert answer.status_code == 422
    assert message in answer.text
    with app.app_context():
        assert db.session.query(AccessToken).count() == 0


def test_declined_and_late_requests_say_so(
    app: Flask, owner: Caller, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, browser = ask(app, owner, None), open_browser(app, owner)
    assert browser.post(f"{path}/decline").status_code == 303
    assert "You declined this" in browser.get(path).text
    late = ask(app, owner, project)
    later = clock.now() + timedelta(days=4)
    monkeypatch.setattr(clock, "now", lambda: later)
    browser = open_browser(app, owner)
    assert "Nobody decided about" in browser.get(late).text
    form = {"name": "x", "scopes": ["read"], "project": project}
    assert "This request is over" in browser.post(f"{late}/grant", data=form).text


def test_nobody_else_learns_of_it(
    app: Flask, owner: Caller, outsider: Caller, project: str
) -> None:
    path = ask(app, owner, project)
    add_member(app, project, outsider, "admin")
    colleague = open_browser(app, outsider)
    answer = colleague.get(path)
    assert answer.status_code == 404
    assert "The agent asked somebody else" in answer.text
    assert "Bakery" not in answer.text
    assert path not in colleague.get(f"/dashboard/projects/{project}/integrations").text
