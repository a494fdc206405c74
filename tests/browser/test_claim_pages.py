"""From the mail to the claimed account, by roles and visible names, as a person does it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.process]

PASSWORD = "three blue wardrobes"
KEY = re.compile(r"tst_live_[0-9A-Za-z]{38}")

with_and_without_script = pytest.mark.parametrize(
    "has_script", [True, False], ids=["script", "no script"]
)


def claim_button(page: Page) -> None:
    """Send the form with the mouse."""
    follow(page.get_by_role("button", name="Claim my account"))


def test_from_the_mail_to_the_claimed_account(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    link = project.claim_link()
    page = open_page(link, java_script_enabled=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("Make it yours")
    expect(page.get_by_text(project.email, exact=True)).to_be_visible()
    expect(page.get_by_text("6 samples")).to_be_visible()
    expect(page.get_by_role("radio", name="Keep it")).to_be_checked()
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    claim_button(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is claimed")
    expect(page.get_by_text(project.email, exact=True)).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^Collection page"))).to_have_attribute(
        "href", project.page_url
    )
    assert not KEY.search(page.content())
    # The agent carries on with its key, and is told of the account when it asks for another.
    assert project.call("GET", "")["_id"] == project.id
    answer = site.agent_init(project.email)
    assert (answer["claimRequired"], answer["accountExists"]) == (False, True)
    assert "apiKey" not in answer
    # The link has done its job, and says so without giving anything away.
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is already claimed")
    assert "None" not in page.locator("main").inner_text()
    assert project.email not in page.content()


def test_by_keyboard_alone(site: Site, open_page: OpenPage) -> None:
    page = open_page(site.create_project().claim_link())
    focused = page.locator(":focus")
    page.keyboard.press("Tab")
    expect(focused).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        if focused.get_attribute("id") == "password":
            break
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    page.keyboard.type(PASSWORD)
    expect(page.get_by_text("20 characters, long enough")).to_be_visible()
    page.keyboard.press("Tab")
    show = page.get_by_role("button", name="Show password")
    expect(show).to_be_focused()
    page.keyboard.press("Space")
    expect(show).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "text")
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="Keep it")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Replace it")).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Claim my account")).to_be_focused()
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Your account is claimed")
    expect(heading).to_be_focused()


@with_and_without_script
def test_refused_password_focuses_the_summary(
    site: Site, open_page: OpenPage, has_script: bool
) -> None:
    page = open_page(site.create_project().claim_link(), java_script_enabled=has_script)
    page.get_by_label("Password", exact=True).fill("short")
    page.get_by_role("radio", name="Replace it").check()
    claim_button(page)
    summary = page.get_by_role("alert")
    expect(summary).to_contain_text("this has 5")
    expect(summary).to_be_focused()
    expect(page).to_have_title(re.compile("^Error: "))
    expect(page.get_by_role("radio", name="Replace it")).to_be_checked()
    field = page.get_by_label("Password", exact=True)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("this has 5"))
    expect(field).to_have_value("")
    summary.get_by_role("link").click()
    expect(field).to_be_focused()
    field.fill(PASSWORD)
    claim_button(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is claimed")


def test_replaced_key_is_shown_once_and_works(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    link = project.claim_link()
    clipboard = ["clipboard-read", "clipboard-write"]
    page = open_page(link, permissions=clipboard)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("radio", name="Replace it").check()
    claim_button(page)
    key = page.get_by_role("textbox", name="Your new key").inner_text()
    assert KEY.fullmatch(key)
    copy = page.get_by_role("button", name="Copy key")
    copy.click()
    expect(page.get_by_text("Copied to the clipboard.")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == key
    old = project.headers["x-api-key"]
    assert key != old
    answer = site.service.call("GET", "/v1/me", headers=project.headers)
    assert answer.status == 401
    project.headers["x-api-key"] = key
    assert project.call("GET", "")["_id"] == project.id
    page.goto(link)
    assert not KEY.search(page.content())
