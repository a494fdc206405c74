"""The part of `scripts/bench` in a browser: how long the widget keeps a page from answering.

A task is the time for which a page does nothing else, such as following a finger. It is counted in
processor time, because a busy machine stretches the clock's, and times four, which is about how
much slower a cheap phone is. Beside it stands the empty page that the widget is put into.
"""

import json
import statistics
import threading
from collections.abc import Iterator, Mapping
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
SCRIPT = frozenset(
    {"EvaluateScript", "FunctionCall", "RunMicrotasks", "v8.compile", "v8.compileModule"}
    | {"v8.evaluateModule", "v8.parseOnBackground", "TimerFire"}
)
LAYOUT = frozenset({"Layout", "UpdateLayoutTree"})

ADD = """(html) => {
  document.body.append(document.createRange().createContextualFragment(html));
}"""


@dataclass(frozen=True)
class Work:
    """What the main thread did, in milliseconds of a processor that is four times slower."""

    longest: float
    script: float
    layout: float


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
    with serve_empty_page() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for _ in range(ROUNDS):
            for name, html in pages.items():
                found[name].append(_watch(browser, url, html))
        browser.close()
    for name, works in found.items():
        parts = (
            f"{part} {statistics.median(getattr(work, part) for work in works):6.1f} ms"
            for part in ("longest", "script", "layout")
        )
        print(f"{name + f', at {SLOWER}x':24} {'  '.join(parts)}")


def _watch(browser: Browser, url: str, html: str) -> Work:
    """Put `html` into the page; return what that took until the widget stands."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url)
    # Whoever is the first to use Intl in a process waits for the browser to load its tables.
    page.evaluate("new Intl.DateTimeFormat('en-GB').format(0)")
    page.wait_for_timeout(300)
    browser.start_tracing(page=page, categories=TRACED)
    page.evaluate(ADD, html)
    if html:
        page.locator('[data-testimonials-state="ready"]').wait_for(state="attached")
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
    script = sum(_own(timed, SCRIPT, LAYOUT))
    layout = sum(_own(timed, LAYOUT))
    tasks = [event["tdur"] for event in timed if event["name"] == "RunTask"]
    longest = max(tasks, default=0)
    return Work(*(SLOWER * time / 1000 for time in (longest, script, layout)))


def _own(
    events: list[dict[str, Any]], names: frozenset[str], inner: frozenset[str] = frozenset()
) -> Iterator[float]:
    """Yield the outermost events with these names, without what `inner` ones in them take."""
    end = 0.0
    for event in sorted(events, key=lambda each: (each["tts"], -each["tdur"])):
        if event["name"] in names and event["tts"] >= end:
            end = event["tts"] + event["tdur"]
            yield event["tdur"]
        elif event["name"] in inner and event["tts"] < end:
            yield -event["tdur"]


@contextmanager
def serve_empty_page() -> Iterator[str]:
    """Serve an empty page from an origin of its own; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer whatever is asked for with the page."""
        body = b'<!doctype html><html lang="en"><title>Host</title>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal for the figures."""
