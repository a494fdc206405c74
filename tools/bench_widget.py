"""The part of `scripts/bench` in a browser: how long the widget keeps a page from answering.

A task is the time for which a page does nothing else, such as following a finger. It is counted in
processor time, because a busy machine stretches the clock's, and times four, which is about how
much slower a cheap phone is. The floor is as many plain cards, added at once.
"""

import json
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.support.process import Service
from tools.journey import CHROMIUM, CHROMIUM_FLAGS

ROUNDS = 5
SLOWER = 4
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline"]

ADD_PLAIN_CARDS = """
([count, text]) => {
  const list = document.createElement('ul');
  list.style.cssText = 'display: grid; grid-template-columns: repeat(4, 1fr); gap: 16px';
  for (let i = 0; i < count; i++) {
    list.append(Object.assign(document.createElement('li'), { textContent: text }));
  }
  document.body.append(list);
}
"""
ADD_WIDGET = """
([container, script]) => {
  document.body.append(document.createRange().createContextualFragment(container + script));
}
"""


def measure_widget(service: Service, project: str, headers: dict[str, str]) -> None:
    """Print the longest task of a project's widget, beside the one of the plain cards."""
    path = f"/v1/projects/{project}/embed-snippet"
    snippet = service.call("GET", path, None, headers).data
    items = service.call("GET", f"/widget/{project}/feed").json["items"]
    cases: dict[str, tuple[str, list[Any], str]] = {
        "plain cards": (ADD_PLAIN_CARDS, [len(items), items[0]["text"]], "li >> nth=-1"),
        "widget": (
            ADD_WIDGET,
            [snippet["container"], snippet["script"]],
            '[data-testimonials-state="ready"]',
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    with serve_empty_page() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for _ in range(ROUNDS):
            for name, case in cases.items():
                times[name].append(SLOWER * longest_task(browser, url, *case))
        browser.close()
    floor = statistics.median(times["plain cards"])
    for name in cases:
        median = statistics.median(times[name])
        label = f"longest task, {name}, {len(items)} at {SLOWER}x"
        print(f"{label:40} {median:6.1f} ms  {median / floor:6.2f} of the floor")


def longest_task(
    browser: Browser, url: str, script: str, arguments: list[Any], result: str
) -> float:
    """Run `script` in the page until `result` is there; return its longest task, in ms of CPU."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url)
    # Whoever is the first to use Intl in a process waits for the browser to load its tables.
    page.evaluate("new Intl.DateTimeFormat('en-GB').format(0)")
    page.wait_for_timeout(300)
    browser.start_tracing(page=page, categories=TRACED)
    page.evaluate(script, arguments)
    page.locator(result).wait_for(state="attached")
    # What follows the last card, such as drawing it, counts too.
    page.wait_for_timeout(300)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.close()
    main = {(event["pid"], event["tid"]) for event in events if event["name"] == "Layout"}
    return max(
        event["tdur"] / 1000
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in main and "tdur" in event
    )


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
