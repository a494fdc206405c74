"""Signing in and out, and what keeps a browser signed in (decisions, "Sessions")."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from testimonials.auth.models import Session
from testimonials.core.identifiers import hash_secret
from testimonials.extensions import begin_write, db
from testimonials.operations.expiry import sweep
from tests.auth.browsers import COOKIE, is_signed_in, open_browser, session_ids, sign_in
from tests.auth.links import init
from tests.conftest import PASSWORD, Caller, MakeApp, MakeCaller, MovableClock


@pytest.fixture
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every password without the time that a real check takes."""
    monkeypatch.setattr("testimonials.auth.sign_in.is_password", lambda _stored, _given: False)


def test_the_form_is_a_page_of_its_own(client: FlaskClient) -> None:
    answer = client.get("/login?next=/dashboard/account")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert 'name="password"' in answer.text
    assert 'name="next" value="/dashboard/account"' in answer.text


def test_signing_in_opens_the_dashboard(client: FlaskClient, owner: Caller) -> None:
    answer = sign_in(client, owner.email)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")
    assert is_signed_in(client)
    assert owner.email in client.get("/dashboard/account").text


@pytest.mark.parametrize("email", ["OWNER@Example.com", "  owner@example.com "])
def test_an_address_is_read_as_people_type_it(
    client: FlaskClient, owner: Caller, email: str
) -> None:
    assert sign_in(client, email).status_code == 303


@pytest.mark.parametrize(
    "typed", ["me@bücher.example", "me@BÜCHER.example", "me@xn--bcher-kva.example"]
)
def test_every_spelling_of_an_address_signs_in(
    client: FlaskClient, make_caller: MakeCaller, typed: str
) -> None:
    make_caller("me@bücher.example", is_claimed=True)
    assert sign_in(client, typed).status_code == 303


def test_a_wrong_password_and_an_unknown_address_answer_the_same(
    client: FlaskClient, owner: Caller, agent: Caller
) -> None:
    pages = set()
    for email in (owner.email, "nobody@example.com", agent.email):
        answer = sign_in(client, email, "not this one at all")
        assert answer.status_code == 422
        assert "Set-Cookie" not in answer.headers
        assert "not this one at all" not in answer.text
        pages.add(answer.text.replace(email, "ADDRESS"))
    assert len(pages) == 1


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("", ""),
        ("owner@example.com", ""),
        ("owner@example.com\0", PASSWORD),
        ("%", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
        ("owner@example.com", PASSWORD.upper()),
        ("owner@example.com", f" {PASSWORD}"),
        ("x" * 5000, "x" * 20_000),
    ],
)
def test_nonsense_signs_nobody_in(
    client: FlaskClient, owner: Caller, email: str, password: str
) -> None:
    assert sign_in(client, email, password).status_code == 422
    assert not is_signed_in(client)


def test_fields_that_are_left_out_sign_nobody_in(client: FlaskClient, owner: Caller) -> None:
    for form in ({}, {"email": owner.email}, {"password": PASSWORD}):
        assert client.post("/login", data=form).status_code == 422


def test_typed_text_is_no_markup(client: FlaskClient) -> None:
    answer = sign_in(client, '"><script>alert(1)</script>', "x", next='/"><script>alert(2)')
    assert "<script>alert" not in answer.text


def test_guessing_at_one_address_is_limited_wherever_it_comes_from(
    client: FlaskClient, owner: Caller, quick_passwords: None
) -> None:
    statuses = [
        sign_in(client, spelling, "wrong", ip=f"10.1.{number}.1").status_code
        for number in range(11)
        for spelling in (owner.email, f" {owner.email.upper()}")
    ]
    assert statuses == [422] * 20 + [429] * 2
    # Also with the right password: a limit that tells right from wrong is none.
    answer = sign_in(client, owner.email, ip="10.9.9.9")
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0


def test_guessing_from_one_place_is_limited_whoever_it_is_about(
    client: FlaskClient, quick_passwords: None
) -> None:
    statuses = [sign_in(client, f"a{number}@example.com").status_code for number in range(61)]
    assert statuses == [422] * 60 + [429]
    assert sign_in(client, "a0@example.com", ip="10.0.0.2").status_code == 422


def test_the_cookie_is_out_of_reach(client: FlaskClient, owner: Caller) -> None:
    header = sign_in(client, owner.email).headers["Set-Cookie"]
    name, *flags = header.split("; ")
    assert name.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/"} <= set(flags)
    # A __Host- cookie with a Domain is thrown away by browsers.
    assert not [flag for flag in flags if flag.startswith("Domain")]


