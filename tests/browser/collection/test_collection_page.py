"""The page on which visitors write: every way to send, to fail and to come back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import open_form
from tests.support.rows import change_project, read_testimonials

pytestmark = [pytest.mark.browser, pytest.mark.process]

TEXT = "Two good questions, then gold.\nWorth <b>every</b> minute."
SEND = "Send my testimonial"


def write(page: Page, text: str = TEXT) -> None:
    """Fill in what is needed and a little more."""
    open_form(page)
    page.get_by_label("Your words").fill(text)
    page.get_by_label("Your name").fill("Hannah Whitlock")
    page.get_by_label("Role").fill("Wedding client")
    page.get_by_label("Email").fill("hannah@example.com")
    page.get_by_role("checkbox").check()


def check_thanks(page: Page) -> None:
    """Check that the visitor is thanked, and that the heading is what is read first."""
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Thank you, Hannah")
    expect(heading).to_be_focused()


def drafts(page: Page) -> int:
    """Count the drafts that this browser keeps."""
    return int(page.evaluate("Object.keys(localStorage).length"))


@pytest.fixture
def project(site: Site) -> Project:
    return site.create_project()


def test_words_without_a_script_wait_for_approval(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url, java_script_enabled=False)
    write(page)
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.get_by_role("button", name=SEND).dblclick()
    check_thanks(page)
    (row,) = project.stored()
    assert (row["status"], row["text"], row["rating"]) == ("pending", TEXT, 4)


def test_enter_and_click_make_one_row(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url)
    write(page)
    # Both before the browser does anything else, which no two real key strokes could be.
    page.get_by_role("button", name=SEND).evaluate(
        "button => { button.form.requestSubmit(); button.click(); }"
    )
    check_thanks(page)
    assert len(project.stored()) == 1


def test_stars_by_arrow_keys(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url)
    stars = page.get_by_role("group", name="Your rating").get_by_role("radio")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(stars.first).to_be_focused()
    for key in ("Space", *["ArrowRight"] * 4, "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    page.get_by_role("button", name="Clear your rating").click()
    for star in stars.all():
        expect(star).not_to_be_checked()
    expect(page.get_by_role("button", name="Clear your rating")).to_be_hidden()
    expect(stars.first).to_be_focused()


def test_draft_is_kept_and_cleared(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url)
    write(page)
    page.get_by_role("radio", name="4 stars").check(force=True)
    page.reload()
    expect(page.get_by_text("We kept your draft.")).to_be_visible()
    expect(page.get_by_label("Your words")).to_have_value(TEXT)
    expect(page.get_by_label("Your name")).to_have_value("Hannah Whitlock")
    expect(page.get_by_role("radio", name="4 stars")).to_be_checked()
    # Consent is given anew each time.
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_label("Your words")).to_have_value("")
    assert drafts(page) == 0
    write(page)
    page.get_by_role("button", name=SEND).click()
    check_thanks(page)
    assert drafts(page) == 0
    page.goto(project.page_url)
    expect(page.get_by_role("link", name="Write without stars")).to_be_visible()
    expect(page.get_by_label("Your words")).to_have_value("")
    expect(page.get_by_text("We kept your draft.")).to_be_hidden()


def test_errors_keep_what_was_typed(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url)
    open_form(page)
    page.get_by_label("Your words").fill(TEXT)
    page.get_by_label("Company").fill("x" * 121)
    page.get_by_role("radio", name="2 stars").check(force=True)
    page.get_by_role("button", name=SEND).click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("3 things need a change")
    for label, value in (("Your words", TEXT), ("Company", "x" * 121), ("Your name", "")):
        expect(page.get_by_label(label)).to_have_value(value)
    expect(page.get_by_role("radio", name="2 stars")).to_be_checked()
    link = "Shorten this to 120 characters; it has 121."
    summary.get_by_role("link", name=link).click()
    expect(page.get_by_label("Company")).to_be_focused()
    expect(page.get_by_label("Company")).to_have_accessible_description(re.compile(link))


def test_counter_counts_code_points_and_cuts_nothing(project: Project, open_page: OpenPage) -> None:
    page = open_page(project.page_url)
    open_form(page)
    words = page.get_by_label("Your words")
    words.fill("😀" * 1599)
    expect(page.get_by_text("of 2000")).to_be_hidden()
    words.fill("😀" * 1600 + "  \n")
    expect(page.get_by_text("1600 of 2000")).to_be_visible()
    words.fill("😀" * 2001)
    expect(page.get_by_text("1 too many (2001 of 2000)")).to_be_visible()
    assert len(words.input_value()) == 2001


def test_answers_show_and_are_taken_back(site: Site, project: Project, open_page: OpenPage) -> None:
    plain = {"choices": [], "several": False, "isRequired": False, "isPublic": True}
    plain |= {"low": "", "high": "", "translations": {}}
    bought = {"kind": "choice", "text": "What do you take home?", "choices": ["Bread", "Buns"]}
    questions = [
        plain | {"id": "takehome"} | bought,
        plain | {"id": "comeback", "kind": "scale", "text": "Will you come back?"},
        plain | {"id": "whatbake", "kind": "text", "text": "What did you bake?", "isPublic": False},
    ]
    change_project(site.app, project.id, page_design={"questions": questions})
    page = open_page(project.page_url)
    write(page)
    answers = page.locator("[data-look] .answers")
    page.get_by_role("radio", name="Buns").check(force=True)
    page.get_by_role("radio", name="0", exact=True).check(force=True)
    page.get_by_label("What did you bake?").fill("Only the owner reads it")
    expect(answers).to_have_text("What do you take home?BunsWill you come back?0/10")
    page.get_by_role("button", name="Clear Will you come back?").click()
    expect(page.get_by_role("radio", name="0", exact=True)).to_be_focused()
    expect(answers).to_have_text("What do you take home?Buns")
    page.get_by_role("button", name="Clear What do you take home?").click()
    expect(answers).to_have_count(0)
    page.get_by_role("button", name=SEND).click()
    check_thanks(page)
    (row,) = read_testimonials(site.app, project.id)
    assert [each["id"] for each in row.answers] == ["whatbake"]
