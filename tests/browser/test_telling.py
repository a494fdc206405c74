"""What pages tell of what was seen and read: nothing of anybody, once, when they are left."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route

from tests.browser.conftest import OpenPage, Project
from tests.browser.widget.conftest import HostPage, host, settle_later
from tests.browser.widget.test_recordings import fill as fill_with_recordings
from tests.browser.widget.test_snippet_on_another_origin import TEXTS, check_widget, fill
from tests.support.rows import add_testimonial
from tests.support.servers import wait_for

__all__ = ["host"]

PERSON = "Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false });"
ASKS = {"globalPrivacyControl": "true", "doNotTrack": "'1'"}
NOTES = """window.told = []; window.places = [];
Navigator.prototype.sendBeacon = (url, body) => Boolean(places.push(`${url}`) && told.push(body));
"""
# Five seconds never pass.
TIMELESS = """const later = setTimeout;
window.setTimeout = (work, time) => time >= 5000 ? 0 : later(work, time);
"""
# About three hundred words, which no card shows whole.
LONG = "We came for bread and stayed for the people. " * 60


def listen(page: Page, *scripts: str) -> None:
    """Note from now on what pages would tell of somebody who is no program."""
    for script in (NOTES, PERSON, *scripts):
        page.add_init_script(script)


def leave(page: Page) -> list[dict[str, Any]]:
    """Hide the page; return all that was told since it was opened."""
    told: list[str] = page.evaluate("dispatchEvent(new Event('pagehide')), told")
    return [json.loads(each) for each in told]


def wait_until_told(page: Page, has: Callable[[dict[str, set[str]]], bool]) -> dict[str, set[str]]:
    """Leave the page again and again until it has told this; return all that was seen and read."""

    def read() -> dict[str, set[str]]:
        told = leave(page)
        return {name: {id for each in told for id in each[name]} for name in ("seen", "read")}

    wait_for(lambda: has(read()), what="what was seen")
    return read()


def put_on(host: HostPage, project: Project, space: int = 0) -> None:
    """Put the widget on the website, below so much space."""
    snippet = project.call("GET", "/embed-snippet")
    shown = f'<h1 style="margin-bottom:{space}px">Host</h1>{snippet["container"]}'
    host.body = f"{shown}{snippet['script']}"


def test_what_was_seen_is_told_once(site, host, open_page, project):
    fill(project, layout="list")
    put_on(host, project)
    page = open_page("about:blank", viewport={"width": 1280, "height": 2000})
    listen(page)
    page.goto(host.url)
    check_widget(page)
    found = wait_until_told(page, lambda all: len(all["seen"]) == len(TEXTS))
    assert found["read"] == set()
    told = leave(page)
    # A view is told once, and no testimonial twice.
    assert [each["view"] for each in told] == [True] + [False] * (len(told) - 1)
    assert sum(len(each["seen"]) for each in told) == len(TEXTS)
    assert told[0] | {"seen": []} == {
        "surface": "widget", "view": True, "clicks": 0, "seen": [], "read": [],
    }  # fmt: skip
    assert set(page.evaluate("places")) == {f"{site.url}/widget/{project.id}/seen"}


@pytest.mark.parametrize("asks", [*ASKS, "program"])
def test_programs_and_who_asks_not_to_be_tracked_tell_nothing(host, open_page, asks, project):
    fill(project)
    put_on(host, project)
    page = open_page("about:blank")
    if asks in ASKS:
        get = f"{{ get: () => {ASKS[asks]} }}"
        listen(page, f"Object.defineProperty(Navigator.prototype, '{asks}', {get})")
    else:
        page.add_init_script(NOTES)
    for url in (host.url, f"{project.page_url}/wall", project.page_url):
        page.goto(url)
        if url == host.url:
            check_widget(page)
        page.wait_for_load_state("networkidle")
        assert leave(page) == []


def scroll_to(open_page: OpenPage, host: HostPage) -> Page:
    """Scroll down to the widget; from then on time passes as the test says."""
    page = open_page("about:blank", viewport={"width": 1280, "height": 1000})
    listen(page)
    page.clock.install()
    page.goto(host.url)
    settle_later(page)
    assert wait_until_told(page, lambda _: True) == {"seen": set(), "read": set()}
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)
    page.evaluate("scrollTo(0, 9000)")
    return page


def test_half_a_card_for_5_seconds_is_read(site, host, open_page):
    project = site.create_project(skipDemoTestimonials=True)
    ids = {add_testimonial(site.app, project.id) for _ in range(3)}
    project.call("PATCH", "/widget-config", {"layout": "list"})
    put_on(host, project, space=3000)
    page = scroll_to(open_page, host)
    assert wait_until_told(page, lambda all: all["seen"] == ids)["read"] == set()
    page.clock.run_for(4990)
    assert wait_until_told(page, lambda _: True)["read"] == set()
    page.clock.run_for(20)
    assert wait_until_told(page, lambda _: True)["read"] == ids


def test_what_is_scrolled_past_is_not_read(site, host, open_page, project):
    said = add_testimonial(site.app, project.id)
    put_on(host, project, space=3000)
    page = scroll_to(open_page, host)
    wait_until_told(page, lambda all: all["seen"] == {said})
    # Another observer of the same page is called after the widget's own.
    page.evaluate("""new Promise((done) => {
      new IntersectionObserver(([{ isIntersecting }]) => isIntersecting || done())
        .observe(document.querySelector('[data-testimonials-project]'));
      scrollTo(0, 0);
    })""")
    page.clock.run_for(60_000)
    assert wait_until_told(page, lambda _: True) == {"seen": {said}, "read": set()}


def test_what_is_opened_or_played_is_read(site, host, open_page):
    project = site.create_project(skipDemoTestimonials=True)
    fill_with_recordings(site, project)
    long = add_testimonial(site.app, project.id, text=LONG)
    put_on(host, project)
    page = open_page("about:blank")
    listen(page, TIMELESS)
    waiting: list[Route] = []
    page.route(re.compile("later.js$"), lambda route: waiting.append(route))
    page.goto(host.url)
    # Also before the code has come that tells.
    page.get_by_role("button", name=re.compile("Read more")).click()
    # Playwright calls handlers only while it is asked for something.
    wait_for(lambda: page.title() and waiting, what="the code that tells")
    waiting[0].continue_()
    assert wait_until_told(page, lambda all: bool(all["read"]))["read"] == {long}
    page.get_by_role("button", name="Play the recording of Theo voice, 0:58").click()
    assert len(wait_until_told(page, lambda all: len(all["read"]) == 2)["read"]) == 2


def test_the_wall_tells_of_each_testimonial(site, open_page):
    project = site.create_project(skipDemoTestimonials=True)
    ids = {add_testimonial(site.app, project.id, text=text) for text in TEXTS}
    page = open_page("about:blank", viewport={"width": 1280, "height": 2000})
    listen(page)
    page.goto(f"{project.page_url}/wall")
    page.wait_for_load_state("networkidle")
    wait_until_told(page, lambda all: all["seen"] == ids)
    told = leave(page)
    assert {each["surface"] for each in told} == {"wall"}
    assert told[0]["view"] is True
    below = urlsplit(site.url).path
    assert set(page.evaluate("places")) == {f"{below}/widget/{project.id}/seen"}


def test_a_form_tells_that_it_was_opened_and_begun(open_page, project):
    page = open_page("about:blank")
    listen(page)
    page.goto(project.page_url)
    page.wait_for_function("told.length === 1")
    page.get_by_label("5 stars").check(force=True)
    page.wait_for_function("told.length === 2")
    opened, begun = (json.loads(each) for each in page.evaluate("told"))
    visit = opened.pop("visit")
    assert opened == {"surface": "form", "form": "", "opened": True}
    assert begun == {"surface": "form", "form": "", "started": True, "visit": visit}
