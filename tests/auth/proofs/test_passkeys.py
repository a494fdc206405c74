"""Passkeys, through the doors: adding, signing in, proving, what thieves try, requiring them."""

import json
from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update

from testimonials.auth.models import Account, Passkey, Session
from testimonials.core.extensions import db, lock_for_writing
from tests.auth.browsers import is_signed_in, mailed_path, open_browser, purposes, sign_in
from tests.auth.links import ask_for_link, mails
from tests.auth.proofs.authenticator import (
    SECURITY,
    SYNCABLE,
    SYNCED,
    USED,
    VERIFIED,
    Device,
    add_passkey,
    begin_use,
    prove,
    use_passkey,
)
from tests.conftest import PASSWORD, Caller
from tests.support.rows import add_member, add_workspace_member

NOW_ON = "/dashboard/account/security/password"


@pytest.fixture
def device(browser: FlaskClient) -> Device:
    device = Device()
    assert add_passkey(browser, device).status_code == 303
    return device


def stored(app: Flask) -> list[Passkey]:
    with app.app_context():
        return list(db.session.scalars(select(Passkey).order_by(Passkey.id)))


def methods(app: Flask) -> list[str]:
    with app.app_context():
        return list(db.session.scalars(select(Session.method).order_by(Session.id)))


def forget_proof(app: Flask) -> None:
    with app.app_context():
        db.session.execute(update(Session).values(proved_at=None))
        db.session.commit()


def test_passkeys_sign_in(app, browser, device, owner):
    (passkey,) = stored(app)
    assert (passkey.name, passkey.is_synced, passkey.used_at) == ("Phone", False, None)
    assert purposes(app) == [("security", owner.email)]
    assert "The passkey “Phone” was added." in mails(app)[-1].text
    other = app.test_client()
    answer = use_passkey(other, device, next="/dashboard/account/security")
    assert (answer.status_code, answer.headers["Location"]) == (303, SECURITY)
    page = other.get(f"{SECURITY}/sessions").text
    assert "Passkey</small>" in page
    assert "synced" not in page
    # The browser that added it has proved the same.
    assert methods(app) == ["passkey", "passkey"]
    assert stored(app)[0].used_at is not None
    assert "signed in by the passkey Phone" in browser.get("/dashboard/account/activity").text


def test_passkeys_of_all_kinds_are_welcome_up_to_twenty(app, browser):
    synced = Device(flags=USED | VERIFIED | SYNCABLE | SYNCED, credential_id=b"synced")
    windows = Device(is_rsa=True, credential_id=b"windows", count=3)
    for device in (synced, windows):
        assert add_passkey(browser, device).status_code == 303
    windows.count += 1
    for device in (synced, windows):
        assert use_passkey(app.test_client(), device).status_code == 303
    assert "synced" in browser.get(SECURITY).text
    assert [each.sign_count for each in stored(app)] == [0, 4]
    for number in range(18):
        device = Device(credential_id=bytes([number]))
        assert add_passkey(browser, device, f"Key {number}").status_code == 303
    assert add_passkey(browser, Device()).status_code == 422
    browser.post("/dashboard/account/delete", data={"confirm": "owner@example.com"})
    assert stored(app) == []


def test_an_answer_counts_once_there(app, device, moved_clock):
    moved_clock.time += timedelta(minutes=1)
    client = app.test_client()
    challenge, token = begin_use(client)
    form = {"passkey": json.dumps(device.use(challenge)), "passkey_token": token}
    assert client.post("/login/passkey", data=form).status_code == 303
    again = app.test_client()
    assert again.post("/login/passkey", data=form).status_code == 422
    assert not is_signed_in(again)
    # A challenge of before that was never answered is as old.
    moved_clock.time += timedelta(minutes=1)
    challenge, token = begin_use(client)
    form = {"passkey": json.dumps(device.use(challenge)), "passkey_token": token}
    moved_clock.time += timedelta(minutes=10, seconds=1)
    assert again.post("/login/passkey", data=form).status_code == 422
    assert use_passkey(again, device).status_code == 303


def test_each_challenge_is_for_one_thing(app, browser, device):
    forget_proof(app)
    challenge, token = begin_use(browser)
    form = {"proof_passkey": json.dumps(device.use(challenge)), "proof_token": token}
    assert browser.post(f"{SECURITY}/app/new", data=form).status_code == 422
    begun = browser.post(f"{SECURITY}/begin").get_json()
    used = json.dumps(device.use(begun["options"]["challenge"]))
    form = {"passkey": used, "passkey_token": begun["token"]}
    assert app.test_client().post("/login/passkey", data=form).status_code == 422
    assert prove(browser, f"{SECURITY}/app/new", device).status_code == 200


