"""A colleague's way: from the invitation in the mail to a decision, until they are removed."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Project
from tests.browser.pages import follow, numbers, send_testimonial

pytestmark = [pytest.mark.browser, pytest.mark.process]

PASSWORD = "seven paper lanterns"


def invite(page: Page, project: Project, email: str, role: str = "moderator") -> str:
    """Invite a colleague, three taps from anywhere; return the link that the mail server got."""
    page.goto(f"{project.dashboard}/inbox")
    follow(page.get_by_role("link", name="Settings"))
    follow(page.get_by_role("link", name=re.compile("^People")))
    field = page.get_by_label("Their email address")
    expect(field).to_be_in_viewport()
    field.fill(email)
    page.get_by_label("Role", exact=True).select_option(role)
    follow(page.get_by_role("button", name="Invite", exact=True))
    expect(page.get_by_text("The invitation is on its way")).to_be_visible()
    expect(page.locator(".invited").filter(has_text=email)).to_be_visible()

    return project.site.mailed_link(email, rf"{project.site.url}/invite/\S+")


def join(page: Page) -> None:
    """Choose a password on the page of an invitation, and join."""
    page.get_by_label("Choose a password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Create my account and join"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")


def remove(page: Page, email: str) -> None:
    """Remove a colleague, in the row that opens to their roles."""
    page.locator("summary").filter(has_text=email).click()
    follow(page.get_by_role("button", name=re.compile("^Remove from")))
    expect(page.get_by_text("Removed from the project")).to_be_visible()


def test_a_colleague_joins_decides_and_is_removed(site, open_page):
    project = site.create_project()
    visitor = open_page(project.page_url)
    for name in ("Hannah Whitlock", "Tom Okafor"):
        send_testimonial(visitor, project, name)
    owner = open_page(project.page_url)
    project.sign_in(owner)
    email = f"noor{next(numbers)}@example.com"
    colleague = open_page(invite(owner, project, email))
    join(colleague)
    expect(colleague.get_by_role("link", name="Insights")).to_have_count(0)
    colleague.get_by_role("button", name=re.compile("Approve.*Hannah")).click()
    expect(colleague.get_by_text("Hannah Whitlock is on your site")).to_be_visible()
    owner.reload()
    remove(owner, email)
    # At once, and it can be undone for a moment.
    follow(owner.get_by_role("button", name="Undo"))
    expect(owner.get_by_text("They are in the project again.")).to_be_visible()
    remove(owner, email)
    # A key press on the page that still stands there says so and decides nothing.
    colleague.keyboard.press("a")
    refusal = colleague.get_by_text("No project with this id belongs to the account")
    expect(refusal.first).to_be_visible()
    status = {row["authorName"]: row["status"] for row in project.stored()}
    assert status == {"Hannah Whitlock": "approved", "Tom Okafor": "pending"}
