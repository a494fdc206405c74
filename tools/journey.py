"""`scripts/journey`: the main task with real input, by nothing but HTTP and a browser.

A new service is started; an agent signs up, creates a project, sets up the widget, adds
testimonials, and pastes the snippet as it was returned into a page of another origin; Chromium
shows it.
"""

import functools
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.support.process import Service, start_service

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Fern &amp; Fable Salon</title>
<style>
  body {{ margin: 0; font-family: Georgia, serif; background: #fbf9f4; color: #1c2b25 }}
  main {{ max-width: 1120px; margin: 0 auto; padding: 56px 24px }}
  h1 {{ font-size: 40px; margin: 0 0 8px; font-weight: 500 }}
  p {{ margin: 0 0 32px; font-size: 18px; color: #56645d }}
</style>
<main>
  <h1>What people say</h1>
  <p>Fern &amp; Fable Salon, Harbour Street 12</p>
  {container}
</main>
{script}
</html>
"""

TESTIMONIALS: list[dict[str, Any]] = [
    {
        "authorName": "Dana Levitt",
        "authorRole": "First visit",
        "text": "Lovely cut, but I waited twenty-five minutes past my slot and nobody said why. "
        "I’d come back for Theo, on a quieter day.",
        "rating": 3,
    },
    {
        "authorName": "山田 さくら",
        "authorRole": "常連のお客様",
        "text": "初めてなのに、髪の癖をすぐに分かってくれました。乾かすだけで形が決まります。",
        "rating": 5,
    },
    {
        "authorName": "Tom Okafor",
        "authorRole": "Regular, every five weeks",
        "text": "Best fade in the neighbourhood, and nobody tries to sell me shampoo.",
        "rating": 5,
    },
    {
        "authorName": "Lucía Fernández",
        "authorRole": "Profesora",
        "text": "Llegué con un tinte casero desastroso y salí con el color que llevaba años "
        "buscando. Me explicaron cada paso y respetaron el precio.",
        "rating": 5,
    },
    {
        "authorName": "Paul Brandt",
        "authorRole": "Saturday regular",
        "authorCompany": "Brandt Carpentry",
        "text": "My daughter and I get our hair done on the same Saturday. It has become the "
        "nicest hour of our month. Parking is the only thing I’d change.",
        "rating": 4.5,
    },
    {
        "authorName": "Hannah Whitlock",
        "authorRole": "Wedding client",
        "text": "I arrived with a photo from 1998 and very little hope. Noor asked three good "
        "questions, put the photo away, and gave me hair that stayed up through rain, two "
        "ceremonies and my uncle’s dancing. Worth every minute.",
        "rating": 5,
    },
]


def run_journey(picture: Path) -> int:
    """Do all steps, save a screenshot, return the number of cards; raise `AssertionError`."""
    with tempfile.TemporaryDirectory() as folder:
        service = start_service(Path(folder) / "instance", (), {})
        try:
            snippet = act_as_agent(service)
            site = Path(folder) / "site"
            site.mkdir()
            page = PAGE.format(container=snippet["container"], script=snippet["script"])
            (site / "index.html").write_text(page, encoding="utf-8")
            return look_at(site, picture)
        finally:
            service.kill()


def act_as_agent(service: Service) -> dict[str, str]:
    """Sign up, create a project, set up its widget, add testimonials; return the snippet."""
    credentials = service.sign_up("rosa@example.com")
    assert service.call("GET", "/v1/me", None, credentials).data["email"] == "rosa@example.com"
    body = {"businessName": "Fern & Fable Salon", "website": "example.com"}
    project = service.call("POST", "/v1/projects", body, credentials).data
    path = f"/v1/projects/{project['_id']}"
    config = {"palette": "emerald", "layout": "masonry", "initialCount": 6}
    changed = service.call("PATCH", f"{path}/widget-config", config, credentials).data
    assert changed["widgetConfig"]["palette"] == "emerald"
    for values in TESTIMONIALS:
        created = service.call("POST", f"{path}/testimonials", values, credentials)
        assert created.data["status"] == "approved"
    removed = service.call("DELETE", f"{path}/testimonials/demo", None, credentials)
    assert removed.data == {"deletedCount": 6}
    listed = service.call("GET", f"{path}/testimonials", None, credentials).data["items"]
    assert [item["authorName"] for item in reversed(listed)] == [
        values["authorName"] for values in TESTIMONIALS
    ]
    snippet: dict[str, str] = service.call("GET", f"{path}/embed-snippet", None, credentials).data
    return snippet


def look_at(site: Path, picture: Path) -> int:
    """Serve `site` from an origin of its own, and take a screenshot once the widget is ready."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        problems = watch(page)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        widget = page.locator('[data-testimonials-state="ready"]')
        widget.wait_for()
        count = int(widget.get_attribute("data-testimonials-count") or 0)
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, full_page=True)
        browser.close()
        server.shutdown()
    assert not problems, problems
    return count


def watch(page: Page) -> list[str]:
    """Return a list that fills with the page's errors."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda line: problems.append(line.text) if line.type in ("error", "warning") else None,
    )
    return problems


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal for the result."""

    def do_GET(self) -> None:
        """Serve the page; browsers also request an icon that this site doesn't have."""
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    shown = run_journey(target)
    print(f"The widget shows {shown} testimonials; the picture is {target}.")