def test_a_counter_that_goes_back_is_refused(app, browser):
    device = Device(count=5)
    add_passkey(browser, device)
    device.count = 6
    assert use_passkey(app.test_client(), device).status_code == 303
    for count in (6, 5, 0):
        device.count = count
        assert use_passkey(app.test_client(), device).status_code == 422
    device.count = 7
    assert use_passkey(app.test_client(), device).status_code == 303


@pytest.mark.parametrize(
    ("lie", "value"),
    [
        ("flags", USED), ("origin", "https://testimonials.example.org"), ("host", "example.com"),
        ("user", "c29tZWJvZHkgZWxzZQ"), ("credential_id", b"unknown"),
    ],
)  # fmt: skip
def test_a_lie_does_not_sign_in(app, device, lie, value):
    setattr(device, lie, value)
    client = app.test_client()
    answer = use_passkey(client, device)
    assert (answer.status_code, "That didn’t work." in answer.text) == (422, True)
    assert not is_signed_in(client)


def test_a_passkey_is_of_one_account(app, browser, device, outsider):
    assert add_passkey(browser, device).status_code == 422
    stranger = open_browser(app, outsider)
    answer = add_passkey(stranger, device)
    assert answer.status_code == 422
    assert "This device already has a passkey for this account." in answer.text
    assert len(stored(app)) == 1
    theirs = Device(credential_id=b"theirs")
    add_passkey(stranger, theirs)
    forget_proof(app)
    assert prove(browser, f"{SECURITY}/app/new", theirs).status_code == 422
    (mine, _) = stored(app)
    for path in (f"{SECURITY}/passkeys/{mine.id}/remove", f"{SECURITY}/passkeys/{mine.id}/name"):
        assert prove(stranger, path, theirs, name="Stolen").status_code == 404
    assert stored(app)[0].name == "Phone"


def test_a_passkey_is_renamed_and_removed(app, browser, device, owner):
    (passkey,) = stored(app)
    path = f"{SECURITY}/passkeys/{passkey.id}"
    assert browser.post(f"{path}/name", data={"name": "Bakery <b>laptop"}).status_code == 303
    assert "Bakery &lt;b&gt;laptop" in browser.get(SECURITY).text
    assert browser.post(f"{path}/name", data={"name": " "}).status_code == 422
    assert browser.post(f"{path}/remove").status_code == 303
    assert stored(app) == []
    assert browser.post(f"{path}/remove").status_code == 404
    assert use_passkey(app.test_client(), device).status_code == 422
    assert len(purposes(app)) == 3
    record = browser.get("/dashboard/account/activity").text
    assert "renamed the passkey Phone to Bakery &lt;b&gt;laptop" in record


def test_the_last_way_in_stays(app, browser, device):
    (passkey,) = stored(app)
    assert browser.post(f"{NOW_ON}/remove").status_code == 303
    answer = browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove")
    assert answer.status_code == 409
    assert "This is the only way into your account." in answer.text
    second = Device(credential_id=b"second")
    add_passkey(browser, second, "Laptop")
    assert browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove").status_code == 303
    assert use_passkey(app.test_client(), second).status_code == 303


def test_a_password_that_is_all_stays(app, browser, owner):
    assert browser.post(f"{NOW_ON}/remove").status_code == 409
    assert sign_in(app.test_client(), owner.email).status_code == 303


def test_no_password(app, browser, device, owner):
    other = open_browser(app, owner)
    assert browser.post(f"{NOW_ON}/remove").status_code == 303
    assert is_signed_in(browser)
    assert not is_signed_in(other)
    assert sign_in(app.test_client(), owner.email).status_code == 422
    assert "Do without" not in browser.get(SECURITY).text
    # Its page is for those who have one.
    form = {"current": "", "password": "seven green lanterns"}
    assert browser.post(NOW_ON, data=form).status_code == 422
    forget_proof(app)
    assert browser.post(f"{NOW_ON}/new", data=form).status_code == 401
    assert prove(browser, f"{NOW_ON}/new", device, **form).status_code == 200
    assert sign_in(app.test_client(), owner.email, form["password"]).status_code == 303


def test_a_link_sets_one(app, browser, device, owner):
    browser.post(f"{NOW_ON}/remove")
    client = app.test_client()
    ask_for_link(client, "/forgot", owner.email)
    form = {"password": "seven green lanterns"}
    assert client.post(mailed_path(app, "reset"), data=form).status_code == 303
    assert is_signed_in(client)
    assert methods(app)[-1] == "link"


NEEDED = f"{SECURITY}/needed"


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="kiln")["_id"])


@pytest.fixture
def inbox(project: str) -> str:
    return f"/dashboard/projects/{project}/inbox"


def ask_for_more(app: Flask, owner: Caller) -> tuple[FlaskClient, Device]:
    browser, device = open_browser(app, owner), Device(credential_id=b"the owner's")
    add_passkey(browser, device)
    assert browser.post(f"{SECURITY}/team", data={"strong": "on"}).status_code == 303
    return browser, device


