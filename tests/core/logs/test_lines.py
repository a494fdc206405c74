"""The log: a line for each request, without secrets; repeated faults are counted, and reported."""

import gzip
import itertools
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from flask import Flask

from testimonials import __version__
from testimonials.core.logs import MAX_FAULTS, JsonFormatter, PlainFormatter, RepeatFilter
from tests.integrations.webhooks.receiver import Receiver, receiving
from tests.support.servers import PATIENCE, wait_for


class Lines(logging.Handler):
    """Records each line in both formats."""

    def __init__(self) -> None:
        super().__init__()
        self.plain: list[str] = []
        self.json: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.plain.append(PlainFormatter().format(record))
        self.json.append(json.loads(JsonFormatter().format(record)))


@pytest.fixture
def lines(app: Flask) -> Iterator[Lines]:
    handler, logger = Lines(), logging.getLogger("testimonials")
    level = logger.level
    logger.setLevel("INFO")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_request_is_one_line_with_its_id(client, lines):
    answer = client.get("/v1/me?x=1")
    (line,) = lines.json
    assert set(line) >= {"time", "level", "logger", "message", "milliseconds"}
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/me", 401)
    assert f"request_id={line['request_id']} method=GET path=/v1/me" in lines.plain[0]


def test_a_refused_request_says_who_and_why(owner, agent, lines):
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


def test_a_path_can_not_forge_a_line(agent, lines):
    client = agent.client
    client.get("/v1/x%0A2026-01-01T00:00:00.000Z info forged%0D%1b[31m%E2%80%A8")
    assert len(lines.plain) == 1
    assert len(lines.plain[0].splitlines()) == 1
    assert "\x1b" not in lines.plain[0]
    # Nor do keys and addresses of people get in.
    agent.get(f"/v1/me?key={agent.api_key}")
    client.post("/v1/auth/agent-init", json={"email": "private@example.com"})
    assert len(lines.plain) == 3
    for secret in (agent.api_key, "private@example.com"):
        assert secret not in "".join(lines.plain)


SECRETS = (
    "postgresql://shop:p%2Fw@db.example.com/shop",
    "smtp://shop%40example.com:p%2Fw@mail.example.com:587",
    "Key (email)=(private@example.com) already exists", "'Ünï.Name+tag'@bücher.example",
    "/no/such/private@b%C3%BCcher.example", "tst_live_abcDEF123456", "Bearer tst_tok_abcDEF123456",
    "whsec_MfKQ+abcDEF/9r8=", "/claim/WyJhYmNkZWYiLCJ4eXoiXQ.aSBm_g.hqSzq0ZUpbUXK3m6Y2PDoHqGqzM",
    "cookie 3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
)  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_gets_into_a_line_by_any_way(lines, secret):
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
    assert "Traceback" in lines.plain[-1]
    assert "ValueError" in str(lines.json[-1]["exception"])


def test_what_is_said_during_a_request_has_its_id(make_app, lines):
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


def test_a_fault_is_logged_once_a_minute_with_the_number_of_its_repeats():
    repeats = RepeatFilter()

    def log(problem: str, second: float) -> str | None:
        error = ValueError(problem)
        values = {"msg": "it failed", "created": 1e9 + second}
        record = logging.makeLogRecord(values | {"exc_info": (ValueError, error, None)})
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


@pytest.fixture
def sentry() -> Iterator[Receiver]:
    """A server in place of Sentry; nothing is reported to it after the test."""
    with receiving() as server:
        yield server
        sentry_sdk.get_client().close(timeout=PATIENCE)
        sentry_sdk.get_global_scope().set_client(None)


def dsn_of(sentry: Receiver) -> str:
    return sentry.url.replace("//", "//public@").replace("hook", "1")


def read_reports(sentry: Receiver) -> str:
    """Return all that it got, as text."""
    parts = zip(sentry.bodies, sentry.headers, strict=True)
    return "".join(
        (gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body).decode()
        for body, headers in parts
    )


def find_events(sentry: Receiver) -> list[dict[str, Any]]:
    pairs = itertools.pairwise(read_reports(sentry).splitlines())
    return [json.loads(item) for head, item in pairs if '"type":"event"' in head.replace(" ", "")]


def add_fault(app: Flask) -> None:
    @app.post("/fails")
    def fail() -> str:
        secret = "tst_live_abcdef0123456789"
        raise ValueError(f"private@example.com sent {secret}")


def test_a_report_is_without_secrets(make_app, sentry, backend):
    app = make_app(sentry_dsn=dsn_of(sentry))
    add_fault(app)
    answer = app.test_client().post(
        "/fails?email=query@example.com",
        data={"email": "form@example.com", "password": "three blue wardrobes"},
        headers={"Cookie": "testimonials=cookie-secret", "User-Agent": "Somebody's browser"},
    )
    assert answer.status_code == 500
    (event,) = wait_for(lambda: find_events(sentry), what="the event")
    problem = event["exception"]["values"][0]
    assert (problem["type"], problem["value"]) == ("ValueError", "(address) sent (key)")
    assert event["extra"]["request_id"] == answer.headers["X-Request-Id"]
    assert event["release"] == __version__
    for secret in (
        "private@", "query@", "form@", "wardrobes", "cookie-secret", "abcdef0123", "Someone",
    ):  # fmt: skip
        assert secret not in read_reports(sentry)
    assert not {"user", "request", "server_name"} & event.keys()


def test_what_is_no_error_is_not_reported(make_app, sentry, backend):
    app = make_app(sentry_dsn=dsn_of(sentry))
    logging.getLogger("testimonials").warning("a warning")
    assert app.test_client().get("/v1/me").status_code == 401
    logging.getLogger("testimonials").error("the mark")
    sentry_sdk.flush(PATIENCE)
    assert [event["logentry"]["message"] for event in find_events(sentry)] == ["the mark"]


def test_without_the_setting_nothing_leaves(make_app, sentry):
    app = make_app(is_own=True)
    add_fault(app)
    assert app.test_client().post("/fails").status_code == 500
    assert (sentry_sdk.get_client().is_active(), sentry.bodies) == (False, [])
