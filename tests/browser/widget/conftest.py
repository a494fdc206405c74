"""Websites of others with widgets on them, of another origin than the service or what stands in
for it: each test writes the feed, so that every combination, failure and hostile value can be
shown."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Locator, Page

from testimonials.core.images.colors import draw_face
from testimonials.projects.widget_design import read_colors, read_look, write_colors
from testimonials.widget.script import (
    PIECES,
    WALL,
    build_piece,
    build_script,
    choose_draw,
    piece_digest,
)
from testimonials.widget.settings import FONTS
from testimonials.widget.words import WORDS
from tests.browser.pages import WATCH_SHIFTS
from tests.support.servers import PATIENCE

# Status, type, content and policy of an answer.
Answer = tuple[int, str, bytes, str | None]

CONTAINERS = "document.querySelectorAll('[data-testimonials-project]')"
ROOT = f"{CONTAINERS}[0].shadowRoot"
# Notes violations, uncaught errors and the widget's events from the first moment of a page.
WATCH = """
window.violations = []; window.errors = []; window.events = [];
document.addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective));
addEventListener('error', e => errors.push(e.message));
addEventListener('unhandledrejection', e => errors.push(String(e.reason)));
for (const name of ['ready', 'error'])
  document.addEventListener('testimonials:' + name, e => events.push([name, e.detail]));
"""


@contextlib.contextmanager
def serve(answer: Callable[[str], Answer]) -> Iterator[int]:
    """Answer each address as `answer` says; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body, policy = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Cache-Control", "no-store")
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def write_html(body: str, lang: str = "en") -> bytes:
    head = '<meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">'
    html = f'<!doctype html><html lang="{lang}"><head>{head}</head><body>{body}</body></html>'
    return html.encode()


@dataclass
class HostPage:
    """A website of somebody else: one page, with headers of its own."""

    url: str = ""
    body: str = ""
    policy: str | None = None


@pytest.fixture
def host() -> Iterator[HostPage]:
    page = HostPage()
    with serve(lambda _: (200, "text/html", write_html(page.body), page.policy)) as port:
        # Another host name than the service's, so that not only the port differs.
        page.url = f"http://localhost:{port}/"
        yield page


class Pages:
    """Host pages, and on another origin the script and the feeds that a test has written."""

    host_url = base = script_url = ""

    def __init__(self) -> None:
        self.feed: dict[str, dict[str, Any]] = {}  # project id -> {config, items, cta, ...}
        self.broken: set[str] = set()  # project ids whose feed answers 500
        self.requests: list[str] = []
        self.pages: dict[str, tuple[bytes, str | None]] = {}

    def host_page(self, html_body: str, csp: str | None = None, lang: str = "en") -> str:
        path = f"/{len(self.pages)}"
        self.pages[path] = (write_html(html_body, lang), csp)
        return self.host_url + path

    def snippet(self, project: str = "p1", attributes: str = "") -> str:
        return (
            f'<div data-testimonials-project="{project}" {attributes}>'
            f'<a href="{self.base}/widget/{project}">Read our testimonials</a></div>'
        )

    def tag(self) -> str:
        return f'<script src="{self.script_url}" async></script>'

    def answer_host(self, path: str) -> Answer:
        html, csp = self.pages.get(path, (b"", None))
        return 200, "text/html", html, csp

    def answer_service(self, path: str) -> Answer:
        url = urlparse(path)
        self.requests.append(path)
        if url.path == "/widget/v1.js":
            script = build_script(*(["badge"] if url.query else WALL))
            return 200, "text/javascript; charset=utf-8", script, None
        for name in PIECES:
            if url.path == f"/widget/v1-{piece_digest(name)}.js":
                return 200, "text/javascript; charset=utf-8", build_piece(name), None
        if url.path.endswith("/good.png"):
            return 200, "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>', None
        project = url.path.split("/")[2] if url.path.endswith("/feed") else ""
        if project not in self.feed:
            return 404, "text/plain", b"", None
        if project in self.broken:
            return 500, "text/plain", b"", None
        body = dict(self.feed[project])
        items, size = body["items"], body["config"]["initialCount"]
        after = int(parse_qs(url.query).get("after", ["0"])[0])
        body.setdefault("total", len(items))
        body["items"] = items[after : after + size]
        body.setdefault("draw", choose_draw(body))
        body["next"] = str(after + size) if after + size < len(items) else None
        return 200, "application/json", json.dumps(body).encode(), None


@pytest.fixture
def pages() -> Iterator[Pages]:
    pages = Pages()
    with serve(pages.answer_host) as hosts, serve(pages.answer_service) as service:
        pages.host_url, pages.base = f"http://127.0.0.1:{hosts}", f"http://127.0.0.1:{service}"
        pages.script_url = f"{pages.base}/widget/v1.js"
        yield pages


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="no-preference"
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.add_init_script(WATCH + WATCH_SHIFTS)
    page.messages = []  # type: ignore[attr-defined]
    page.on("console", lambda m: page.messages.append((m.type, m.text)))  # type: ignore[attr-defined]
    page.on("pageerror", lambda e: page.messages.append(("pageerror", str(e))))  # type: ignore[attr-defined]
    yield page
    if not page.is_closed():
        assert page.evaluate("window.errors || []") == []
    context.close()


