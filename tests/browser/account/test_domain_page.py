"""A project's own host name, as its owner sets it: on every screen, in each state."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.pages import follow, next_page, numbers
from tests.browser.screens import check_screens

pytestmark = [pytest.mark.browser, pytest.mark.process]


def test_a_name_is_set_looked_up_and_removed(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page)
    page.goto(f"{project.dashboard}/domain")
    check_screens(page)
    field = page.get_by_label("Host name")
    field.fill("not a name")
    with next_page(page):
        field.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")
    check_screens(page)
    host = f"{'words-of-our-customers-' * 2}{next(numbers)}.larkspur.example"
    field.fill(host)
    with next_page(page):
        field.press("Enter")
    expect(page.get_by_text(f"_testimonials.{host}").first).to_be_visible()
    check_screens(page)
    follow(page.get_by_role("button", name="Check now"))
    check_screens(page)
    follow(page.get_by_role("button", name="Remove host name"))
    expect(page.get_by_label("Host name")).to_have_value("")
