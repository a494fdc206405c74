"""What an answer and a provider can get wrong, or want to: nobody gets in by it; and settings."""

import json
import logging
from collections.abc import Callable
from threading import Event as Signal
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from flask import Flask
from werkzeug import Response

from testimonials.auth.oidc import client
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.extensions import db
from testimonials.core.settings.table import SettingError, load_settings
from tests.auth.browsers import is_signed_in, open_known_browser
from tests.auth.oidc.providers import (
    CLIENT,
    MIRA,
    InventiveProvider,
    as_json,
    come_back,
    hash_half,
    leave,
    settings_for,
    sign_in_by,
)
from tests.support.racing import at_once

Change = Callable[[InventiveProvider], Any]


def unsigned(provider: InventiveProvider) -> None:
    provider.header, provider.sign = {"alg": "none"}, lambda _: b""


def signed_with_public_key(provider: InventiveProvider) -> None:
    provider.header, provider.sign = {"alg": "HS256"}, provider.sign_hs256


def of_another_key(provider: InventiveProvider) -> None:
    other = rsa.generate_private_key(65537, 2048)
    provider.sign = lambda message: other.sign(message, padding.PKCS1v15(), hashes.SHA256())


def with_header(**header: Any) -> Change:
    return lambda provider: provider.header.update(header)


def with_claims(**claims: Any) -> Change:
    return lambda provider: provider.claims.update(claims)


def late(seconds: int, lasts: int = 300) -> Change:
    def change(provider: InventiveProvider) -> None:
        now = int(clock.now().timestamp())
        provider.claims = {"iat": now + seconds, "exp": now + seconds + lasts}

    return change


PROVES_NOTHING: list[tuple[Change, str]] = [
    (unsigned, "its algorithm is none"),
    (with_header(alg="NONE"), "its algorithm is NONE"),
    (signed_with_public_key, "its algorithm is HS256"),
    (with_header(alg=None), "its algorithm is None"),
    (with_header(alg=["RS256"]), "it can't be read"),
    (with_header(alg={"RS256": 1}), "it can't be read"),
    # The key's kind is the provider's word, not the token's.
    (with_header(alg="ES256"), "its key is not one of the provider's"),
    (with_header(kid="one-ec"), "its key is not one of the provider's"),
    (with_header(kid="another"), "its key is not one of the provider's"),
    (with_header(kid=["one"]), "Key ID header parameter must be a string"),
    (with_header(crit=["exp"]), "Unsupported critical extension: exp"),
    (with_header(crit=["b64"], b64=True), "it requires an unknown extension"),
    (of_another_key, "its signature is wrong"),
    (with_claims(iss="http://127.0.0.1:1"), "it is from another issuer"),
    (with_claims(aud="another-service"), "it is for another service"),
    (with_claims(aud=None), "it is for another service"),
    (with_claims(aud=[CLIENT, "another"]), "it was made for another service"),
    (with_claims(azp="another"), "it was made for another service"),
    (with_claims(nonce="another"), "it answers another request"),
    (with_claims(nonce=None), "it answers another request"),
    (with_claims(exp=None), "it has no exp or iat"),
    (with_claims(exp="tomorrow"), "its exp is not a time"),
    (with_claims(exp=True), "its exp is not a time"),
    (with_claims(iat=1e300), "its iat is not a time"),
    (late(-400), "it has expired"),
    (late(120), "it is not valid yet"),
    (late(-700, lasts=3600), "it is too old"),
    (with_claims(nbf=9_999_999_999), "it is not valid yet"),
    (with_claims(sub=None), "it names nobody"),
    (with_claims(sub="x" * 256), "it names nobody"),
    (with_claims(sub=7), "it names nobody"),
    (with_claims(at_hash=hash_half("of another")), "it is not for this access token"),
]


def test_a_token_that_proves_nothing(app, provider, caplog):
    for number, (change, why) in enumerate(PROVES_NOTHING):
        provider.forget()
        change(provider)
        caplog.clear()
        browser = app.test_client()
        browser.environ_base["REMOTE_ADDR"] = f"10.0.{number}.1"
        with caplog.at_level(logging.WARNING, "testimonials.company"):
            answer = sign_in_by(provider, app, browser)
        assert answer.status_code == 422, why
        assert why in caplog.text
        assert not is_signed_in(browser)


def test_a_token_that_is_unusual(app, provider):
    for change in (
        with_header(kid=None, alg="ES256"), with_claims(aud=[CLIENT]),
        with_claims(aud=[CLIENT, "another"], azp=CLIENT), with_claims(at_hash=hash_half("access")),
        late(50), with_claims(email_verified="true"),
    ):  # fmt: skip
        provider.forget()
        change(provider)
        if provider.header.get("alg") == "ES256":
            provider.sign = provider.sign_es256
        assert sign_in_by(provider, app).status_code == 303, (provider.header, provider.claims)


def test_an_answer_of_another_provider(app, provider):
    browser = app.test_client()
    mixed_up = provider.go(leave(browser), iss="https://evil.example")
    assert come_back(browser, mixed_up).status_code == 422
    # The code was not shown to anybody.
    assert "/token" not in provider.asked
    assert come_back(browser, provider.go(leave(browser), iss=provider.issuer)).status_code == 303
    for token in ("", "a.b", "a.b.c", "ä.b.c", "e30.e30.", "x" * 70_000, 7, None):
        answer = {"access_token": "a", "id_token": token}
        provider.answers["/token"] = lambda _, answer=answer: as_json(answer)  # type: ignore[misc]
        assert sign_in_by(provider, app).status_code == 422, token


