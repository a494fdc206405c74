"""A receiver of webhooks: it verifies with the reference library, and answers as it is told."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flask import Flask
from standardwebhooks import Webhook

from testimonials.auth.tokens import Scope
from testimonials.core.extensions import db
from testimonials.integrations.webhooks.delivery import Dispatcher
from testimonials.integrations.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.support.applications import change_settings

# What a handler does with a request: it answers, or doesn't.
Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.receiver.take(self)  # type: ignore[attr-defined]

    def do_GET(self) -> None:
        self.do_POST()

    def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(content))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def drip(handler: Handler) -> None:
    # For a minute, unless nobody reads on.
    for _ in range(1200):
        handler.wfile.write(b"X")
        handler.wfile.flush()
        threading.Event().wait(0.05)


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@dataclass
class Receiver:
    url: str
    behaviour: Behaviour = lambda handler: handler.answer(200, b"Thanks")
    got: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, handler: Handler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            self.bodies.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        self.behaviour(handler)

    def verify(self, secret: str) -> list[dict[str, Any]]:
        """Return what came, which the reference library takes for signed by this secret."""
        return [
            Webhook(secret).verify(body, headers)
            for body, headers in zip(self.bodies, self.headers, strict=True)
        ]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers in self.headers]


@contextlib.contextmanager
def receiving(host: str = "127.0.0.1", port: int = 0) -> Iterator[Receiver]:
    server = Server((host, port), Handler)
    receiver = Receiver(f"http://{host}:{server.server_address[1]}/hook")
    server.receiver = receiver  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield receiver
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Hook:
    app: Flask
    caller: Caller
    project: str
    token: dict[str, str]
    path: str
    secret: str | None

    def call(self, method: str, path: str = "", body: object = None, status: int = 200) -> Any:
        answer = self.caller.client.open(
            self.path + path, method=method, headers=self.token, json=body
        )
        assert answer.status_code == status, answer.text
        return answer.json["data"] if status == 200 else answer.json  # type: ignore[index]

    def deliver(self) -> None:
        """Do what the background thread does."""
        with self.app.app_context():
            Dispatcher().run()

    def deliveries(self) -> list[WebhookDelivery]:
        with self.app.app_context():
            query = db.select(WebhookDelivery).order_by(WebhookDelivery.id)
            return list(db.session.scalars(query))

    def row(self) -> WebhookEndpoint:
        with self.app.app_context():
            return db.session.get_one(WebhookEndpoint, self.path.rpartition("/")[2])


def add_hook(
    app: Flask, caller: Caller, url: str, *events: str, project: str = "", template: str = "event"
) -> Hook:
    """Add an endpoint to a new project, over the API; private addresses are allowed."""
    change_settings(app, webhook_addresses="any")
    project = project or caller.create_project(slug="fern")["_id"]
    token = give_token(app, caller, Scope.READ, Scope.CONFIGURE).headers
    path = f"/v1/projects/{project}/webhooks"
    body = {"url": url, "events": list(events), "template": template}
    answer = caller.client.post(path, headers=token, json=body)
    assert answer.status_code == 200, answer.text
    data = answer.json["data"]  # type: ignore[index]
    return Hook(app, caller, project, token, f"{path}/{data['_id']}", data["secret"])
