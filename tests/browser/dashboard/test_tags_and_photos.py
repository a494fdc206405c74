"""Tags and photos in a browser, with a script and without."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, next_page
from tests.support.pictures import photo, to_bytes

pytestmark = [pytest.mark.browser, pytest.mark.process]

PHOTO = {"name": "me.png", "mimeType": "image/png", "buffer": to_bytes(photo(300, 200), "PNG")}


# Made in the page, since so much would be long on its way there.
CHOOSE_LARGE = """(field) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(11 * 1024 * 1024)], 'me.png', { type: 'image/png' }));
  field.files = files.files;
  field.dispatchEvent(new Event('change', { bubbles: true }));
}"""


def open_inbox(page: Page, project: Project, *names: str) -> None:
    """Sign in, add testimonials, open their tab."""
    project.sign_in(page)
    for name in names:
        project.call("POST", "/testimonials", {"authorName": name, "text": f"Words of {name}"})
    page.goto(f"{project.dashboard}/inbox?status=approved")


def test_tagging_two_of_three_and_finding_them(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    open_inbox(page, project, "Maya", "Tom", "Aiko")
    for name in ("Maya", "Tom"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_text("Tag…").click()
    # Letters that decide elsewhere: the field has the focus already.
    page.keyboard.type("ra wedding hair")
    # Enter in the field tags, and decides nothing.
    with next_page(page):
        page.get_by_label("Tag for the selected").press("Enter")
    expect(page.get_by_text("Tagged 2 testimonials")).to_be_visible()
    follow(page.get_by_role("link", name="ra wedding hair").first)
    expect(page.get_by_text("Words of Maya")).to_be_visible()
    expect(page.get_by_text("Words of Tom")).to_be_visible()
    expect(page.get_by_text("Words of Aiko")).to_have_count(0)
    assert [row["status"] for row in project.stored()] == ["approved"] * 3


def test_filters_apply_at_once_and_an_error_goes_when_it_is_mended(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    open_inbox(page, project, "Maya", "Tom")
    project.call("POST", "/testimonials", {"authorName": "Aiko", "text": "Late.", "rating": 2})
    page.get_by_label("Search words and names").press_sequentially("late")
    expect(page.get_by_text("Words of Maya")).to_have_count(0)
    expect(page.get_by_text("Late.")).to_be_visible()
    page.get_by_label("Rating").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    expect(page.get_by_label("Rating")).to_be_focused()
    assert "q=late" in page.url
    assert "rating=5" in page.url
    page.goto(f"{project.dashboard}/testimonials/new")
    page.get_by_label("Author’s name").fill("Aiko")
    follow(page.get_by_role("button", name="Add testimonial"))
    text = page.get_by_role("textbox", name="Testimonial")
    expect(page.get_by_text("Error: Add what they said.")).to_be_visible()
    text.fill("Good")
    expect(page.get_by_text("Error: Add what they said.")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(text).not_to_have_attribute("aria-invalid", "true")


def test_a_photo_by_hand(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, "/testimonials/new")
    page.get_by_label("Testimonial", exact=True).fill("Said on the phone.")
    page.get_by_label("Author’s name").fill("Aiko")
    photo_field = page.get_by_label("Photo of the author")
    photo_field.evaluate(CHOOSE_LARGE)
    expect(page.get_by_role("alert")).to_contain_text("it has 11.0 MB")
    page.get_by_role("button", name="Add testimonial").click()
    expect(page.get_by_label("Testimonial", exact=True)).to_have_value("Said on the phone.")
    photo_field.set_input_files(PHOTO)
    expect(page.locator("[data-photo-now] img")).to_be_visible()
    page.get_by_role("button", name="Add testimonial").click()
    row = page.get_by_role("listitem").filter(has_text="Said on the phone.")
    expect(row.locator(".portrait img")).to_have_attribute("src", re.compile(r"\.webp$"))


def test_what_was_typed_outlives_the_session(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, "/testimonials/new")
    page.get_by_label("Testimonial", exact=True).fill("Typed for an hour.")
    page.get_by_label("Author’s name").fill("Aiko")
    page.context.clear_cookies()
    follow(page.get_by_role("button", name="Add testimonial"))
    page.get_by_label("Email").fill(project.email)
    page.get_by_label("Password", exact=True).fill("three blue wardrobes")
    follow(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_text("Typed for an hour.")).to_be_visible()
    follow(page.get_by_role("button", name="Send it now"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")
    expect(page.get_by_text("Typed for an hour.")).to_be_visible()
