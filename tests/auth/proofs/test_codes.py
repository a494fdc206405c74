"""The authenticator app, its codes and recovery codes, through the doors."""

import re
from base64 import b32encode
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import AuthenticatorApp, RecoveryCode, Session
from testimonials.auth.two_factor import make_code, make_otpauth_url
from testimonials.core.extensions import db
from tests.auth.browsers import draft_of, is_signed_in, mailed_path, open_browser, purposes, sign_in
from tests.auth.links import ask_for_link, mails
from tests.auth.proofs.authenticator import (
    SECURITY,
    Device,
    add_passkey,
    begin_app,
    begin_sign_in,
    code_of,
    connect_app,
    use_passkey,
)
from tests.auth.proofs.test_passkeys import forget_proof, methods
from tests.conftest import PASSWORD, Caller, MovableClock
from tests.support.racing import at_once

WRONG = "000000"
# An app's secret and its recovery codes.
Connected = tuple[str, list[str]]


@pytest.fixture
def browser(app: Flask, owner: Caller, moved_clock: MovableClock) -> FlaskClient:
    return open_browser(app, owner)


@pytest.fixture
def connected(browser: FlaskClient, moved_clock: MovableClock) -> Connected:
    """The secret and the recovery codes of an app that was connected a minute ago."""
    found = connect_app(browser, step(moved_clock))
    moved_clock.move(minutes=1)
    return found


def step(moved_clock: MovableClock) -> int:
    return int(moved_clock.time.timestamp()) // 30


def finish(client: FlaskClient, token: str, code: str, **form: str) -> int:
    answer = client.post("/login/code", data={"step": token, "code": code} | form)
    return answer.status_code


