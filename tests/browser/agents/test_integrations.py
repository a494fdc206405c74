"""The Integrations page in a browser: a dialog, and a secret shown once."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import CLIPBOARD, follow

pytestmark = [pytest.mark.browser, pytest.mark.process]


def test_a_token_is_made_in_a_dialog_and_copied(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(site.url, permissions=CLIPBOARD)
    project.sign_in(page, "/integrations")
    first = page.get_by_role("link", name="Make the first token")
    name = page.get_by_label("Name", exact=True)
    first.click()
    expect(name).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    name.fill("W" * 80)
    follow(page.get_by_role("button", name="Make the token"))
    secret = page.get_by_label("The new token")
    expect(secret).to_be_focused()
    page.get_by_role("button", name="Copy token").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret.input_value()
    page.get_by_role("tab", name="Command line").click()
    expect(page.locator("#code-curl")).to_be_visible()
