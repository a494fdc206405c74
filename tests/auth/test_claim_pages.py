"""The pages behind the magic link (decisions, "Accounts, keys, claiming")."""

import io
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image
from sqlalchemy import select
from werkzeug.test import TestResponse

from testimonials.auth.models import Account
from testimonials.core.extensions import db
from testimonials.core.images.worker import decoder
from testimonials.operations.expiry import sweep
from tests.auth.links import ask_for_link, credentials, init, mailed_links, mails, redeem
from tests.conftest import PASSWORD
from tests.support.pictures import to_bytes
from tests.support.racing import at_once

EMAIL = "new@example.com"


@pytest.fixture
def key(client: FlaskClient) -> dict[str, str]:
    return credentials(init(client, EMAIL))


@pytest.fixture
def link(app: Flask, key: dict[str, str]) -> str:
    return mailed_links(app)[-1]


def works(client: FlaskClient, headers: dict[str, str]) -> bool:
    return client.get("/v1/me", headers=headers).status_code == 200


def is_claimed(client: FlaskClient) -> bool:
    """Tell whether somebody has claimed the account; asking changes nothing of it."""
    app = client.application
    with app.app_context():
        return db.session.scalars(select(Account).filter_by(email=EMAIL)).one().is_claimed


def assert_private(answer: TestResponse) -> None:
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_the_form_claims_the_account_and_the_key_works_on(client, key, link, moved_clock):
    client.post("/v1/projects", json={"businessName": "Oat Bakery"}, headers=key)
    client.post("/v1/projects", json={"businessName": "A second one"}, headers=key)
    shown = client.get(link)
    assert (shown.status_code, shown.mimetype) == (200, "text/html")
    assert "Your agent made this. Is it you?" in shown.text
    assert EMAIL in shown.text
    assert 'value="Oat Bakery"' in shown.text
    assert shown.text.count("<form") == 1
    assert_private(shown)
    # Nothing is chosen for anybody.
    assert re.findall(r'name="key" value="(\w+)"( checked)?', shown.text) == [
        ("keep", ""), ("replace", ""),
    ]  # fmt: skip
    for choice in ("", "both", "drop"):
        assert redeem(client, link, key=choice).status_code == 422
    assert not is_claimed(client)
    form = {"businessName": "Oat & Ember", "color": "another", "another": "#123456"}
    answer = redeem(client, link, trade="bakery", **form)
    assert answer.status_code == 303
    assert_private(answer)
    page = client.get(answer.location).text
    assert "Your page is open." in page
    assert is_claimed(client)
    assert works(client, key)
    newest, first = client.get("/v1/projects", headers=key).json["data"]
    assert (newest["brand"]["name"], first["brand"]["name"]) == ("A second one", "Oat & Ember")
    # Another name is no other business.
    assert (first["brand"]["color"], first["brand"]["trade"]) == ("#123456", "bakery")
    assert first["publicPageConfig"]["slug"] == "oat-bakery"
    # Its days end no more.
    moved_clock.move(days=8)
    with client.application.app_context():
        assert sweep()["accounts"] == 0
    assert works(client, key)


def test_a_large_logo_comes_along_and_another_file_is_refused_beside_it(client, key, link):
    noise = Image.effect_noise((400, 400), 100).convert("RGB")
    large = to_bytes(noise, "PNG")
    assert 256 * 1024 < len(large) < 500 * 1000
    form = {"businessName": "Oat & Ember"}
    answer = redeem(client, link, **form, logo=(io.BytesIO(b"no picture"), "logo.png"))
    assert answer.status_code == 422
    assert 'id="brand-logo-error"' in answer.text
    assert 'value="Oat &amp; Ember"' in answer.text
    with decoder._places, decoder._places:
        answer = redeem(client, link, **form, logo=(io.BytesIO(large), "logo.png"))
    assert answer.status_code == 422
    assert "The server is busy with other pictures" in answer.text
    assert 'value="Oat &amp; Ember"' in answer.text
    answer = redeem(client, link, **form, logo=(io.BytesIO(large), "logo.png"))
    assert answer.status_code == 303
    (made,) = client.get("/v1/projects", headers=key).json["data"]
    assert made["brand"]["logo"]
    # And later on the Brand screen.
    path = answer.location.partition("/collect")[0] + "/settings/brand"
    answer = client.post(f"{path}/logo", data={"logo": (io.BytesIO(large), "logo.png")})
    assert answer.status_code == 303


def test_an_account_without_a_project_may_get_one(client, key, link):
    """The agent may be about to make it, so that nobody has to."""
    assert "Is this you?" in client.get(link).text
    assert redeem(client, link).location == "/dashboard"
    assert works(client, key)


def test_a_new_key_is_shown_once(client, key, link):
    answer = redeem(client, link, key="replace")
    assert_private(answer)
    (new,) = set(re.findall(r"tst_live_\w+", answer.text))
    assert not works(client, key)
    assert works(client, key | {"x-api-key": new})
    assert "tst_live_" not in client.get(link).text


