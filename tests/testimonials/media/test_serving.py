"""Large recordings through the real server: forms that stay on the disk, readers that take long."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from flask import Flask

from testimonials.operations.server import worker
from tests.conftest import Caller
from tests.support.applications import change_settings
from tests.support.rows import change_testimonial, read_testimonials
from tests.support.servers import PATIENCE
from tests.testimonials.media.recorded import VIDEO, form_token, make_page

MEGABYTE = 1024 * 1024
# A recording like any other, with room that its format calls void.
LARGE = VIDEO + b"\xec\x01" + (20 * MEGABYTE).to_bytes(7) + os.urandom(MEGABYTE) * 20
THREADS = 2


@pytest.fixture
def address(app: Flask, owner: Caller) -> Iterator[tuple[str, int]]:
    make_page(app, owner)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    server = worker.Server(app, listener, THREADS)

    def run() -> None:
        server.answer()
        server.finish()

    thread = threading.Thread(target=run)
    thread.start()
    yield listener.getsockname()
    for channel in list(server._server.active_channels.values()):
        channel.will_close = True
    server.stop()
    thread.join()
    server._server.trigger.close()


def post_form(address: tuple[str, int], token: str, recording: bytes) -> int:
    values = {"token": token, "text": "", "name": "Theo", "consent": "yes"}
    parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in values.items()]
    parts.append(b'name="recording_file"; filename="me.webm"\r\n\r\n' + recording)
    start = b"--limit\r\nContent-Disposition: form-data; "
    body = start + (b"\r\n" + start).join(parts) + b"\r\n--limit--\r\n"
    with contextlib.closing(HTTPConnection(*address, timeout=PATIENCE)) as connection:
        headers = {"Content-Type": "multipart/form-data; boundary=limit"}
        # A server that refuses a body doesn't read it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", "/bakery", body, headers)
        return connection.getresponse().status


def test_a_large_form_is_taken_and_slow_readers_hold_no_thread(app, client, owner, address):
    assert post_form(address, form_token(client), LARGE) == 303
    project = owner.get("/v1/projects").json["data"][0]["_id"]
    (row,) = read_testimonials(app, project)
    change_testimonial(app, row.id, status="approved")
    recording = owner.get(f"/v1/projects/{project}/testimonials").json["data"]["items"][0]
    path = recording["recording"]["url"].partition("example.com")[2]
    slow = []
    for _ in range(3 * THREADS):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(address)
        reader.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nRange: bytes=5-\r\n\r\n".encode())
        # Its beginning, and no more.
        assert reader.recv(12) == b"HTTP/1.1 206"
        slow.append(reader)
    with contextlib.closing(HTTPConnection(*address, timeout=PATIENCE)) as connection:
        # Once more than there are threads: each would have waited for a reader.
        for _ in range(THREADS + 1):
            connection.request("GET", "/bakery")
            assert connection.getresponse().read()
    for reader in slow:
        reader.close()


def test_a_too_large_is_refused(app, client, address):
    change_settings(app, recording_megabytes=1)
    assert post_form(address, form_token(client), LARGE) == 422
