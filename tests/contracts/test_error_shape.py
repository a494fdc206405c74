"""Every error under /v1 has one shape (spec, "Errors"; decisions, "Envelope and errors")."""

import itertools
import json
import re
from typing import Any

from werkzeug.test import TestResponse

from testimonials.core.http.errors import PLACES

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE")
UNKNOWN = (
    "/v1", "/v1/", "/v1/nothing", "/v1/projects/", "/v1//projects", "/v1/me/", "/v1/ME", "/v1/%00",
    "/v1/projects/%2e%2e/%2e%2e", "/v1/projects/a/b/c", "/v1/<script>alert(1)</script>",
    "/v1/" + "x" * 5000,
)  # fmt: skip


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


def test_wrong_method(app, owner, case):
    adapter = app.url_map.bind("")
    paths = {rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/v1/")}
    for path in sorted(paths):
        url = re.sub(r"<(path:)?\w+>", "x", path)
        allowed = adapter.allowed_methods(url)
        for method in set(METHODS) - set(allowed):
            with case(path, method):
                answer = owner.client.open(url, method=method, headers=owner.headers)
                assert check_shape(answer, 405)["code"] == "METHOD_NOT_ALLOWED"
                assert set(answer.headers["Allow"].split(", ")) == set(allowed)


def test_unknown_path(owner, case):
    for path, method in itertools.product(UNKNOWN, METHODS):
        with case(path[:40], method):
            answer = owner.client.open(path, method=method, headers=owner.headers)
            check_shape(answer, 404, 405)
            assert b"<script>" not in answer.data
    assert owner.get("/v1").json == owner.get("/v1/nothing").json


def test_problem_details_for_who_asks(owner):
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


def test_what_only_the_dashboard_has_says_where(owner):
    project = owner.create_project()["_id"]
    for call, place in (
        ("DELETE /v1/projects/{id}", "/dashboard/projects/{id}/settings"),
        ("PUT /v1/projects/{id}", "/dashboard/projects/{id}/settings"),
        ("POST /v1/projects/{id}/testimonials/x/approve", "/dashboard/projects/{id}/inbox"),
        ("GET /v1/projects/{id}/team/members", "/dashboard/projects/{id}/people"),
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


def test_calls_that_messages_name_are_there(app, owner):
    rules = {re.sub(r"<\w+>", ":id", rule.rule) for rule in app.url_map.iter_rules()}
    named = {path for *_, text in PLACES for path in re.findall(r"(/v1/[\w/:-]+\w)", text)}
    assert named
    assert named <= rules
