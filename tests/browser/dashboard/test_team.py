"""A colleague's way: from the invitation in the mail to a decision, until they are removed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, next_page, numbers, send_testimonial

pytestmark = [pytest.mark.browser, pytest.mark.process]

PASSWORD = "seven paper lanterns"


def invite(page: Page, project: Project, email: str, role: str = "moderator") -> str:
    """Invite a colleague on the team page; return the link that the mail server received."""
    page.goto(f"{project.dashboard}/settings")
    follow(page.get_by_role("link", name="Manage team"))
    page.get_by_label("Their email address").fill(email)
    page.locator(f"#role-{role}").check()
    follow(page.get_by_role("button", name="Send invitation"))
    expect(page.get_by_text("The invitation is on its way")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=email)).to_be_visible()

    return project.site.mailed_link(email, rf"{project.site.url}/invite/\S+")


def join(page: Page) -> None:
    """Choose a password on the page of an invitation, and join."""
    page.get_by_label("Choose a password").fill(PASSWORD)
    follow(page.get_by_role("button", name="Create my account and join"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")


def remove(page: Page, email: str) -> None:
    """Remove a colleague on the team page."""
    row = page.get_by_role("listitem").filter(has_text=email)
    follow(row.get_by_role("link", name=re.compile("Remove")))
    expect(page.get_by_role("heading", level=1)).to_contain_text(email)
    follow(page.get_by_role("button", name="Remove"))
    expect(page.get_by_text("Removed from the project")).to_be_visible()


def test_a_colleague_joins_decides_and_is_removed(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    visitor = open_page(project.page_url)
    send_testimonial(visitor, project, "Hannah Whitlock")
    owner = open_page(project.page_url)
    project.sign_in(owner)
    email = f"noor{next(numbers)}@example.com"
    link = invite(owner, project, email)

    colleague = open_page(link)
    expect(colleague.get_by_role("heading", level=1)).to_contain_text("Fern & Fable")
    expect(colleague.get_by_text(project.email)).to_be_visible()
    join(colleague)
    expect(colleague.get_by_role("link", name="Settings")).to_have_count(0)
    colleague.get_by_role("button", name=re.compile("Approve.*Hannah")).click()
    expect(colleague.get_by_text("Approved Hannah Whitlock")).to_be_visible()
    visitor.goto(f"{site.url}/widget/{project.id}")
    # The page holds them once more for those without its script.
    words = visitor.get_by_text("Words of Hannah Whitlock").locator("visible=true")
    expect(words.first).to_be_visible()

    owner.reload()
    remove(owner, email)
    expect(owner.get_by_role("listitem").filter(has_text=email)).to_have_count(0)

    follow(colleague.get_by_role("link", name=re.compile("^All")).first)
    expect(colleague.get_by_role("heading", level=1)).to_have_text("Page not found")
    follow(colleague.get_by_role("link", name="Open your dashboard"))
    expect(colleague.get_by_role("heading", level=1)).to_have_text("Projects")
    expect(colleague.get_by_text("Fern & Fable")).to_have_count(0)


def test_a_removed_colleagues_key_press_says_so_and_decides_nothing(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    owner = open_page(project.page_url)
    send_testimonial(owner, project, "Tom Okafor")
    project.sign_in(owner)
    email = f"noor{next(numbers)}@example.com"
    colleague = open_page(invite(owner, project, email))
    join(colleague)
    expect(colleague.get_by_role("listitem").filter(has_text="Tom Okafor")).to_be_visible()
    owner.reload()
    remove(owner, email)
    colleague.keyboard.press("a")
    expect(
        colleague.get_by_text("No project with this id belongs to the account").first
    ).to_be_visible()
    assert project.stored()[0]["status"] == "pending"


def test_all_of_it_goes_by_keyboard(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    owner = open_page(project.page_url)
    project.sign_in(owner)
    owner.goto(f"{site.url}/dashboard/projects/{project.id}/team")
    email = f"noor{next(numbers)}@example.com"
    owner.get_by_label("Their email address").focus()
    owner.keyboard.type(email)
    owner.keyboard.press("Tab")
    owner.keyboard.press("ArrowDown")
    owner.keyboard.press("Tab")
    with next_page(owner):
        owner.keyboard.press("Enter")
    row = owner.get_by_role("listitem").filter(has_text=email)
    expect(row).to_contain_text("Admin")
    tab_to(owner, lambda: row.get_by_role("button", name=re.compile("Withdraw")))
    owner.keyboard.press("Enter")
    expect(owner.get_by_text("The invitation is withdrawn")).to_be_visible()
    expect(row).to_have_count(0)


def tab_to(page: Page, find: Callable[[], object]) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if find().evaluate("element => element === document.activeElement"):  # type: ignore[attr-defined]
            return
    raise AssertionError("Tab never got there")
