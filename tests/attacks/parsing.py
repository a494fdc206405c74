"""What a parser that strangers reach is attacked with, and through which doors."""

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testimonials.core.extensions import db
from tests.auth.browsers import open_browser
from tests.auth.proofs.authenticator import encode
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.mutating import to_json
from tests.testimonials.media import recorded

T = TypeVar("T")
CHALLENGE = encode(b"thirty-two bytes that are random")
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass(frozen=True)
class Parser:
    """Good samples (bytes, text or JSON), what reads one, and what it may raise."""

    samples: Sequence[Any]
    read: Callable[[Any], object]
    refusals: tuple[type[Exception], ...] = ()


class Faults(logging.Handler):
    """Keeps what the service logs as faults of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Exception] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], Exception):
            self.found.append(record.exc_info[1])


@contextmanager
def noting_faults() -> Iterator[list[Exception]]:
    handler, logger = Faults(), logging.getLogger("testimonials")
    logger.addHandler(handler)
    yield handler.found
    logger.removeHandler(handler)


@dataclass
class Attacked:
    """A service with a project, and who attacks it."""

    app: Flask
    owner: Caller
    folder: Path

    @cached_property
    def project_id(self) -> str:
        return str(recorded.make_page(self.app, self.owner)["_id"])

    @cached_property
    def browser(self) -> FlaskClient:
        return open_browser(self.app, self.owner)

    @cached_property
    def token(self) -> Caller:
        return give_token(self.app, self.owner)

    def knock(self, path: str, method: str = "GET", by: Any = None, **sent: Any) -> TestResponse:
        """Send a request, whose answer may be anything but a fault of the service."""
        with noting_faults() as faults:
            answer: TestResponse = (by or self.app.test_client()).open(path, method=method, **sent)
        if answer.status_code >= 500:
            raise (
                faults.pop()
                if faults
                else AssertionError(f"{answer.status_code} at {path}: {answer.text[:200]}")
            )
        for value in answer.headers.values():
            # As a server sends it.
            value.encode("latin-1")
        # The client keeps a large form in a file, which nobody reads when it is refused.
        answer.request.environ["wsgi.input"].close()
        return answer

    def call(self, path: str, method: str, body: Any) -> TestResponse:
        """Call the API with the body as JSON, however broken."""
        headers = self.token.headers | {"Content-Type": "application/json"}
        path = path.replace("PROJECT", self.project_id)
        return self.knock(path, method, data=as_text(body), headers=headers)


Make = Callable[[Attacked], Parser]
PARSERS: dict[str, Make] = {}


def parser(name: str) -> Callable[[Make], Make]:
    def keep(make: Make) -> Make:
        PARSERS[name] = make
        return make

    return keep


_turns = itertools.count()


def take(doors: Sequence[T], count: int) -> list[T]:
    """Return the next of several doors that read the same: each mutation goes through some."""
    return [doors[next(_turns) % len(doors)] for _ in range(count)]


def as_text(body: Any) -> bytes:
    """Return what is sent: JSON as text, and text as it is, lone surrogates too."""
    text = body if isinstance(body, str) else to_json(body)
    return text.encode("utf-8", "surrogatepass")


def as_header(text: str) -> str:
    """Return a header's value as servers hand it on: bytes in Latin-1, in one line."""
    sent = text.encode("utf-8", "surrogatepass").decode("latin-1")
    return sent.translate(dict.fromkeys(b"\r\n\x00"))


def in_app(attacked: Attacked, read: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return `read` as a request calls it, with nothing written in the end."""

    def run(sample: Any) -> object:
        with attacked.app.test_request_context():
            try:
                return read(sample)
            finally:
                db.session.rollback()

    return run