def test_a_weak_password_ends_no_link(client, key, link):
    business = {"businessName": "Larkspur Salon", "website": "https://thistledown.example"}
    client.post("/v1/projects", json=business, headers=key)
    for password, problem in (
        ("", "at least 10 characters"), ("short one", "at least 10 characters"),
        ("password123", "easy to guess"), ("larkspur salon", "easy to guess"),
        ("thistledown24", "easy to guess"), (f"{EMAIL.upper()}!!", "use your email address"),
        ("x" * 1025, "at most 1024"),
    ):  # fmt: skip
        answer = redeem(client, link, password=password, key="replace")
        assert answer.status_code == 422
        assert problem in answer.text
        assert_private(answer)
        assert not password or f'value="{password}"' not in answer.text
        # What is wrong says it; the hint doesn't say it again.
        assert re.search(r'id="brand-password-hint" hidden', answer.text)
        # The choice about the key is kept for the next try.
        assert re.findall(r'value="(keep|replace)" checked', answer.text) == ["replace"]
    assert works(client, key)
    assert redeem(client, link).status_code == 303


def test_nobody_waits_while_a_password_is_judged(client, link, monkeypatch):
    real, writing = decoder.run, list[bool]()

    def run(*arguments: Any, **named: Any) -> Any:
        writing.append("writing" in db.session().info)
        return real(*arguments, **named)

    monkeypatch.setattr(decoder, "run", run)
    assert redeem(client, link, businessName="Oat & Ember").status_code == 303
    assert writing == [False]


def test_a_link_works_once(client, key, link):
    redeem(client, link)
    for answer in (client.get(link), redeem(client, link, key="replace")):
        assert "already claimed" in answer.text
        assert 'name="password"' not in answer.text
        # A used link is no secret any more, so it must tell nothing about the account.
        assert EMAIL not in answer.text
        assert key["x-service-account-id"] not in answer.text
        assert "None" not in answer.text
        assert_private(answer)
    assert works(client, key)


@pytest.mark.postgres
def test_of_two_one_wins(app, client, key, link):
    form = {"password": PASSWORD, "key": "replace"}
    texts = at_once(2, lambda _: app.test_client().post(link, data=form).text)
    shown = [set(re.findall(r"tst_live_\w+", text)) for text in texts]
    (new,) = set().union(*shown)
    assert sorted(map(len, shown)) == [0, 1]
    assert works(client, key | {"x-api-key": new})


def test_a_replaced_link_offers_a_new_one(client, link):
    init(client, EMAIL)
    for answer in (client.get(link), redeem(client, link), client.post(f"{link}/decline")):
        assert (answer.status_code, "There is a newer link" in answer.text) == (404, True)
        assert 'name="email"' in answer.text
        assert_private(answer)
    # So does one that is none.
    assert 'name="email"' in client.get("/claim/x").text
    assert not is_claimed(client)


def test_an_expired_link_says_so_and_offers_a_new_one(app, client, link, moved_clock):
    moved_clock.move(days=6)
    # A new link does not lengthen the days.
    ask_for_link(client, "/claim", EMAIL)
    assert "The link works for 1 day," in mails(app)[-1].text
    moved_clock.move(days=1)
    link = mailed_links(app)[-1]
    for is_swept in (False, True):
        if is_swept:
            with app.app_context():
                assert sweep()["accounts"] == 1
        for answer in (client.get(link), redeem(client, link)):
            assert (answer.status_code, "This link has expired" in answer.text) == (410, True)
            assert 'name="email"' in answer.text
    assert "accountId" in init(client, EMAIL).json["data"]


def test_declining_removes(app, client, key, link):
    client.post("/v1/projects", json={"slug": "unwanted"}, headers=key)
    answer = client.post(f"{link}/decline")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/declined")
    assert "The account has been removed." in client.get("/claim/declined").text
    assert not works(client, key)
    assert client.get("/unwanted").status_code == 404
    assert client.get(link).status_code == 410
    # The address can start again, and the slug is free.
    again = credentials(init(client, EMAIL))
    assert client.post("/v1/projects", json={"slug": "unwanted"}, headers=again).status_code == 200


def test_a_new_link_replaces_the_old_one_and_keeps_the_key(app, client, key, link):
    assert ask_for_link(client, "/claim", "NEW@example.com ").status_code == 200
    new = mailed_links(app)[-1]
    assert new != link
    assert client.get(link).status_code == 404
    assert works(client, key)
    # Asked for on a page, not by an agent: nothing is chosen for whoever asked.
    assert redeem(client, new, key="").status_code == 422
    assert redeem(client, new, key="replace").status_code == 200
    assert not works(client, key)


def test_a_form_is_taken_from_the_page_itself_alone(client, link):
    """tests/attacks/test_access sends every form from other sites; here are odd headers."""
    for headers in (
        {"Origin": "http://["},
        {"Origin": "nonsense"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        for path in (link, "/"):
            answer = client.post(path, data={"password": PASSWORD}, headers=headers)
            assert (answer.status_code, answer.mimetype) == (403, "text/html"), path
    assert not is_claimed(client)
    for headers in (
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, {"Sec-Fetch-Site": "none"},
        {"Origin": "http://localhost"}, {"Origin": "https://testimonials.example.com"},
    ):  # fmt: skip
        answer = client.post("/claim", data={"email": EMAIL}, headers=headers)
        assert answer.status_code == 200, headers