def config(**changes: Any) -> dict[str, Any]:
    return {
        "theme": "light", "layout": "masonry", "animation": "none", "palette": "indigo",
        "cardStyle": "default", "initialCount": 12, "showStars": True, "showDates": True,
        "showSource": True, "showCtaButton": True, **changes,
    }  # fmt: skip


def item(n: int = 1, **changes: Any) -> dict[str, Any]:
    values = {
        "id": f"t{n}", "authorName": f"Maya Kowalski {n}", "authorRole": "Owner",
        "authorCompany": "Fern & Fable", "text": f"Number {n}. " + "We switched on a Tuesday. " * (n % 5 + 1),
        "rating": 5, "submittedAt": f"2026-03-{n % 28 + 1:02}T09:30:00.000Z", **changes,
    }  # fmt: skip
    return values | {"face": draw_face(values["authorName"])}


ENGLISH = WORDS | {
    "rated": "Rated {rating} out of 5", "progress": "{n} of {total}", "page": "Page {n} of {total}",
    "reply": "Reply from {name}", "ratings": "{n} ratings",
}  # fmt: skip


def feed(
    count: int = 6,
    items: list[dict[str, Any]] | None = None,
    design: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return what the service would send: its design differs from the defaults as `design` says."""
    settings, chosen = config(**changes), design or {}
    return {
        "project": {"id": "p1", "name": "Fern & Fable", "active": True},
        "config": settings,
        "design": read_look(chosen),
        "colours": write_colors(read_colors(settings, chosen)),
        "lang": "en",
        "font": FONTS.get(chosen.get("font"), ""),
        "signs": ".,",
        "words": ENGLISH | chosen.get("labels", {}),
        "cta": {"label": "Share your experience", "url": "https://example.com/fern"},
        "proof": {
            "label": "How we collect",
            "url": "https://example.com/fern/how",
            "record": "https://example.com/fern/{id}/record",
            "text": "Selected by Fern & Fable",
        },
        "items": [item(n) for n in range(1, count + 1)] if items is None else items,
    }


def badge(shape: str, **changes: Any) -> dict[str, Any]:
    """Return what the service would send for a badge."""
    faces = [{"face": [f"M{letter}", 0], "avatar": None} for letter in "ABCDE"]
    data = feed(items=[], showCtaButton=False, **changes)
    ratings = "from all {n} ratings"
    words = {"ratings": ratings, "fromRatings": ratings, "people": "{n} people wrote"}
    return data | {
        "shape": shape,
        "badge": {"average": 4.8, "label": "214 ratings", "url": "https://example.com/fern/wall"},
        "header": {"average": 4.8, "count": 214, "people": 230, "faces": faces},
        "words": data["words"] | words,
        "total": 214,
    }


def open_widgets(
    page: Page,
    pages: Pages,
    *feeds: dict[str, Any],
    before: str = "",
    attributes: str = "",
    state: str = "ready",
    **how: Any,
) -> None:
    """Open a host page with a widget of each feed below each other, and wait until all stand."""
    pages.feed |= {f"p{n}": data for n, data in enumerate(feeds, start=1)}
    snippets = [pages.snippet(f"p{n}", attributes) for n in range(1, len(feeds) + 1)]
    page.goto(pages.host_page(before + "".join(snippets) + pages.tag(), **how))
    settle(page, state, len(feeds))


def settle(page: Page, state: str = "ready", count: int = 1) -> None:
    page.wait_for_function(
        "([s, n]) => document.querySelectorAll(`[data-testimonials-state=${s}]`).length === n",
        arg=[state, count],
    )


def settle_later(page: Page) -> None:
    """Wait until what comes after the first paint works in each widget that stands: it prints,
    takes back what was reserved, and tells."""
    came = "host.shadowRoot.adoptedStyleSheets.some((s) => [...s.cssRules].some(isLast))"
    page.wait_for_function(f"""() => {{
      const isLast = (rule) => rule.selectorText === '#hole';
      const hosts = [...document.querySelectorAll('[data-testimonials-state=ready]')];
      return hosts.length && hosts.every((host) => {came});
    }}""")


def look(page: Page, script: str, n: int = 0) -> Any:
    """The value of an expression in which `host` is the div and `root` its shadow root."""
    names = f"const host = {CONTAINERS}[{n}], root = host.shadowRoot"
    return page.evaluate(f"(() => {{ {names}; return {script} }})()")


def styles(page: Page, selector: str, *names: str) -> list[str]:
    """The values of these properties of the first element in a widget that has the selector."""
    read = f"(s => {list(names)}.map(name => s[name]))"
    found: list[str] = look(page, f"{read}(getComputedStyle(root.querySelector('{selector}')))")
    return found


def widget(page: Page, n: int = 0) -> Locator:
    return page.locator("[data-testimonials-project]").nth(n)


def boxes(page: Page, n: int = 0) -> list[list[float]]:
    """Where the cards are: left, top, width, height."""
    found = "[...root.querySelectorAll('li:not([inert])')].map(li => li.getBoundingClientRect())"
    return look(page, f"{found}.map(b => [b.left, b.top, b.width, b.height].map(Math.round))", n)
