"""A program connects without a copied token: the official client’s flow, and the person’s part."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from playwright.sync_api import expect

from tests.support.servers import PATIENCE


class Storage:
    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Program:
    """A program on the person's computer: it listens for the answer, and opens the browser."""

    def __init__(self) -> None:
        self.asked: queue.Queue[str] = queue.Queue()
        self.answered: queue.Queue[dict[str, str]] = queue.Queue()
        answered = self.answered

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fields = parse_qs(urlsplit(self.path).query)
                if self.path.startswith("/callback"):
                    answered.put({name: values[0] for name, values in fields.items()})
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<title>Connected</title><link rel=icon href=data:,>Go back.")

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.redirect_uri = f"http://127.0.0.1:{self.server.server_port}/callback"

    async def connect(self, url: str, storage: Storage) -> list[str]:
        """Connect to a service; return the names of the tools."""

        async def open_browser(address: str) -> None:
            self.asked.put(address)

        async def wait_for_answer() -> AuthorizationCodeResult:
            fields = await asyncio.to_thread(self.answered.get, True, PATIENCE)
            return AuthorizationCodeResult(**fields)

        about = OAuthClientMetadata(client_name="Claude Desktop", redirect_uris=[self.redirect_uri])
        auth = OAuthClientProvider(url, about, storage, open_browser, wait_for_answer)
        async with (
            create_mcp_http_client(auth=auth) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_program_connects_as_allowed(site, open_page, program):
    project, storage = site.create_project(), Storage()
    page = open_page(f"{site.url}/login")
    project.sign_in(page)
    with ThreadPoolExecutor() as pool:
        connecting = pool.submit(asyncio.run, program.connect(f"{site.url}/mcp", storage))
        page.goto(program.asked.get(timeout=PATIENCE))
        expect(page.get_by_role("heading", level=1)).to_have_text("Claude Desktop wants to connect")
        expect(page.get_by_text("a program on this computer")).to_be_visible()
        expect(page.get_by_label("Read")).to_be_checked()
        expect(page.get_by_label("Draft")).to_be_checked()
        page.get_by_label("Draft").uncheck()
        page.get_by_label("Projects").select_option(project.id)
        page.get_by_role("button", name="Allow").click()
        expect(page).to_have_title("Connected")
        tools = connecting.result(PATIENCE)
    assert "list_testimonials" in tools
    assert "change_widget" not in tools
    assert storage.tokens is not None
    assert storage.tokens.scope == "read"
    page.goto(f"{project.dashboard}/settings/developers/tokens")
    expect(page.get_by_text("Claude Desktop").first).to_be_visible()
