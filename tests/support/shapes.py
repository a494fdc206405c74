"""The shapes that every answer of the API has, as assertions that give what is inside."""

from typing import Any

from werkzeug.test import TestResponse

from testimonials.core.http.openapi import list_error_codes


def data_of(answer: TestResponse) -> Any:
    """Check the envelope of a success; return its payload."""
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/json"
    body = answer.get_json()
    assert set(body) == {"message", "data"}
    assert isinstance(body["message"], str)
    assert body["message"]
    assert "Set-Cookie" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers
    return body["data"]


def error_of(answer: TestResponse, status: int, code: str, *fields: str) -> dict[str, Any]:
    """Check the one shape of an error, with `fields` blamed and no others; return the body."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers
    body: dict[str, Any] = answer.get_json()
    assert set(body) == {"message", "code"} | ({"errors"} if fields else set())
    assert body["code"] == code
    if answer.request.path.startswith("/v1/"):
        assert code in {each.code for each in list_error_codes()}
    assert isinstance(body["message"], str)
    if fields:
        assert set(body["errors"]) == set(fields)
        for messages in body["errors"].values():
            assert messages
            # The message alone must be enough to mend the request.
            assert all(message in body["message"] for message in messages)
    return body
