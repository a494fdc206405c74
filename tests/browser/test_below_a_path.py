"""The service below a path of a host: what its scripts ask for stays there as well."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Project, Site, serve_site
from tests.browser.pages import follow, send_testimonial

BASE = "/testimonials"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_site(BASE) as site:
        yield site


def note_requests(page: Page, asked: list[str]) -> Page:
    page.context.on("request", lambda request: asked.append(request.url))
    return page


def claim(page: Page, project: Project) -> None:
    page.goto(project.claim_link())
    page.get_by_label("Password", exact=True).fill("three blue wardrobes")
    page.get_by_role("radio", name="It may go on").check()
    follow(page.get_by_role("button", name="Claim my account"))
    expect(page.get_by_text("Your page is open.").first).to_be_visible()


def test_from_the_mail_to_the_widget_and_back_in(site, open_page):
    asked: list[str] = []
    host = site.url.removesuffix(BASE)
    project = site.create_project()
    visitor = note_requests(open_page(project.page_url), asked)
    send_testimonial(visitor, project, "Hannah Whitlock")
    page = note_requests(open_page(site.url), asked)
    claim(page, project)
    follow(page.get_by_role("link", name=re.compile("^Inbox")))
    page.get_by_role("button", name=re.compile("Approve.*Hannah")).click()
    expect(page.get_by_text("Hannah Whitlock is on your site")).to_be_visible()
    page.reload()
    page.goto(f"{project.dashboard}/widget")
    preview = page.frame_locator("[data-frame]")
    # Twice for a moment, while a later drawing takes the place of the first.
    words = preview.get_by_text("Words of Hannah Whitlock").locator("visible=true")
    expect(words.first).to_be_visible()
    visitor.goto(f"{site.url}/widget/{project.id}")
    visitor.locator('[data-testimonials-state="ready"]').wait_for(state="attached")
    # The browser gives the session's cookie to nothing else on the host.
    cookies = {each["name"]: each["path"] for each in page.context.cookies(site.url)}  # type: ignore[typeddict-item]
    assert set(cookies.values()) == {BASE}
    assert page.context.cookies(host) == []
    # Who isn't signed in is led back to the page they wanted.
    page.context.clear_cookies()
    page.goto(f"{project.dashboard}/widget/add-to-site?widget=")
    page.get_by_label("Email").fill(project.email)
    page.get_by_label("Password", exact=True).fill("three blue wardrobes")
    follow(page.get_by_role("button", name="Sign in"))
    assert page.url == f"{project.dashboard}/widget/add-to-site?widget="
    assert [url for url in asked if url.startswith(host) and not url.startswith(site.url)] == []
    assert any("/static/" in url for url in asked)
