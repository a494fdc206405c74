"""A real Chromium before the real service, with real mail; every page is watched for complaints."""

import contextlib
import itertools
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from testimonials import create_app
from testimonials.auth.accounts import claim_account
from testimonials.auth.models import Account
from testimonials.auth.sessions import start_session
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.settings.table import load_settings
from tests.conftest import hash_of_password
from tests.operations.server.hosts.nginx import run_below
from tests.support.process import Service, start_service
from tests.support.servers import (
    PATIENCE,
    MailSink,
    find_program,
    free_port,
    memory_folder,
    wait_for,
)
from tools.journey import CHROMIUM, CHROMIUM_FLAGS

# Chromium without its window is half the work for each page. Some have only the whole one, which
# tools/journey.py starts in any case.
HEADLESS = find_program("chromium-headless-shell") or CHROMIUM
# A camera that films a clock and a microphone that hears it beep, allowed to every page that asks.
FAKE_CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
# The browser reports every answer from 400 on in this way, also those that a test asks for, and
# lines that a test cuts.
EXPECTED_REPORTS = (
    "Failed to load resource: the server responded with a status of",
    "Failed to load resource: net::ERR_INTERNET_DISCONNECTED",
    "Failed to load resource: net::ERR_CONNECTION_RESET",
)

expect.set_options(timeout=1000 * PATIENCE)

_numbers = itertools.count(1)


def other_address() -> dict[str, str]:
    """Return the header of a client that nobody has counted yet, past the limit of each."""
    number = next(_numbers)
    return {"X-Forwarded-For": f"10.1.{number >> 8}.{number & 255}"}


@dataclass
class Project:
    """One project and the credentials of its account."""

    site: "Site"
    headers: dict[str, str]
    email: str
    id: str
    slug: str

    @property
    def page_url(self) -> str:
        return f"{self.site.url}/{self.slug}"

    @property
    def dashboard(self) -> str:
        """What the addresses of its pages in the dashboard begin with."""
        return f"{self.site.url}/dashboard/projects/{self.id}"

    def call(self, method: str, path: str, body: object = None) -> Any:
        answer = self.site.service.call(
            method, f"/v1/projects/{self.id}{path}", body, headers=self.headers
        )
        assert answer.status == 200, answer.body
        return answer.data

    def claim_link(self) -> str:
        return self.site.claim_link(self.email)

    def stored(self) -> list[dict[str, Any]]:
        """Return every testimonial there is, pending ones too."""
        return self.site.run_json("testimonials", "list", self.id)

    def open(self, open_page: Callable[..., Page], path: str = "", **options: Any) -> Page:
        """Open a browser in which the owner is signed in, at a path of the project's dashboard."""
        page = open_page("about:blank", extra_http_headers=other_address(), **options)
        self.sign_in(page, path)
        return page

    def sign_in(self, page: Page, path: str = "") -> None:
        """Claim the account and sign the page's browser in, without the mail and the form; go to a
        path of the project's dashboard.

        What the form does is done by the same services, so most tests need not wait for a mail and
        for a new hash; the tests of claiming and signing in go the whole way.
        """
        with self.site.app.app_context(), write():
            account = db.session.get(Account, self.headers["x-service-account-id"])
            assert account is not None
            if account.claimed_at is None:
                claim_account(account, hash_of_password())
            token = start_session(account, "Chrome on Linux")
        cookie = {"name": "testimonials", "value": token, "url": self.site.url}
        page.context.add_cookies([cookie | {"httpOnly": True, "sameSite": "Lax"}])  # type: ignore[list-item]
        if path:
            page.goto(f"{self.dashboard}{path}")


