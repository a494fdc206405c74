"""The credential headers, the API key and agent-init (spec; decisions, "Accounts")."""

import hashlib
import math
import re
import time

import pytest
from disposable_email_domains import blocklist
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from testimonials.auth.models import Account
from testimonials.core.db.identifiers import (
    BASE62,
    KEY_PREFIX,
    SECRET_LENGTH,
    is_credential,
    new_credential,
    new_identifier,
)
from testimonials.core.extensions import db
from tests.auth.links import credentials, init, mailed_links, mails
from tests.support.racing import at_once
from tests.support.shapes import data_of, error_of

UNKNOWN = "0" * 24


def test_a_pair_that_does_not_match_is_401(agent, outsider):
    """tests/contracts/test_error_shape knocks at every call; here are the headers."""
    key, hashed = agent.api_key, hashlib.sha256(agent.api_key.encode()).hexdigest()
    ids = ("", UNKNOWN, "' OR 1=1 --", "é" * 24, "a" * 10_000)
    keys = ("", "tst_live_", "é\xff", "a" * 10_000, hashed, key.lower(), key.upper(), key + "A")
    changed = [{"x-service-account-id": value} for value in ids]
    for change in changed + [{"x-api-key": value} for value in keys]:
        answer = agent.client.get("/v1/me", headers=agent.headers | change)
        message = error_of(answer, 401, "INVALID_CREDENTIALS")["message"]
        assert "x-service-account-id" in message
        assert "x-api-key" in message
        assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="testimonials"'
    assert agent.client.get("/v1/me", query_string=agent.headers).status_code == 401
    mixed = agent.headers | {"x-api-key": outsider.api_key}
    unknown = mixed | {"x-service-account-id": UNKNOWN}
    answers = [agent.client.get("/v1/me", headers=headers) for headers in (mixed, unknown, {})]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


def test_a_bad_pair_is_401_before_the_body_or_the_project_is_looked_at(agent):
    project = agent.create_project()
    headers = agent.headers | {"x-api-key": new_credential(KEY_PREFIX)}
    for path in (f"/v1/projects/{project['_id']}", f"/v1/projects/{UNKNOWN}"):
        assert agent.client.get(path, headers=headers).status_code == 401
    for body in (b"{", b" " * 70_000):
        assert agent.client.post("/v1/projects", data=body, headers=headers).status_code == 401


def test_an_unclaimed_account_ends_with_its_days(agent, moved_clock):
    agent.create_project(slug="fleeting")
    moved_clock.move(days=7, seconds=-5)
    assert agent.get("/v1/me").status_code == 200
    assert agent.client.get("/fleeting").status_code == 200
    moved_clock.move(seconds=6)
    # No sweep has run; the account counts as gone all the same.
    for path in ("/v1/me", "/v1/projects"):
        error_of(agent.get(path), 401, "INVALID_CREDENTIALS")
    error_of(agent.post("/v1/projects"), 401, "INVALID_CREDENTIALS")
    assert agent.client.get("/fleeting").status_code == 404


def test_only_hash_and_last_four_characters_of_a_key_are_stored(app, agent):
    with app.app_context():
        account = db.session.get(Account, agent.account_id)
        assert account is not None
        assert account.key_hash == hashlib.sha256(agent.api_key.encode()).hexdigest()
        assert account.key_last_four == agent.api_key[-4:]
        columns = [getattr(account, column.key) for column in Account.__table__.columns]
        assert agent.api_key not in [str(value) for value in columns]


def test_a_key_has_the_fixed_prefix_enough_random_bits_and_a_checksum():
    key = new_credential(KEY_PREFIX)
    assert key.startswith(KEY_PREFIX)
    assert SECRET_LENGTH * math.log2(len(BASE62)) >= 160
    assert is_credential(key, KEY_PREFIX)
    assert key != new_credential(KEY_PREFIX)


@given(position=st.integers(0, len(KEY_PREFIX) + 37), character=st.sampled_from(BASE62))
def test_a_key_with_one_character_changed_fails_its_checksum(position, character):
    key = new_credential(KEY_PREFIX)
    changed = key[:position] + character + key[position + 1 :]
    assert is_credential(changed, KEY_PREFIX) == (changed == key)


@given(st.text(max_size=60))
def test_no_text_passes_for_a_key(text):
    assert not is_credential(text, KEY_PREFIX)
    assert not is_credential(KEY_PREFIX + text, KEY_PREFIX)


def test_ids_sort_in_the_order_they_were_made_in():
    before = time.time_ns() // 1_000_000
    made = [new_identifier() for _ in range(5000)]
    assert made == sorted(set(made))
    milliseconds = [int(identifier[:12], 16) for identifier in made]
    assert before <= milliseconds[0]
    assert milliseconds[-1] <= time.time_ns() // 1_000_000
    assert len(set(milliseconds)) < len(made) / 10  # many share one