def test_one_that_promised_to_name_itself(app, provider):
    provider.metadata = {"authorization_response_iss_parameter_supported": True}
    assert sign_in_by(provider, app).status_code == 422
    assert "/token" not in provider.asked


def test_somebody_who_says_no(app, provider):
    browser = app.test_client()
    state = leave(browser).partition("state=")[2].partition("&")[0]
    answer = browser.get(f"/login/company/done?error=access_denied&state={state}")
    assert (answer.status_code, "Try again" in answer.text) == (422, True)
    with app.app_context():
        events = db.session.query(Event).filter_by(type="company.refused").all()
        assert [each.details["reason"] for each in events] == ["access_denied"]


def test_userinfo_of_somebody_else(app, provider):
    provider.claims = {"email": None, "email_verified": None}
    provider.userinfo = {"sub": "eve", "email": "m@example.com", "email_verified": True}
    assert sign_in_by(provider, app).status_code == 422
    # An address there is not verified by what the token says of another, nor the other way round.
    provider.userinfo = {"email": "eve@example.com", "email_verified": True}
    provider.claims = {"email": "victim@example.com", "email_verified": None}
    assert sign_in_by(provider, app).status_code == 403
    provider.userinfo = {"email": "eve@example.com"}
    provider.claims = {"email": None, "email_verified": True}
    assert sign_in_by(provider, app).status_code == 403


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://id.example.com"}, {"issuer": None},
        {"token_endpoint": "ftp://127.0.0.1/token"}, {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)  # fmt: skip
def test_not_the_issuer(app, provider, metadata):
    provider.metadata = metadata
    assert app.test_client().post("/login/company").status_code == 503


@pytest.mark.parametrize("happens", ["refuses", "fails", "rambles"])
def test_while_it_is_away_everything_else_works(app, make_caller, provider, happens):
    owner = make_caller("owner@example.com", is_claimed=True)
    if happens == "refuses":
        provider.stop()
    said = Response("", 500) if happens == "fails" else Response("<html>")
    provider.answers["/.well-known/openid-configuration"] = lambda _: said
    browser = app.test_client()
    answer = browser.post("/login/company")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert "Maplevale ID</bdi> doesn’t answer" in answer.text
    assert "/login" in answer.text
    # It is left alone for a while.
    asked = len(provider.asked)
    assert browser.post("/login/company").status_code == 503
    assert len(provider.asked) == asked
    assert is_signed_in(open_known_browser(app, owner))


def test_a_provider_that_says_nothing_holds_two_threads_at_most(app, provider, monkeypatch):
    monkeypatch.setattr(client, "SECONDS", 1)
    monkeypatch.setattr(client, "TURN_SECONDS", 0.1)
    provider.answers["/.well-known/openid-configuration"] = lambda _: Signal().wait(1.5)
    statuses = at_once(6, lambda _: app.test_client().post("/login/company").status_code)
    assert (statuses, len(provider.asked)) == ([503] * 6, client.AT_ONCE)


def test_without_a_company_there_is_no_such_door(make_app):
    browser = make_app().test_client()
    assert "Sign in with" not in browser.get("/login").text
    assert browser.post("/login/company").status_code == 404
    assert browser.get("/login/company/done?state=x").status_code == 403


def find_problems(app: Flask) -> str:
    done = app.test_cli_runner().invoke(args=["doctor", "--json"])
    checks = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
    return " ".join(each["problem"] for each in checks["company sign-in"]["findings"])


def test_doctor_asks_the_provider(make_app, provider):
    assert find_problems(make_app()) == ""
    assert find_problems(make_app(**settings_for(provider.issuer))) == ""
    groups = {"oidc_groups": "A=admin", "oidc_workspace": "nobody@example.com"}
    problems = find_problems(make_app(**settings_for(provider.issuer, **groups)))
    assert "No account has the address nobody@example.com" in problems
    # An issuer is compared letter by letter.
    problems = find_problems(make_app(**settings_for(f"{provider.issuer}/")))
    assert "it names itself" in problems
    provider.stop()
    gone = provider.issuer.replace("127.0.0.1", "localhost")
    assert "can't be used" in find_problems(make_app(**settings_for(gone)))


def test_the_operator_unlinks(app, provider):
    browser = app.test_client()
    sign_in_by(provider, app, browser)
    runner = app.test_cli_runner()
    done = runner.invoke(args=["accounts", "unlink-company", MIRA["email"], "--json"])
    assert json.loads(done.stdout)["unlinked"] == MIRA["email"]
    assert browser.get("/dashboard/account").status_code == 303
    provider.subject = "miras-successor"
    assert sign_in_by(provider, app).status_code == 303


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"oidc_issuer": "https://id.example.com"}, "OIDC_CLIENT_ID must be set"),
        ({"oidc_issuer": "http://id.example.com", "oidc_client_id": "c"}, "must be the issuer"),
        ({"oidc_issuer": f"https://id.example.com/{'a' * 500}"}, "must be the issuer"),
        (
            {"oidc_issuer": "https://id.example.com?a=b", "oidc_client_id": "c"},
            "must be the issuer",
        ),
        ({"oidc_trust_email": "on"}, "OIDC_DOMAINS must be set"),
        ({"passwords": "off"}, "only with OIDC_ISSUER"),
        ({"oidc_groups": "Marketing=owner"}, "roles are admin, moderator, reader"),
        ({"oidc_groups": "Marketing"}, "must list groups"),
        ({"oidc_groups": "Marketing=admin"}, "OIDC_WORKSPACE must be set"),
        ({"oidc_name": "x" * 41}, "at most 40 characters"),
    ],
)
def test_settings_that_cannot_be(tmp_path, given, problem):
    with pytest.raises(SettingError, match=problem):
        load_settings({}, {"instance_path": str(tmp_path)} | given)
