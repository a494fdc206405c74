"""The credential headers and the API key (spec, "Authentication"; decisions, "Accounts")."""

import hashlib
import math
import time

from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from testimonials.auth.models import Account
from testimonials.core.data.identifiers import (
    BASE62,
    KEY_PREFIX,
    SECRET_LENGTH,
    is_api_key,
    is_identifier,
    new_api_key,
    new_identifier,
)
from testimonials.extensions import db
from tests.conftest import Caller, MovableClock
from tests.support.shapes import error_of

UNKNOWN = "0" * 24


def test_a_pair_that_does_not_match_is_401(agent: Caller) -> None:
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


def test_another_accounts_sound_key_is_401_with_the_same_answer(
    agent: Caller, outsider: Caller
) -> None:
    mixed = agent.headers | {"x-api-key": outsider.api_key}
    unknown = mixed | {"x-service-account-id": UNKNOWN}
    answers = [agent.client.get("/v1/me", headers=headers) for headers in (mixed, unknown, {})]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1


def test_a_bad_pair_is_401_before_the_body_or_the_project_is_looked_at(agent: Caller) -> None:
    project = agent.create_project()
    headers = agent.headers | {"x-api-key": new_api_key()}
    for path in (f"/v1/projects/{project['_id']}", f"/v1/projects/{UNKNOWN}"):
        assert agent.client.get(path, headers=headers).status_code == 401
    for body in (b"{", b" " * 70_000):
        answer = agent.client.post("/v1/projects", data=body, headers=headers)
        assert answer.status_code == 401


def test_an_unclaimed_account_ends_the_moment_its_days_are_over(
    agent: Caller, moved_clock: MovableClock
) -> None:
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


def test_only_the_hash_and_the_last_four_characters_of_a_key_are_stored(
    app: Flask, agent: Caller
) -> None:
    with app.app_context():
        account = db.session.get(Account, agent.account_id)
        assert account is not None
        assert account.key_hash == hashlib.sha256(agent.api_key.encode()).hexdigest()
        assert account.key_last_four == agent.api_key[-4:]
        columns = [getattr(account, column.key) for column in Account.__table__.columns]
        assert agent.api_key not in [str(value) for value in columns]


def test_a_key_has_the_fixed_prefix_enough_random_bits_and_a_checksum() -> None:
    key = new_api_key()
    assert key.startswith(KEY_PREFIX)
    assert SECRET_LENGTH * math.log2(len(BASE62)) >= 160
    assert is_api_key(key)
    assert key != new_api_key()


@given(position=st.integers(0, len(new_api_key()) - 1), character=st.sampled_from(BASE62))
def test_a_key_with_one_character_changed_fails_its_checksum(position: int, character: str) -> None:
    key = new_api_key()
    changed = key[:position] + character + key[position + 1 :]
    assert is_api_key(changed) == (changed == key)


@given(st.text(max_size=60))
def test_no_text_passes_for_a_key(text: str) -> None:
    assert not is_api_key(text)
    assert not is_api_key(KEY_PREFIX + text)


@given(st.text(max_size=30))
def test_only_24_hexadecimal_digits_are_an_id(text: str) -> None:
    assert is_identifier(text) == (len(text) == 24 and set(text) <= set("0123456789abcdef"))
    assert is_identifier(new_identifier())
    assert not is_identifier(new_identifier() + "\n")


def test_ids_sort_in_the_order_they_were_made_in() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_identifier() for _ in range(5000)]
    assert made == sorted(set(made))
    milliseconds = [int(identifier[:12], 16) for identifier in made]
    assert before <= milliseconds[0]
    assert milliseconds[-1] <= time.time_ns() // 1_000_000
    assert len(set(milliseconds)) < len(made) / 10  # many share one
