"""Errors under /v1 are JSON of one shape, and so are bodies (decisions, "Envelope and errors")."""

import json
import logging
from collections.abc import Iterator

import pytest
from flask import Flask
from sqlalchemy import text
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from tests.conftest import Caller
from tests.support.shapes import data_of, error_of

UNKNOWN = "0" * 24


def test_head_answers_as_get_without_a_body_and_no_path_redirects(owner):
    assert [owner.client.get(path).status_code for path in ("//v1/me", "/v1//me")] == [404, 404]
    first, second = (owner.client.get("/v1/me").headers["X-Request-Id"] for _ in range(2))
    assert first != second
    answer = owner.client.head("/v1/me", headers=owner.headers)
    assert (answer.status_code, answer.data) == (200, b"")
    assert owner.client.head("/v1/me").status_code == 401


@pytest.fixture
def broken_app(app: Flask) -> Iterator[Flask]:
    """The application on a database that lacks the accounts."""
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("ALTER TABLE account RENAME TO account_elsewhere"))
    yield app
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("ALTER TABLE account_elsewhere RENAME TO account"))


def test_a_fault_is_500_with_a_request_id_that_the_log_has_too(broken_app, caplog):
    headers = {"x-service-account-id": UNKNOWN, "x-api-key": "tst_live_wrong"}
    answer = broken_app.test_client().get("/v1/me", headers=headers)
    error = error_of(answer, 500, "INTERNAL_ERROR")
    request_id = answer.headers["X-Request-Id"]
    assert request_id in error["message"]
    for secret in ("account", "SELECT", "Traceback", "tst_live_wrong"):
        assert secret not in answer.text
    faults = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record.request_id for record in faults] == [request_id]
    assert faults[0].exc_info
    # A page tells it in the visitor's language.
    answer = broken_app.test_client().get("/some-page", headers={"Accept-Language": "de-AT"})
    assert (answer.status_code, answer.mimetype) == (500, "text/html")
    assert answer.headers["Content-Language"] == "de"
    assert "Bei uns ist etwas schiefgegangen" in answer.text
    assert "Es wurde nichts geändert." in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    client = broken_app.test_client()
    english = client.get("/v1/me", headers={"Accept-Language": "de-AT"})
    assert "schiefgegangen" not in english.text
    # It leaves the application working.
    for _ in range(20):
        answer = client.post("/v1/auth/agent-init", json={"email": "a@example.com"})
        assert answer.status_code in (429, 500)
    assert client.get("/robots.txt").status_code == 200


def test_errors_elsewhere_are_pages(client):
    answer = client.get("/no-such-page")
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    answer = client.put("/claim")
    assert (answer.status_code, answer.mimetype) == (405, "text/html")
    assert "<script>alert" not in client.get("/<script>alert(1)</script>").text
    assert "POST" in answer.headers["Allow"]
    # Who types a slash at the end arrives, also below a path and at a host name of one's own.
    answer = client.get("/signup/?a=b%20c")
    assert (answer.status_code, answer.location) == (308, "../signup?a=b%20c")
    paths = ("/no/such/page/", "/signup//", "/v1/me/")
    assert [client.get(path).status_code for path in paths] == [404] * 3
    # A host that is none is refused.
    for path in ("/", "/v1/me"):
        answer = client.get(path, headers={"Host": "a" * 64})
        assert (answer.status_code, answer.json["code"]) == (400, "BAD_REQUEST")  # type: ignore[index]