@dataclass
class Site:
    """A running service, the mail server it sends through, and its application in this process."""

    service: Service
    sink: MailSink
    app: Flask

    @property
    def url(self) -> str:
        return self.service.url

    def agent_init(self, email: str) -> Any:
        """Call agent-init from an address of its own; return the payload."""
        body = {"email": email}
        answer = self.service.call("POST", "/v1/auth/agent-init", body, headers=other_address())
        assert answer.status == 200, answer.body
        return answer.data

    def create_project(self, **body: Any) -> Project:
        """Sign up somebody new and create a project, without samples unless asked for."""
        number = next(_numbers)
        email = f"owner{number}@example.com"
        account = self.agent_init(email)
        headers = {"x-service-account-id": account["accountId"], "x-api-key": account["apiKey"]}
        values = {"businessName": f"Fern & Fable {number}", "skipDemoTestimonials": True} | body
        answer = self.service.call("POST", "/v1/projects", values, headers)
        assert answer.status == 200, answer.body
        slug = answer.data["publicPageConfig"]["slug"]
        return Project(self, headers, email, answer.data["_id"], slug)

    def mailed_link(self, email: str, pattern: str, *, other_than: str | None = None) -> str:
        """Return the first match in the newest mail to `email` that has one, not `other_than`."""

        def find() -> str | None:
            texts = [mail.text for mail in self.sink.received if mail.recipients == [email]]
            found = next(filter(None, (re.search(pattern, each) for each in reversed(texts))), None)
            return found[0] if found and found[0] != other_than else None

        return str(wait_for(find, what=f"an email with {pattern} to {email}"))

    def claim_link(self, email: str, *, other_than: str | None = None) -> str:
        return self.mailed_link(email, rf"{self.url}/claim/\S+", other_than=other_than)

    def pause(self, project_id: str) -> None:
        """Pause a project, which is the dashboard's to do and so has no call or command."""
        file = Path(self.service.environment["TESTIMONIALS_INSTANCE_PATH"]) / "testimonials.db"
        with contextlib.closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE project SET status = 'inactive' WHERE id = ?", [project_id])

    def run_json(self, *arguments: str) -> Any:
        """Run an admin command, in this process; return what it printed as JSON."""
        finished = self.app.test_cli_runner().invoke(args=[*arguments, "--json"])
        assert finished.exit_code == 0, finished.output
        return json.loads(finished.stdout)


@dataclass
class Watch:
    """What the browser complained about on the pages of one test."""

    complaints: list[str] = field(default_factory=list)

    def listen(self, context: BrowserContext) -> None:
        """Note console errors and warnings, CSP violations among them, and uncaught errors."""
        context.on("console", lambda message: self._note(message.page, message.type, message.text))
        context.on("weberror", lambda error: self._note(error.page, "error", str(error.error)))

    def _note(self, page: Page | None, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not text.startswith(EXPECTED_REPORTS):
            self.complaints.append(f"{page.url if page else ''}: {kind}: {text}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests; each of them has contexts of its own."""
    with sync_playwright() as playwright:
        flags = [*CHROMIUM_FLAGS, *FAKE_CAMERA]
        started = playwright.chromium.launch(executable_path=HEADLESS, args=flags)
        yield started
        started.close()


@contextlib.contextmanager
def serve_site(
    base_path: str = "", prepare: Callable[[Path], object] = lambda folder: None, **more: str
) -> Iterator[Site]:
    """Run a service, with `more` settings, in a folder that is prepared; with a path, below that on
    a host whose nginx has other things too.
    """
    sink = MailSink()
    sink.start()
    port = free_port()
    settings = more | {
        "smtp_url": sink.url,
        "trusted_proxies": "2" if base_path else "1",
        "min_form_seconds": "0",
        # Requests by mail leave at a pace that all accounts share, and here all tests.
        "invitations_per_minute": "10000",
        # Websites and receivers are the tests' own.
        "webhook_addresses": "any",
    }
    if base_path:
        settings["base_url"] = f"http://127.0.0.1:{port}{base_path}"
    with memory_folder() as folder, contextlib.ExitStack() as stack:
        prepare(Path(folder))
        service = start_service(Path(folder), (), settings)
        service.url = more.get("base_url", service.url)
        if base_path:
            stack.enter_context(run_below(base_path, port, service.url))
            service.url = settings["base_url"]
        app = create_app(load_settings(service.environment, {"base_url": service.url}))
        yield Site(service, sink, app)
        with app.app_context():
            db.engine.dispose()
        service.kill()
    sink.stop()


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """One service for all tests; each of them signs up somebody new.

    With TESTS_BASE_PATH=/testimonials it is below that path.
    """
    with serve_site(os.environ.get("TESTS_BASE_PATH", "")) as site:
        yield site


@pytest.fixture(scope="session")
def named_site() -> Iterator[Site]:
    """Another one with a host name, which passkeys need."""
    port = free_port()
    with serve_site(base_url=f"http://localhost:{port}", port=str(port)) as site:
        yield site


@pytest.fixture
def project(site: Site) -> Project:
    return site.create_project()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[OpenPage]:
    """Open a page in a context of its own, with the options of Playwright's `new_context`.

    A visitor of the service has an address of their own; on another website the header that says so
    would change what the browser asks the service. A test fails in the end if the browser
    complained about any of its pages.
    """
    watch = Watch()
    contexts = []

    def open_one(url: str, **options: Any) -> Page:
        headers = other_address() if url.startswith(site.url) else {}
        defaults = {"reduced_motion": "reduce", "extra_http_headers": headers}
        context = browser.new_context(**(defaults | options))
        context.set_default_timeout(1000 * PATIENCE)
        watch.listen(context)
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert watch.complaints == []
