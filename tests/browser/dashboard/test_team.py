"""A colleague's way: from the invitation in the mail to a decision, until they are removed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, next_page, numbers, send_testimonial
from tests.browser.screens import check_screens

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


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_a_colleague_joins_decides_and_is_removed(
    site: Site, open_page: OpenPage, has_script: bool
) -> None:
    project = site.create_project()
    visitor = open_page(project.page_url)
    send_testimonial(visitor, project, "Hannah Whitlock")
    owner = open_page(project.page_url, java_script_enabled=has_script)
    project.sign_in(owner)
    email = f"noor{next(numbers)}@example.com"
    link = invite(owner, project, email)

    colleague = open_page(link, java_script_enabled=has_script)
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


def look(page: Page, address: str, heading: str | re.Pattern[str]) -> None:
    """Open an address; on every screen axe finds nothing, and nothing is too wide."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    check_screens(page)


def test_axe_finds_nothing_on_the_pages_of_a_team(site: Site, open_page: OpenPage) -> None:
    number = next(numbers)
    project = site.create_project(businessName=f"صالون السرخس {number} " + "x" * 90)
    owner = open_page(project.page_url)
    project.sign_in(owner)
    long = f"{'a' * 60}{number}@{'b' * 60}.example.com"
    link = invite(owner, project, long)
    held = f"held{number}@example.com"
    site.agent_init(held)
    held_link = invite(owner, project, held, "admin")
    base = project.dashboard

    stranger = open_page(link)
    look(stranger, link, "Join")
    look(stranger, held_link, "Join")
    follow(stranger.get_by_role("button", name="Claim my account and join"))
    expect(stranger.get_by_role("heading", name="2 things need a change")).to_be_visible()
    check_screens(stranger)
    look(stranger, f"{link}/decline", "Decline the invitation?")
    look(stranger, f"{site.url}/invite/broken", "This link doesn’t work")
    look(owner, link, "Join")

    stranger.goto(link)
    join(stranger)
    look(stranger, link, "You are already in")
    look(stranger, f"{base}/leave", "Leave")
    look(stranger, f"{base}/team", "Your role doesn’t allow this")
    look(stranger, f"{site.url}/dashboard/projects", "Projects")

    look(owner, f"{base}/team", "Team")
    look(owner, f"{base}/settings", "Settings")
    owner.goto(f"{base}/team")
    follow(owner.get_by_role("button", name="Send invitation"))
    expect(owner.get_by_role("heading", name="One thing needs a change")).to_be_visible()
    check_screens(owner)
    follow(owner.get_by_role("link", name=re.compile("^Remove")))
    expect(owner.get_by_role("heading", level=1)).to_contain_text("Remove")
    check_screens(owner)


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


def test_a_reader_of_all_projects_sees_and_changes_nothing(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    visitor = open_page(project.page_url)
    send_testimonial(visitor, project, "Hannah Whitlock")
    owner = open_page(project.page_url)
    project.sign_in(owner)
    owner.goto(f"{site.url}/dashboard/account")
    follow(owner.get_by_role("link", name="Manage team"))
    expect(owner.get_by_text("Nobody but you.")).to_be_visible()
    check_screens(owner)
    email = f"a-colleague-with-a-long-name-{next(numbers)}@a-rather-long-name.example.com"
    owner.get_by_label("Their email address").fill(email)
    owner.get_by_role("radio", name="Reader").press("Space")
    owner.get_by_role("button", name="Send invitation").press("Enter")
    expect(owner.get_by_text("The invitation is on its way")).to_be_visible()
    link = site.mailed_link(email, rf"{site.url}/invite/\S+")

    reader = open_page(link)
    expect(reader.get_by_text("all of their projects")).to_be_visible()
    check_screens(reader)
    join(reader)
    expect(reader.get_by_text("You are a reader here")).to_be_visible()
    expect(reader.get_by_role("button", name=re.compile("Approve|Reject"))).to_have_count(0)
    check_screens(reader)
    follow(reader.get_by_role("link", name=re.compile("Look at what Hannah")))
    expect(reader.get_by_label("Testimonial", exact=True)).to_be_disabled()
    expect(reader.get_by_role("button", name=re.compile("Save|Highlight|Reply"))).to_have_count(0)
    check_screens(reader)
    reader.goto(f"{site.url}/dashboard/account/team")
    expect(reader.get_by_role("heading", name="Teams you are in")).to_be_visible()
    check_screens(reader)

    owner.goto(f"{site.url}/dashboard/account/team")
    check_screens(owner)
    row = owner.get_by_role("listitem").filter(has_text=email)
    row.get_by_role("combobox").select_option("moderator")
    follow(row.get_by_role("button", name="Change the role"))
    expect(row).to_contain_text("Moderator in all projects")
    reader.goto(f"{project.dashboard}/inbox")
    expect(reader.get_by_role("button", name=re.compile("Approve.*Hannah"))).to_be_visible()
    owner.goto(f"{project.dashboard}/team")
    check_screens(owner)
    owner.goto(f"{site.url}/dashboard/account/team")
    follow(owner.get_by_role("link", name=re.compile("Remove a-colleague")))
    check_screens(owner)
    follow(owner.get_by_role("button", name="Remove"))
    expect(owner.get_by_text("Removed from all of your projects")).to_be_visible()
    assert reader.goto(f"{project.dashboard}/inbox").status == 404  # type: ignore[union-attr]
