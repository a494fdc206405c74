"""Signing in and out, and what keeps a browser signed in (decisions, "Sessions")."""

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.credentials import is_password
from testimonials.auth.models import Session
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import db
from testimonials.operations.expiry import sweep
from tests.auth.browsers import (
    COOKIE,
    is_signed_in,
    open_browser,
    open_known_browser,
    session_ids,
    sign_in,
)
from tests.conftest import PASSWORD


def test_signing_in_opens_the_dashboard(client, owner):
    # Somebody who never signed in is not told to do so again.
    needed = client.get("/dashboard/account").location
    assert needed == "/login?next=/dashboard/account&notice=needed"
    assert "Sign in to continue." in client.get(needed).text
    answer = sign_in(client, owner.email)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")
    assert is_signed_in(client)
    assert owner.email in client.get("/dashboard/account").text
    browsers = (client.application.test_client() for _ in range(25))
    assert {sign_in(browser, owner.email).status_code for browser in browsers} == {303}


@pytest.mark.parametrize("typed", ["me@BÜCHER.example", "me@xn--bcher-kva.example"])
def test_every_spelling_signs_in(client, make_caller, typed):
    make_caller("me@bücher.example", is_claimed=True)
    assert sign_in(client, typed).status_code == 303


def test_wrong_and_unknown_are_alike(client, owner, agent):
    pages = set()
    for email in (owner.email, "nobody@example.com", agent.email):
        answer = sign_in(client, email, "not this one at all")
        assert (answer.status_code, "Set-Cookie" in answer.headers) == (422, False)
        assert "not this one at all" not in answer.text
        pages.add(answer.text.replace(email, "ADDRESS"))
    assert len(pages) == 1