def test_without_https_the_cookie_still_works(make_app: MakeApp, owner: Caller) -> None:
    plain = make_app(base_url="http://localhost:8000").test_client()
    header = sign_in(plain, owner.email).headers["Set-Cookie"]
    assert header.startswith("testimonials=")
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header
    assert "Secure" not in header
    assert is_signed_in(plain)


def test_only_a_hash_of_the_token_is_kept(app: Flask, client: FlaskClient, owner: Caller) -> None:
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


def test_each_sign_in_is_a_new_session(app: Flask, client: FlaskClient, owner: Caller) -> None:
    client.set_cookie(COOKIE, "a token that somebody else chose", path="/")
    sign_in(client, owner.email)
    cookie = client.get_cookie(COOKIE)
    assert cookie is not None
    assert cookie.value != "a token that somebody else chose"


@pytest.mark.parametrize(
    "path", ["/dashboard/account", "/dashboard/projects?page=2&q=a%20b", "/dashboard#here"]
)
def test_signing_in_goes_on_to_an_own_path(client: FlaskClient, owner: Caller, path: str) -> None:
    assert sign_in(client, owner.email, next=path).headers["Location"] == path
    assert client.get("/login", query_string={"next": path}).headers["Location"] == path


@pytest.mark.parametrize(
    "target",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "///elsewhere.example",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "/\t/elsewhere.example",
        "/\n/elsewhere.example",
        "/\r\n/elsewhere.example",
        "/dashboard\r\nSet-Cookie: a=b",
        "\t//elsewhere.example",
        " //elsewhere.example",
        "javascript:alert(1)",
        "http:/dashboard",
        "dashboard",
        "//[",
        "/\t/[",
        "//]",
        "/a\0b",
        "",
    ],
)
def test_no_other_target_is_gone_to(client: FlaskClient, owner: Caller, target: str) -> None:
    assert client.get("/login", query_string={"next": target}).status_code == 200
    answer = sign_in(client, owner.email, next=target)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")
    assert client.get("/login", query_string={"next": target}).headers["Location"] == "/dashboard"


def test_signing_out_removes_the_row(app: Flask, client: FlaskClient, owner: Caller) -> None:
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


def test_signing_out_takes_a_form(app: Flask, client: FlaskClient, owner: Caller) -> None:
    browser = open_browser(app, owner)
    assert browser.get("/logout").status_code == 404
    assert is_signed_in(browser)
    assert client.post("/logout").status_code == 303


def test_a_session_ends_after_thirty_days_without_a_visit(
    app: Flask, owner: Caller, moved_clock: MovableClock
) -> None:
    browser = open_browser(app, owner)
    moved_clock.move(days=29, hours=23)
    assert is_signed_in(browser)
    moved_clock.move(days=29, hours=23)
    assert is_signed_in(browser)
    moved_clock.move(days=30)
    assert not is_signed_in(browser)
    with app.app_context():
        sweep()
    assert session_ids(app) == []


def test_the_sweep_leaves_who_is_signed_in(
    app: Flask, owner: Caller, moved_clock: MovableClock
) -> None:
    browser = open_browser(app, owner)
    moved_clock.move(days=29)
    with app.app_context():
        sweep()
    assert is_signed_in(browser)


def test_a_session_whose_row_is_gone_is_out_at_once(app: Flask, owner: Caller) -> None:
    browser = open_browser(app, owner)
    assert is_signed_in(browser)
    with app.app_context():
        begin_write()
        for row in db.session.scalars(select(Session)):
            db.session.delete(row)
        db.session.commit()
    answer = browser.get("/dashboard/account")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/login?next=%2Fdashboard%2Faccount&notice=expired",
    )


@pytest.mark.parametrize("cookie", ["", "x", "é", "a" * 3000, "%00", "' OR 1=1"])
def test_a_made_up_cookie_opens_nothing(client: FlaskClient, cookie: str) -> None:
    client.set_cookie(COOKIE, cookie, path="/")
    assert client.get("/dashboard/account").status_code == 303


def test_an_unclaimed_account_cannot_sign_in(client: FlaskClient) -> None:
    init(client, "new@example.com")
    for password in ("", PASSWORD):
        assert sign_in(client, "new@example.com", password).status_code == 422


def test_a_session_of_an_account_without_password_opens_nothing(app: Flask, agent: Caller) -> None:
    assert not is_signed_in(open_browser(app, agent))


@pytest.mark.parametrize(
    "path", ["/login", "/logout", "/signup", "/forgot", "/reset/x", "/email/x"]
)
def test_no_form_is_taken_from_another_site(app: Flask, owner: Caller, path: str) -> None:
    browser = open_browser(app, owner)
    answer = browser.post(
        path,
        data={"email": owner.email, "password": PASSWORD},
        headers={"Sec-Fetch-Site": "cross-site"},
    )
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
    assert is_signed_in(browser)
