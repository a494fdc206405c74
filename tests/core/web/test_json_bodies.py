"""What a JSON body must be (decisions, "Envelope and errors")."""

import json

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


NO_OBJECTS = {
    "empty": b"",
    "blank": b" \n\t",
    "cut off": b"{",
    "a form": b"businessName=Fern",
    "list": b"[]",
    "string": b'"text"',
    "number": b"5",
    "null": b"null",
    "boolean": b"true",
    "two values": b"{} {}",
    "single quotes": b"{'slug': 'a'}",
    "trailing comma": b'{"slug": "a",}',
    "raw line break in a string": b'{"headline": "a\nb"}',
    "byte order mark": b'\xef\xbb\xbf{"slug": "a"}',
    "invalid UTF-8": b'{"slug": "\xff"}',
    "surrogate in UTF-8": b'{"slug": "\xed\xa0\x80"}',
    "Latin-1": '{"slug": "é"}'.encode("latin-1"),
    "UTF-16": '{"slug": "a"}'.encode("utf-16"),
    "lone surrogate": rb'{"headline": "\ud800"}',
    "lone surrogate in a name": rb'{"\udfff": "a"}',
    "NaN": b'{"website": NaN}',
    "Infinity": b'{"website": Infinity}',
    "minus Infinity": b'{"website": -Infinity}',
    "number past every float": b'{"website": 1e999}',
    "number of 5000 digits": b'{"website": ' + b"9" * 5000 + b"}",
    "a name twice": b'{"slug": "a", "slug": "b"}',
    "a name twice further in": b'{"slug": {"a": 1, "a": 2}}',
    "nested deeply": b'{"slug": ' + b"[" * 30000 + b"]" * 30000 + b"}",
}


def test_what_is_no_json_object_is_400(agent: Caller) -> None:
    for name, body in NO_OBJECTS.items():
        answer = send(agent, body)
        assert answer.status_code == 400, name
        error_of(answer, 400, "INVALID_BODY")
    assert count_projects(agent) == 0


def test_another_content_type_is_400_and_names_the_right_one(agent: Caller) -> None:
    for kind in (None, "text/plain", "application/x-www-form-urlencoded", "json"):
        error = error_of(send(agent, b"{}", kind), 400, "INVALID_BODY")
        assert "Content-Type: application/json" in error["message"]
    assert count_projects(agent) == 0
    for kind in (
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/merge-patch+json",
    ):
        data_of(send(agent, b"{}", kind))


def test_escapes_of_a_whole_character_are_taken(agent: Caller) -> None:
    created = data_of(send(agent, rb'{"headline": "\ud83d\ude00 \u00e9"}'))
    assert created["publicPageConfig"]["headline"] == "😀 é"


def test_64_kib_are_taken_and_one_byte_more_is_413_as_json(agent: Caller) -> None:
    body = b'{"slug": "full"}'
    error = error_of(send(agent, body + b" " * (LIMIT + 1 - len(body))), 413, "BODY_TOO_LARGE")
    assert "64 KiB" in error["message"]
    assert count_projects(agent) == 0
    data_of(send(agent, body + b" " * (LIMIT - len(body))))


def test_unknown_fields_are_400_and_named_with_the_known_ones(agent: Caller) -> None:
    for name in ("business_name", "Slug", "", "_schema", "naïve\u0000", "x" * 999):
        answer = agent.post("/v1/projects", {"slug": "a", name: 1})
        error = error_of(answer, 400, "VALIDATION_FAILED", name)
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