def is_required(app: Flask, owner: Caller) -> bool:
    with app.app_context():
        return db.session.get_one(Account, owner.account_id).requires_strong


def test_a_password_alone_does_not_switch_it(app, browser, owner, outsider):
    # What is missing stands once, with one button for it.
    page = browser.get(SECURITY).text
    assert page.count("Add a passkey") == 1
    # Who has nobody beside them isn't asked what others need.
    words = "Everyone can sign in with just a password."
    assert words not in page
    add_workspace_member(app, owner, outsider, "reader")
    assert words in browser.get(SECURITY).text
    assert browser.post(f"{SECURITY}/team", data={"strong": "on"}).status_code == 409
    assert not is_required(app, owner)
    ask_for_more(app, owner)
    assert is_required(app, owner)
    # Nor off again, for who has the password alone.
    forget_proof(app)
    form = {"strong": "off", "proof": PASSWORD}
    assert browser.post(f"{SECURITY}/team", data=form).status_code == 409
    assert is_required(app, owner)


def test_a_member_is_led_to_setting_it_up_and_comes_back(app, owner, outsider, project, inbox):
    add_member(app, project, outsider, "admin")
    member = open_browser(app, outsider)
    assert member.get(inbox).status_code == 200
    owners, _ = ask_for_more(app, owner)
    assert owners.get(inbox).status_code == 200
    answer = member.get(f"{inbox}?tab=approved")
    assert (answer.status_code, answer.location.split("?")[0]) == (303, NEEDED)
    page = member.get(answer.location)
    assert "This project requires more than a password" in page.text
    assert "Set it up" in page.text
    # It stays in the list, and nothing is changed meanwhile.
    assert project in member.get("/dashboard/projects").text
    path = f"/dashboard/projects/{project}/settings"
    assert member.post(path, data={"name": "Mine"}).status_code in (403, 404, 405)
    add_passkey(member, Device(credential_id=b"the member's"))
    assert member.get(answer.location).location == f"{inbox}?tab=approved"
    assert member.get(inbox).status_code == 200


def test_where_a_passkey_is_needed_a_password_adds_none(app, owner, outsider, project, inbox):
    add_member(app, project, outsider, "moderator")
    device = Device(credential_id=b"the member's")
    add_passkey(open_browser(app, outsider), device)
    ask_for_more(app, owner)
    thief = app.test_client()
    assert sign_in(thief, outsider.email).status_code == 303
    assert thief.get(inbox).status_code == 303
    begun = thief.post(f"{SECURITY}/passkeys/new")
    assert (begun.status_code, 'name="proof"' in begun.text) == (401, False)
    assert thief.post(f"{SECURITY}/passkeys/new", data={"proof": PASSWORD}).status_code == 422
    assert add_passkey(thief, Device(credential_id=b"the thief's")).status_code == 401
    for path in ("app/new", "codes", f"passkeys/{stored(app)[0].id}/remove"):
        assert thief.post(f"{SECURITY}/{path}", data={"proof": PASSWORD}).status_code == 422
    assert len(stored(app)) == 2
    answer = prove(thief, NEEDED, device, next=inbox)
    assert (answer.status_code, answer.location) == (303, inbox)
    assert thief.get(inbox).status_code == 200


def test_the_last_strong_way_of_the_owner_stays(app, owner):
    browser, device = ask_for_more(app, owner)
    (passkey,) = stored(app)
    answer = browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove")
    assert (answer.status_code, "and this is your last" in answer.text) == (409, True)
    assert browser.post(f"{SECURITY}/team", data={"strong": "off"}).status_code == 303
    assert not is_required(app, owner)
    assert browser.post(f"{SECURITY}/passkeys/{passkey.id}/remove").status_code == 303
    assert use_passkey(app.test_client(), device).status_code == 422
    record = browser.get("/dashboard/account/activity").text
    assert "required more than a password" in record
    assert "allowed passwords alone" in record


def test_the_operator_lets_somebody_in_again(app, owner, agent):
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
    result = app.test_cli_runner().invoke(args=["accounts", "reset-sign-in", agent.email])
    assert (result.exit_code, "is not claimed yet" in result.output) == (1, True)


def test_an_import_that_was_begun_goes_on(app, owner, project):
    """What goes on without a browser was begun by somebody who might."""
    from testimonials.auth.sessions import SignedIn, SignInMethod
    from testimonials.projects.access import Role, StrongSignInNeeded, find_access

    with app.app_context():
        lock_for_writing()
        db.session.get_one(Account, owner.account_id).requires_strong = True
        db.session.flush()
        who = (("", owner.account_id, owner.email, None), {"method": SignInMethod.EARLIER})
        assert find_access(SignedIn(*who[0], **who[1]), project, Role.ADMIN).role == Role.OWNER
        with pytest.raises(StrongSignInNeeded):
            find_access(SignedIn(*who[0]), project, Role.ADMIN)
