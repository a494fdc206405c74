"""The spam folder in a browser, and a form filled in by the browser instead of the person."""

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import follow, open_form, send_testimonial
from tests.conftest import StartService
from tests.support.servers import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]

# What a browser or a password manager fills in, by the kinds and names it knows.
FILLER = """
() => {
  const known = {
    name: 'Noor Haddad', email: 'noor@example.com',
    organization: 'Haddad & Co', 'organization-title': 'Owner',
  };
  const patterns = [
    [/e.?mail/i, known.email],
    [/company|business|organi[sz]ation|firma/i, known.organization],
    [/name|nombre|nom/i, known.name],
    [/phone|mobile|tel/i, '+31 20 1'],
    [/address|street|city|zip|country|website|url/i, 'Harbour Street 12'],
    [/title|role/i, known['organization-title']],
  ];
  const kinds = 'input:not([type=hidden], [type=radio], [type=checkbox], [type=file])';
  const filled = [];
  for (const field of document.querySelectorAll(kinds)) {
    const label = document.querySelector(`label[for="${field.id}"]`)?.textContent ?? '';
    const words = `${field.name} ${field.id} ${label}`;
    const value = known[field.autocomplete] ?? patterns.find(([each]) => each.test(words))?.[1];
    if (!value) continue;
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    filled.push(field.name);
  }
  return filled;
}
"""


LINKS = "Look: https://a.example https://b.example https://c.example " + "more of it " * 8


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_a_browser_that_fills_in_what_it_knows_leaves_the_bait_alone(
    site: Site, open_page: OpenPage, language: str
) -> None:
    project = site.create_project()
    page = open_page(f"{project.page_url}?lang={language}")
    open_form(page)
    filled = page.evaluate(FILLER)
    assert {"name", "email", "role", "company"} <= set(filled)
    assert "subject" not in filled
    page.locator("#text").fill("Filled in by the browser.")
    page.locator("#consent").check()
    page.locator("[data-send]").click()
    page.wait_for_url("**/thanks*")
    (row,) = project.stored()
    assert (row["status"], row["authorEmail"]) == ("pending", "noor@example.com")


def test_the_bait_can_neither_be_seen_nor_reached(site: Site, open_page: OpenPage) -> None:
    page = open_page(site.create_project().page_url)
    open_form(page)
    bait = page.locator('[name="subject"]')
    assert bait.evaluate("field => field.tabIndex") == -1
    assert bait.get_attribute("autocomplete") == "off"
    hidden = page.locator(".visually-hidden", has=bait).bounding_box()
    assert hidden is not None
    assert hidden["width"] <= 1
    expect(page.get_by_role("textbox", name=re.compile("Subject"))).to_have_count(0)


def test_spam_is_released_and_marked_by_keys(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    send_testimonial(page, project, "Link Farm", LINKS)
    send_testimonial(page, project, "Maya")
    project.sign_in(page)
    page.goto(f"{site.url}/dashboard")
    expect(page.get_by_role("listitem").filter(has_text="Words of Maya")).to_be_visible()
    expect(page.get_by_text("Link Farm")).to_have_count(0)
    follow(page.get_by_role("link", name=re.compile("^Spam")))
    expect(page.get_by_text("Held: three links")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_text("Moved Link Farm to Pending")).to_be_visible()
    expect(page.get_by_role("heading", name="No spam here")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("Held: three links")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="No spam here")).to_be_visible()
    follow(page.get_by_role("link", name=re.compile("^Pending")))
    expect(page.get_by_role("listitem").filter(has_text="Link Farm")).to_be_visible()
    assert {row["status"] for row in project.stored()} == {"pending"}


def test_a_draft_that_came_back_may_be_sent_at_once(browser: Browser, start: StartService) -> None:
    service = start()
    body = {"slug": "kiln", "skipDemoTestimonials": True}
    service.call("POST", "/v1/projects", body, service.sign_up())
    page = browser.new_page()
    page.goto(f"{service.url}/kiln")
    open_form(page)
    page.locator("#text").fill("Written before.")
    page.locator("#name").fill("Noor")
    wait_for(lambda: page.evaluate("localStorage.length"), what="the draft")
    page.reload()
    page.locator("#consent").check()
    page.locator("[data-send]").click()
    page.wait_for_url("**/thanks*")
    page.close()
    found = service.run("testimonials", "list", "kiln", "--json")
    assert [row["status"] for row in json.loads(found.stdout)] == ["pending"]
