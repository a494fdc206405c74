"""What a JSON body must be (decisions, "Envelope and errors")."""

import json

import pytest
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.support.shapes import data_of, error_of

LIMIT = 64 * 1024


def send(
    caller: Caller, body: bytes, content_type: str | None = "application/json"
) -> TestResponse:
    return caller.client.post(
        "/v1/projects", data=body, content_type=content_type, headers=caller.headers
    )


def count_projects(caller: Caller) -> int:
    return len(caller.get("/v1/projects").get_json()["data"])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n\t", id="blank"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"businessName=Fern", id="a form"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'"text"', id="string"),
        pytest.param(b"5", id="number"),
        pytest.param(b"null", id="null"),
        pytest.param(b"true", id="boolean"),
        pytest.param(b"{} {}", id="two values"),
        pytest.param(b"{'slug': 'a'}", id="single quotes"),
        pytest.param(b'{"slug": "a",}', id="trailing comma"),
        pytest.param(b'{"headline": "a\nb"}', id="raw line break in a string"),
        pytest.param(b'\xef\xbb\xbf{"slug": "a"}', id="byte order mark"),
        pytest.param(b'{"slug": "\xff"}', id="invalid UTF-8"),
        pytest.param(b'{"slug": "\xed\xa0\x80"}', id="surrogate in UTF-8"),
        pytest.param('{"slug": "é"}'.encode("latin-1"), id="Latin-1"),
        pytest.param('{"slug": "a"}'.encode("utf-16"), id="UTF-16"),
        pytest.param(rb'{"headline": "\ud800"}', id="lone surrogate"),
        pytest.param(rb'{"\udfff": "a"}', id="lone surrogate in a name"),
        pytest.param(b'{"website": NaN}', id="NaN"),
        pytest.param(b'{"website": Infinity}', id="Infinity"),
        pytest.param(b'{"website": -Infinity}', id="minus Infinity"),
        pytest.param(b'{"website": 1e999}', id="number past every float"),
        pytest.param(b'{"website": ' + b"9" * 5000 + b"}", id="number of 5000 digits"),
        pytest.param(b'{"slug": "a", "slug": "b"}', id="a name twice"),
        pytest.param(b'{"slug": {"a": 1, "a": 2}}', id="a name twice further in"),
        pytest.param(b'{"slug": ' + b"[" * 30000 + b"]" * 30000 + b"}", id="nested deeply"),
    ],
)
def test_what_is_no_json_object_is_400(agent: Caller, body: bytes) -> None:
    error_of(send(agent, body), 400, "INVALID_BODY")
    assert count_projects(agent) == 0


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json"],
)
def test_another_content_type_is_400_and_names_the_right_one(
    agent: Caller, content_type: str | None
) -> None:
    error = error_of(send(agent, b"{}", content_type), 400, "INVALID_BODY")
    assert "Content-Type: application/json" in error["message"]
    assert count_projects(agent) == 0


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json"],
)
def test_json_by_another_spelling_is_taken(agent: Caller, content_type: str) -> None:
    data_of(send(agent, b'{"slug": "spelt"}', content_type))


def test_escapes_of_a_whole_character_are_taken(agent: Caller) -> None:
    created = data_of(send(agent, rb'{"headline": "\ud83d\ude00 \u00e9"}'))
    assert created["publicPageConfig"]["headline"] == "😀 é"


def test_64_kib_are_taken(agent: Caller) -> None:
    body = b'{"slug": "full"}'
    data_of(send(agent, body + b" " * (LIMIT - len(body))))


def test_one_byte_more_is_413_as_json(agent: Caller) -> None:
    body = b'{"slug": "full"}'
    error = error_of(send(agent, body + b" " * (LIMIT + 1 - len(body))), 413, "BODY_TOO_LARGE")
    assert "64 KiB" in error["message"]
    assert count_projects(agent) == 0


def test_the_limit_holds_on_agent_init_too(agent: Caller) -> None:
    answer = agent.client.post(
        "/v1/auth/agent-init", data=b" " * (LIMIT + 1), content_type="application/json"
    )
    error_of(answer, 413, "BODY_TOO_LARGE")


@pytest.mark.parametrize("name", ["business_name", "Slug", "", "_schema", "naïve\u0000", "x" * 999])
def test_unknown_fields_are_400_and_named_with_the_known_ones(agent: Caller, name: str) -> None:
    error = error_of(
        agent.post("/v1/projects", {"slug": "a", name: 1}), 400, "VALIDATION_FAILED", name
    )
    assert name in error["message"]
    assert "businessName, slug, website" in error["errors"][name][0]
    assert count_projects(agent) == 0


def test_all_broken_rules_are_named_at_once(agent: Caller) -> None:
    error_of(
        agent.post("/v1/projects", {"slug": 5, "website": None, "colour": "red", "headline": "ok"}),
        400,
        "VALIDATION_FAILED",
        "slug",
        "website",
        "colour",
    )


def test_bodies_of_requests_that_take_none_are_passed_over(agent: Caller) -> None:
    data_of(agent.get("/v1/projects", data=b"{", content_type="application/json"))


def test_markup_comes_back_as_it_was_sent(agent: Caller) -> None:
    text = "<script>alert('x')</script> & \"more\" \u2028 \\"
    created = data_of(send(agent, json.dumps({"description": text}).encode()))
    assert created["publicPageConfig"]["description"] == text
    read = data_of(agent.get(f"/v1/projects/{created['_id']}"))
    assert read == created
