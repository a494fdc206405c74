"""An author from the form to the widget and back out of it, by the links that they get."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, open_form
from tests.support.servers import wait_for

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


def shown(project: Project) -> tuple[int, int, int]:
    """Count where the words are public: the widget's data, the wall, the API."""
    service = project.site.service
    feed = service.call("GET", f"/widget/{project.id}/feed").body.decode()
    wall = service.call("GET", f"/widget/{project.id}").body.decode()
    items = project.call("GET", "/testimonials")["items"]
    return int(TEXT in feed), int(TEXT in wall), len(items)


def test_from_the_form_to_the_widget_and_back(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    email = f"hannah-{project.slug}@example.com"
    page = open_page(project.page_url, java_script_enabled=False)
    own = write(page, email)
    mailed = site.mailed_link(email, rf"{site.url}/yours/\S+")
    assert mailed.partition("?")[0] != own.partition("?")[0]
    page.goto(mailed)
    expect(page.get_by_text("Waiting", exact=True)).to_be_visible()
    follow(page.get_by_role("button", name="Yes, this is my address"))
    expect(page.get_by_role("status").first).to_contain_text("Thank you for confirming")

    owner = open_page(project.page_url)
    project.sign_in(owner, "/inbox")
    row = owner.get_by_role("listitem").filter(has_text=TEXT)
    expect(row.get_by_text("verified")).to_be_visible()
    row.get_by_role("button", name="Approve").click()
    wait_for(lambda: shown(project) == (1, 1, 1), what="the words in public")

    page.goto(own)
    expect(page.get_by_text("Shown in public")).to_be_visible()
    follow(page.get_by_role("link", name="Withdraw my consent"))
    follow(page.get_by_role("button", name="Withdraw my consent"))
    expect(page.get_by_text("Withdrawn", exact=True)).to_be_visible()
    assert shown(project) == (0, 0, 0)
    owner.goto(f"{project.dashboard}/inbox?status=rejected")
    expect(owner.get_by_text("Withdrawn by its author")).to_be_visible()
    expect(owner.get_by_role("button", name="Approve: Hannah")).to_have_count(0)

    follow(page.get_by_role("button", name="Give my consent again"))
    expect(page.get_by_role("alert")).to_contain_text("Tick this")
    page.get_by_role("checkbox").check()
    follow(page.get_by_role("button", name="Give my consent again"))
    expect(page.get_by_text("Waiting", exact=True)).to_be_visible()
    (stored,) = project.stored()
    assert stored["status"] == "pending"

    follow(page.get_by_role("link", name="Correct it"))
    page.get_by_label("Your words").fill("Three good questions.")
    follow(page.get_by_role("button", name="Send my correction"))
    expect(page.get_by_text("Your correction has arrived.")).to_be_visible()
    expect(page.get_by_role("figure")).to_contain_text("Three good questions.")
    follow(page.get_by_role("link", name="Delete everything"))
    follow(page.get_by_role("button", name="Delete everything"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Everything has been deleted")
    assert project.stored() == []
    page.goto(own)
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is left here")


def test_the_link_is_copied(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url, permissions=["clipboard-read", "clipboard-write"])
    own = write(page, "hannah@example.com")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == own
