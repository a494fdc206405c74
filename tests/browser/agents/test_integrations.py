"""The Integrations page in a browser: dialogs, a secret shown once, a test that is sent."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.process]

HERE = "/integrations"


def test_tokens_and_webhooks_are_made_in_dialogs(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(site.url, permissions=["clipboard-read", "clipboard-write"])
    project.sign_in(page, HERE)
    page.get_by_role("link", name="Make the first token").click()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Make the first token")).to_be_focused()
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
    page.get_by_role("link", name="Add endpoint").click()
    page.get_by_label("Address").fill("https://hooks.example.invalid/" + "x" * 460)
    follow(page.get_by_role("dialog").get_by_role("button", name="Add endpoint"))
    expect(page.get_by_label("The signing secret")).to_be_focused()
    # It leaves in the background, and the page shows what came of it by itself.
    follow(page.get_by_role("button", name="Send a test"))
    answer = page.get_by_role("listitem").get_by_text("The host has no public address.")
    expect(answer).to_be_visible()
    page.goto(f"{project.dashboard}{HERE}")
    page.get_by_role("link", name=re.compile("^Look")).click()
    expect(page.get_by_role("dialog")).to_be_visible()
