"""The owner's way: from the mail to an approved testimonial in the widget."""

import re

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, next_page, send_testimonial
from tests.support.servers import wait_for
from tests.support.visitors import Visitors, words_of

pytestmark = [pytest.mark.browser, pytest.mark.process]


def claim(page: Page, project: Project) -> None:
    """Claim the account, which signs in."""
    page.goto(project.claim_link())
    page.get_by_label("Password", exact=True).fill("three blue wardrobes")
    follow(page.get_by_role("button", name="Claim my account"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is claimed")


def test_from_the_mail_to_an_approved_testimonial_in_the_widget(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    visitor = open_page(project.page_url)
    send_testimonial(visitor, project, "Hannah Whitlock")
    clipboard = ["clipboard-read", "clipboard-write"]
    page = open_page(project.page_url, permissions=clipboard)
    claim(page, project)
    follow(page.get_by_role("link", name="Open your dashboard"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")
    page.get_by_role("button", name=re.compile("Approve.*Hannah")).click()
    expect(page.get_by_text("Approved Hannah Whitlock")).to_be_visible()
    visitor.goto(f"{site.url}/widget/{project.id}")
    visitor.locator('[data-testimonials-state="ready"]').wait_for(state="attached")
    # The page holds them once more for those without its script.
    words = visitor.get_by_text("Words of Hannah Whitlock").locator("visible=true")
    expect(words.first).to_be_visible()
    # It has an address of its own, which the row's menu copies.
    page.goto(project.dashboard + "/inbox?status=approved")
    link = page.get_by_role("link", name="Copy link")
    url = str(link.get_attribute("href"))
    link.click()
    expect(page.get_by_text("Link copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == url
    visitor.goto(url)
    expect(visitor.get_by_text("Words of Hannah Whitlock")).to_be_visible()
    follow(visitor.get_by_role("link", name="All testimonials"))
    expect(visitor.get_by_role("heading", level=1)).to_contain_text("What customers say")


@pytest.mark.parametrize("is_signed_in", [True, False], ids=["signed in", "by the mail's link"])
def test_from_the_mail_to_the_website_in_two_taps(
    site: Site, open_page: OpenPage, is_signed_in: bool
) -> None:
    project = site.create_project()
    visitor = open_page(project.page_url)
    phone = open_page(site.url, has_touch=True, viewport={"width": 360, "height": 740})
    project.sign_in(phone, "/notifications")
    if not is_signed_in:
        phone.get_by_label("Decide from the mail without signing in").check()
        follow(phone.get_by_role("button", name="Save"))
        phone.context.clear_cookies()
    send_testimonial(visitor, project, "Hannah Whitlock")
    # The first tap is on the mail's button.
    phone.goto(site.mailed_link(project.email, r"https?://\S+/decide/\S+"))
    expect(phone.get_by_text("Words of Hannah Whitlock")).to_be_visible()
    approve = phone.get_by_role("button", name="Approve")
    box = approve.bounding_box()
    assert box
    assert (box["height"], box["y"] > 370) == (60, True)
    with next_page(phone):
        approve.tap()
    heading = "All decided" if is_signed_in else "Approved"
    expect(phone.get_by_role("heading", level=1)).to_have_text(heading)
    feed = visitor.request.get(f"{site.url}/widget/{project.id}/feed").json()
    assert [item["authorName"] for item in feed["items"]] == ["Hannah Whitlock"]
    if is_signed_in:
        # Undo from the keyboard leads back to it.
        with next_page(phone):
            phone.keyboard.press("Control+z")
        expect(phone.get_by_text("1 of 1 pending")).to_be_visible()


def test_twenty_decisions_in_twenty_keystrokes(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    visitors = Visitors(project.page_url, 20, 1)
    visitors.open_forms()
    visitors.send_forms()
    page = open_page(project.page_url)
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard")
    expect(page.get_by_role("listitem").filter(has_text=words_of(19))).to_be_visible()
    for _ in range(10):
        page.keyboard.press("a")
        page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Nothing is waiting")).to_be_visible()
    counts = {
        status: len([row for row in project.stored() if row["status"] == status])
        for status in ("approved", "rejected")
    }
    assert counts == {"approved": 10, "rejected": 10}


def test_undo_outlives_a_page_from_before_it_that_comes_late(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    send_testimonial(page, project, "Tom Okafor")
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard")
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if late or route.request.method != "GET":
            route.continue_()
        else:
            late.append((route, route.fetch()))

    page.route("**/inbox", hold)
    page.keyboard.press("a")
    expect(page.get_by_text("Approved Tom Okafor")).to_be_visible()
    wait_for(lambda: page.title() and late, what="the page of the empty inbox")
    page.keyboard.press("z")
    row = page.get_by_role("listitem").filter(has_text="Words of Tom Okafor")
    expect(row).to_be_visible()
    route, response = late[0]
    with page.expect_response("**/inbox") as answer:
        route.fulfill(response=response)
    answer.value.finished()
    # Two turns of the page's own loop later it has seen it.
    page.evaluate("new Promise((done) => setTimeout(() => setTimeout(done)))")
    expect(row).to_be_visible()
