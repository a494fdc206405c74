"""A project that changes hands: the owner's offer, the colleague's yes, on every screen."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.browser.dashboard.test_team import invite, join
from tests.browser.pages import follow, next_page, numbers
from tests.browser.screens import check_screens

pytestmark = [pytest.mark.browser, pytest.mark.process]


def test_a_colleague_becomes_the_owner_by_keyboard(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    owner = open_page(project.page_url)
    project.sign_in(owner)
    email = f"noor{next(numbers)}@example.com"
    colleague = open_page(invite(owner, project, email, "admin"))
    join(colleague)

    owner.reload()
    expect(owner.get_by_label("New owner")).to_have_value(re.compile("."))
    button = owner.get_by_role("button", name="Offer the project")
    button.focus()
    with next_page(owner):
        owner.keyboard.press("Enter")
    expect(owner.get_by_text(re.compile(f"Offered to.*{email}"))).to_be_visible()
    check_screens(owner)

    colleague.goto(site.mailed_link(email, rf"{site.url}/dashboard/\S+/offer"))
    heading = colleague.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Become the owner of Fern & Fable")
    check_screens(colleague)
    yes = colleague.get_by_role("button", name="Become the owner")
    yes.focus()
    with next_page(colleague):
        colleague.keyboard.press("Enter")
    expect(colleague.get_by_text("The project is yours.")).to_be_visible()
    check_screens(colleague)

    owner.goto(f"{project.dashboard}/team")
    expect(owner.get_by_role("button", name="Offer the project")).to_have_count(0)
    follow(colleague.get_by_role("link", name="Settings").locator("visible=true").first)
    expect(colleague.get_by_role("heading", level=1)).to_have_text("Settings")