def test_a_new_address_gets_an_account_with_a_key_and_one_mail(app, client, make_app):
    answer = init(client, "Owner@Example.com")
    assert answer.headers["Cache-Control"] == "no-store"
    data = data_of(answer)
    assert set(data) == {"accountId", "apiKey", "claimRequired", "expiresInDays"}
    assert re.fullmatch(r"[0-9a-f]{24}", data["accountId"])
    assert data["apiKey"].startswith("tst_live_")
    assert (data["claimRequired"], data["expiresInDays"]) == (True, 7)
    assert isinstance(data["expiresInDays"], int)
    (mail,) = mails(app)
    assert (mail.purpose, mail.recipient, mail.state) == ("claim", "owner@example.com", "queued")
    assert len(mailed_links(app)) == 1
    assert data["apiKey"] not in mail.text + mail.html
    for days in (0.5, 30):
        found = data_of(init(make_app(claim_days=days).test_client()))
        assert found["expiresInDays"] == days


def test_calling_again_starts_the_days_anew(client, moved_clock):
    init(client)
    moved_clock.move(days=6.9)
    headers = credentials(init(client))
    moved_clock.move(days=6.9)
    assert client.get("/v1/me", headers=headers).status_code == 200


def test_a_claimed_address_keeps_its_key_and_gets_no_mail(app, owner):
    data = data_of(init(owner.client, "Owner@example.com"))
    assert set(data) == {"claimRequired", "accountExists", "message"}
    assert (data["claimRequired"], data["accountExists"]) == (False, True)
    assert isinstance(data["message"], str)
    assert "dashboard settings" in data["message"]
    body = {"email": "owner@example.com"}
    dry = owner.client.post("/v1/auth/agent-init?dryRun=true", json=body)
    assert (data_of(dry), dry.headers["X-Dry-Run"]) == (data, "true")
    assert mails(app) == []
    assert owner.get("/v1/me").status_code == 200


MALFORMED = [
    "", " ", "plain", "@example.com", "a@", "a@b", "a b@example.com", "a@exa mple.com", "a@@b.com",
    "a@example..com", ".a@example.com", "a@-example.com", "a@localhost", "a@[127.0.0.1]",
    "a@example.com, b@example.com", "A <a@example.com>", "a@example.com\u0000", "a\n@example.com",
    "a@" + "b" * 300 + ".com", "\u202ea@example.com",
]  # fmt: skip


def test_malformed_addresses_and_disposable_domains_are_400(app, client):
    for number, email in enumerate(MALFORMED):
        answer = init(client, email, f"10.0.{number}.1")
        code = answer.get_json()["code"]
        assert code in ("EMAIL_INVALID", "VALIDATION_FAILED"), email
        error_of(answer, 400, code, "email")
    assert "mailinator.com" in blocklist
    for prefix in ("", "mail.", "a.b.", "MAIL."):
        answer = init(client, f"a@{prefix}mailinator.com")
        assert "isposable" in error_of(answer, 400, "EMAIL_DISPOSABLE", "email")["message"]
    assert mails(app) == []


def test_addresses_of_the_whole_world_are_taken_and_compared_in_lower_case(client):
    for email in ("ünï@example.com", "a@bücher.example", "o'neil+x@example.com"):
        headers = credentials(init(client, email))
        assert data_of(client.get("/v1/me", headers=headers))["email"] == email
    error = error_of(client.post("/v1/auth/agent-init", json={}), 400, "VALIDATION_FAILED", "email")
    assert "required" in error["message"]
    spellings = ("new@example.com", "NEW@EXAMPLE.COM", " New@Example.com\n")
    assert len({data_of(init(client, each, "10.0.0.2"))["accountId"] for each in spellings}) == 1


def test_an_operator_can_allow_and_deny_domains(make_app):
    client = make_app(
        email_allow_domains="mailinator.com, good.throwaway.example",
        email_deny_domains=["throwaway.example", "bücher.example", "xn--mnchen-3ya.example"],
    ).test_client()
    data_of(init(client, "a@mailinator.com", "10.0.0.1"))
    data_of(init(client, "a@mail.mailinator.com", "10.0.0.1"))
    data_of(init(client, "a@good.throwaway.example", "10.0.0.1"))
    for domain in ("throwaway.example", "bad.throwaway.example", "a.bücher.example"):
        error_of(init(client, f"a@{domain}", "10.0.0.2"), 400, "EMAIL_DISPOSABLE", "email")
    for domain in ("xn--bcher-kva.example", "münchen.example"):
        error_of(init(client, f"a@{domain}", "10.0.0.3"), 400, "EMAIL_DISPOSABLE", "email")


