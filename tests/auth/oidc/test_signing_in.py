"""Signing in with the company's account, linking it, confirming with it, and groups."""

import pytest
from flask import Flask
from sqlalchemy import select

from testimonials.auth.models import Account, CompanyIdentity, Session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.operations.doctor import check_company
from testimonials.projects.models import Member
from testimonials.projects.projects import lock_account
from testimonials.projects.team import set_role
from tests.auth.browsers import (
    draft_of,
    is_signed_in,
    mailed_path,
    open_browser,
    open_known_browser,
)
from tests.auth.links import ask_for_link, init, mailed_links, mails
from tests.auth.oidc.providers import (
    MIRA,
    CertifiedProvider,
    InventiveProvider,
    Person,
    come_back,
    leave,
    settings_for,
    sign_in_by,
)
from tests.conftest import PASSWORD, Caller, MakeApp, MakeCaller


def accounts(app: Flask) -> dict[str, Account]:
    with app.app_context():
        return {each.email: each for each in db.session.scalars(select(Account))}


def identities(app: Flask) -> list[tuple[str, str]]:
    with app.app_context():
        rows = db.session.execute(
            select(CompanyIdentity.subject, Account.email).join(Account).order_by(Account.email)
        )
        return [(subject, email) for subject, email in rows]


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_somebody_new_at_a_certified_provider(make_app, algorithm):
    certified = CertifiedProvider(algorithm)
    try:
        app = make_app(**settings_for(certified.issuer))
        browser, mira = app.test_client(), Person()
        assert "Sign in with Maplevale ID" in browser.get("/login").text
        answer = come_back(browser, mira.go(leave(browser, next="/dashboard/account")))
        assert (answer.status_code, answer.location) == (303, "/dashboard/account")
        assert is_signed_in(browser)
        account = accounts(app)[MIRA["email"]]
        assert (account.display_name, account.password_hash) == ("Mira Osk", None)
        with app.app_context():
            assert db.session.scalars(select(Session.method)).one() == "company"
        # And again, in another browser, as the same.
        other = app.test_client()
        assert come_back(other, mira.go(leave(other))).status_code == 303
        assert is_signed_in(other)
        assert identities(app) == [("mira", MIRA["email"])]
        # Nobody needs to be told of an account that they just made.
        assert mails(app) == []
    finally:
        certified.stop()


@pytest.mark.thorough
def test_its_keys_are_fetched_again_when_it_has_new_ones(make_app, certified, moved_clock):
    app = make_app(**settings_for(certified.issuer))
    browser, mira = app.test_client(), Person()
    assert come_back(browser, mira.go(leave(browser))).status_code == 303
    certified.tell(rotate="second")
    # Not twice within a minute: whoever could make us ask could make us ask for ever.
    assert come_back(browser, mira.go(leave(browser))).status_code == 422
    moved_clock.move(minutes=1, seconds=1)
    assert come_back(browser, mira.go(leave(browser))).status_code == 303


@pytest.mark.thorough
def test_an_answer_counts_once_where_asked(make_app, certified):
    app = make_app(**settings_for(certified.issuer))
    browser, mira = app.test_client(), Person()
    address = mira.go(leave(browser))
    thief = app.test_client()
    assert come_back(thief, address).status_code == 403
    leave(thief)
    assert come_back(thief, address).status_code == 403
    assert come_back(browser, address).status_code == 303
    browser.post("/logout")
    assert come_back(browser, address).status_code == 403
    assert not is_signed_in(browser)
    # The code with a state of one's own: the provider knows that it was used.
    state = leave(browser).partition("state=")[2].partition("&")[0]
    replayed = address.partition("state=")
    again = f"{replayed[0]}state={state}&{replayed[2].partition('&')[2]}"
    assert come_back(browser, again).status_code == 422
    assert not is_signed_in(browser)


def test_two_and_late(app, provider, moved_clock):
    browser = app.test_client()
    first, second = (provider.go(leave(browser)) for _ in range(2))
    late = provider.go(leave(browser))
    assert come_back(browser, second).status_code == 303
    assert come_back(browser, first).status_code == 303
    moved_clock.move(minutes=16)
    assert come_back(browser, late).status_code == 403


