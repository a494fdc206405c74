"""What browsers fill in, and drafts that come back, are no spam."""

import json

import pytest

from tests.browser.pages import open_form
from tests.support.sampling import sample
from tests.support.servers import wait_for

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


@pytest.mark.parametrize("language", sample(["en", "de", "ar"], 1))
def test_a_browser_that_fills_in_what_it_knows_leaves_the_bait_alone(open_page, language, project):
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


def test_a_draft_that_came_back_may_be_sent_at_once(browser, start):
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
