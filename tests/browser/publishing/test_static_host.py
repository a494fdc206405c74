"""What a browser shows of published files, also while the service is down."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.insights.test_telling import listen, wait_until_told
from tests.publishing.static_host import serve_folder
from tests.support.pictures import photo as photo_of
from tests.support.pictures import to_bytes
from tests.support.process import Service, start_service
from tests.support.servers import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]

MANY = 30


@dataclass
class Published:
    """A service whose project is out, the host of its files, and somebody's website."""

    service: Service
    project: dict[str, Any]
    folder: Path
    host: str
    website: str


@pytest.fixture
def published(instance: Path, tmp_path: Path) -> Iterator[Published]:
    """A project with 30 testimonials, one of them with a photo."""
    folder, website = tmp_path / "published", tmp_path / "website"
    with serve_folder(folder) as host, serve_folder(website) as other:
        settings = {"publish_to": str(folder), "publish_url": host}
        service = start_service(instance, (), settings)
        headers = service.sign_up()
        values = {"businessName": "Loom & Co", "skipDemoTestimonials": True}
        project = service.call("POST", "/v1/projects", values, headers).data
        path = f"/v1/projects/{project['_id']}/testimonials"
        first = ""
        for number in range(MANY):
            words = {"authorName": f"Maya {number}", "text": f"Words {number}.", "rating": 5}
            answer = service.call("POST", path, words, headers)
            assert answer.status == 200
            first = first or answer.data["_id"]
        photo = to_bytes(photo_of(), "PNG")
        kind = {"Content-Type": "image/png"}
        # It waits for the owner.
        answer = service.call("PUT", f"{path}/{answer.data['_id']}/avatar", photo, headers | kind)
        accepted = service.run(
            "proposals", "accept", answer.data["_id"], "--project", project["_id"]
        )
        assert accepted.returncode == 0, accepted.stderr
        feed = folder / "widget" / project["_id"] / "feed.lang-en.json"
        last = f"Words {MANY - 1}."
        wait_for(lambda: feed.exists() and last in feed.read_text(), what="the files")
        answer = service.call("GET", f"/v1/projects/{project['_id']}/embed-snippet", None, headers)
        assert answer.data["widgetUrl"] == f"{host}/widget/v1.js"
        (website / "index.html").write_text(
            f"<!doctype html><html lang=fi><h1>Shop</h1>{answer.data['script']}"
            f"{answer.data['container']}"
        )
        (website / "tag.html").write_text(
            f"<!doctype html><html lang=en><h1>Shop</h1>{answer.data['script']}"
            f"<div data-testimonials-project={project['_id']} data-testimonials-min=3></div>"
            f"<div data-testimonials-project={project['_id']} data-testimonials-id={first}></div>"
            f"<div data-testimonials-project={project['_id']} data-testimonials-tag=kind></div>"
        )
        yield Published(service, project, folder, host, other)
        service.kill()


def test_service_is_asked_for_what_has_no_file(published: Published, open_page: OpenPage) -> None:
    page = open_page(f"{published.website}/tag.html")
    expect(page.get_by_text(f"Words {MANY - 1}.")).to_be_visible()
    one = page.locator("[data-testimonials-id]")
    expect(one.get_by_text("Words 0.")).to_be_visible()
    expect(one.locator("figure")).to_have_count(1)
    # Nothing has this tag.
    tagged = page.locator("[data-testimonials-tag]")
    expect(tagged).to_have_attribute("data-testimonials-state", "empty")


def test_files_tell_the_service_what_was_seen(published: Published, open_page: OpenPage) -> None:
    wall = f"{published.host}/widget/{published.project['_id']}/wall.html"
    page = open_page("about:blank")
    listen(page)
    for url in (f"{published.website}/index.html", wall):
        page.goto(url)
        expect(page.get_by_text(f"Words {MANY - 1}.")).to_be_visible()
        page.wait_for_load_state("networkidle")
        wait_until_told(page, lambda all: bool(all["seen"]))
        asked = f"{published.service.url}/widget/{published.project['_id']}/seen"
        assert set(page.evaluate("places")) == {asked}


def test_widget_and_wall_need_no_service(published: Published, open_page: OpenPage) -> None:
    # Files of one change may be from two rounds of writing: the photo may come in the middle.
    files = published.folder / "widget" / published.project["_id"]
    opened = [files / name for name in ("feed.lang-en.json", "wall.html", "wall.lang-de.html")]
    wait_for(lambda: all(".webp" in file.read_text() for file in opened), what="the photo")
    published.service.kill()
    page = open_page(f"{published.website}/index.html")
    expect(page.get_by_text(f"Words {MANY - 1}.")).to_be_visible()
    photo = page.locator("[data-testimonials-project] img").first
    expect(photo).to_have_js_property("complete", True)
    assert photo.evaluate("(node) => node.naturalWidth") > 0
    cards = page.locator("[data-testimonials-project] figure")
    while (shown := cards.count()) < MANY:
        page.get_by_role("button", name="Show more").click()
        expect(cards).not_to_have_count(shown)

    wall = open_page(f"{published.host}/widget/{published.project['_id']}/wall.html")
    expect(wall.get_by_role("heading", level=1)).to_be_visible()
    expect(wall.locator("figure")).to_have_count(MANY)
    # Its style sheet came too.
    expect(wall.locator(".unseen").first).to_have_css("position", "absolute")
    wall.get_by_role("link", name="Deutsch").click()
    expect(wall.locator("html")).to_have_attribute("lang", "de")
    expect(wall.locator("figure")).to_have_count(MANY)
