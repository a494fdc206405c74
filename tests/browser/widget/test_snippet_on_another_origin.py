"""The embed snippet, as the API returns it, on a page of another origin."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from testimonials.core.db.transactions import write
from testimonials.projects.projects import lock_project
from testimonials.widget.settings import save_widget
from tests.browser.conftest import Project

IS_DRAWN = (
    "() => document.querySelector('[data-testimonials-project]').shadowRoot?.querySelector('a')"
)
FOCUSED = "document.activeElement.shadowRoot?.activeElement?.textContent ?? ''"
TEXTS = (
    "By Friday we had five new bookings.",
    '<img src=x onerror="document.title=1"><script>document.title=2</script> & so on',
    "Ein zweiter Satz, mit Umlauten: schön.",
)


def fill(project: Project, **config: object) -> None:
    """Set the widget up and write the testimonials."""
    project.call("PATCH", "/widget-config", config)
    for text in TEXTS:
        values = {"authorName": "Maya <b>Kowalski</b>", "text": text, "rating": 4.5}
        project.call("POST", "/testimonials", values)


def check_widget(page: Page) -> None:
    """Check that the widget stands, with every text as text."""
    container = page.locator('[data-testimonials-state="ready"]')
    expect(container).to_have_attribute("data-testimonials-count", str(len(TEXTS)))
    assert container.evaluate("node => Boolean(node.shadowRoot)")
    for text in TEXTS:
        # Clones that keep a moving carousel going are out of the reach of people and of this.
        expect(container.get_by_text(text, exact=True).first).to_be_visible()
    expect(container.get_by_text("Maya <b>Kowalski</b>").first).to_be_visible()
    assert container.locator("img, script, b").count() == 0
    assert page.title() == "Host"


def test_snippet_as_returned_shows_the_testimonials(host, open_page, project):
    fill(project)
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    check_widget(open_page(host.url, viewport={"width": 1280, "height": 900}))
    still = open_page(host.url, java_script_enabled=False)
    expect(still.get_by_role("link", name="Read our testimonials")).to_be_visible()
    for text in TEXTS:
        framed = still.frame_locator("iframe").locator("blockquote").get_by_text(text, exact=True)
        expect(framed.first).to_be_visible()


def test_policy_and_record_are_near_by_keyboard(site, host, open_page, project):
    fill(project)
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    page = open_page(host.url)
    check_widget(page)
    feed = json.loads(site.service.call("GET", f"/widget/{project.id}/feed").body)
    record = feed["proof"]["record"].replace("{id}", feed["items"][0]["id"])
    for name, address in (("Check this", record), ("How we collect", feed["proof"]["url"])):
        while page.evaluate(FOCUSED) != name:
            page.keyboard.press("Tab")
            assert page.evaluate(FOCUSED) != "", name
        with page.expect_popup() as opened:
            page.keyboard.press("Enter")
        assert opened.value.url == address
        expect(opened.value.get_by_role("heading").first).to_be_attached()


def test_strict_policy_of_the_host_needs_the_service_alone(site, host, open_page, project):
    fill(project, layout="carousel", animation="horizontal")
    snippet = project.call("GET", "/embed-snippet")
    # Such a site has the height in a style sheet of its own, as the documents say.
    container, count = re.subn(r' style="[^"]*"', "", snippet["container"], count=1)
    assert count == 1
    host.body = container + snippet["script"]
    host.policy = (
        f"default-src 'none'; script-src {site.url}; connect-src {site.url}; img-src data:; "
        "style-src 'self'; base-uri 'none'; require-trusted-types-for 'script'"
    )
    check_widget(open_page(host.url))


def test_a_guest_of_the_page_does_not_say_where_code_comes_from(host, open_page, project):
    """Where visitors may write plain HTML, a name of theirs is a property of the document."""
    fill(project)
    snippet = project.call("GET", "/embed-snippet")
    picture = '<img name="currentScript" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    host.body = picture + snippet["container"] + snippet["script"]
    check_widget(open_page(host.url))


def test_the_code_for_frames_shows_the_shape(site, host, open_page, project):
    fill(project)
    with site.app.app_context(), write(lambda: lock_project(project.id)) as locked:
        save_widget(locked, "badge").design = {"shape": "badge"}
    owner = project.open(open_page, viewport={"width": 1280, "height": 860})
    owner.goto(f"{site.url}/dashboard/projects/{project.id}/widget/add-to-site?widget=badge")
    host.body = owner.locator("#frame").text_content() or ""
    for script in ("", None):
        visitor = open_page("about:blank")
        if script is not None:
            visitor.route("**/widget/v1.js", lambda route: route.fulfill(body=""))
        visitor.goto(host.url)
        frame = visitor.locator("iframe").element_handle().content_frame()
        assert frame is not None
        if script is None:
            frame.wait_for_function(IS_DRAWN)
        expect(frame.locator("a.badge").last).to_be_visible()
        # It fits, so nothing scrolls, with the script and before it came.
        frame.wait_for_function("() => document.documentElement.scrollHeight === 64")


def test_the_owner_is_told_where_the_widget_was_seen(site, open_page, host, project):
    fill(project)
    owner = project.open(open_page)
    owner.goto(f"{site.url}/dashboard/projects/{project.id}/widget/add-to-site")
    expect(owner.get_by_text("Watching for the first visit…")).to_be_visible()
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    visitor = open_page(host.url)
    check_widget(visitor)
    # On a busy machine it may be minutes ago.
    seen = re.compile(rf"Seen (just|\d+ min).* on {host.url.removeprefix('http://').rstrip('/')}")
    # The page that is open says it by itself.
    expect(owner.get_by_text(seen)).to_be_visible()
    # The same answer out of memory is noted as well, and our own page is no website of others.
    visitor.reload()
    check_widget(visitor)
    visitor.goto(f"{site.url}/widget/{project.id}")
    owner.reload()
    expect(owner.get_by_text(seen)).to_be_visible()


@pytest.mark.parametrize("layout", ["masonry", "list", "carousel"])
def test_a_widget_takes_two_requests_before_it_stands(open_page, host, layout, project):
    fill(project, layout=layout, animation="none", cardStyle="quote")
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_request(re.compile(r"later\.js$")):
        page.goto(host.url)
    check_widget(page)
    # What comes once it stands is the last.
    paths = [url.partition("/widget/")[2] for url in asked if "/widget/" in url]
    assert [re.sub(r"[?].*|v[0-9a-f]{7}(?=later)", "", path) for path in paths] == [
        "v1.js",
        f"{project.id}/feed",
        "v1-later.js",
    ]
