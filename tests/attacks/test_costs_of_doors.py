"""Every door of the URL map, with as much as it lets in: the work grows no faster than that.

What is sent goes into the path, and into every parameter, field and header that the door's view was
seen to ask for, so a new one is attacked without being named here.
"""

import io
import json
import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import pytest
from flask import Flask, Request
from sqlalchemy import update
from waitress.adjustments import Adjustments
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.test import EnvironBuilder, run_wsgi_app

from testimonials.application import MAX_FORM_BYTES
from testimonials.auth.credentials import MAX_BYTES
from testimonials.auth.models import Session
from testimonials.core.extensions import db, limiter
from testimonials.core.http.resource import MAX_BODY_BYTES
from testimonials.core.logs import PlainFormatter
from testimonials.operations.server.worker import SERVER_OPTIONS, _Parser
from tests.attacks.conftest import restore
from tests.attacks.test_costs import cost, grows_too_fast
from tests.attacks.world import Door, World, find_doors
from tests.auth.browsers import COOKIE
from tests.auth.links import ORIGIN
from tests.support.sampling import mostly_thorough, sample

# The cheapest page costs a unit. Work is compared with that for a quarter past `NOTABLE` units, and
# no request costs more than `MOST_WORK`, a second or so.
NOTABLE, MOST_WORK = 200, 5_000
# An answer may show what was sent, escaped, in more than one place.
MOST_REPEATED = 10
HEAD_BYTES = int(SERVER_OPTIONS["max_request_header_size"]) - 2_000
FORM_BYTES, JSON_BYTES = MAX_FORM_BYTES - 8_000, MAX_BODY_BYTES // 2
# What is worst for some pattern or parser, each in lines of its own.
SHAPES = ("[", "(", "a", " ", "a@a.", "a:", "<a ", "-.", '"\\', "é,", "1", ",", "=;q=")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MARK = "placeholder"

Environ = dict[str, Any]


@lru_cache(maxsize=64)
def write_worst(size: int) -> str:
    """Return so many letters, with a line for each shape."""
    part = size // len(SHAPES)
    return "\n".join((shape * part)[: part - 1] for shape in SHAPES)


@lru_cache(maxsize=64)
def encode_worst(size: int) -> str:
    """Return so many bytes that are such a text in a query."""
    return write_worst(size).replace("\n", "%0A")