def test_codes_are_those_of_the_standard_and_addresses_those_that_apps_read():
    """RFC 6238, appendix B, of which six digits are the last ones."""
    secret = b32encode(b"12345678901234567890").decode()
    for time, code in ((59, "287082"), (1111111109, "081804"), (20000000000, "353130")):
        assert make_code(secret, time // 30) == code
    parts = urlsplit(make_otpauth_url(secret, "example.com:8080", "a+b@example.com"))
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert unquote(parts.path) == "/example.com:8080:a+b@example.com"
    said = parse_qs(parts.query)
    assert (said["secret"], said["issuer"]) == ([secret], ["example.com:8080"])


def test_an_app_is_asked_for_after_the_password(app, browser, owner, connected, moved_clock):
    secret, codes = connected
    assert (len(set(codes)), methods(app)) == (10, ["password and app"])
    assert purposes(app) == [("security", owner.email)]
    client = app.test_client()
    page, token = begin_sign_in(client, owner.email, next="/dashboard/account")
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert "Code from your app" in page.text
    assert not is_signed_in(client)
    code = code_of(secret, step(moved_clock))
    form = {"step": token, "code": f" {code[:3]} {code[3:]} ", "next": "/dashboard/account"}
    answer = client.post("/login/code", data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/account")
    assert is_signed_in(client)
    assert methods(app)[-1] == "password and app"
    assert "Password and app</small>" in client.get(f"{SECURITY}/sessions").text


def test_a_code_works_once_and_none_before_it_does(app, owner, connected, moved_clock):
    secret, _ = connected
    client, now = app.test_client(), step(moved_clock)
    _, token = begin_sign_in(client, owner.email)
    assert finish(client, token, code_of(secret, now)) == 303
    again = app.test_client()
    _, token = begin_sign_in(again, owner.email)
    for each in (now, now - 1, now - 2, now + 2):
        assert finish(again, token, code_of(secret, each)) == 422
    # Why stands once, at the field that one is in.
    page = again.post("/login/code", data={"step": token, "code": WRONG}).text
    assert page.count("This code doesn’t work.") == 1
    # A phone whose clock is fast.
    assert finish(again, token, code_of(secret, now + 1)) == 303


def test_the_code_that_connected_the_app_is_used_up(app, browser, owner, moved_clock):
    now = step(moved_clock)
    secret, _ = connect_app(browser, now)
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    assert finish(client, token, code_of(secret, now)) == 422


def test_a_recovery_code_works_once(app, browser, owner, connected):
    _, codes = connected
    client = app.test_client()
    page, token = begin_sign_in(client, owner.email)
    assert "Recovery code" in page.text
    shown = client.post("/login/code", data={"step": token, "show": "recovery"})
    assert (shown.status_code, "<h1>Recovery code</h1>" in shown.text) == (200, True)
    # Who has lost these too reads whom to ask.
    assert "Ask <bdi>testimonials@testimonials.example.com</bdi>." in shown.text
    assert "Lost the codes" not in page.text
    assert finish(client, token, codes[3].upper().replace("-", " ")) == 303
    again = app.test_client()
    _, token = begin_sign_in(again, owner.email)
    assert finish(again, token, codes[3]) == 422
    assert finish(again, token, codes[4]) == 303
    assert "8 of 10 left" in browser.get(SECURITY).text
    assert "8 recovery codes are left." in " ".join(mails(app)[-1].text.split())
    assert "used a recovery code, 8 left" in browser.get("/dashboard/account/activity").text


def test_new_recovery_codes_replace_the_old(app, browser, owner, connected):
    _, codes = connected
    with app.app_context():
        hashes = set(db.session.scalars(select(RecoveryCode.code_hash)))
    assert len(hashes) == 10
    pages = ["".join(hashes), browser.get(SECURITY).text, *(mail.text for mail in mails(app))]
    for code in codes:
        assert not any(code in text or code.replace("-", "") in text for text in pages)
    page = browser.post(f"{SECURITY}/codes")
    new = re.findall(r"^(?:.*>)?([a-z2-9]{4}-[a-z2-9]{4})", page.text, re.MULTILINE)
    assert len(set(new) - set(codes)) == 10
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    assert finish(client, token, codes[0]) == 422
    assert finish(client, token, new[0]) == 303


def test_a_wrong_code_connects_nothing(app, browser, outsider, moved_clock):
    secret, setup = begin_app(browser)
    for code in (WRONG, "", code_of(secret, step(moved_clock) - 5)):
        answer = browser.post(f"{SECURITY}/app", data={"setup": setup, "code": code})
        assert answer.status_code == 422
        # The same key, so that the app need not be set up again.
        assert secret in answer.text.replace(" ", "")
    form = {"setup": setup, "code": code_of(secret, step(moved_clock))}
    assert open_browser(app, outsider).post(f"{SECURITY}/app", data=form).status_code == 422
    with app.app_context():
        assert db.session.scalar(select(AuthenticatorApp.account_id)) is None
    assert browser.post(f"{SECURITY}/codes").status_code == 404


def test_an_app_is_replaced_and_turned_off(app, browser, owner, connected, moved_clock):
    old, codes = connected
    new, _ = connect_app(browser, step(moved_clock))
    moved_clock.move(minutes=1)
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    for code in (code_of(old, step(moved_clock)), codes[0]):
        assert finish(client, token, code) == 422
    assert finish(client, token, code_of(new, step(moved_clock))) == 303
    assert browser.post(f"{SECURITY}/app/remove").status_code == 303
    assert sign_in(app.test_client(), owner.email).status_code == 303
    assert [purpose for purpose, _ in purposes(app)] == ["security"] * 3


def test_a_trusted_device_is_not_asked_again_until_signed_out(app, owner, connected, moved_clock):
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    assert finish(client, token, connected[1][0], trust="1") == 303
    client.post("/logout")
    assert sign_in(client, owner.email).status_code == 303
    assert methods(app)[-1] == "password and app"
    moved_clock.move(days=30, seconds=1)
    assert begin_sign_in(client, owner.email)[1]
    _, token = begin_sign_in(client, owner.email)
    assert finish(client, token, connected[1][1], trust="1") == 303
    assert client.post("/dashboard/account/security/sessions/end").status_code == 303
    assert begin_sign_in(client, owner.email)[1]


def test_ten_wrong_codes_in_a_row_are_enough(app, browser, owner, connected, moved_clock):
    device = Device()
    add_passkey(browser, device)
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    for _ in range(10):
        assert finish(client, token, WRONG) == 422
    right = code_of(connected[0], step(moved_clock))
    page = client.post("/login/code", data={"step": token, "code": right})
    assert page.status_code == 429
    assert int(page.headers["Retry-After"]) > 0
    assert re.search(r"Wait \d+ minutes?<", page.text)
    assert "Your passkey still works." in page.text
    assert not is_signed_in(client)
    moved_clock.move(seconds=1)
    assert use_passkey(client, device).status_code == 303
    assert "entered a wrong code" in browser.get("/dashboard/account/activity").text


def test_a_second_step_ends_with_time_or_new_password(app, browser, owner, connected, moved_clock):
    client = app.test_client()
    _, token = begin_sign_in(client, owner.email)
    moved_clock.move(minutes=10, seconds=1)
    answer = client.post("/login/code", data={"step": token, "code": connected[1][0]})
    assert (answer.status_code, "Sign in again." in answer.text) == (422, True)
    _, token = begin_sign_in(client, owner.email)
    form = {"current": PASSWORD, "password": "seven green lanterns"}
    assert browser.post("/dashboard/account/security/password", data=form).status_code == 200
    assert finish(client, token, connected[1][0]) == 422
    for bad in ("", "x", token[:-2]):
        assert finish(client, bad, connected[1][0]) == 422
    assert not is_signed_in(client)


def test_a_mailbox_alone_is_too_little(app, owner, connected):
    client = app.test_client()
    ask_for_link(client, "/forgot", owner.email)
    path, form = mailed_path(app, "reset"), {"password": "seven green lanterns"}
    assert 'name="code"' in client.get(path).text
    for code in ("", WRONG):
        assert client.post(path, data=form | {"code": code}).status_code == 422
    assert sign_in(client, owner.email, form["password"]).status_code == 422
    assert client.post(path, data=form | {"code": connected[1][0]}).status_code == 303
    assert is_signed_in(client)
    assert methods(app)[-1] == "password and app"


def test_a_code_is_a_fresh_proof(app, browser, connected, moved_clock):
    forget_proof(app)
    assert 'name="proof_code"' in browser.post(f"{SECURITY}/codes").text
    for code in (WRONG, "x" * 500):
        assert browser.post(f"{SECURITY}/codes", data={"proof_code": code}).status_code == 422
    code = code_of(connected[0], step(moved_clock))
    assert browser.post(f"{SECURITY}/codes", data={"proof_code": code}).status_code == 200
    forget_proof(app)
    assert browser.post(f"{SECURITY}/codes", data={"proof_code": code}).status_code == 422


def test_what_was_typed_before_outlives_the_second_step(app, browser, owner, connected):
    with app.app_context():
        db.session.query(Session).delete()
        db.session.commit()
    answer = browser.post("/dashboard/account/name", data={"display_name": "Mira Osk"})
    draft = draft_of(answer.text)
    page, token = begin_sign_in(browser, owner.email, draft=draft)
    assert draft in page.text
    form = {"step": token, "code": connected[1][0], "draft": draft}
    assert "Mira Osk" in browser.post("/login/code", data=form).text


@pytest.mark.postgres
def test_two_uses_of_a_code(app, owner, connected):
    clients = [app.test_client() for _ in range(4)]
    tokens = [begin_sign_in(client, owner.email)[1] for client in clients]
    answers = at_once(4, lambda place: finish(clients[place], tokens[place], connected[1][0]))
    assert sorted(answers) == [303, 422, 422, 422]
