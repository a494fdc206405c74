"""The log: a line for each request, without secrets; repeated faults are counted."""

import json
import logging
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core.logs.lines import MAX_FAULTS, JsonFormatter, PlainFormatter, RepeatFilter
from tests.conftest import Caller, MakeApp


class Lines(logging.Handler):
    """Records each line in both formats."""

    def __init__(self) -> None:
        super().__init__()
        self.plain: list[str] = []
        self.json: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record in both formats."""
        self.plain.append(PlainFormatter().format(record))
        self.json.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def lines(app: Flask) -> Iterator[Lines]:
    """What the application logs while the test runs."""
    handler, logger = Lines(), logging.getLogger("testimonials")
    level = logger.level
    logger.setLevel("INFO")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_request_is_one_line_with_its_id(client: FlaskClient, lines: Lines) -> None:
    answer = client.get("/v1/me?x=1")
    (line,) = lines.json
    assert set(line) >= {"time", "level", "logger", "message", "milliseconds"}
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/me", 401)
    assert f"request_id={line['request_id']} method=GET path=/v1/me" in lines.plain[0]


def test_a_refused_request_says_who_it_was_and_why(
    owner: Caller, agent: Caller, lines: Lines
) -> None:
    project = owner.create_project()["_id"]
    agent.get(f"/v1/projects/{project}")
    agent.client.get("/v1/me", headers=agent.headers | {"x-api-key": owner.api_key})
    agent.client.post("/login", headers={"Sec-Fetch-Site": "cross-site"})
    refused = [(line["status"], line.get("actor"), line["code"]) for line in lines.json[1:]]
    assert refused == [
        (404, f"agent:{agent.api_key[-4:]}", "NOT_FOUND"),
        (401, None, "INVALID_CREDENTIALS"),
        (403, None, "CROSS_SITE_REQUEST"),
    ]


def test_a_path_can_not_forge_a_line(client: FlaskClient, lines: Lines) -> None:
    client.get("/v1/x%0A2026-01-01T00:00:00.000Z info forged%0D%1b[31m%E2%80%A8")
    assert len(lines.plain) == 1
    assert len(lines.plain[0].splitlines()) == 1
    assert "\x1b" not in lines.plain[0]


def test_keys_and_addresses_of_people_are_not_logged(agent: Caller, lines: Lines) -> None:
    agent.get("/v1/me")
    agent.client.post("/v1/auth/agent-init", json={"email": "private@example.com"})
    agent.client.get(f"/v1/me?key={agent.api_key}")
    logged = "\n".join(lines.plain)
    assert len(lines.plain) == 3
    assert agent.api_key not in logged
    assert "private@example.com" not in logged


SECRETS = (
    "postgresql://shop:p%2Fw@db.example.com/shop",
    "smtp://shop%40example.com:p%2Fw@mail.example.com:587",
    "Key (email)=(private@example.com) already exists",
    "'Ünï.Name+tag'@bücher.example",
    "/no/such/private@b%C3%BCcher.example",
    "tst_live_abcDEF123456",
    "Bearer tst_tok_abcDEF123456",
    "whsec_MfKQ+abcDEF/9r8=",
    "/claim/WyJhYmNkZWYiLCJ4eXoiXQ.aSBm_g.hqSzq0ZUpbUXK3m6Y2PDoHqGqzM",
    "cookie 3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_gets_into_a_line_by_any_way(lines: Lines, secret: str) -> None:
    logger = logging.getLogger("testimonials")
    logger.warning("it failed: %s", secret)
    try:
        raise ValueError(secret)
    except ValueError:
        logger.exception("unhandled fault")
    written = "\n".join(lines.plain) + json.dumps(lines.json, ensure_ascii=False)
    for part in ("p%2Fw", "private@", "Name+tag", "abcDEF", "hqSzq0ZU", "3q2-7w"):
        assert part not in written
    assert "it failed" in written
    assert "ValueError" in written


def test_what_is_said_during_a_request_has_its_id(make_app: MakeApp, lines: Lines) -> None:
    app = make_app(is_own=True)

    @app.get("/fails")
    def fail() -> str:
        logging.getLogger("testimonials").warning("on the way")
        raise ValueError("private@example.com")

    answer = app.test_client().get("/fails")
    assert answer.status_code == 500
    assert {line["request_id"] for line in lines.json} == {answer.headers["X-Request-Id"]}
    assert [line["message"] for line in lines.json] == ["on the way", "a request failed", "request"]
    assert "private@" not in "\n".join(lines.plain)


def test_a_fault_is_logged_with_its_traceback(lines: Lines) -> None:
    try:
        raise ValueError("broken\npart")
    except ValueError:
        logging.getLogger("testimonials").exception("unhandled fault")
    assert "Traceback" in lines.plain[0]
    assert "ValueError" in str(lines.json[0]["exception"])


def test_a_fault_is_logged_once_a_minute_with_the_number_of_its_repeats() -> None:
    repeats = RepeatFilter()

    def log(problem: str, second: float) -> str | None:
        error = ValueError(problem)
        values = {
            "msg": "it failed",
            "created": 1e9 + second,
            "exc_info": (ValueError, error, None),
        }
        record = logging.makeLogRecord(values)
        return record.getMessage() if repeats.filter(record) else None

    assert [log("this", second) for second in (0, 1, 59)] == ["it failed", None, None]
    assert log("that", 59) == "it failed"
    assert log("this", 60) == "it failed (2 more before)"
    assert log("this", 61) is None
    # The clock was set back.
    assert log("this", -3600) == "it failed (1 more before)"
    assert all(log(f"problem {number}", 0) for number in range(2 * MAX_FAULTS))
    assert len(repeats._seen) <= MAX_FAULTS
    assert all(repeats.filter(logging.makeLogRecord({"msg": "no fault"})) for _ in range(3))
