"""The link to their own page that authors get."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import CLIPBOARD, follow, open_form

pytestmark = [pytest.mark.browser, pytest.mark.process]

TEXT = "Two good questions, then gold."


def write(page: Page, email: str) -> str:
    """Send a testimonial; return the link that the thank-you page shows."""
    open_form(page)
    page.get_by_label("Your words").fill(TEXT)
    page.get_by_label("Your name").fill("Hannah Whitlock")
    page.get_by_label("Email").fill(email)
    page.get_by_role("checkbox").check()
    follow(page.get_by_role("button", name="Send my testimonial"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you, Hannah")
    return str(page.get_by_role("link", name="Open it now").get_attribute("href"))


def test_the_link_is_copied(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url, permissions=CLIPBOARD)
    own = write(page, "hannah@example.com")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == own
