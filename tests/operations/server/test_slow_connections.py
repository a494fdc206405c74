"""Whoever sends slowly, reads slowly or only keeps connections open holds nobody else up."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection

import pytest
from flask import Flask, request

from testimonials.core.settings.table import EXTENSION, Settings
from testimonials.operations.server import worker
from testimonials.operations.server import worker as connections
from tests.support.servers import PATIENCE, wait_for

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n"
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Door:
    """A worker's server in a thread, before an application with answers of every kind."""

    def __init__(self, threads: int = 2, trusted_proxies: int = 0) -> None:
        self.is_answering = threading.Event()
        app = Flask(__name__)
        app.extensions[EXTENSION] = Settings(trusted_proxies=trusted_proxies)
        app.add_url_rule("/", "read", lambda: request.get_data(), methods=["GET", "POST"])
        app.add_url_rule("/large", "large", lambda: b"a" * 1_000_000)
        app.add_url_rule("/late", "late", lambda: str(self.is_answering.wait(PATIENCE)))
        app.add_url_rule("/healthz", "healthz", lambda: "ok")
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        self.address = listener.getsockname()
        self.server = worker.Server(app, listener, threads)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        self.server.answer()
        self.server.finish()

    @property
    def channels(self) -> list[connections.BoundedChannel]:
        return list(self.server._server.active_channels.values())

    def connect(self, content: bytes, host: str = "127.0.0.1") -> socket.socket:
        client = socket.create_connection(self.address, PATIENCE, source_address=(host, 0))
        client.sendall(content)
        return client

    def ask(self, path: str = "/") -> int:
        with contextlib.closing(HTTPConnection(*self.address, timeout=PATIENCE)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def close(self) -> None:
        self.is_answering.set()
        self.server.stop()
        for channel in self.channels:
            channel.will_close = True
        self.thread.join()
        # A worker's process ends here, and with it the pipe that wakes its loop.
        self.server._server.trigger.close()


MakeDoor = Callable[..., Door]


@pytest.fixture
def open_door(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeDoor]:
    """Make servers that look at their connections often, and wait for nobody at their end.

    No time but one that a test shortens is ever over, however slow the machine is.
    """
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "STALLED_SECONDS"):
        monkeypatch.setattr(connections, name, 10 * PATIENCE)
    monkeypatch.setitem(worker.SERVER_OPTIONS, "channel_timeout", int(10 * PATIENCE))
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(worker, "GRACE_SECONDS", 0.0)
    doors: list[Door] = []

    def make(**options: int) -> Door:
        doors.append(Door(**options))
        return doors[-1]

    yield make
    for door in doors:
        door.close()


def has_ended(client: socket.socket) -> bool:
    """Tell whether the server has ended a connection, within a moment."""
    client.settimeout(0.02)
    try:
        while client.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    ("begin", "drip"),
    [(b"G", b"E"), (b"\r\n\r\n", b"\r\n\r\n"), (WHOLE + b"G", b"E"), (HEAD + b"\r\n", b"a")],
    ids=["head", "blank lines", "second head", "body"],
)
def test_a_request_that_comes_byte_by_byte_is_cut_off(open_door, monkeypatch, begin, drip):
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(connections, name, 0.2)
    monkeypatch.setattr(connections, "BODY_BYTES_PER_SECOND", 5000)
    with open_door().connect(begin) as client:
        for _ in range(400):
            if has_ended(client):
                return
            with contextlib.suppress(ConnectionError):
                client.sendall(drip)
    pytest.fail("it went on for 400 bytes")


def test_a_steady_body_has_its_time(open_door, monkeypatch):
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.1)
    monkeypatch.setattr(connections, "BODY_BYTES_PER_SECOND", 5)
    with open_door().connect(HEAD + b"\r\n" + b"a" * 4000) as client:
        assert not any(has_ended(client) for _ in range(20))
        client.sendall(b"a" * 1000)
        assert client.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(("trusted_proxies", "kept"), [(0, 10), (1, 30)])
def test_one_network_has_its_share_of_the_connections_unless_it_is_a_proxy(
    open_door, monkeypatch, trusted_proxies, kept
):
    monkeypatch.setattr(worker, "MOST_CONNECTIONS", 100)
    door = open_door(trusted_proxies=trusted_proxies)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(door.connect(b"G", "127.0.0.2")) for _ in range(30)]
        assert door.ask() == 200
        # The newest stay.
        assert [has_ended(client) for client in clients] == [True] * (30 - kept) + [False] * kept


def test_where_all_connections_are_taken_the_fullest_network_makes_room(open_door, monkeypatch):
    monkeypatch.setattr(worker, "MOST_CONNECTIONS", 40)
    door = open_door()
    with contextlib.ExitStack() as stack:
        visitor = stack.enter_context(door.connect(WHOLE, "127.0.0.9"))
        crowd = [
            stack.enter_context(door.connect(content, f"127.0.0.{2 + number % 6}"))
            for number in range(100)
            for content in (WHOLE, b"G")
        ]
        assert door.ask() == 200
        assert len(door.channels) <= 41
        assert sum(not has_ended(client) for client in crowd) >= 30
        assert not has_ended(visitor)


def test_no_reader_holds_no_thread(open_door, monkeypatch):
    door = open_door(threads=1)
    large = WHOLE.replace(b"/", b"/large", 1)
    with door.connect(large * 60):
        assert door.ask() == 200
        # It has asked for more than is kept for anybody, and is gone.
        wait_for(lambda: not door.channels, what="the end of the connection")
    with door.connect(large * 14):
        assert door.ask() == 200
        wait_for(lambda: any(each.total_outbufs_len for each in door.channels), what="its answers")
        monkeypatch.setattr(connections, "STALLED_SECONDS", 0.1)
        wait_for(lambda: not door.channels, what="the end of the connection")


def test_healthz_answers_while_every_thread_waits(open_door):
    door = open_door(threads=2)
    late = WHOLE.replace(b"/", b"/late", 1)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(door.connect(late)) for _ in range(3)]
        wait_for(lambda: sum(bool(each.requests) for each in door.channels) == 3, what="requests")
        assert door.ask("/healthz") == 200
        door.is_answering.set()
        assert [client.recv(12) for client in clients] == [b"HTTP/1.1 200"] * 3


def test_a_request_asks_nothing_of_the_idle_connections(open_door, monkeypatch):
    monkeypatch.setattr(worker, "LOOK_SECONDS", 10 * PATIENCE)
    asked: list[connections.BoundedChannel] = []
    readable = connections.BoundedChannel.readable

    def note(channel: connections.BoundedChannel) -> bool:
        asked.append(channel)
        return bool(readable(channel))

    monkeypatch.setattr(connections.BoundedChannel, "readable", note)
    door = open_door(trusted_proxies=1)
    with contextlib.ExitStack() as idle:
        for _ in range(50):
            idle.enter_context(door.connect(b""))
        assert door.ask() == 200
        asked.clear()
        for _ in range(20):
            assert door.ask() == 200
        assert len(asked) < 20 * 10
        assert len(door.channels) >= 50