def test_nonsense_signs_nobody_in(client, owner, agent):
    for email, password in (
        ("", ""),
        (owner.email, ""),
        ("owner@example.com\0", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
        (owner.email, PASSWORD.upper()),
        (owner.email, f" {PASSWORD}"),
        ("x" * 5000, "x" * 20_000),
        # Nobody has claimed it, so it has no password.
        (agent.email, ""),
        (agent.email, PASSWORD),
    ):
        assert sign_in(client, email, password).status_code == 422, email
    for cookie in ("", "x", "é", "a" * 3000, "%00", "' OR 1=1"):
        client.set_cookie(COOKIE, cookie, path="/")
        assert not is_signed_in(client)
    assert not is_signed_in(open_browser(client.application, agent))
    answer = sign_in(client, '"><script>alert(1)</script>', "x", next='/"><script>alert(2)')
    assert "<script>alert" not in answer.text


def guess(client: FlaskClient, email: str, ip: str, times: int) -> list[int]:
    """Try wrong passwords in a fresh browser; return the answers' statuses."""
    return [
        sign_in(client.application.test_client(), email, "wrong", ip=ip).status_code
        for _ in range(times)
    ]


@pytest.mark.parametrize("format", ["10.1.0.{}", "2001:db8:0:{}::1"])
def test_guessing_from_one_network_keeps_no_one_else_out(
    client, owner, outsider, monkeypatch, format
):
    known = client.application.test_client()
    sign_in(known, owner.email, ip="10.7.0.1")
    with monkeypatch.context() as patch:
        patch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
        spellings = [owner.email, f" {owner.email.upper()}"] * 11
        statuses = [
            guess(client, email, format.format(number % 5), 1)[0]
            for number, email in enumerate(spellings)
        ]
    assert statuses == [422] * 20 + [429] * 2
    # A limit that tells right from wrong is none, but it says how an owner gets in still.
    refused = sign_in(client, owner.email, ip=format.format(1))
    assert (refused.status_code, "Forgot your password?" in refused.text) == (429, True)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert sign_in(client, outsider.email, ip=format.format(1)).status_code == 303
    assert sign_in(client, owner.email, ip="10.2.0.1").status_code == 303
    assert sign_in(known, owner.email, ip=format.format(1)).status_code == 303


def test_an_address_that_guessed_nothing_gets_in_beside_one_that_does(client, owner, monkeypatch):
    def guess_wrong(ip: str, times: int) -> list[int]:
        with monkeypatch.context() as patch:
            patch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
            return guess(client, owner.email, ip, times)

    def sign_owner_in(ip: str) -> int:
        return sign_in(client.application.test_client(), owner.email, ip=ip).status_code

    assert guess_wrong("10.1.0.1", 25) == [422] * 20 + [429] * 5
    # In the same network, in new browsers, and as often as they like.
    assert [sign_owner_in("10.1.0.2") for _ in range(3)] == [303] * 3
    assert sign_owner_in("10.1.0.1") == 429
    # Whoever has many addresses has one attempt by each, and after a hundred three by a network.
    assert [guess_wrong(f"10.1.0.{each}", 2) for each in range(10, 80)] == [[422, 429]] * 70
    assert guess_wrong("10.3.0.1", 10) == [422] * 10
    assert guess_wrong("10.4.0.1", 5) == [422] * 3 + [429] * 2
    assert sign_owner_in("10.4.0.2") == 303
    assert guess_wrong("10.4.0.3", 2) == [422, 429]
    assert sign_owner_in("10.4.0.3") == 429


def test_a_known_browser_has_a_limit_of_its_own(app, client, owner, outsider, monkeypatch):
    browser = open_known_browser(app, owner)
    monkeypatch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
    statuses = [sign_in(browser, owner.email, "wrong").status_code for _ in range(21)]
    assert statuses == [422] * 20 + [429]
    # It is known to one account alone.
    assert [sign_in(browser, outsider.email, "wrong").status_code for _ in range(21)][-1] == 429
    assert guess(client, outsider.email, "10.0.0.1", 1) == [429]


@pytest.mark.parametrize("ending", ["password", "everywhere", "command"])
def test_ending_every_session_forgets_known_browsers(app, owner, monkeypatch, ending):
    known, other = open_known_browser(app, owner), open_known_browser(app, owner)
    if ending == "command":
        result = app.test_cli_runner().invoke(args=["accounts", "sign-out", owner.email])
        assert result.exit_code == 0, result.output
    elif ending == "everywhere":
        known.post("/dashboard/account/security/sessions/end")
    else:
        form = {"current": PASSWORD, "password": "seven green lanterns"}
        assert known.post("/dashboard/account/security/password", data=form).status_code == 200
    assert not is_signed_in(other)
    with monkeypatch.context() as patch:
        patch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
        assert guess(known, owner.email, "10.0.0.1", 20) == [422] * 20
        assert sign_in(other, owner.email, "wrong").status_code == 429
        # The browser in which the password was changed is known on.
        expected = 422 if ending == "password" else 429
        assert sign_in(known, owner.email, "wrong").status_code == expected


@pytest.mark.parametrize("door", ["/login", "/dashboard/account/security/password"])
def test_who_is_overtaken_by_a_new_password_gets_nowhere(app, owner, monkeypatch, door):
    thief, owners = open_browser(app, owner), open_browser(app, owner)
    new = "seven green lanterns"

    def change_meanwhile(stored: str, given: str) -> bool:
        """Check as ever; before the answer is used, the owner changes the password."""
        is_right = is_password(stored, given)
        with monkeypatch.context() as patch:
            patch.setattr("testimonials.auth.credentials.is_password", is_password)
            form = {"current": given, "password": new}
            assert owners.post("/dashboard/account/security/password", data=form).status_code == 200
        return is_right

    with monkeypatch.context() as patch:
        patch.setattr("testimonials.auth.credentials.is_password", change_meanwhile)
        form = {"email": owner.email, "password": PASSWORD}
        if door != "/login":
            form = {"current": PASSWORD, "password": "nine purple kettles"}
        thief.post(door, data=form)
    assert not is_signed_in(thief)
    assert is_signed_in(owners)
    assert len(session_ids(app)) == 1
    assert sign_in(app.test_client(), owner.email, new).status_code == 303


def test_guessing_is_limited_by_place(client, monkeypatch):
    monkeypatch.setattr("testimonials.auth.credentials.is_password", lambda *_: False)
    statuses = [sign_in(client, f"a{number}@example.com").status_code for number in range(61)]
    assert statuses == [422] * 60 + [429]
    assert sign_in(client, "a0@example.com", ip="10.0.0.2").status_code == 422


def test_the_cookie_is_a_new_one_and_out_of_reach(make_app, owner):
    client = owner.client
    client.set_cookie(COOKIE, "a token that somebody else chose", path="/")
    header = sign_in(client, owner.email).headers["Set-Cookie"]
    cookie = client.get_cookie(COOKIE)
    assert cookie is not None
    assert cookie.value != "a token that somebody else chose"
    name, *flags = header.split("; ")
    assert name.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/"} <= set(flags)
    # A __Host- cookie with a Domain is thrown away by browsers.
    assert not [flag for flag in flags if flag.startswith("Domain")]
    # Without HTTPS it still works.
    plain = make_app(base_url="http://localhost:8000").test_client()
    name, *flags = sign_in(plain, owner.email).headers["Set-Cookie"].split("; ")
    assert name.startswith("testimonials=")
    assert {"HttpOnly", "SameSite=Lax"} <= set(flags) - {"Secure"} == set(flags)
    assert is_signed_in(plain)


def test_only_a_hash_of_the_token_is_kept(app, client, owner):
    sign_in(client, owner.email)
    cookie = client.get_cookie(COOKIE)
    assert cookie is not None
    with app.app_context():
        row = db.session.scalars(select(Session)).one()
        assert row.token_hash == hash_secret(cookie.value)
        stored = [str(value) for value in vars(row).values()]
    assert not [text for text in stored if cookie.value in text]
    # What is kept must open nothing.
    client.set_cookie(COOKIE, row.token_hash, path="/")
    assert not is_signed_in(client)


NOT_OURS = [
    "https://elsewhere.example/", "//elsewhere.example", "///elsewhere.example",
    "/\\elsewhere.example", "\\\\elsewhere.example", "/\t/elsewhere.example",
    "/\n/elsewhere.example", "/\r\n/elsewhere.example", "/dashboard\r\nSet-Cookie: a=b",
    "\t//elsewhere.example", " //elsewhere.example", "javascript:alert(1)", "http:/dashboard",
    "dashboard", "//[", "/\t/[", "//]", "/a\0b", "",
]  # fmt: skip


def test_signing_in_goes_on_to_an_own_path_and_no_other(app, owner):
    own = ["/dashboard/account", "/dashboard/projects?page=2&q=a%20b", "/dashboard#here"]
    for target in own + NOT_OURS:
        client, asked = app.test_client(), {"next": target}
        assert client.get("/login", query_string=asked).status_code == 200
        answer = sign_in(client, owner.email, next=target)
        expected = target if target in own else "/dashboard"
        assert (answer.status_code, answer.headers["Location"]) == (303, expected), target
        assert client.get("/login", query_string=asked).headers["Location"] == expected


def test_signing_out_removes_the_row(app, client, owner):
    sign_in(client, owner.email)
    cookie = client.get_cookie(COOKIE)
    assert cookie is not None
    other = open_browser(app, owner)
    answer = client.post("/logout")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login?notice=signed-out")
    assert client.get_cookie(COOKIE) is None
    assert len(session_ids(app)) == 1
    # Whoever kept the cookie has nothing by it.
    client.set_cookie(COOKIE, cookie.value, path="/")
    assert not is_signed_in(client)
    assert is_signed_in(other)
    # It takes a form, and none who is in.
    assert other.get("/logout").status_code == 404
    assert is_signed_in(other)
    assert client.post("/logout").status_code == 303


def test_a_session_ends_after_thirty_days_without_a_visit(app, browser, moved_clock):
    moved_clock.move(days=29, hours=23)
    assert is_signed_in(browser)
    moved_clock.move(days=29, hours=23)
    assert is_signed_in(browser)
    moved_clock.move(days=30)
    assert not is_signed_in(browser)
    with app.app_context():
        sweep()
    assert session_ids(app) == []


def test_a_session_ends_after_ninety_days_whatever_it_is_used_for(
    app, make_app, owner, moved_clock
):
    browser, short = open_browser(app, owner), make_app(session_days=2).test_client()
    assert sign_in(short, owner.email).status_code == 303
    for _ in range(4):
        moved_clock.move(days=22, hours=11)
        assert is_signed_in(browser)
    assert not is_signed_in(short)
    moved_clock.move(hours=5)
    assert not is_signed_in(browser)
