"""A worker: waitress, and limits on its connections."""

import copy
import ctypes
import gc
import json
import os
import re
import resource
import select
import signal
import socket
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable
from functools import cache, lru_cache
from ipaddress import IPv6Address
from typing import Any

from flask import Flask
from waitress import parser as parsing
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import create_server
from waitress.task import ErrorTask, ThreadedTaskDispatcher, WSGITask
from waitress.utilities import BadRequest, build_http_date

from testimonials.core.http.errors import error_body
from testimonials.core.http.security import DATA_POLICY
from testimonials.core.http.urls import remove_base_path
from testimonials.core.images.uploads import largest_form
from testimonials.core.jobs import BackgroundWorker, repeating
from testimonials.core.settings.table import current_settings

# Limits on a worker's connections: how long each may take, and which is closed to make room.
#
# Clients decide how fast they send and read. A slow one must not occupy a thread, and slow or idle
# ones, however many, must not keep others out.

# How often connections are checked.
LOOK_SECONDS = 1.0
# The head of a request may take ten seconds; its first byte is noticed within one.
HEAD_SECONDS = 10.0 - LOOK_SECONDS
# A body may take this long, and a second more for every 500 bytes received.
BODY_SECONDS, BODY_BYTES_PER_SECOND = 20.0, 500
# How long a client may go without reading any of its response.
STALLED_SECONDS = 30.0
# One network may have a tenth of a worker's connections, unless it is a proxy's.
SHARE = 10
# Each of these probes has its own thread, since all others may be waiting for the database.
PROBES = ("/healthz", "/readyz")


# In each thread, the connection whose request it answers.
_serving = threading.local()


class BoundedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that is closed when it takes too long, or to make room for another."""

    # The request that was being read at the last check, and when it was first seen.
    _watched: object = None
    _watched_since = 0.0

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        super().__init__(server, sock, addr, adj, map=map)
        self.network = network_of(addr[0])
        if len(server.active_channels) > server.network_share:
            self._make_room()

    def add_channel(self, map: Any = None) -> None:
        super().add_channel(map)
        self.server.touched.append(self._fileno)

    def del_channel(self, map: Any = None) -> None:
        self.server.touched.append(self._fileno)
        super().del_channel(map)

    def service(self) -> None:
        _serving.fd = self._fileno
        super().service()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        return not (self.requests or self.request or self.total_outbufs_len)

    def is_overdue(self, now: float) -> bool:
        """Return whether the connection has taken too long; call this every `LOOK_SECONDS`."""
        if self.will_close:
            # Waitress would wait until the client reads.
            return True
        if self.requests:
            return False
        if self.total_outbufs_len:
            return bool(now - self.last_activity > STALLED_SECONDS)
        request = self.request
        if request is not self._watched:
            self._watched, self._watched_since = request, now
        if request is None:
            # Idle: waitress closes it after its `channel_timeout`.
            return False
        taken = now - self._watched_since
        if not request.headers_finished:
            return taken > HEAD_SECONDS
        return bool(taken > BODY_SECONDS + request.body_bytes_received / BODY_BYTES_PER_SECOND)

    def _make_room(self) -> None:
        """If this connection is one too many, close one that has no running request."""
        server = self.server
        others = [each for each in server.active_channels.values() if each is not self]
        waiting = [each for each in others if not each.requests]
        if sum(each.network == self.network for each in others) >= server.network_share:
            victims = [each for each in waiting if each.network == self.network] or [self]
        elif len(others) >= server.most_connections:
            # One of the network that has the most, so that a few can't push out everybody else.
            sizes = Counter(each.network for each in (*others, self))
            fullest = max((each.network for each in (*waiting, self)), key=sizes.__getitem__)
            victims = [each for each in (*waiting, self) if each.network == fullest]
        else:
            return
        min(victims, key=lambda each: each.last_activity).handle_close()

    def _flush_outbufs_below_high_watermark(self) -> None:
        # Waitress would block the thread until the client has read. This happens only if a client
        # sends many requests at once and reads no response.
        if self.total_outbufs_len > self.adj.outbuf_high_watermark:
            self.will_close, self.connected = True, False


class Tasks(ThreadedTaskDispatcher):  # type: ignore[misc]
    """The threads that answer requests, and one more for each probe."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.set_thread_count(threads)
        self._probes = {path: ThreadedTaskDispatcher() for path in PROBES}
        for probe in self._probes.values():
            probe.set_thread_count(1)

    def add_task(self, channel: BoundedChannel) -> None:
        # A malformed request has no path.
        path = getattr(channel.requests[0], "path", "")
        path = remove_base_path(path, channel.server.base_path)
        if path in PROBES:
            self._probes[path].add_task(channel)
        else:
            super().add_task(channel)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        for probe in self._probes.values():
            probe.shutdown(cancel_pending, timeout)
        return bool(super().shutdown(cancel_pending, timeout))


