"""Every error under /v1 is JSON of one shape (spec, "Errors"; decisions, "Envelope and errors")."""

import logging
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

from testimonials.extensions import db
from tests.conftest import Caller, MakeApp
from tests.support.shapes import error_of

UNKNOWN = "0" * 24


def test_paths_take_no_redirects(client: FlaskClient) -> None:
    assert client.get("//v1/me").status_code == 404
    assert client.get("/v1//me").status_code == 404


def test_head_answers_as_get_without_a_body(owner: Caller) -> None:
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


def test_a_fault_is_500_with_a_request_id_that_the_log_has_too(
    broken_app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_a_fault_on_a_page_is_told_in_the_visitors_language(broken_app: Flask) -> None:
    answer = broken_app.test_client().get("/some-page", headers={"Accept-Language": "de-AT"})
    assert (answer.status_code, answer.mimetype) == (500, "text/html")
    assert answer.headers["Content-Language"] == "de"
    assert "Bei uns ist etwas schiefgegangen" in answer.text
    assert "Es wurde nichts geändert." in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    english = broken_app.test_client().get("/v1/me", headers={"Accept-Language": "de-AT"})
    assert "schiefgegangen" not in english.text


def test_a_fault_leaves_the_application_working(broken_app: Flask) -> None:
    client = broken_app.test_client()
    for _ in range(20):
        assert client.post("/v1/auth/agent-init", json={"email": "a@example.com"}).status_code in (
            429,
            500,
        )
    assert client.get("/robots.txt").status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1/me"])
def test_a_host_that_is_none_is_refused(client: FlaskClient, path: str) -> None:
    answer = client.get(path, headers={"Host": "a" * 64})
    assert (answer.status_code, answer.json["code"]) == (400, "BAD_REQUEST")  # type: ignore[index]


def test_errors_elsewhere_are_pages(client: FlaskClient) -> None:
    answer = client.get("/no-such-page")
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    answer = client.put("/claim")
    assert (answer.status_code, answer.mimetype) == (405, "text/html")
    assert "<script>alert" not in client.get("/<script>alert(1)</script>").text
    assert "POST" in answer.headers["Allow"]


def test_every_answer_has_a_request_id_of_its_own(client: FlaskClient) -> None:
    first, second = (client.get("/v1/me").headers["X-Request-Id"] for _ in range(2))
    assert first != second


def test_every_answer_says_how_browsers_must_treat_it(client: FlaskClient) -> None:
    for path in ("/v1/me", "/claim", "/no-such-page", "/healthz"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "object-src 'none'; base-uri 'none'; " in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe-inline" not in headers["Content-Security-Policy"]
        assert "Referrer-Policy" in headers
        assert "Strict-Transport-Security" not in headers


@pytest.mark.parametrize("policy", ["max-age=31536000; includeSubDomains; preload", ""])
def test_browsers_are_kept_on_https_as_the_setting_says(make_app: MakeApp, policy: str) -> None:
    secure = "https://testimonials.example.com"
    for app, expected in ((make_app(), "max-age=31536000"), (make_app(hsts=policy), policy)):
        answer = app.test_client().get("/claim", base_url=secure)
        assert answer.headers.get("Strict-Transport-Security", "") == expected


@pytest.mark.parametrize("path", ["/nothing/here", "/signup", "/login"])
def test_a_part_without_a_name_is_no_field(client: FlaskClient, path: str) -> None:
    part = b"--b\r\nContent-Disposition: form-data; %s\r\n\r\nwords\r\n"
    body = part % b"x" + part % b'name="email"' + b"--b--"
    answer = client.post(path, data=body, content_type="multipart/form-data; boundary=b")
    assert answer.status_code in (404, 422)
    assert "words" in answer.text