def test_sign_up_that_is_closed_or_for_domains_says_so(make_app):
    app = make_app(signup="closed")
    error = error_of(init(app.test_client()), 400, "SIGNUP_CLOSED", "email")
    assert "closed" in error["message"]
    assert mails(app) == []
    # Those who have an account are recognised still.
    init(make_app().test_client(), "early@example.com")
    assert data_of(init(app.test_client(), "early@example.com"))["claimRequired"] is True
    client = make_app(signup="domains", signup_domains="example.com @bücher.example").test_client()
    data_of(init(client, "a@EXAMPLE.com", "10.0.0.5"))
    data_of(init(client, "a@xn--bcher-kva.example", "10.0.0.5"))
    data_of(init(client, "b@bücher.example", "10.0.0.5"))
    for domain in ("example.org", "sub.example.com", "notexample.com"):
        error = error_of(init(client, f"a@{domain}", "10.0.0.2"), 400, "SIGNUP_CLOSED", "email")
        assert "example.com" in error["message"]


def limited(answer: TestResponse, limit: int, what: str) -> None:
    error = error_of(answer, 429, "RATE_LIMITED")
    assert what in error["message"]
    wait = int(answer.headers["Retry-After"])
    assert 3500 < wait <= 3601
    assert answer.headers["RateLimit-Limit"] == str(limit)
    assert answer.headers["RateLimit-Remaining"] == "0"
    assert answer.headers["RateLimit-Reset"] == str(wait)
    assert f";q={limit};w=3600" in answer.headers["RateLimit-Policy"]
    assert answer.headers["RateLimit"].endswith(f";r=0;t={wait}")


def test_the_sixth_request_of_an_ip_in_an_hour_is_429(make_app):
    # Over restarts too, and whatever credentials or forwarded addresses come along.
    for number in range(5):
        data_of(init(make_app().test_client(), f"a{number}@example.com"))
    client = make_app().test_client()
    limited(init(client, "a5@example.com"), 5, "IP address")
    client.environ_base["HTTP_X_FORWARDED_FOR"] = "192.0.2.7"
    limited(init(client, "a5@example.com"), 5, "IP address")
    client.environ_base |= {"HTTP_X_API_KEY": "wrong", "HTTP_X_SERVICE_ACCOUNT_ID": "wrong"}
    data_of(init(client, "a5@example.com", "10.0.0.2"))


def test_every_request_of_an_ip_counts_also_the_ones_refused(client):
    path = "/v1/auth/agent-init"
    base = {"REMOTE_ADDR": "10.0.0.1"}
    client.post(path, data=b"{", content_type="application/json", environ_base=base)
    client.post(path, data=b"x" * 70_000, content_type="application/json", environ_base=base)
    client.post(path, data=b"", environ_base=base)
    init(client, "malformed")
    init(client, "a@mailinator.com")
    limited(init(client), 5, "IP address")


def test_the_fourth_request_for_an_address_is_429(app, client):
    answers = [init(client, ip=f"10.0.0.{number}") for number in range(3)]
    limited(init(client, "NEW@example.com", "10.0.0.9"), 3, "email address")
    # It changes neither key nor link.
    assert client.get("/v1/me", headers=credentials(answers[2])).status_code == 200
    assert len(mailed_links(app)) == 3
    data_of(init(client, "other@example.com", "10.0.0.9"))


@pytest.mark.parametrize(
    "spellings",
    [
        ["me@example.com", "me+a@example.com", "me+b+c@example.com", "ME+d@example.com"],
        ["joe.doe@gmail.com", "joedoe@gmail.com", "j.oedoe+x@googlemail.com", "joedoe+@gmail.com"],
    ],
)
def test_spellings_of_one_mailbox_count_together(client, spellings):
    statuses = [init(client, email, f"10.0.{n}.0").status_code for n, email in enumerate(spellings)]
    assert statuses == [200, 200, 200, 429]
    data_of(init(client, spellings[0].replace("e@", "u@").replace("joe.", "jo."), "10.0.9.0"))


def test_requests_without_a_usable_address_do_not_count_for_it(make_app):
    closed = make_app(signup="closed").test_client()
    for number in range(4):
        assert init(closed, ip=f"10.0.1.{number}").status_code == 400
    data_of(init(make_app().test_client()))


@pytest.mark.postgres
def test_two_at_once_for_a_new_address_make_one_account(app):
    answers = at_once(3, lambda number: init(app.test_client(), ip=f"10.0.0.{number}"))
    assert len({data_of(answer)["accountId"] for answer in answers}) == 1
    client = app.test_client()
    statuses = [client.get("/v1/me", headers=credentials(answer)).status_code for answer in answers]
    assert sorted(statuses) == [200, 401, 401]
    assert sorted(client.get(link).status_code for link in mailed_links(app)) == [200, 404, 404]


def test_addresses_of_one_ipv6_network_count_together(client):
    for number in range(5):
        data_of(init(client, f"a{number}@example.com", f"2001:db8:0:{number}::1"))
    assert init(client, "b@example.com", "2001:db8:0:ffff::1").status_code == 429
    assert init(client, "b@example.com", "2001:db8:1::1").status_code == 200