def network_of(host: str) -> str | bytes:
    """Return the network that one customer usually has: an IPv4 address, or an IPv6 /64."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped) if address.ipv4_mapped else address.packed[:8]


# One worker of `serve`: waitress with the application, and its background work.

BACKLOG = 1024
# The application has lower limits of its own; this keeps endless bodies off the disk.
MAX_BODY_BYTES = 16 * 1024 * 1024
# Only the form of a collection page may be larger, if it has a recording that no script has sent
# before. There may be only so many at once, which wait on the disk until they are complete.
LARGE_FORM = re.compile(r"/|/f/[^/]+|/[^/]+(/f/[^/]+)?")
LARGE_FORMS = 8
SERVER_OPTIONS: dict[str, Any] = {
    # Without `poll`, the server would die at file descriptor 1,024.
    "asyncore_use_poll": True,
    "channel_timeout": 30,
    "cleanup_interval": 10,
    "backlog": BACKLOG,
    "max_request_body_size": MAX_BODY_BYTES,
    "max_request_header_size": 64 * 1024,
    # Whether to believe X-Forwarded-For is decided in one place: by ProxyFix and TRUSTED_PROXIES.
    "clear_untrusted_proxy_headers": False,
    "ident": None,
}
# With fewer, a hundred idle connections would keep everyone else out.
MOST_CONNECTIONS, FEWEST_CONNECTIONS = 1500, 10
# A connection has a second file for an upload, each thread has the database open, and the worker
# has pipes, locks and webhooks.
FILES_OF_A_CONNECTION, FILES_OF_A_THREAD, OTHER_FILES = 2, 4, 64
# Browsers and proxies send about thirty headers; each takes time in the loop that all connections
# share.
MOST_HEADERS = 200
LONGEST_CHUNK_LINE = 8 * 1024
# The most bytes around chunks, in addition to an eighth of the content.
MOST_AROUND_CHUNKS, LEAST_CHUNK_SHARE = 2 * 1024, 8
CHUNKED_BYTES_AT_ONCE = 1024
# Waitress handles these itself.
OWN_HEADERS = frozenset({"connection", "date", "server", "transfer-encoding"})
# The number of this option of `mallopt`.
M_ARENA_MAX = -8
# Seconds for requests in flight to finish; idle connections are kept for one, since a request may
# be on its way.
DRAIN_SECONDS = 7.0
GRACE_SECONDS = 1.0


class _JsonErrorTask(ErrorTask):  # type: ignore[misc]
    """Answers malformed requests, which never reach the application, like errors of the API."""

    def execute(self) -> None:
        error = self.request.error
        code = "BODY_TOO_LARGE" if error.code == 413 else "BAD_REQUEST"
        body = json.dumps(error_body(f"{error.reason}: {error.body}", code)).encode()
        self.status = f"{error.code} {error.reason}"
        self.content_length = len(body)
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", DATA_POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Connection", "close"),
        ]
        self.close_on_finish = True
        self.write(body)


class _Task(WSGITask):  # type: ignore[misc]
    """Caches the heads of responses.

    Waitress would close the connection after each 304, and format each head again, which takes half
    of the time of the hottest path.
    """

    def build_response_header(self) -> bytes:
        if not self.channel.server.accepting:
            # While the server is stopping, each connection is closed after its next response.
            self.request.headers["CONNECTION"] = "close"
        goes_on = self.request.headers.get("CONNECTION", "").lower() != "close"
        if self.version == "1.1" and goes_on and not self.close_on_finish:
            head = _write_head(self.status, tuple(self.response_headers), self.has_body)
            if head is not None:
                return head + _write_date(int(self.start_time))
        rare: bytes = super().build_response_header()
        return rare


@lru_cache(maxsize=512)
def _write_head(status: str, headers: tuple[tuple[str, str], ...], has_body: bool) -> bytes | None:
    """Return a head up to the time; None if only closing the connection ends the response."""
    names = {name.lower() for name, _ in headers}
    if names & OWN_HEADERS or (has_body and "content-length" not in names):
        return None
    # Without a body there is no length (RFC 9110, 8.6).
    lines = [f"{name}: {value}" for name, value in headers if has_body or name != "Content-Length"]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Date: "]).encode("latin-1")


@lru_cache(maxsize=2)
def _write_date(second: int) -> bytes:
    return f"{build_http_date(second)}\r\n\r\n".encode("latin-1")


# These match the same as Waitress's own, which take quadratic time: 15 seconds for 60 KB of spaces
# before a value, and minutes for as many digits after `a://`.
parsing.first_line_re = re.compile(
    rb"(?P<method>[!#$%&'*+.^_`|~0-9A-Za-z-]+) (?P<uri>[^ ]+)(?: HTTP/(?P<version>[0-9]\.[0-9]))?"
)
parsing.HEADER_FIELD_RE = re.compile(
    rb"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):(?P<value>[\t\x20-\x7e\x80-\xff]*)$"
)

# The large forms that are arriving, or being answered.
_large_forms: weakref.WeakSet[HTTPRequestParser] = weakref.WeakSet()


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses what would take waitress too long, or what it can't parse.

    Blank lines before a request would restart the time allowed for its head. Waitress copies the
    lines between chunks with each part that arrives, and all that follows a chunk with each chunk.
    Python can't parse URLs such as ``http://[x``.
    """

    adj: Any

    def received(self, data: bytes) -> int:
        body = self.body_rcv if self.chunked else None
        if body is None:
            return int(super().received(data))
        consumed = int(super().received(data[:CHUNKED_BYTES_AT_ONCE]))
        line = len(body.control_line) + len(body.trailer)
        around = self.body_bytes_received - len(body) - line
        most_around = MOST_AROUND_CHUNKS + len(body) // LEAST_CHUNK_SHARE
        if line > LONGEST_CHUNK_LINE or around > most_around:
            problem = "The chunks are too small, or a line between them is too long"
            self.error, self.completed = BadRequest(problem), True
        return consumed

    @property
    def empty(self) -> bool:
        return False

    @empty.setter
    def empty(self, _is_empty: bool) -> None:
        self.error = BadRequest("The request is empty")

    def parse_header(self, header_plus: bytes) -> None:
        if header_plus.count(b"\n") > MOST_HEADERS:
            raise ParsingError("Too many header lines")
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("Bad URI") from error
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            # A proxy that believes the other one would take a part of the body for a request.
            raise ParsingError("Both Transfer-Encoding and Content-Length")
        if self.content_length >= MAX_BODY_BYTES and self._is_large_form():
            _large_forms.add(self)
            self.adj = copy.copy(self.adj)
            self.adj.max_request_body_size = self.adj.max_form_size

    def _is_large_form(self) -> bool:
        is_form = self.headers.get("CONTENT_TYPE", "").startswith("multipart/form-data")
        return bool(
            self.command == "POST"
            and is_form
            and LARGE_FORM.fullmatch(remove_base_path(self.path, self.adj.base_path))
            and len(_large_forms) < LARGE_FORMS
        )


