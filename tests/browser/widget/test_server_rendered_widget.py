"""The widget without its script, and the snippet as copied, on the feed of the service."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.axe import find_rules
from tests.browser.conftest import OpenPage, Site
from tests.browser.widget.test_snippet_on_another_origin import HostPage, host

__all__ = ["host"]
pytestmark = [pytest.mark.browser, pytest.mark.process]

PEOPLE = (
    ("Maya Kowalski", "Owner", 5, "Booking used to be three phone calls.\nNow it is none."),
    ("ليلى منصور", "مصممة", 4.5, "صالون هادئ ونظيف."),
    ("山田 さくら", "", 3, "初めてなのに、すぐに分かってくれました。"),
    ("O’Neil  de la Cruz", "Regular", None, "W" * 300),
)
# What a reader gets of each card, and the colours behind the initials.
READ = """root => [...root.querySelectorAll('li')].map(li => [
  ...['.text', '.name', '.role', '.date', '.avatar', '.sample'].map(s => li.querySelector(s)?.textContent.trim() ?? ''),
  li.querySelector('.stars')?.getAttribute('aria-label') ?? '',
  getComputedStyle(li.querySelector('.avatar')).backgroundColor,
  getComputedStyle(li.querySelector('.card')).backgroundColor,
])"""


@pytest.mark.parametrize(("theme", "style"), [("light", "quote"), ("dark", "gradient")])
def test_the_server_renders_the_same_cards_as_the_script(
    site: Site, open_page: OpenPage, host: HostPage, theme: str, style: str
) -> None:
    project = site.create_project()
    for name, role, rating, text in PEOPLE:
        body = {"authorName": name, "authorRole": role, "text": text}
        project.call("POST", "/testimonials", body | ({"rating": rating} if rating else {}))
    project.call("PATCH", "/widget-config", {"theme": theme, "cardStyle": style, "palette": "rose"})
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    live = open_page(host.url).locator('[data-testimonials-state="ready"]')
    expected = live.evaluate(f"node => ({READ})(node.shadowRoot)")
    assert len(expected) == len(PEOPLE)
    wall = open_page(f"{site.url}/{project.slug}/wall", java_script_enabled=False)
    assert wall.locator(".tm-page").evaluate(READ) == expected
    path = f"/widget/{project.id}/fragment"
    fragment = site.service.call("GET", path).body.decode()
    # Such a page asks nobody for anything.
    host.body, host.policy = (
        fragment,
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    )
    built = open_page(host.url, java_script_enabled=False)
    found = built.locator("div").first.evaluate(f"node => ({READ})(node.shadowRoot)")
    assert found == expected


def test_the_wall_is_for_everybody(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    for number in range(4):
        body = {"authorName": "Maya " * 20, "text": "W" * 2000 if number else "Short.", "rating": 4}
        project.call("POST", "/testimonials", body)
    wall = open_page(f"{site.url}/{project.slug}/wall", java_script_enabled=False)
    for width in (320, 1280):
        for scheme in ("light", "dark"):
            project.call("PATCH", "/widget-config", {"theme": scheme})
            wall.set_viewport_size({"width": width, "height": 800})
            wall.reload()
            assert wall.evaluate("document.documentElement.scrollWidth") <= width
    checked = open_page(f"{site.url}/{project.slug}/wall")
    assert find_rules(checked) == []
    checked.keyboard.press("Tab")
    expect(checked.get_by_role("link", name="Share your experience")).to_be_focused()


@pytest.mark.parametrize("layout", ["masonry", "carousel", "list"])
def test_nothing_moves_with_the_snippet_as_copied(
    browser: Browser, site: Site, host: HostPage, layout: str
) -> None:
    project = site.create_project()
    for number in range(7):
        text = "We switched on a Tuesday and nobody noticed. " * (number % 4 + 1)
        body = {"authorName": f"Maya {number}", "authorRole": "Owner", "text": text, "rating": 5}
        project.call("POST", "/testimonials", body)
    project.call("PATCH", "/widget-config", {"layout": layout})
    snippet = project.call("GET", "/embed-snippet")
    host.body = f"<p>Above</p>{snippet['container']}<p id=below>Below</p>{snippet['script']}"
    tab = browser.new_page()
    tab.add_init_script(
        "window.cls = 0; new PerformanceObserver(list => list.getEntries().forEach(e => { cls += e.value }))"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    for width in (360, 768, 1280):
        # High enough that all of the page is in sight.
        tab.set_viewport_size({"width": width, "height": 3000})
        tab.goto(host.url)
        widget = tab.locator('[data-testimonials-state="ready"]')
        widget.wait_for()
        tab.wait_for_timeout(200)
        assert tab.evaluate("cls") == 0, width
        reserved, needed = widget.evaluate(
            "node => [node.offsetHeight, node.shadowRoot.querySelector('.tm').offsetHeight]"
        )
        assert needed <= reserved <= 1.35 * needed, width
    tab.close()
