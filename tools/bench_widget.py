"""The part of `scripts/bench` in a browser: how long the widget keeps a page from answering.

A task is the time for which a page does nothing else, such as following a finger. It is counted in
processor time, because a busy machine stretches the clock's, and times four, which is about how
much slower a cheap phone is. Beside it stands the empty page that the widget is put into.
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

# The page tells by itself that the widget stands: scripts of the driver would be counted too.
HEAD = '<!doctype html><html lang="en"><title>Host</title>'
TELL = "addEventListener('testimonials:ready', () => console.log('ready'));"


@dataclass(frozen=True)
class Work:
    """What the main thread did, in milliseconds of a processor that is four times slower."""

    longest: float
    # Of what is done for a promise a trace only says that it was a task. Without those that take
    # less than a millisecond here, of which an idle page may have thousands.
    tasks: float
    layout: float
    # What is left of the tasks without drawing: script, and what Chromium makes for it.
    script: float


def measure_widget(service: Service, headers: Mapping[str, str]) -> None:
    """Print how a wall of nine and a badge occupy a page, beside the page without them."""
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
    """Open the page; return what that took until the widget stands."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    browser.start_tracing(page=page, categories=TRACED)
    if has_widget:
        with page.expect_console_message():
            page.goto(url)
    else:
        page.goto(url)
    # What follows the last card, such as drawing it, counts too.
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
    """Yield those with these names that are in none of the others."""
    end = 0.0
    for event in sorted(events, key=lambda each: (each["tts"], -each["tdur"])):
        if event["name"] in names and event["tts"] >= end:
            end = event["tts"] + event["tdur"]
            yield event


@contextmanager
def serve_pages(bodies: list[str]) -> Iterator[str]:
    """Serve pages with these bodies from an origin of its own; yield what their numbers follow."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer with the page of this number; whatever else is asked for is the first."""
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