def name_many(size: int) -> dict[str, int]:
    """Return an object of so many bytes, or fewer, with names that no schema has."""
    return {f"x{place:x}": 1 for place in range(size // 13)}


class AskedValues(ImmutableMultiDict[str, Any]):
    """Parameters or fields that note which of them a view asks for."""

    names: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> Any:
        self.names.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.names.add(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None, type: Any = None) -> Any:
        return super().get(key, default) if key in self else default

    def getlist(self, key: str, type: Any = None) -> list[Any]:
        return super().getlist(key) if key in self else []


class AskedEnviron(dict[str, Any]):
    """An environment that notes which headers are asked for."""

    names: ClassVar[set[str]] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.names.add(key)
        return super().get(key, default)


class AskedRequest(Request):
    parameter_storage_class = AskedValues


class Target:
    """A door, and the requests of any size that can be sent to it."""

    def __init__(self, app: Flask, world: World, door: Door) -> None:
        self.app, self.world, self.door = app, world, door
        self.operation = getattr(app.view_functions[door.rule.endpoint], "operation", None)
        path = world.path(door)
        headers = {"Cookie": f"{COOKIE}={world.cookies['owner']}"} | world.keys["owner"]
        builder = EnvironBuilder(path, ORIGIN, method=door.method, headers=headers)
        self.environ = builder.get_environ()
        found = world.bodies(path)[0] if door.method == "POST" else {}
        self.body = {name: each for name, each in found.items() if not isinstance(each, tuple)}
        AskedValues.names.clear()
        AskedEnviron.names.clear()
        self.plain = len(self.send(self.fill(""))[1])
        self.names = AskedValues.names | set(self.body)
        self.headers = {name for name in AskedEnviron.names if name.startswith("HTTP_")}

    def send(self, environ: Environ) -> tuple[int, bytes]:
        sent = environ.get("body", "").encode()
        body = {"wsgi.input": io.BytesIO(sent), "CONTENT_LENGTH": str(len(sent))}
        environ = AskedEnviron(self.environ | environ | body)
        answer, status, headers = run_wsgi_app(self.app, environ, buffered=True)
        if "/imports/" in headers.get("Location", ""):
            # The preview is where a file costs most.
            shown = {"REQUEST_METHOD": "GET", "PATH_INFO": headers["Location"]}
            answer, status, _ = run_wsgi_app(self.app, AskedEnviron(self.environ | shown), True)
        return int(status[:3]), b"".join(answer)

    def fill(self, more: str, name: str = "") -> Environ:
        """Return the form as somebody fills it in, but for a name, with something behind it."""
        if self.door.is_safe:
            return {"QUERY_STRING": more.encode().decode("latin-1")}
        body = {key: value for key, value in self.body.items() if key != name}
        return {"CONTENT_TYPE": FORM, "body": f"{urlencode(body, doseq=True)}&{more}"}

    def fill_json(self, values: dict[str, Any]) -> Environ:
        """Return the example of an endpoint with other values."""
        assert self.operation is not None
        body = json.dumps((self.operation.example or {}) | values)
        return {"CONTENT_TYPE": JSON, "body": body}

    def put(self, name: str, text: str) -> Environ:
        path = self.world.path(self.door, {name: MARK})
        return {"PATH_INFO": path.replace(MARK, text).encode().decode("latin-1")}

    def attacks(self) -> Iterator[tuple[str, Callable[[int], Environ], int]]:
        """Return what is attacked, the request of a size, and the largest size."""
        for name in self.door.names:
            yield name, lambda size, name=name: self.put(name, write_worst(size)), HEAD_BYTES
        for name in self.headers:
            yield name, lambda size, name=name: {
                name: write_worst(size).replace("\n", " ").encode().decode("latin-1")
            }, HEAD_BYTES  # fmt: skip
        if self.operation is not None and self.operation.body is not None:
            for name in self.operation.body().fields:
                yield name, lambda size, name=name: self.fill_json(
                    {name: write_worst(size)}
                ), JSON_BYTES  # fmt: skip
                yield f"{name} often", lambda size, name=name: self.fill_json(
                    {name: [{}] * (size // 4)}
                ), JSON_BYTES  # fmt: skip
                yield f"parts of {name}", lambda size, name=name: self.fill_json(
                    {name: name_many(size)}
                ), JSON_BYTES  # fmt: skip
            yield "unknown names", lambda size: self.fill_json(name_many(size)), JSON_BYTES
            for unit in ("[", '{"a":', "1"):
                yield unit, lambda size, unit=unit: {
                    "CONTENT_TYPE": JSON, "body": unit * (size // len(unit))
                }, MAX_BODY_BYTES  # fmt: skip
            return
        most = HEAD_BYTES if self.door.is_safe else FORM_BYTES
        if self.operation is not None:
            yield "unknown names", lambda size: self.fill("&".join(name_many(size))), most
        for name in self.names:
            yield (
                name,
                lambda size, name=name: self.fill(f"{name}={encode_worst(size)}", name),
                most,
            )
            yield f"{name} often", lambda size, name=name: self.fill(
                "&".join(f"{name}={place:x}" for place in range(size // (len(name) + 7)))
            ), most  # fmt: skip
        if self.door.rule.rule == "/login":
            # One form stands for all: reading its parts is not the view's.
            yield "many", lambda size: self.fill("x=%ff&" * (size // 6)), most


@pytest.fixture
def watched(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """The application, whose requests note what is asked of them, with a log."""
    monkeypatch.setattr(app, "request_class", AskedRequest)
    handler, logger = logging.StreamHandler(io.StringIO()), logging.getLogger("testimonials")
    handler.setFormatter(PlainFormatter())
    level = logger.level
    logger.setLevel("INFO")
    logger.addHandler(handler)
    yield app
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture
def unit(watched: Flask, world: World) -> float:
    door = next(each for each in find_doors(watched) if each.rule.rule == "/healthz")
    page = Target(watched, world, door)
    return min(cost(lambda: page.send({})) for _ in range(20))


# In how many tests; one worker takes each.
PARTS = 5


@pytest.mark.parametrize("part", mostly_thorough(range(PARTS), 0))
def test_no_door_works_more_than_in_proportion(watched, world, instance, unit, part):
    problems = []
    doors = [door for door in find_doors(watched) if door.method != "HEAD"]
    for door in sample(doors, 150, seed=150)[part::PARTS]:
        restore(watched, instance)
        target = Target(watched, world, door)
        for name, make, most in target.attacks():
            found = find_problem(target, make, most, unit)
            problems += [f"{door}, {name}: {found}"] if found else []
    assert problems == []


@pytest.mark.thorough
def test_a_password_that_is_too_long_is_answered_at_every_door(watched, world, instance):
    """As a wrong one where it proves who somebody is; with the rule where it is set."""

    def begin() -> None:
        restore(watched, instance)
        with watched.app_context(), db.engine.begin() as connection:
            connection.execute(update(Session).values(proved_at=None))

    found: dict[str, set[str]] = {"password": set(), "current": set(), "proof": set()}
    for door in (each for each in find_doors(watched) if each.method == "POST"):
        if door.rule.rule.endswith("/company/mailed"):
            # Its proof is the token of a link.
            continue
        begin()
        target = Target(watched, world, door)
        for name in found.keys() & AskedValues.names:
            found[name].add(door.rule.rule)
            answers = []
            for password in ("wrong", "é" * (MAX_BYTES // 2 + 1)):
                begin()
                answers.append(target.send(target.fill(f"{name}={quote(password)}", name)))
            (status, wrong), (same, long) = answers
            if name == "password" and door.rule.rule != "/login":
                assert (b"at least 10 char" in wrong, b"at most 1024 char" in long) == (True, True)
                continue
            said = "don’t match" if name == "password" else "Wrong password"
            assert (said in wrong.decode(), said in long.decode()) == (True, True), door
            assert status == same
    assert found["password"] == {
        "/login", "/claim/<token>", "/reset/<token>", "/dashboard/account/security/password"
    }  # fmt: skip
    assert found["current"] == {"/dashboard/account/security/password"}
    # Whatever needs a proof asks for it in one place.
    assert len(found["proof"]) > 20


START = "POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("most", "head", "part"),
    [
        (8_000, START, "a: b\r\n"), (60_000, f"{START}a: ", " "), (60_000, f"{START}a: ", "\r"),
        (60_000, "GET a://", "1"), (4_000_000, f"{START}{CHUNKED}1;", "a"),
        (700_000, f"{START}{CHUNKED}0\r\n", "a: b\r\n"),
        (100_000, f"{START}{CHUNKED}", "1\r\na\r\n"),
    ],
)  # fmt: skip
def test_no_request_is_parsed_longer_than_in_proportion(most, head, part):
    sent = f"{head}{part * most}".encode()

    def parse(size: int) -> None:
        parser = _Parser(Adjustments(**SERVER_OPTIONS))
        # The end of the head, without which it isn't read.
        place, content = 0, sent[: len(sent) * size // most] + b" x\r\n\r\n"
        while place < len(content) and not parser.completed:
            place += parser.received(content[place : place + 8192])

    assert not grows_too_fast(parse, most, 50 * cost(lambda: parse(0)))


@pytest.mark.parametrize(("count", "is_taken"), [(190, True), (210, False)])
def test_a_head_has_a_bounded_number_of_lines(count, is_taken):
    parser = _Parser(Adjustments(**SERVER_OPTIONS))
    parser.received(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * count + b"\r\n")
    assert (parser.completed, parser.error is None) == (True, is_taken)


@pytest.mark.parametrize(("size", "is_taken"), [(1, False), (20, False), (60, True)])
def test_chunks_of_a_few_bytes_are_refused_at_once(size, is_taken):
    parser = _Parser(Adjustments(**SERVER_OPTIONS))
    head = f"POST / HTTP/1.1\r\nHost: a\r\n{CHUNKED}".encode()
    assert parser.received(head) == len(head)
    sent, place = (b"%x\r\n" % size + b"a" * size + b"\r\n") * 2_000 + b"0\r\n\r\n", 0
    while place < len(sent) and not parser.completed:
        place += parser.received(sent[place:])
    assert (parser.error is None) == is_taken
    assert place == len(sent) if is_taken else place < 16_000


def find_problem(
    target: Target, make: Callable[[int], Environ], most: int, unit: float
) -> str | None:
    """Say what is wrong with how a door takes the largest request, compared with smaller ones."""
    answers: list[tuple[int, bytes]] = []

    def work(size: int) -> None:
        with target.app.app_context():
            limiter.storage.reset()
        answers.append(target.send(make(size)))

    if grows_too_fast(work, most, NOTABLE * unit):
        return "the work grows faster than what is sent"
    # Asked again only where it was much. Whatever else the machine does makes work look slower.
    if len(answers) > 1 and min(cost(lambda: work(most)) for _ in range(3)) > MOST_WORK * unit:
        return "it costs too much"
    status, body = answers[0]
    sent = max(len(value) for value in make(most).values())
    if status >= 500 or len(body) > target.plain + MOST_REPEATED * sent:
        return f"the answer is {status}, of {len(body):,} bytes"
    return None