class _Channel(BoundedChannel):
    task_class = _Task
    error_task_class = _JsonErrorTask
    parser_class = _Parser


def allow_connections(threads: int) -> int:
    """Raise the limit of open files, and return how many connections a worker may have.

    Without free descriptors, waitress would retry at once, and log a traceback each time.
    """
    others = OTHER_FILES + FILES_OF_A_THREAD * threads
    limit, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST_CONNECTIONS * FILES_OF_A_CONNECTION + others
    if limit != resource.RLIM_INFINITY and limit < needed:
        limit = needed if highest == resource.RLIM_INFINITY else min(needed, highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, highest))
        possible = (limit - others) // FILES_OF_A_CONNECTION
        return min(MOST_CONNECTIONS, max(FEWEST_CONNECTIONS, possible))
    return MOST_CONNECTIONS


def use_one_arena() -> None:
    """Let all threads share one arena of glibc, which saves 12 MB of free memory.

    Only one thread at a time runs Python, so they hardly wait for each other.
    """
    # Other C libraries have neither arenas nor this function.
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(M_ARENA_MAX, 1)


# Keeps the collector from scanning what has been loaded, since that stays.
_freeze_once = cache(gc.freeze)


def give_back_memory() -> None:
    """Free reference cycles, and return free pages to the system.

    Cycles are so rare that by itself the collector would let megabytes of them pile up.
    """
    gc.collect()
    _freeze_once()
    if (malloc_trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        malloc_trim(0)


class Server:
    """Waitress on a socket that workers share, which stops without dropping a request."""

    def __init__(self, app: Flask, listener: socket.socket, threads: int) -> None:
        most = allow_connections(threads)
        self._server: Any = create_server(
            app,
            sockets=[listener],
            # It is never reached, since a new connection replaces another. Waitress has two itself.
            connection_limit=most + 3,
            _dispatcher=Tasks(threads),
            **SERVER_OPTIONS,
        )
        with app.app_context():
            self._server.adj.max_form_size = largest_form() + 1
        base_path = current_settings(app).base_path
        self._server.base_path = self._server.adj.base_path = base_path
        # All clients of a proxy have its address.
        is_shared = current_settings(app).trusted_proxies or listener.family == socket.AF_UNIX
        self._server.most_connections = most
        self._server.network_share = most if is_shared else max(FEWEST_CONNECTIONS, most // SHARE)
        self._server.channel_class = _Channel
        self._next_look = 0.0
        self._is_stopping = False
        # The registered flags of each connection, and the connections whose flags may have changed.
        self._poll, self._flags = select.poll(), dict[int, int]()
        self._server.touched = self._touched = deque[int | None](self._server._map)
        self._server.pull_trigger = self._wake
        self._listening = self._server._fileno

    def _wake(self) -> None:
        """Let the loop update the connection that this thread is answering."""
        self._touched.append(getattr(_serving, "fd", None))
        self._server.trigger.pull_trigger()

    def stop(self) -> None:
        """End `answer` soon; may be called from a signal handler, and repeatedly."""
        self._is_stopping = True
        self._server.pull_trigger()

    def answer(self, is_orphan: Callable[[], bool] = lambda: False) -> None:
        """Answer until `stop` is called or `is_orphan` is true, which is checked once a second."""
        while not (self._is_stopping or is_orphan()):
            self._turn(self._server.adj.asyncore_loop_timeout)

    def finish(self) -> None:
        """Finish the requests that have begun, within `DRAIN_SECONDS`."""
        # Connections that are still in the backlog would be cut off with the last worker.
        self._accept_waiting()
        # After the server's own `close`, threads couldn't wake the loop.
        wasyncore.dispatcher.close(self._server)
        started = time.time()
        while self._server.active_channels and time.time() < started + DRAIN_SECONDS:
            self._turn(0.05)
            # `last_activity` is the time at which a byte was last received or sent.
            closing = time.time() - GRACE_SECONDS
            for channel in list(self._server.active_channels.values()):
                if channel.is_idle and max(channel.last_activity, started) < closing:
                    channel.will_close = True
            self._touched.extend(self._server._map)
        self._server.task_dispatcher.shutdown(timeout=0.5)

    def _turn(self, seconds: float) -> None:
        """Wait for events on all connections, and handle them.

        Waitress would register all connections again each time, which takes milliseconds if a
        hundred are idle.
        """
        self._touched.append(self._listening)
        while self._touched:
            self._watch(self._touched.popleft())
        for fd, flags in self._poll.poll(int(seconds * 1000)):
            if (channel := self._server._map.get(fd)) is not None:
                wasyncore.readwrite(channel, flags)
            self._touched.append(fd)
        if (now := time.time()) >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            for channel in list(self._server.active_channels.values()):
                if channel.is_overdue(now):
                    channel.handle_close()
            # Any thread may have marked connections for closing.
            self._touched.extend(self._server._map)

    def _watch(self, fd: int | None) -> None:
        channel, flags = self._server._map.get(fd), 0
        if channel is not None and channel.readable():
            flags |= select.POLLIN | select.POLLPRI
        if channel is not None and channel.writable() and not channel.accepting:
            flags |= select.POLLOUT
        if fd is None or flags == self._flags.get(fd, 0):
            return
        self._flags[fd] = flags
        if flags:
            self._poll.register(fd, flags)
        else:
            self._poll.unregister(fd)

    def _accept_waiting(self) -> None:
        waiting = select.poll()
        waiting.register(self._server.socket, select.POLLIN)
        for _ in range(BACKLOG):
            if not waiting.poll(0):
                return
            self._server.handle_accept()


def run_until_ended(server: Server, background: BackgroundWorker, parent: int) -> None:
    """Answer and do background work until SIGTERM, or until the parent is gone."""
    background.start()
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    with repeating(give_back_memory, 60, "memory"):
        server.answer(lambda: os.getppid() != parent)
    # An email that is being sent gets as much time as the requests.
    end = time.time() + DRAIN_SECONDS
    background.stop(timeout=0)
    server.finish()
    background.stop(max(1.0, end - time.time()))
