"""From the mail to the claimed account, by roles and visible names, as a person does it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import CLIPBOARD, follow

pytestmark = [pytest.mark.browser, pytest.mark.process]

PASSWORD = "three blue wardrobes"


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


def test_a_replaced_key_can_be_copied(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.claim_link(), permissions=CLIPBOARD)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("radio", name="Replace it").check()
    follow(page.get_by_role("button", name="Claim my account"))
    key = page.get_by_role("textbox", name="Your new key").inner_text()
    page.get_by_role("button", name="Copy key").click()
    expect(page.get_by_text("Copied to the clipboard.")).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == key
    project.headers["x-api-key"] = key
    assert project.call("GET", "")["_id"] == project.id