def test_verified_links(app, make_caller, provider):
    make_caller(MIRA["email"], is_claimed=True)
    provider.claims = {"email_verified": False}
    answer = sign_in_by(provider, app)
    assert answer.status_code == 403
    assert "hasn’t verified your email address" in answer.text
    provider.claims = {"email_verified": None}
    assert sign_in_by(provider, app).status_code == 403
    assert identities(app) == []
    provider.forget()
    browser = app.test_client()
    assert sign_in_by(provider, app, browser).status_code == 303
    assert is_signed_in(browser)
    assert identities(app) == [("mira", MIRA["email"])]
    (mail,) = mails(app)
    assert "can now sign in to your account" in " ".join(mail.text.split())
    # From now on the provider's own name counts, whatever the address.
    provider.claims = {"email": "mira.osk@oatandember.example", "email_verified": None}
    assert sign_in_by(provider, app).status_code == 303
    assert len(accounts(app)) == 1
    # Who gets the old address does not get its account.
    provider.forget()
    provider.subject = "miras-successor"
    answer = sign_in_by(provider, app)
    assert answer.status_code == 403
    assert "Another Maplevale ID account is linked" in answer.text


def test_only_people_at_its_domains(make_app, provider):
    app = make_app(**settings_for(provider.issuer, oidc_domains="oatandember.example"))
    assert sign_in_by(provider, app).status_code == 303
    for claims in (
        {"sub": "b", "email": "eve@elsewhere.example"},
        {"sub": "c", "email": "eve@elsewhere.example@oatandember.example"},
        {"sub": "d", "email": "eve@oatandember.example.elsewhere.example"},
        {"sub": "e", "email": "eve@oatandember.example", "email_verified": "false"},
        # Whom it knows already, and who has left.
        {"email": "mira@elsewhere.example"},
    ):
        provider.claims = claims
        assert sign_in_by(provider, app).status_code == 403


def test_a_provider_that_never_says_whether_an_address_is_verified(make_app, make_caller, provider):
    domains = {"oidc_domains": "oatandember.example"}
    provider.claims = {"email_verified": None}
    app = make_app(**settings_for(provider.issuer, **domains))
    assert sign_in_by(provider, app).status_code == 403
    app = make_app(**settings_for(provider.issuer, oidc_trust_email="on", **domains))
    make_caller(MIRA["email"], is_claimed=True, on=app)
    assert sign_in_by(provider, app).status_code == 303
    assert identities(app) == [("mira", MIRA["email"])]
    for claims in (
        {"email_verified": False},
        {"email_verified": "false"},
        {"email": "eve@elsewhere.example", "email_verified": None},
        {"email": None, "email_verified": None},
    ):
        provider.claims, provider.subject = claims, "eve"
        assert sign_in_by(provider, app).status_code == 403
    assert len(accounts(app)) == 1


def test_only_who_was_invited(make_app, make_caller, provider):
    app = make_app(**settings_for(provider.issuer, oidc_accounts="invited"))
    answer = sign_in_by(provider, app)
    assert (answer.status_code, "was not invited" in answer.text) == (403, True)
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    project = owner.create_project(slug="kiln")["_id"]
    page = open_browser(app, owner)
    path = f"/dashboard/projects/{project}/people"
    sent = page.post(path, data={"email": MIRA["email"], "role": "moderator"})
    assert sent.status_code in (200, 303), sent.text
    assert sign_in_by(provider, app).status_code == 303


def test_a_draft_is_kept_on_the_way(app, provider):
    browser = app.test_client()
    typed = browser.post("/dashboard/account/name", data={"display_name": "Mira of Oat & Ember"})
    assert typed.status_code == 401
    draft = draft_of(typed.text)
    answer = sign_in_by(provider, app, browser, draft=draft)
    assert "Mira of Oat &amp; Ember" in answer.text


