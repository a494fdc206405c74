"""Browsers of people with an account, and the links in the mails to them."""

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.models import Account, Session
from testimonials.auth.sessions import start_session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from tests.auth.links import ORIGIN, mails
from tests.conftest import PASSWORD, Caller
from tests.support.finding import find

COOKIE = "__Host-testimonials"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def sign_in(
    client: FlaskClient,
    email: str,
    password: str = PASSWORD,
    *,
    next: str = "",
    ip: str = "10.0.0.1",
) -> TestResponse:
    return client.post(
        "/login",
        data={"email": email, "password": password, "next": next},
        environ_base={"REMOTE_ADDR": ip},
    )


def open_browser(app: Flask, caller: Caller) -> FlaskClient:
    """Return a browser that is signed in, without the time that checking a password takes."""
    with app.app_context(), write():
        account = db.session.get(Account, caller.account_id)
        assert account is not None
        token = start_session(account, FIREFOX)
    browser = app.test_client()
    browser.set_cookie(COOKIE, token, path="/")
    return browser


def open_known_browser(app: Flask, caller: Caller) -> FlaskClient:
    browser = app.test_client()
    assert sign_in(browser, caller.email).status_code == 303
    return browser


def is_signed_in(browser: FlaskClient) -> bool:
    return browser.get("/dashboard/account").status_code == 200


def session_ids(app: Flask, account_id: str | None = None) -> list[str]:
    query = select(Session.id).order_by(Session.created_at, Session.id)
    if account_id:
        query = query.where(Session.account_id == account_id)
    with app.app_context():
        return list(db.session.scalars(query))


def mailed_path(app: Flask, purpose: str) -> str:
    mail = [mail for mail in mails(app) if mail.purpose == purpose][-1]
    return find(rf"{ORIGIN}(/\S+)", mail.text)


def purposes(app: Flask) -> list[tuple[str, str]]:
    return [(mail.purpose, mail.recipient) for mail in mails(app)]


def draft_of(page: str) -> str:
    """Return what was typed before the session had ended, as the page keeps it."""
    return find(r'name="draft" value="([^"]+)"', page)
