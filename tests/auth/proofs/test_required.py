"""An owner asks everybody who opens their projects for more than a password."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.auth.models import Account
from testimonials.extensions import begin_write, db
from tests.auth.browsers import mailed_path, open_browser, purposes, sign_in
from tests.auth.proofs.authenticator import SECURITY, Device, add_passkey, prove, use_passkey
from tests.auth.proofs.test_passkeys import forget_proof, stored
from tests.conftest import PASSWORD, Caller
from tests.support.rows import add_member

NEEDED = f"{SECURITY}/needed"


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="kiln")["_id"])


@pytest.fixture
def inbox(project: str) -> str:
    return f"/dashboard/projects/{project}/inbox"


def ask_for_more(app: Flask, owner: Caller) -> tuple[FlaskClient, Device]:
    """Let the owner add a passkey and switch it on."""
    browser, device = open_browser(app, owner), Device(credential_id=b"the owner's")
    add_passkey(browser, device)
    assert browser.post(f"{SECURITY}/team", data={"strong": "on"}).status_code == 303
    return browser, device


def is_required(app: Flask, owner: Caller) -> bool:
    with app.app_context():
        return db.session.get_one(Account, owner.account_id).requires_strong


def test_a_password_alone_does_not_switch_it(app: Flask, owner: Caller) -> None:
    browser = open_browser(app, owner)
    assert browser.post(f"{SECURITY}/team", data={"strong": "on"}).status_code == 409
    assert not is_required(app, owner)
    ask_for_more(app, owner)
    assert is_required(app, owner)
    # Nor off again, for who has the password alone.
    forget_proof(app)
    form = {"strong": "off", "proof": PASSWORD}
    assert browser.post(f"{SECURITY}/team", data=form).status_code == 409
    assert is_required(app, owner)


def test_a_member_is_led_to_setting_it_up_and_comes_back(
    app: Flask, owner: Caller, outsider: Caller, project: str, inbox: str
) -> None:
    add_member(app, project, outsider, "admin")
    member = open_browser(app, outsider)
    assert member.get(inbox).status_code == 200
    owners, _ = ask_for_more(app, owner)
    assert owners.get(inbox).status_code == 200
    answer = member.get(f"{inbox}?tab=approved")
    assert (answer.status_code, answer.location.split("?")[0]) == (303, NEEDED)
    page = member.get(answer.location)
    assert "This project needs more than a password" in page.text
    assert "Set it up" in page.text
    # It stays in the list, and nothing is changed meanwhile.
    assert project in member.get("/dashboard/projects").text
    path = f"/dashboard/projects/{project}/settings"
    assert member.post(path, data={"name": "Mine"}).status_code in (403, 404, 405)
    add_passkey(member, Device(credential_id=b"the member's"))
    assert member.get(answer.location).location == f"{inbox}?tab=approved"
    assert member.get(inbox).status_code == 200


def test_who_has_a_passkey_uses_it_there_and_a_password_adds_none(
    app: Flask, owner: Caller, outsider: Caller, project: str, inbox: str
) -> None:
    add_member(app, project, outsider, "moderator")
    device = Device(credential_id=b"the member's")
    add_passkey(open_browser(app, outsider), device)
    ask_for_more(app, owner)
    thief = app.test_client()
    assert sign_in(thief, outsider.email).status_code == 303
    assert thief.get(inbox).status_code == 303
    begun = thief.post(f"{SECURITY}/passkeys/new")
    assert begun.status_code == 401
    assert 'name="proof"' not in begun.text
    assert thief.post(f"{SECURITY}/passkeys/new", data={"proof": PASSWORD}).status_code == 422
    assert add_passkey(thief, Device(credential_id=b"the thief's")).status_code == 401
    for path in ("app/new", "codes", f"passkeys/{stored(app)[0].id}/remove"):
        assert thief.post(f"{SECURITY}/{path}", data={"proof": PASSWORD}).status_code == 422
    assert len(stored(app)) == 2
    answer = prove(thief, NEEDED, device, next=inbox)
    assert (answer.status_code, answer.location) == (303, inbox)
    assert thief.get(inbox).status_code == 200


def test_the_last_strong_way_of_the_owner_stays(app: Flask, owner: Caller) -> None:
    browser, device = ask_for_more(app, owner)
    (passkey,) = stored(app)
    answer = browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove")
    assert answer.status_code == 409
    assert "this is your last of that kind" in answer.text
    assert browser.post(f"{SECURITY}/team", data={"strong": "off"}).status_code == 303
    assert not is_required(app, owner)
    assert browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove").status_code == 303
    assert use_passkey(app.test_client(), device).status_code == 422
    record = browser.get("/dashboard/account/activity").text
    assert "asked everybody for more than a password" in record
    assert "let everybody sign in with a password alone" in record


def test_the_operator_lets_somebody_in_who_lost_everything(app: Flask, owner: Caller) -> None:
    browser, device = ask_for_more(app, owner)
    result = app.test_cli_runner().invoke(args=["accounts", "reset-sign-in", owner.email])
    assert result.exit_code == 0, result.output
    assert stored(app) == []
    assert browser.get(SECURITY).status_code == 303
    assert use_passkey(app.test_client(), device).status_code == 422
    assert purposes(app)[-1] == ("security", owner.email)
    link = next(word for word in result.output.split() if "/reset/" in word)
    client = app.test_client()
    path = link[link.index("/reset/") :]
    assert client.post(path, data={"password": "seven green lanterns"}).status_code == 303
    assert client.get(SECURITY).status_code == 200
    assert mailed_path(app, "security").startswith("/forgot")


def test_an_unclaimed_account_has_nothing_to_reset(app: Flask, agent: Caller) -> None:
    result = app.test_cli_runner().invoke(args=["accounts", "reset-sign-in", agent.email])
    assert result.exit_code == 1
    assert "is not claimed yet" in result.output


def test_an_import_that_was_begun_goes_on(app: Flask, owner: Caller, project: str) -> None:
    """What goes on without a browser was begun by somebody who might."""
    from testimonials.auth.sign_in.sessions import SignedIn, SignInMethod
    from testimonials.projects.access import Role, StrongSignInNeeded, find_access

    with app.app_context():
        begin_write()
        db.session.get_one(Account, owner.account_id).requires_strong = True
        db.session.flush()
        who = (("", owner.account_id, owner.email, None), {"method": SignInMethod.EARLIER})
        assert find_access(SignedIn(*who[0], **who[1]), project, Role.ADMIN).role == Role.OWNER
        with pytest.raises(StrongSignInNeeded):
            find_access(SignedIn(*who[0]), project, Role.ADMIN)
