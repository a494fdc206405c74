"""Reports of faults, received by a local HTTP server in place of Sentry."""

import gzip
import itertools
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import sentry_sdk
from flask import Flask

from testimonials import __version__
from tests.conftest import MakeApp
from tests.support.servers import PATIENCE, wait_for


class Sentry(ThreadingHTTPServer):
    """Records the events that it receives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.events: list[dict[str, Any]] = []
        self.raw = ""


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Sentry)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.raw += body.decode()
        lines = body.decode().splitlines()
        for head, item in itertools.pairwise(lines):
            if '"type":"event"' in head.replace(" ", ""):
                self.server.events.append(json.loads(item))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def sentry() -> Iterator[Sentry]:
    """A server in place of Sentry; nothing is reported to it after the test."""
    server = Sentry()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    sentry_sdk.get_client().close(timeout=PATIENCE)
    sentry_sdk.get_global_scope().set_client(None)
    server.shutdown()
    server.server_close()


def add_fault(app: Flask) -> None:
    @app.post("/fails")
    def fail() -> str:
        secret = "tst_live_abcdef0123456789"
        raise ValueError(f"private@example.com sent {secret}")


def test_a_fault_is_reported_without_people_and_secrets(
    make_app: MakeApp, sentry: Sentry, backend: str
) -> None:
    app = make_app(sentry_dsn=f"http://public@127.0.0.1:{sentry.server_port}/1")
    add_fault(app)
    answer = app.test_client().post(
        "/fails?email=query@example.com",
        data={"email": "form@example.com", "password": "three blue wardrobes"},
        headers={"Cookie": "testimonials=cookie-secret", "User-Agent": "Somebody's browser"},
    )
    assert answer.status_code == 500
    (event,) = wait_for(lambda: sentry.events, what="the event")
    problem = event["exception"]["values"][0]
    assert (problem["type"], problem["value"]) == ("ValueError", "(address) sent (key)")
    assert event["extra"]["request_id"] == answer.headers["X-Request-Id"]
    assert event["release"] == __version__
    for secret in (
        "private@", "query@", "form@", "wardrobes", "cookie-secret", "abcdef0123", "Somebody",
    ):  # fmt: skip
        assert secret not in sentry.raw
    assert not {"user", "request", "server_name"} & event.keys()


def test_what_is_no_error_is_not_reported(make_app: MakeApp, sentry: Sentry, backend: str) -> None:
    app = make_app(sentry_dsn=f"http://public@127.0.0.1:{sentry.server_port}/1")
    logging.getLogger("testimonials").warning("a warning")
    assert app.test_client().get("/v1/me").status_code == 401
    logging.getLogger("testimonials").error("the mark")
    sentry_sdk.flush(PATIENCE)
    assert [event["logentry"]["message"] for event in sentry.events] == ["the mark"]


def test_without_the_setting_nothing_leaves(make_app: MakeApp, sentry: Sentry) -> None:
    app = make_app(is_own=True)
    add_fault(app)
    assert app.test_client().post("/fails").status_code == 500
    assert not sentry_sdk.get_client().is_active()
    assert sentry.raw == ""
