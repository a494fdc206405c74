"""Every error under /v1 has one shape (spec, "Errors"; decisions, "Envelope and errors")."""

import itertools
import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.core.http.errors import PLACES
from tests.auth.tokens import give_token
from tests.conftest import Caller, Case, MakeApp

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE")
PATHS = (
    "/v1/auth/agent-init", "/v1/me", "/v1/projects", "/v1/projects/{id}", "/v1/setup", "/v1/events",
    "/v1/openapi.json",
    *(f"/v1/projects/{{id}}/{path}" for path in (
        "widget-config", "embed-snippet", "widgets", "testimonials", "testimonials/demo",
        "testimonials/{id}/picture", "domain", "domain/check", "purchase-links", "requests",
        "requests/{id}", "summary", "insights", "page-config", "logo", "page-design", "cover",
        "portrait", "forms", "forms/{id}", "widget-design", "testimonials/bulk",
        "testimonials/{id}", "testimonials/{id}/avatar", "testimonials/{id}/restore",
        "submissions/decisions", "submissions", "undo", "imports", "imports/{id}/undo", "tags",
        "tags/{id}", "proposals", "proposals/{id}", "webhooks", "webhooks/{id}",
        "webhooks/{id}/deliveries", "webhooks/{id}/redeliver", "webhooks/{id}/rotate",
        "webhooks/{id}/test",
    )),
)  # fmt: skip
UNKNOWN = (
    "/v1", "/v1/", "/v1/nothing", "/v1/projects/", "/v1//projects", "/v1/me/", "/v1/ME", "/v1/%00",
    "/v1/projects/%2e%2e/%2e%2e", "/v1/projects/a/b/c", "/v1/<script>alert(1)</script>",
    "/v1/" + "x" * 5000,
)  # fmt: skip
WITH_BODY = (
    ("POST", "/v1/projects"), ("PATCH", "/v1/projects/{id}/widget-config"),
    ("POST", "/v1/projects/{id}/testimonials"), ("POST", "/v1/auth/agent-init"),
)  # fmt: skip
# What is sent where an empty object is refused before the project is looked up.
BODY_OF = {
    "/v1/projects/{id}/domain": {"host": "reviews.example.com"},
    "/v1/projects/{id}/forms": {"title": "After class"},
    "/v1/projects/{id}/testimonials": {"authorName": "Maya", "text": "Good."},
    "/v1/projects/{id}/testimonials/bulk": {"testimonials": [{}]},
    "/v1/projects/{id}/purchase-links": {"order": "A-1042"},
    "/v1/projects/{id}/requests": {"people": [{"email": "maya@example.com"}]},
    "/v1/projects/{id}/undo": {"undo": "x"},
    "/v1/projects/{id}/proposals": {"kind": "page", "values": {}},
    "/v1/setup": {"externalId": "x"},
    "/v1/projects/{id}/webhooks": {"url": "https://example.com/hook"},
    "/v1/projects/{id}/webhooks/{id}/redeliver": {"since": "2026-01-01T00:00:00Z"},
    "/v1/projects/{id}/submissions/decisions": {"decision": "pin", "ids": ["0" * 24]},
    "/v1/projects/{id}/tags/{id}": {"name": "x"},
}
BODIES: dict[str, tuple[bytes, str | None]] = {
    "empty": (b"", "application/json"), "white space": (b" \n", "application/json"),
    "no JSON": (b"{", "application/json"), "array": (b"[]", "application/json"),
    "string": (b'"x"', "application/json"), "null": (b"null", "application/json"),
    "NaN": (b'{"rating": NaN}', "application/json"),
    "infinite": (b'{"rating": 1e999}', "application/json"),
    "twice": (b'{"text": "a", "text": "b"}', "application/json"),
    "not UTF-8": (b'{"text": "\xff"}', "application/json"),
    "surrogate": (b'{"text": "\\ud800"}', "application/json"),
    "deep": (b'{"text":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "application/json"),
    "huge number": (b'{"rating": ' + b"9" * 5000 + b"}", "application/json"),
    "unknown field": (b'{"colour": "red"}', "application/json"),
    "form": (b"text=a", "application/x-www-form-urlencoded"), "no type": (b"{}", None),
    "too large": (b" " * 65_537, "application/json"),
}  # fmt: skip


def check_shape(answer: TestResponse, *statuses: int) -> Any:
    """Check that an answer is an error of the one shape; return its body."""
    assert answer.status_code in statuses or (not statuses and answer.status_code >= 400)
    assert answer.mimetype == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "Set-Cookie" not in answer.headers
    body = json.loads(answer.data)
    assert {"message", "code"} <= set(body) <= {"message", "code", "errors"}
    assert body["message"].strip()
    assert re.fullmatch(r"[A-Z][A-Z_]+", body["code"])
    for messages in body.get("errors", {}).values():
        assert messages
        assert all(isinstance(message, str) and message for message in messages)
    return body


def test_list_of_paths_is_whole(app: Flask) -> None:
    rules = {
        re.sub(r"<(path:)?\w+>", "{id}", rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1")
    }
    assert rules == set(PATHS)


def test_wrong_method(app: Flask, owner: Caller, case: Case) -> None:
    project, adapter = owner.create_project()["_id"], app.url_map.bind("")
    for path in PATHS:
        url = path.format(id=project)
        allowed = adapter.allowed_methods(url)
        for method in set(METHODS) - set(allowed):
            with case(path, method):
                answer = owner.client.open(url, method=method, headers=owner.headers)
                assert check_shape(answer, 405)["code"] == "METHOD_NOT_ALLOWED"
                assert set(answer.headers["Allow"].split(", ")) == set(allowed)


def test_unknown_path(owner: Caller, case: Case) -> None:
    for path, method in itertools.product(UNKNOWN, METHODS):
        with case(path[:40], method):
            answer = owner.client.open(path, method=method, headers=owner.headers)
            check_shape(answer, 404, 405)
            assert b"<script>" not in answer.data


def test_without_credentials(app: Flask, client: FlaskClient, case: Case) -> None:
    for path in PATHS:
        url = path.format(id="0" * 24)
        for method in app.url_map.bind("").allowed_methods(url):
            with case(path, method):
                answer = client.open(url, method=method)
                if path == "/v1/openapi.json":
                    assert answer.status_code == 200
                elif method == "HEAD":
                    assert answer.status_code == 401
                elif path == "/v1/auth/agent-init":
                    check_shape(answer, 400)
                else:
                    assert check_shape(answer, 401)["code"] == "INVALID_CREDENTIALS"


def test_bad_pair(owner: Caller, outsider: Caller, case: Case) -> None:
    own, key = owner.account_id, owner.api_key
    projects = owner.create_project()["_id"], "0" * 24
    pairs = {
        "none": ("", ""), "id alone": (own, ""), "key alone": ("", key),
        "wrong key": (own, outsider.api_key), "odd": ("\u00e9'--", "\u00ff"),
        "long": (own, "x" * 8000),
    }  # fmt: skip
    for name, (account, sent) in pairs.items():
        headers = {"x-service-account-id": account, "x-api-key": sent}
        with case(name):
            # A bad pair comes before the look-up of the project, and tells nothing of it.
            answers = [
                owner.client.get(f"/v1/projects/{each}", headers=headers) for each in projects
            ]
            bodies = [check_shape(answer, 401) for answer in answers]
            assert bodies[0] == bodies[1]


def test_foreign_looks_as_unknown(app: Flask, owner: Caller, outsider: Caller, case: Case) -> None:
    foreign, headers = outsider.create_project()["_id"], give_token(app, owner).headers
    unknown = ["0" * 24, "x", "%00", "' or 1=1", "\u00e9", "a" * 3000]
    for path in PATHS:
        if "{id}" not in path:
            continue
        for method in set(app.url_map.bind("").allowed_methods(path.format(id="x"))) - {"HEAD"}:
            # Other methods than POST take the word for a testimonial's id.
            is_other = path.endswith("/bulk") and method != "POST"
            sent: dict[str, Any] = {"json": {} if is_other else BODY_OF.get(path, {})}
            if method == "PUT" and path.endswith(("logo", "cover", "portrait", "avatar")):
                sent = {"data": b"picture", "content_type": "image/png"}
            with case(path, method):
                answers = [
                    owner.client.open(path.format(id=each), method=method, headers=headers, **sent)
                    for each in (foreign, *unknown)
                ]
                first, *others = (check_shape(answer, 404) for answer in answers)
                assert all(other == first for other in others)


def test_bad_body(owner: Caller, case: Case) -> None:
    project = owner.create_project()["_id"]
    for (kind, (data, content_type)), (method, path) in itertools.product(
        BODIES.items(), WITH_BODY
    ):
        with case(kind, path):
            answer = owner.client.open(
                path.format(id=project),
                method=method,
                headers=owner.headers,
                data=data,
                content_type=content_type,
                # No limit by address answers in the place of the check.
                environ_base={"REMOTE_ADDR": f"10.0.0.{list(BODIES).index(kind)}"},
            )
            check_shape(answer, 413 if kind == "too large" else 400)


def test_field_errors_stand_in_the_message_too(owner: Caller) -> None:
    body = check_shape(owner.post("/v1/projects", {"businessName": 5, "colour": "red"}), 400)
    assert set(body["errors"]) == {"businessName", "colour"}
    for field, messages in body["errors"].items():
        assert field in body["message"]
        assert all(message in body["message"] for message in messages)


def test_bad_query(owner: Caller) -> None:
    path = f"/v1/projects/{owner.create_project()['_id']}/testimonials"
    for query in ("limit=0", "limit=x", "offset=-1", "limit=", "offset=1e3"):
        errors = check_shape(owner.get(f"{path}?{query}"), 400)["errors"]
        assert list(errors) == [query.partition("=")[0]], query


def test_problem_details_for_who_asks(owner: Caller) -> None:
    """RFC 9457, beside the fields of every error."""
    for accept, is_problem in (
        ("application/problem+json", True), ("application/json, application/problem+json", True),
        ("application/json, application/problem+json;q=0.5", False),
        ("application/problem+json;q=0", False), ("*/*", False),
    ):  # fmt: skip
        for path in ("/v1/projects/x", "/v1/nothing", "/v1/projects?x=1"):
            answer = owner.client.get(path, headers=owner.headers | {"Accept": accept})
            assert (answer.mimetype == "application/problem+json") is is_problem
            body = answer.get_json()
            assert {"message", "code"} <= body.keys()
            if is_problem:
                assert body["type"] == f"https://testimonials.example.com/docs#{body['code']}"
                assert body["status"] == answer.status_code
                assert body["detail"] == body["message"] != body["title"]
                assert f'id="{body["code"]}"' in owner.client.get("/docs").text


def test_what_only_the_dashboard_has_says_where(owner: Caller) -> None:
    project = owner.create_project()["_id"]
    for call, place in (
        ("DELETE /v1/projects/{id}", "/dashboard/projects/{id}/settings"),
        ("PUT /v1/projects/{id}", "/dashboard/projects/{id}/settings"),
        ("POST /v1/projects/{id}/testimonials/x/approve", "/dashboard/projects/{id}/inbox"),
        ("GET /v1/projects/{id}/team/members", "/dashboard/projects/{id}/team"),
        ("POST /v1/projects/{id}/import", "/dashboard/projects/{id}/import"),
        ("GET /v1/projects/{id}/export", "/dashboard/projects/{id}/settings"),
        ("POST /v1/projects/{id}/widgets", "/dashboard/projects/{id}/widgets"),
        ("POST /v1/tokens", "/dashboard/account"),
        ("DELETE /v1/me", "/dashboard/account"),
        ("POST /v1/auth/login", "/login"),
    ):
        method, path = call.format(id=project).split()
        answer = owner.client.open(path, method=method, headers=owner.headers)
        said = check_shape(answer, 404, 405)["message"]
        assert f"https://testimonials.example.com{place.format(id=project)}" in said, call


def test_calls_that_messages_name_are_there(app: Flask, owner: Caller) -> None:
    rules = {re.sub(r"<\w+>", ":id", rule.rule) for rule in app.url_map.iter_rules()}
    named = {path for *_, text in PLACES for path in re.findall(r"(/v1/[\w/:-]+\w)", text)}
    assert named
    assert named <= rules


def test_fault_says_no_more(make_app: MakeApp, caplog: pytest.LogCaptureFixture) -> None:
    app = make_app(is_own=True)

    @app.get("/v1/broken")
    def fail() -> str:
        raise RuntimeError("password in the clear")

    answer = app.test_client().get("/v1/broken")
    body = check_shape(answer, 500)
    assert body["code"] == "INTERNAL_ERROR"
    assert "password" not in answer.text
    assert answer.headers["X-Request-Id"] in body["message"]
    assert answer.headers["X-Request-Id"] in [
        getattr(record, "request_id", None) for record in caplog.records
    ]
