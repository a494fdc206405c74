"""The npm package, packed, installed and built as others would."""

import contextlib
import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

PACKAGES = Path(__file__).parents[3] / "packages"
EXAMPLES = PACKAGES / "examples"
TOOLS = EXAMPLES / "node_modules"
ON_A_SERVER = """
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { TestimonialsWidget } from 'testimonials-widget';
if (globalThis.customElements !== undefined || !TestimonialsWidget) throw new Error('No server');
console.log(renderToString(createElement('testimonials-widget', { project: 'p', src: 's' })));
"""


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a program of the examples, or npm; return what it printed."""
    finished = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def install(package: str, examples: Path, place: Path) -> Path:
    """Return a fresh project with the package, as it was packed, and the examples' sources.

    What else the examples need is found in a folder above, as it was installed for all tests.
    """
    (place / "node_modules").symlink_to(examples / "node_modules")
    folder = place / "fresh"
    left_out = shutil.ignore_patterns("node_modules", "dist", "package*.json")
    shutil.copytree(examples, folder, ignore=left_out)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    run("npm", "pack", "--silent", "--pack-destination", folder, folder=PACKAGES / package)
    (packed,) = folder.glob("*.tgz")
    run("npm", "install", "--offline", "--silent", "--no-audit", packed, folder=folder)
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    return install("testimonials-widget", EXAMPLES, tmp_path)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder as a website; give its address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    handler = functools.partial(Handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def website(fresh: Path) -> Iterator[str]:
    """The address of a website that serves the fresh project's files."""
    with serving(fresh) as address:
        yield address


def test_the_package_works_in_fresh_projects(site, open_page, fresh, website):
    rendered = run("node", "--input-type=module", "-e", ON_A_SERVER, folder=fresh)
    assert rendered.strip() == '<testimonials-widget project="p" src="s"></testimonials-widget>'
    project = site.create_project()
    for number in range(3):
        body = {"authorName": "Maya", "text": f"Words no. {number}", "rating": 5}
        project.call("POST", "/testimonials", body)
    run(TOOLS / ".bin" / "tsc", "--project", "react", folder=fresh)
    for name in ("react", "vue"):
        values = {"VITE_SERVICE": site.url, "VITE_PROJECT": project.id}
        run(TOOLS / ".bin" / "vite", "build", name, "--logLevel", "warn", folder=fresh, **values)
        page = open_page(f"{website}/{name}/dist/")
        element = page.locator("testimonials-widget")
        expect(page.get_by_text("3 shown")).to_be_visible()
        cards = element.locator("[part~=card]")
        expect(cards).to_have_count(3)
        assert element.evaluate("element => getComputedStyle(element).display") == "block"
        page.get_by_role("button", name="Change the shape").click()
        expect(element).to_have_attribute("data-testimonials-shape", "strip")
        expect(cards).to_have_count(3)
        # Only the whole widget has its button.
        expect(element.get_by_role("link", name="Share your experience")).to_have_count(0)
        page.get_by_role("button", name="Change the shape").click()
        expect(element.get_by_role("link", name="Share your experience")).to_be_visible()
    # Frameworks such as Angular place an element before they give it its attributes.
    page = open_page(website)
    page.evaluate(
        """async (attributes) => {
          await import('/node_modules/testimonials-widget/index.js');
          const element = document.createElement('testimonials-widget');
          document.body.append(element);
          Object.entries(attributes).forEach((each) => element.setAttribute(...each));
        }""",
        {"project": project.id, "src": f"{site.url}/widget/v1.js"},
    )
    expect(page.locator("testimonials-widget [part~=card]")).to_have_count(3)
