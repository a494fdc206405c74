"""Proposals in the dashboard: from the inbox to a decision, by keyboard, and on every screen."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Project
from tests.browser.looks import look
from tests.browser.pages import next_page
from tests.browser.test_counted import DESK

LONG = "An unbroken" + "word" * 480


def propose(project: Project, kind: str, values: object, **more: object) -> None:
    body = {"kind": kind, "values": values, **more}
    project.call("POST", "/proposals", body)


def propose_many(project: Project) -> None:
    """Propose one of each kind that is compared in its own way."""
    said = {"authorName": "Maya Kowalski", "text": "They fixed it in one day, and it still runs."}
    shown = project.call("POST", "/testimonials", said)["_id"]
    reason = "The button has the orange of your website, and the headline is shorter."
    page = {"headline": "How was your visit?", "buttonColor": "#9A3412", "showConfetti": False}
    propose(project, "page", page, reason=reason)
    propose(project, "widget", {"layout": "carousel", "showDates": False})
    added = {"authorName": "Ida Sørensen", "authorRole": "Potter", "text": LONG, "rating": 4.5}
    propose(project, "testimonial.add", added)
    edit = {"text": "They fixed it in two days, and it still runs.", "pinned": True}
    propose(project, "testimonial.edit", edit, targetId=shown, reason="A typo.")
    propose(project, "testimonial.decide", {"decision": "reject", "ids": [shown]})
    question = {"kind": "choice", "text": LONG[:160], "choices": ["Bread", "Buns"]}
    step = {"kind": "code", "title": "A bun on the house", "code": "BUN-7K2F"}
    propose(project, "page.design", {"questions": [question], "steps": [step]})
    propose(project, "form", {"name": "after-class", "title": "After class"})
    people = [{"email": f"person{n}@example.com", "name": "Noor"} for n in range(8)]
    propose(project, "request", {"people": people, "subject": "A few words?"})


def test_the_inbox_leads_to_what_waits_and_keys_decide(open_page, project):
    propose_many(project)
    page = project.open(open_page, "/inbox")
    page.locator(".proposal-row").evaluate_all("all => all.forEach((row) => { row.open = true; })")
    assert look(page) == []
    page.set_viewport_size(DESK)
    page.reload()
    # What waits for the owner, and the keys, count all of it.
    bar = page.get_by_role("navigation", name="Project")
    expect(bar.get_by_role("link", name="Inbox")).to_contain_text("8")
    expect(page.get_by_role("link", name="Waiting 8")).to_be_visible()
    for key in "jjk":
        page.keyboard.press(key)
    first = page.locator("[data-proposal]").first
    expect(first).to_be_focused()
    # The first A opens it, so that nobody accepts what they haven't seen.
    page.keyboard.press("a")
    expect(first.get_by_role("button", name=re.compile("Accept"))).to_be_visible()
    for key in "xsp":
        page.keyboard.press(key)
    with next_page(page):
        page.keyboard.press("r")
    expect(page.locator("[data-toasts]")).to_contain_text("Declined: ")
    expect(bar.get_by_role("link", name="Inbox")).to_contain_text("7")
    # At the end of what waits, each opened in place.
    row = page.get_by_role("listitem").filter(has_text="Change the collection page")
    row.locator("summary").press("Enter")
    with next_page(page):
        row.get_by_role("button", name=re.compile("Accept")).press("Enter")
    expect(page.locator("[data-toasts]")).to_contain_text("Accepted: Change the collection page")
    assert "/inbox" in page.url
    card = page.get_by_role("listitem").filter(has_text="Edit a testimonial: Maya Kowalski")
    card.locator("summary").press("Enter")
    card.get_by_label("Answer the agent").fill("Thanks, but it was one day.")
    with next_page(page):
        card.get_by_role("button", name=re.compile("Decline")).press("Enter")
    with next_page(page):
        page.get_by_role("button", name="Accept all 5").press("Enter")
    expect(page.locator("[data-toasts]")).to_contain_text("Accepted: 5")
    expect(page.get_by_text("Your agent suggests a change")).to_have_count(0)
    expect(page.get_by_role("heading", name="All decided")).to_be_visible()
    assert look(page) == []