def test_every_answer_says_how_browsers_must_treat_it(client):
    for path in ("/v1/me", "/claim", "/no-such-page", "/healthz"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "object-src 'none'; base-uri 'none'; " in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe-inline" not in headers["Content-Security-Policy"]
        assert "Referrer-Policy" in headers
        assert "Strict-Transport-Security" not in headers


@pytest.mark.parametrize("policy", ["max-age=31536000; includeSubDomains; preload", ""])
def test_browsers_are_kept_on_https_as_the_setting_says(make_app, policy):
    secure = "https://testimonials.example.com"
    for app, expected in ((make_app(), "max-age=31536000"), (make_app(hsts=policy), policy)):
        answer = app.test_client().get("/claim", base_url=secure)
        assert answer.headers.get("Strict-Transport-Security", "") == expected


@pytest.mark.parametrize("path", ["/nothing/here", "/signup", "/login"])
def test_a_part_without_a_name_is_no_field(client, path):
    part = b"--b\r\nContent-Disposition: form-data; %s\r\n\r\nwords\r\n"
    body = part % b"x" + part % b'name="email"' + b"--b--"
    answer = client.post(path, data=body, content_type="multipart/form-data; boundary=b")
    assert answer.status_code in (404, 422)
    assert "words" in answer.text


LIMIT = 64 * 1024


def send(
    caller: Caller, body: bytes, content_type: str | None = "application/json"
) -> TestResponse:
    return caller.client.post(
        "/v1/projects", data=body, content_type=content_type, headers=caller.headers
    )


NO_OBJECTS = {
    "empty": b"", "blank": b" \n\t", "cut off": b"{", "a form": b"businessName=Fern", "list": b"[]",
    "string": b'"text"', "number": b"5", "null": b"null", "boolean": b"true",
    "two values": b"{} {}", "single quotes": b"{'slug': 'a'}", "trailing comma": b'{"slug": "a",}',
    "raw line break in a string": b'{"headline": "a\nb"}',
    "byte order mark": b'\xef\xbb\xbf{"slug": "a"}', "invalid UTF-8": b'{"slug": "\xff"}',
    "surrogate in UTF-8": b'{"slug": "\xed\xa0\x80"}', "Latin-1": '{"slug": "é"}'.encode("latin-1"),
    "UTF-16": '{"slug": "a"}'.encode("utf-16"), "lone surrogate": rb'{"headline": "\ud800"}',
    "lone surrogate in a name": rb'{"\udfff": "a"}', "NaN": b'{"website": NaN}',
    "Infinity": b'{"website": Infinity}', "minus Infinity": b'{"website": -Infinity}',
    "number past every float": b'{"website": 1e999}',
    "number of 5000 digits": b'{"website": ' + b"9" * 5000 + b"}",
    "a name twice": b'{"slug": "a", "slug": "b"}',
    "a name twice further in": b'{"slug": {"a": 1, "a": 2}}',
    "nested deeply": b'{"slug": ' + b"[" * 30000 + b"]" * 30000 + b"}",
}  # fmt: skip


def test_what_is_no_json_object_is_400(agent):
    for name, body in NO_OBJECTS.items():
        answer = send(agent, body)
        assert answer.status_code == 400, name
        assert "sys." not in error_of(answer, 400, "INVALID_BODY")["message"]
    assert data_of(agent.get("/v1/projects")) == []


def test_another_content_type_is_400_and_names_the_right_one(agent):
    for kind in (None, "text/plain", "application/x-www-form-urlencoded", "json"):
        error = error_of(send(agent, b"{}", kind), 400, "INVALID_BODY")
        assert "Content-Type: application/json" in error["message"]
    assert data_of(agent.get("/v1/projects")) == []
    for kind in (
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/merge-patch+json",
    ):
        data_of(send(agent, b"{}", kind))


def test_64_kib_are_taken_and_one_byte_more_is_413_as_json(agent):
    body = b'{"slug": "full"}'
    error = error_of(send(agent, body + b" " * (LIMIT + 1 - len(body))), 413, "BODY_TOO_LARGE")
    assert "64 KiB" in error["message"]
    assert data_of(agent.get("/v1/projects")) == []
    data_of(send(agent, body + b" " * (LIMIT - len(body))))


def test_unknown_fields_are_400_and_named_with_the_known_ones(agent):
    for name in ("business_name", "Slug", "", "_schema", "naïve\u0000", "x" * 999):
        answer = agent.post("/v1/projects", {"slug": "a", name: 1})
        error = error_of(answer, 400, "VALIDATION_FAILED", name)
        assert name in error["message"]
        assert "businessName, slug, website" in error["errors"][name][0]
    broken = {"slug": 5, "website": None, "colour": "red", "headline": "ok"}
    named = ("slug", "website", "colour")
    error_of(agent.post("/v1/projects", broken), 400, "VALIDATION_FAILED", *named)
    assert data_of(agent.get("/v1/projects")) == []


def test_text_comes_back_as_it_was_sent(agent):
    created = data_of(send(agent, rb'{"headline": "\ud83d\ude00 \u00e9"}'))
    assert created["publicPageConfig"]["headline"] == "😀 é"
    # A body that a call takes none of is passed over.
    data_of(agent.get("/v1/projects", data=b"{", content_type="application/json"))
    text = "<script>alert('x')</script> & \"more\" \u2028 \\"
    created = data_of(send(agent, json.dumps({"description": text}).encode()))
    assert created["publicPageConfig"]["description"] == text
    read = data_of(agent.get(f"/v1/projects/{created['_id']}"))
    assert read == created
