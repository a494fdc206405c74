"""The part of `scripts/bench` in a browser: how long the widget keeps a page from responding.

While a page runs a task, it does nothing else, such as following a finger. Tasks are measured in
processor time, because on a busy machine they take longer, and multiplied by four, since a cheap
phone is about that much slower. The figures of an empty page stand beside those of the widget.
"""

import json
import statistics
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.support.process import Service
from tools.journey import CHROMIUM, CHROMIUM_FLAGS

ROUNDS = 9
SLOWER = 4
CARDS = 9
TEXT = "We switched on a Tuesday, and by Friday we had five new bookings. "
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline", "v8"]
LAYOUT = frozenset({"Arrangement", "UpdateLayoutTree"})
DRAWING = LAYOUT | {"ParseHTML", "PrePaint", "Paint", "Layerize", "UpdateLayer", "Commit"}

# The page itself reports that the widget is ready: scripts of the driver would be counted too.
HEAD = '<!doctype html><html lang="en"><title>Host</title>'
TELL = "addEventListener('testimonials:ready', () => console.log('ready'));"


@dataclass(frozen=True)
class Work:
    """The work of the main thread, in milliseconds of a processor that is four times slower."""

    longest: float
    # All tasks, such as for promises, except those that take less than a millisecond here, of which
    # an idle page may have thousands.
    tasks: float
    layout: float
    # The tasks without drawing: scripts, and what Chromium does for them.
    script: float


def measure_widget(service: Service, headers: Mapping[str, str]) -> None:
    """Print how long a wall of nine and a badge occupy a page, and the same for an empty page."""
    project = service.make_project(dict(headers), slug="bench-widget")
    for number in range(CARDS):
        body = {"authorName": f"Maya {number}", "authorRole": "Owner", "rating": 5}
        body["text"] = TEXT * (number % 4 + 1)
        service.call("POST", f"/v1/projects/{project}/testimonials", body, dict(headers))
    path = f"/v1/projects/{project}/embed-snippet"
    snippet = service.call("GET", path, None, dict(headers)).data
    wall = snippet["container"] + snippet["script"]
    badge = f'<div data-testimonials-project="{project}" data-testimonials-shape="badge"></div>'
    pages = {
        "empty page": "",
        f"wall of {CARDS}": wall,
        "badge": badge + snippet["script"],
    }
    found: dict[str, list[Work]] = {name: [] for name in pages}
    with serve_pages(list(pages.values())) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for _ in range(ROUNDS):
            for number, name in enumerate(pages):
                found[name].append(_watch(browser, f"{url}{number}", bool(number)))
        browser.close()
    for name, works in found.items():
        parts = (
            f"{part} {statistics.median(getattr(work, part) for work in works):6.1f} ms"
            for part in ("longest", "tasks", "layout", "script")
        )
        print(f"{name + f', at {SLOWER}x':24} {'  '.join(parts)}")


def _watch(browser: Browser, url: str, has_widget: bool) -> Work:
    """Open the page; return the work until the widget is drawn."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    browser.start_tracing(page=page, categories=TRACED)
    if has_widget:
        with page.expect_console_message():
            page.goto(url)
    else:
        page.goto(url)
    # Work after the last card, such as drawing it, counts too.
    page.wait_for_timeout(300)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.close()
    return _add_up(events)


def _add_up(events: list[dict[str, Any]]) -> Work:
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    timed = [event for event in events if "tdur" in event]
    timed = [event for event in timed if (event["pid"], event["tid"]) in threads]
    tasks = [task for task in _outermost(timed, frozenset({"RunTask"})) if task["tdur"] > 1000]
    busy, drawn = _sum(tasks), 0.0
    for task in tasks:
        begin, end = task["tts"], task["tts"] + task["tdur"]
        drawn += _sum(_outermost((e for e in timed if begin <= e["tts"] < end), DRAWING))
    longest = max((task["tdur"] for task in tasks), default=0)
    times = longest, busy, _sum(_outermost(timed, LAYOUT)), busy - drawn
    return Work(*(SLOWER * time / 1000 for time in times))


def _sum(events: Iterable[dict[str, Any]]) -> float:
    return float(sum(event["tdur"] for event in events))


def _outermost(events: Iterable[dict[str, Any]], names: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the events with these names that are not within another one of them."""
    end = 0.0
    for event in sorted(events, key=lambda each: (each["tts"], -each["tdur"])):
        if event["name"] in names and event["tts"] >= end:
            end = event["tts"] + event["tdur"]
            yield event


@contextmanager
def serve_pages(bodies: list[str]) -> Iterator[str]:
    """Serve pages with these bodies from another origin; yield their URL without its number."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the page that has this number, by default the first."""
            name = self.path.removeprefix("/")
            body = bodies[int(name) if name.isdigit() else 0]
            html = (
                f'<!doctype html><html lang="en"><title>Host</title><script>{TELL}</script>{body}'
            )
            content = html.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal for the figures."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
