"""Linking, unlinking and confirming with the company's account while signed in, and groups."""

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.auth.models import Account, Session
from testimonials.extensions import begin_write, db
from testimonials.projects.models import WorkspaceMember
from testimonials.projects.team.workspace import set_workspace_role
from tests.auth.browsers import is_signed_in, open_browser, open_known_browser
from tests.auth.company.providers import (
    MIRA,
    CertifiedProvider,
    InventiveProvider,
    Person,
    come_back,
    leave,
    settings_for,
    sign_in_by,
)
from tests.auth.links import ask_for_link, init, mailed_links
from tests.conftest import PASSWORD, Caller, MakeApp, MakeCaller

LINK = "/dashboard/account/company/link"


def roles(app: Flask) -> dict[str, tuple[str, str]]:
    with app.app_context():
        query = select(Account.email, WorkspaceMember.role, WorkspaceMember.source).join(
            Account, Account.id == WorkspaceMember.account_id
        )
        return {email: (role, source) for email, role, source in db.session.execute(query)}


def test_linking_and_unlinking(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> None:
    app = make_app(**settings_for(provider.issuer))
    owner = make_caller("mira@home.example", is_claimed=True, on=app)
    browser = open_browser(app, owner)
    # Nothing of the address matters: who they are here, the session says.
    provider.claims = {"email": None}
    linked = come_back(browser, provider.go(leave(browser, LINK)))
    assert linked.status_code == 303
    assert "Your company account is linked" in browser.get(linked.location).text
    other = app.test_client()
    assert sign_in_by(provider, app, other).status_code == 303
    assert MIRA["email"] not in other.get("/dashboard/account").text
    assert "mira@home.example" in other.get("/dashboard/account").text
    # A second person can't have it too, nor a second account the same person.
    provider.subject = "eve"
    assert come_back(browser, provider.go(leave(browser, LINK))).status_code == 403
    provider.subject = "mira"
    stranger = open_browser(app, make_caller("eve@home.example", is_claimed=True, on=app))
    assert come_back(stranger, provider.go(leave(stranger, LINK))).status_code == 403
    assert browser.post("/dashboard/account/company/unlink").status_code == 303
    assert sign_in_by(provider, app).status_code == 403


def test_the_last_way_in_stays(make_app: MakeApp, provider: InventiveProvider) -> None:
    app = make_app(**settings_for(provider.issuer))
    browser = app.test_client()
    assert sign_in_by(provider, app, browser).status_code == 303
    answer = browser.post("/dashboard/account/company/unlink")
    assert answer.status_code == 409
    assert "only way into your account" in answer.text
    assert sign_in_by(provider, app).status_code == 303


def test_an_answer_for_somebody_who_has_left_the_browser(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> None:
    app = make_app(**settings_for(provider.issuer))
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    browser = open_browser(app, owner)
    address = provider.go(leave(browser, LINK))
    browser.post("/logout")
    eve = make_caller("eve@example.com", is_claimed=True, on=app)
    browser.post("/login", data={"email": eve.email, "password": PASSWORD})
    answer = come_back(browser, address)
    assert answer.status_code == 403
    assert "Somebody else is signed in now" in answer.text


@pytest.mark.thorough
def test_the_company_confirms_who_it_is(make_app: MakeApp, certified: CertifiedProvider) -> None:
    app = make_app(**settings_for(certified.issuer))
    browser, mira = app.test_client(), Person()
    assert come_back(browser, mira.go(leave(browser))).status_code == 303
    with app.app_context():
        begin_write()
        db.session.scalars(select(Session)).one().proved_at = None
        db.session.commit()
    page = browser.post("/dashboard/account/key", data={"any": "thing"})
    assert page.status_code == 401
    assert "Confirm with Maplevale ID" in page.text
    # There is no password to ask for.
    assert 'name="proof"' not in page.text
    draft = page.text.partition('name="draft" value="')[2].partition('"')[0]
    address = leave(browser, "/dashboard/account/company/prove", draft=draft)
    assert "max_age=0" in address
    proved = come_back(browser, mira.go(address))
    assert proved.status_code == 200
    assert "that’s you" in proved.text
    assert '<input type="hidden" name="any" value="thing">' in proved.text
    done = browser.post("/dashboard/account/key", data={"any": "thing"})
    assert done.status_code == 200
    # Somebody else's company account confirms nothing.
    certified.tell(people={"eve": {"email": "eve@example.com", "email_verified": True}})
    address = leave(browser, "/dashboard/account/company/prove")
    assert come_back(browser, Person("eve").go(address)).status_code == 403


def test_an_old_sign_in_at_the_company_confirms_nothing(
    make_app: MakeApp, provider: InventiveProvider
) -> None:
    app = make_app(**settings_for(provider.issuer))
    browser = app.test_client()
    assert sign_in_by(provider, app, browser).status_code == 303
    provider.claims = {"auth_time": 1_000_000}
    address = provider.go(leave(browser, "/dashboard/account/company/prove"))
    answer = come_back(browser, address)
    assert answer.status_code == 403
    assert "didn’t ask who you are again" in answer.text
    # For signing in it is enough that it knows.
    assert sign_in_by(provider, app).status_code == 303


def test_groups_have_roles(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> None:
    groups = {
        "oidc_workspace": "owner@example.com",
        "oidc_groups": "Marketing=moderator, Lead=admin",
        "oidc_accounts": "invited",
    }
    app = make_app(**settings_for(provider.issuer, **groups))
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project(slug="kiln")["_id"]
    # Without a group nobody is awaited.
    assert sign_in_by(provider, app).status_code == 403
    provider.claims = {"groups": ["Marketing", "Others"]}
    browser = app.test_client()
    assert sign_in_by(provider, app, browser).status_code == 303
    assert roles(app) == {MIRA["email"]: ("moderator", "company")}
    assert browser.get(f"/dashboard/projects/{project}/inbox").status_code == 200
    # From the userinfo, and the highest of several.
    provider.claims, provider.userinfo = {}, {"groups": ["Marketing", "Lead"]}
    assert sign_in_by(provider, app).status_code == 303
    assert roles(app) == {MIRA["email"]: ("admin", "company")}
    provider.userinfo = {}
    assert sign_in_by(provider, app).status_code == 303
    assert roles(app) == {}
    assert browser.get(f"/dashboard/projects/{project}/inbox").status_code == 404


def test_what_the_owner_gave_stays(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> None:
    groups = {"oidc_workspace": "owner@example.com", "oidc_groups": "Marketing=reader"}
    app = make_app(**settings_for(provider.issuer, **groups))
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    mira = make_caller(MIRA["email"], is_claimed=True, on=app)
    with app.app_context():
        begin_write()
        set_workspace_role(owner.account_id, mira.account_id, "admin")
        db.session.commit()
    for claims in ({"groups": ["Marketing"]}, {}):
        provider.claims = claims
        assert sign_in_by(provider, app).status_code == 303
        assert roles(app) == {MIRA["email"]: ("admin", "owner")}


@pytest.fixture
def without(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> tuple[Flask, Caller]:
    """A service without passwords, and somebody who had one."""
    before = make_app()
    owner = make_caller(MIRA["email"], is_claimed=True, on=before)
    return make_app(**settings_for(provider.issuer, passwords="off")), owner


def test_without_passwords(without: tuple[Flask, Caller], provider: InventiveProvider) -> None:
    app, owner = without
    browser = app.test_client()
    page = browser.get("/login").text
    assert 'type="password"' not in page
    assert "/signup" not in page
    form = {"email": owner.email, "password": PASSWORD}
    assert browser.post("/login", data=form).status_code == 403
    for path in ("/signup", "/forgot"):
        assert browser.get(path).status_code == 303
        assert browser.post(path, data={"email": owner.email}).status_code == 403
    assert not is_signed_in(browser)
    assert sign_in_by(provider, app, browser).status_code == 303
    account = browser.get("/dashboard/account").text
    assert 'type="password"' not in account
    changed = {"current": PASSWORD, "password": "correct horse battery staple"}
    assert browser.post("/dashboard/account/password", data=changed).status_code == 403
    # The company's account is the last way in now.
    browser.post("/dashboard/account/company/unlink")
    assert sign_in_by(provider, app).status_code == 303


def test_old_links_set_no_password(
    make_app: MakeApp, make_caller: MakeCaller, provider: InventiveProvider
) -> None:
    before = make_app()
    owner = make_caller("owner@example.com", is_claimed=True, on=before)
    assert init(before.test_client(), MIRA["email"]).status_code == 200
    ask_for_link(before.test_client(), "/forgot", owner.email)
    with before.app_context():
        from_mails = " ".join(mailed_links(before))
    app = make_app(**settings_for(provider.issuer, passwords="off"))
    browser = app.test_client()
    (claim,) = from_mails.split()
    page = browser.get(claim)
    assert "Sign in with" in page.text
    assert 'type="password"' not in page.text
    assert browser.post(claim, data={"password": "correct horse battery"}).status_code == 403
    # The company's sign-in does it, after a look at the agent's key.
    answer = sign_in_by(provider, app, browser)
    assert "/login/company/claim" in answer.location
    assert is_signed_in(open_known_browser(before, owner))