def test_an_agents_account_is_claimed_after_a_look_at_its_key(app, make_caller, provider):
    agent = make_caller(MIRA["email"])
    agent.create_project(slug="kiln")
    browser = app.test_client()
    answer = sign_in_by(provider, app, browser)
    assert answer.status_code == 303
    page = browser.get(answer.location)
    assert "Your agent made this. Is it you?" in page.text
    assert 'type="password"' not in page.text
    # It is nobody else's page, and nothing is chosen for anybody.
    assert app.test_client().get(answer.location).status_code == 403
    assert browser.post(answer.location).status_code == 422
    form = {"key": "replace", "key_seen": agent.api_key[-4:], "businessName": "Kiln"}
    claimed = browser.post(answer.location, data=form)
    assert "Copy it now" in claimed.text
    assert is_signed_in(browser)
    assert accounts(app)[MIRA["email"]].is_claimed
    assert agent.get("/v1/me").status_code == 401
    assert browser.post(answer.location, data=form).status_code == 403


LINK = "/dashboard/account/company/link"


def doctor(app: Flask) -> str:
    """Return what the doctor says of the company's sign-in."""
    with app.app_context():
        return " ".join(finding.problem for finding in check_company())


def roles(app: Flask) -> dict[str, tuple[str, str]]:
    with app.app_context():
        query = select(Account.email, Member.role, Member.source).join(
            Account, Account.id == Member.account_id
        )
        return {email: (role, source) for email, role, source in db.session.execute(query)}


def test_linking_it(app, make_caller, provider):
    owner = make_caller("mira@home.example", is_claimed=True)
    browser = open_browser(app, owner)
    # Nothing of the address matters: who they are here, the session says.
    provider.claims = {"email": None}
    linked = come_back(browser, provider.go(leave(browser, LINK)))
    assert linked.status_code == 303
    assert "Saved" in browser.get(linked.location).text
    other = app.test_client()
    assert sign_in_by(provider, app, other).status_code == 303
    assert MIRA["email"] not in other.get("/dashboard/account").text
    assert "mira@home.example" in other.get("/dashboard/account").text
    # A second person can't have it too, nor a second account the same person.
    provider.subject = "eve"
    assert come_back(browser, provider.go(leave(browser, LINK))).status_code == 403
    provider.subject = "mira"
    stranger = open_browser(app, make_caller("eve@home.example", is_claimed=True))
    assert come_back(stranger, provider.go(leave(stranger, LINK))).status_code == 403
    assert browser.post("/dashboard/account/security/company/unlink").status_code == 303
    assert sign_in_by(provider, app).status_code == 403


def test_an_answer_for_somebody_who_has_left_the_browser(app, make_caller, provider):
    owner = make_caller("owner@example.com", is_claimed=True)
    browser = open_browser(app, owner)
    address = provider.go(leave(browser, LINK))
    browser.post("/logout")
    eve = make_caller("eve@example.com", is_claimed=True)
    browser.post("/login", data={"email": eve.email, "password": PASSWORD})
    answer = come_back(browser, address)
    assert (answer.status_code, "Someone else is signed in now" in answer.text) == (403, True)


@pytest.mark.thorough
def test_the_company_confirms_who_it_is(make_app, certified):
    app = make_app(**settings_for(certified.issuer))
    browser, mira = app.test_client(), Person()
    assert come_back(browser, mira.go(leave(browser))).status_code == 303
    with app.app_context(), write():
        db.session.scalars(select(Session)).one().proved_at = None
    page = browser.post("/dashboard/account/key", data={"any": "thing"})
    assert (page.status_code, "Continue to Maplevale ID" in page.text) == (401, True)
    # There is no password to ask for.
    assert 'name="proof"' not in page.text
    draft = draft_of(page.text)
    address = leave(browser, "/dashboard/account/company/prove", draft=draft)
    assert "max_age=0" in address
    proved = come_back(browser, mira.go(address))
    assert (proved.status_code, "Identity confirmed" in proved.text) == (200, True)
    assert '<input type="hidden" name="any" value="thing">' in proved.text
    assert browser.post("/dashboard/account/key", data={"any": "thing"}).status_code == 200
    # Somebody else's company account confirms nothing.
    certified.tell(people={"eve": {"email": "eve@example.com", "email_verified": True}})
    address = leave(browser, "/dashboard/account/company/prove")
    assert come_back(browser, Person("eve").go(address)).status_code == 403


