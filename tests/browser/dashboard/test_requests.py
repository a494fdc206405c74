"""Asking by mail: from two pasted addresses to an answer that the list shows."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, numbers
from tests.support.servers import Received, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]


def ask(page: Page, project: Project, people: str, count: int) -> None:
    """Ask people as an owner does, coming from the Share page."""
    page.goto(f"{project.site.url}/dashboard/projects/{project.id}/share")
    follow(page.get_by_role("link", name="Ask for testimonials"))
    if not page.get_by_label("Email addresses").is_visible():
        page.get_by_text("Ask more people").click()
    page.get_by_label("Email addresses").fill(people)
    follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Send to {count} ")
    follow(page.get_by_role("button", name=re.compile(f"^Send to {count} ")))
    expect(page.get_by_text(re.compile("on the way$"))).to_be_visible()


def mail_to(site: Site, email: str) -> Received:
    """Return the mail that the mail server received for an address."""

    def find() -> Received | None:
        return next((mail for mail in site.sink.received if mail.recipients == [email]), None)

    found = wait_for(find, what=f"a mail to {email}")
    assert isinstance(found, Received)
    return found


def link_in(mail: Received, words: str) -> str:
    """Return the link after these words of a mail."""
    found = re.search(rf"{words}\s+(http\S+)", mail.text)
    assert found, mail.text
    return found[1]


def test_two_addresses_are_asked_and_one_of_them_answers(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    owner = open_page(project.page_url)
    project.sign_in(owner)
    number = next(numbers)
    noor, tom = f"asked-noor{number}@example.com", f"asked-tom{number}@example.com"
    ask(owner, project, f"Noor Haddad <{noor}>\n{tom}", 2)
    mail = mail_to(site, noor)
    assert mail.message["Reply-To"] == project.email

    def state_is(email: str, state: str) -> None:
        owner.reload()
        row = owner.get_by_role("listitem").filter(has_text=email)
        expect(row.get_by_text(state, exact=True)).to_be_visible()

    wait_for(lambda: mail_to(site, tom), what="both mails")
    visitor = open_page(link_in(mail, "Write a few words"))
    expect(visitor.get_by_label("Your name")).to_have_value("Noor Haddad")
    assert visitor.context.cookies() == []
    visitor.wait_for_load_state("networkidle")
    state_is(noor, "Opened")
    # The link goes along when the form comes back.
    visitor.get_by_role("button", name="Send my testimonial").click()
    expect(visitor.get_by_role("heading", name=re.compile("need a change"))).to_be_visible()
    visitor.get_by_label("Your words").fill("They listened.")
    visitor.get_by_role("checkbox", name=re.compile("may show my words")).check()
    visitor.get_by_role("button", name="Send my testimonial").click()
    visitor.wait_for_url("**/thanks*")
    state_is(noor, "Answered")
    follow(owner.get_by_role("link", name=re.compile("^Read")))
    expect(owner.get_by_text(f"Asked by email at {noor}")).to_be_visible()

    visitor.goto(link_in(mail_to(site, tom), "I’d rather not"))
    follow(visitor.get_by_role("button", name="I’d rather not"))
    expect(visitor.get_by_role("heading", level=1)).to_have_text("That’s fine")
    follow(visitor.get_by_role("link", name="Don’t ask me again"))
    follow(visitor.get_by_role("button", name="Don’t ask me again"))
    expect(visitor.get_by_role("heading", level=1)).to_have_text("You won’t be asked again")
    owner.goto(f"{site.url}/dashboard/projects/{project.id}/invitations")
    state_is(tom, "Unsubscribed")
