"""Tags and photos in a browser, with a script and without."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Project
from tests.browser.pages import follow, held_back, next_page
from tests.support.pictures import photo, to_bytes

PHOTO = {"name": "me.png", "mimeType": "image/png", "buffer": to_bytes(photo(300, 200), "PNG")}


def open_inbox(page: Page, project: Project, *names: str) -> None:
    """Sign in, add testimonials, open their tab."""
    project.sign_in(page)
    for name in names:
        project.call("POST", "/testimonials", {"authorName": name, "text": f"Words of {name}"})
    page.goto(f"{project.dashboard}/inbox?status=approved")


def test_tagging_two_of_three_and_finding_them(open_page, project):
    page = open_page(project.page_url)
    open_inbox(page, project, "Maya", "Tom", "Aiko")
    for name in ("Maya", "Tom"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_text("More", exact=True).locator("..").click()
    # Letters that decide elsewhere.
    page.locator("#new-tag").press_sequentially("ra wedding hair")
    # Enter in the field tags, and decides nothing.
    with next_page(page):
        page.locator("#new-tag").press("Enter")
    expect(page.get_by_text("Tags changed: 2")).to_be_visible()
    follow(page.get_by_role("link", name="ra wedding hair").first)
    expect(page.get_by_text("Words of Maya")).to_be_visible()
    expect(page.get_by_text("Words of Tom")).to_be_visible()
    expect(page.get_by_text("Words of Aiko")).to_have_count(0)
    assert [row["status"] for row in project.stored()] == ["approved"] * 3


def test_filters_apply_at_once_and_an_error_goes_when_it_is_mended(open_page, project):
    page = open_page(project.page_url)
    open_inbox(page, project, "Maya", "Tom")
    project.call("POST", "/testimonials", {"authorName": "Aiko", "text": "Late.", "rating": 2})
    page.keyboard.press("/")
    page.get_by_label("Search words and names").press_sequentially("late")
    expect(page.get_by_text("Words of Maya")).to_have_count(0)
    expect(page.get_by_text("Late.")).to_be_visible()
    page.get_by_text("Filter", exact=True).locator("..").click()
    page.get_by_label("Rating").select_option("5")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    assert "q=late" in page.url
    assert "rating=5" in page.url
    # What is on stands above the list, each to be taken away.
    follow(page.get_by_role("link", name="Remove 5 stars"))
    expect(page.get_by_text("Late.")).to_be_visible()
    page.goto(f"{project.dashboard}/testimonials/new")
    page.get_by_label("Name", exact=True).fill("Aiko")
    follow(page.get_by_role("button", name="Add a testimonial"))
    text = page.get_by_role("textbox", name="Words")
    expect(page.get_by_text("Error: Enter what they said.")).to_be_visible()
    text.fill("Good")
    expect(page.get_by_text("Error: Enter what they said.")).to_have_count(0)
    expect(text).not_to_have_attribute("aria-invalid", "true")


def test_tags_of_one_are_chips(open_page, project):
    page = open_page(project.page_url)
    open_inbox(page, project, "Maya")
    page.get_by_role("link", name="Maya").click()
    field = page.get_by_label("Tags", exact=True)
    expect(page.locator("[data-tags]")).to_be_visible()

    def press(key: str) -> None:
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            page.keyboard.press(key)

    for tags in ("bread", "families, Bread", "weddings"):
        field.fill(tags)
        press("Enter")
    chips = page.locator(".tags .chip")
    expect(chips).to_have_text(["bread", "families", "weddings"])
    # Backspace chooses the last, again removes it.
    page.keyboard.press("Backspace")
    expect(chips).to_have_count(3)
    expect(chips.last).to_be_focused()
    press("Backspace")
    expect(field).to_be_focused()
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Remove bread").click()
    expect(chips.first).to_be_focused()
    # What is refused goes back to what is stored.
    field.fill("x" * 41)
    press("Enter")
    expect(page.locator("[data-toasts]")).to_contain_text("40")
    expect(chips).to_have_text(["families"])
    page.reload()
    expect(chips).to_have_text(["families"])


def test_a_photo_by_hand(open_page, project):
    page = project.open(open_page, "/testimonials/new")
    page.get_by_label("Words").fill("Said on the phone.")
    page.get_by_label("Name", exact=True).fill("Aiko")
    page.get_by_label("Photo", exact=True).set_input_files(PHOTO)
    page.get_by_role("button", name="Add a testimonial").click()
    row = page.get_by_role("listitem").filter(has_text="Said on the phone.")
    expect(row.locator(".portrait img")).to_have_attribute("src", re.compile(r"\.webp$"))


def test_a_part_of_the_card_is_changed_where_it_stands(open_page, project):
    page = open_page(project.page_url, viewport={"width": 1280, "height": 900})
    open_inbox(page, project, "Maya", "Tom")
    # On a slow line the card is changed before its script has come.
    with held_back(page, "/dashboard.js"):
        page.get_by_role("link", name="Tom").click()
        page.get_by_label("Role").fill("Neighbour")
        place = page.get_by_label("Role").bounding_box()
        page.get_by_label("Role").press("Tab")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert page.get_by_label("Role").bounding_box() == place
    name = page.get_by_label("Name", exact=True)
    name.fill("Nobody")
    name.press("Escape")
    expect(name).to_have_value("Tom")
    # The list that one came from leads on, by its keys too.
    with next_page(page):
        page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text("Maya")
    page.get_by_label("Photo", exact=True).set_input_files(PHOTO)
    expect(page.locator(".photo .portrait img")).to_have_attribute("src", re.compile(r"\.webp$"))
    assert {row["authorRole"] for row in project.stored()} == {"", "Neighbour"}