def test_an_old_sign_in_confirms_nothing(app, provider):
    browser = app.test_client()
    assert sign_in_by(provider, app, browser).status_code == 303
    provider.claims = {"auth_time": 1_000_000}
    address = provider.go(leave(browser, "/dashboard/account/company/prove"))
    answer = come_back(browser, address)
    assert (answer.status_code, "didn’t ask you to sign in again" in answer.text) == (403, True)
    # For signing in it is enough that it knows, but not for more.
    again = app.test_client()
    assert sign_in_by(provider, app, again).status_code == 303
    assert again.post("/dashboard/account/key").status_code == 401


@pytest.mark.postgres
def test_a_provider_that_never_says_when_confirms_nothing_and_a_mailed_link_does(
    app, provider, moved_clock
):
    browser, key = app.test_client(), "/dashboard/account/key"
    provider.claims = {"auth_time": None}
    assert "(auth_time)" not in doctor(app)
    assert sign_in_by(provider, app, browser).status_code == 303
    page = browser.post(key, data={"any": "thing"})
    assert (page.status_code, "Confirm by email" in page.text) == (401, True)
    address = provider.go(leave(browser, "/dashboard/account/company/prove"))
    answer = come_back(browser, address)
    assert answer.status_code == 403
    assert "didn’t say when you last signed in there" in answer.text
    assert browser.post(key).status_code == 401
    assert "(auth_time)" in doctor(app)

    page = browser.post(key, data={"any": "thing", "proof_mail": "1"})
    assert "An email is on its way" in page.text
    assert '<input type="hidden" name="any" value="thing">' in page.text
    assert mails(app)[-1].recipient == MIRA["email"]
    link = mailed_path(app, "proof")
    token = link.partition("proof=")[2]
    confirm = link.partition("?")[0]
    # Another browser of the same person has not asked for it, and a scanner's GET changes nothing.
    other = app.test_client()
    assert sign_in_by(provider, app, other).status_code == 303
    assert other.get(link).status_code == 404
    assert other.post(confirm, data={"proof": token}).status_code == 404
    assert app.test_client().get(link).status_code == 303
    assert browser.get(link).status_code == 200
    assert browser.post(key).status_code == 401
    assert browser.post(confirm, data={"proof": token}).status_code == 200
    assert browser.post(key).status_code == 200
    # It works once, for a while, and is no way round a password.
    assert browser.post(confirm, data={"proof": token}).status_code == 404
    moved_clock.move(minutes=11)
    assert browser.post(key).status_code == 401
    browser.post(key, data={"proof_mail": "1"})
    late = mailed_path(app, "proof")
    moved_clock.move(minutes=16)
    assert browser.get(late).status_code == 404


def test_who_has_a_password_gets_no_link(app, make_caller, moved_clock):
    browser = open_browser(app, make_caller(MIRA["email"], is_claimed=True))
    moved_clock.move(minutes=11)
    answer = browser.post("/dashboard/account/key", data={"proof_mail": "1"})
    assert (answer.status_code, "link in an email" in answer.text) == (422, False)
    assert mails(app) == []


def test_groups(make_app, make_caller, provider):
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


def test_what_the_owner_gave_stays(make_app, make_caller, provider):
    groups = {"oidc_workspace": "owner@example.com", "oidc_groups": "Marketing=reader"}
    app = make_app(**settings_for(provider.issuer, **groups))
    owner = make_caller("owner@example.com", is_claimed=True, on=app)
    mira = make_caller(MIRA["email"], is_claimed=True, on=app)
    with app.app_context(), write():
        set_role(lock_account(owner.account_id), mira.account_id, "admin")
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


def test_without_passwords(without, provider):
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
    account = browser.get("/dashboard/account/security").text
    assert 'type="password"' not in account
    changed = {"current": PASSWORD, "password": "correct horse battery staple"}
    assert browser.post("/dashboard/account/security/password", data=changed).status_code == 403
    # The company's account is the last way in now.
    answer = browser.post("/dashboard/account/security/company/unlink")
    assert (answer.status_code, "only way into your account" in answer.text) == (409, True)
    assert sign_in_by(provider, app).status_code == 303


def test_old_links(make_app, make_caller, provider):
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
