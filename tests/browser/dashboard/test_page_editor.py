"""The page editor in Chromium: what is changed shows at once, saves itself, and can be read."""

import io
import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, FrameLocator, Page, Route, expect

from tests.browser.conftest import OpenPage, Project
from tests.browser.pages import follow, held_back
from tests.support.servers import wait_for

CONFIG = "publicPageConfig"


@pytest.fixture
def page(open_page: OpenPage, project: Project) -> Page:
    """The page editor of a project."""
    return project.open(open_page, "/collect/page")


def row(page: Page, name: str) -> None:
    """Open a row of the list, which closes the one that was open."""
    page.locator(".part-row > summary").filter(has_text=name).click()


def preview_of(page: Page) -> FrameLocator:
    return page.frame_locator("[data-preview]")


def design_of(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.call("GET", "/page-design")
    return found


def asked(project: Project) -> list[str]:
    """Return what its page asks, in order."""
    return [question["text"] for question in design_of(project)["questions"]]


def saved(page: Page) -> None:
    expect(page.locator("[data-save-state]")).to_have_attribute("data-save-state", "saved")


def wait_until_stored(project: Project, **values: object) -> None:
    """Wait until visitors get these values.

    That "Saved" stands there is no sign of it: so it does before what was just typed is sent.
    """

    def is_stored() -> bool:
        config = project.call("GET", "")[CONFIG]
        return bool(config | values == config)

    wait_for(is_stored, what=f"{values} to be saved")


def logo(size: tuple[int, int] = (200, 200)) -> FilePayload:
    out = io.BytesIO()
    Image.new("RGB", size, "#047857").save(out, "PNG")
    return {"name": "logo.png", "mimeType": "image/png", "buffer": out.getvalue()}


def test_a_change_shows_at_once_and_saves_itself(project, page):
    inside = preview_of(page)
    held: list[Route] = []
    page.route("**/*", lambda route: held.append(route))
    page.get_by_label("Headline").fill("How was the cut?")
    # While nothing that the page asks for is answered.
    expect(inside.get_by_role("heading", level=1)).to_have_text("How was the cut?")
    for route in held:
        route.continue_()
    page.unroute("**/*")
    page.locator("[data-editor] .segment", has_text="Dark").click()
    expect(inside.locator("html")).to_have_attribute("data-theme", "dark")
    row(page, "Thanks")
    page.get_by_label("Message").fill("You made our day")
    expect(inside.get_by_text("You made our day")).to_be_visible()
    page.get_by_role("switch", name="Stars").uncheck()
    expect(inside.get_by_text("Your rating")).to_have_count(0)
    wait_until_stored(project, thankYouMessage="You made our day", theme="dark")
    saved(page)
    page.reload()
    expect(page.get_by_label("Headline")).to_have_value("How was the cut?")
    assert project.call("GET", "")[CONFIG]["collectFields"]["rating"] is False


def test_what_is_changed_before_the_script_comes_is_kept(open_page, project):
    page = project.open(open_page)
    with held_back(page, "/page-editor.js"):
        page.goto(f"{project.dashboard}/collect/page", wait_until="commit")
        page.get_by_label("Headline").fill("Typed at once")
        page.locator("[data-editor] .segment", has_text="Dark").click()
        expect(page.get_by_label("Dark", exact=True)).to_be_checked()
    wait_until_stored(project, headline="Typed at once", theme="dark")
    expect(page.get_by_label("Headline")).to_have_value("Typed at once")
    expect(preview_of(page).get_by_role("heading", level=1)).to_have_text("Typed at once")


def test_what_is_saved_before_the_preview_comes_is_shown(open_page, project):
    page, held = project.open(open_page), []
    page.route("**/preview?*", lambda route: route.continue_() if held else held.append(route))
    page.goto(f"{project.dashboard}/collect/page", wait_until="commit")
    with page.expect_response("**/preview?*"):
        page.get_by_label("Headline").fill("Typed at once")
    held[0].continue_()
    expect(preview_of(page).get_by_role("heading", level=1)).to_have_text("Typed at once")


def test_what_the_server_refuses_is_said_at_its_field(project, page):
    row(page, "Thanks")
    # What a browser cuts off, or lets through, isn't what the server counts.
    page.get_by_label("Message").evaluate("field => delete field.dataset.limit")
    page.get_by_label("Message").fill("x" * 501)
    expect(page.get_by_text("Shorten this to 500 characters").last).to_be_visible()
    expect(page.get_by_label("Message")).to_have_attribute("aria-invalid", "true")
    # The rest is saved nevertheless, and nothing says that all is.
    row(page, "Headline and note")
    page.get_by_label("Headline").fill("How was the bread?")
    wait_until_stored(project, headline="How was the bread?")
    expect(page.locator("[data-save-text]")).to_contain_text("Not saved")
    row(page, "Thanks")
    expect(page.get_by_label("Message")).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_label("Message")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Message").fill("You made our day")
    wait_until_stored(project, thankYouMessage="You made our day")
    expect(page.get_by_label("Message")).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-save-text]")).to_have_text("Saved")


def test_leaving_in_the_middle_of_a_word_loses_nothing(project, page):
    page.get_by_label("Headline").fill("Typed and gone")
    page.goto(f"{project.dashboard}/inbox")
    wait_until_stored(project, headline="Typed and gone")
    page.goto(project.page_url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Typed and gone")


def test_a_cover_is_chosen_or_dropped_shown_and_removed(project, page):
    row(page, "Cover")
    page.locator("#editor-cover").set_input_files(logo())
    expect(page.get_by_alt_text("Cover now")).to_be_visible()
    expect(preview_of(page).locator(".cover")).to_be_visible()
    svg = FilePayload(name="a.png", mimeType="image/png", buffer=b"<svg/>")
    page.locator("#editor-cover").set_input_files(svg)
    expect(page.get_by_text("can’t be read as a picture").first).to_be_visible()
    page.get_by_role("button", name="Remove Cover").click()
    expect(page.get_by_alt_text("Cover now")).to_have_count(0)
    expect(preview_of(page).locator(".cover")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_alt_text("Cover now")).to_be_visible()
    page.get_by_role("button", name="Remove Cover").click()
    expect(page.get_by_alt_text("Cover now")).to_have_count(0)
    # The next page has no cover before it is there, either; its script listens once it has loaded.
    page.wait_for_load_state()
    drop = """(area, bytes) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], 'logo.png', { type: 'image/png' }));
      const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
      area.dispatchEvent(event);
    }"""
    area = page.locator("[data-picture=cover] [data-drop]")
    area.evaluate(drop, [*logo()["buffer"]])
    expect(page.get_by_alt_text("Cover now")).to_be_visible()


def test_questions_are_added_moved_and_brought_back(open_page, project):
    page = project.open(open_page, "/collect/page")
    row(page, "Your own questions")
    inside = preview_of(page)
    add = page.get_by_role("button", name="Add a question")
    add.click()
    page.get_by_label("Question", exact=True).fill("What do you take home?")
    for place, text in enumerate(("Bread", "Buns")):
        page.get_by_label("Answer", exact=True).nth(place).fill(text)
    page.get_by_role("switch", name="Show the answer on the card").check()
    # What is edited is framed.
    framed = inside.locator("[style*=outline]")
    expect(framed).to_contain_text("What do you take home?")
    add.click()
    page.get_by_role("radio", name="Scale").last.check(force=True)
    page.get_by_label("Question", exact=True).last.fill("Will you come back?")
    expect(inside.get_by_text("Will you come back?")).to_be_visible()
    wait_for(lambda: len(asked(project)) == 2, what="both questions")

    handle = page.get_by_role("button", name="Move Will you come back?")
    note = page.locator("#questions [data-move-note]")
    handle.press(" ")
    expect(note).to_contain_text("Moving: place 2 of 2.")
    handle.press("ArrowUp")
    expect(note).to_contain_text("Moving: place 1 of 2.")
    handle.press("Escape")
    expect(note).to_have_text("Restored")
    for key in (" ", "ArrowUp", " "):
        handle.press(key)
    expect(note).to_have_text("Moved: place 1 of 2.")
    expect(handle).to_be_focused()
    wait_for(lambda: asked(project)[0] == "Will you come back?", what="the new order")
    page.get_by_role("button", name="Move down: Will you come back?").click()
    wait_for(lambda: asked(project)[1] == "Will you come back?", what="the old order")

    for head in page.locator(".item-box > summary").all():
        head.click()
    page.get_by_role("button", name="Move What do you take home?").hover()
    page.mouse.down()
    place = page.get_by_role("button", name="Move Will you come back?").bounding_box()
    assert place is not None
    page.mouse.move(place["x"], place["y"] + place["height"] + 20, steps=4)
    page.mouse.up()
    wait_for(lambda: asked(project)[0] == "Will you come back?", what="the dragged order")

    page.locator(".item-box > summary").last.click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    wait_for(lambda: len(asked(project)) == 1, what="one question")
    page.get_by_role("button", name="Undo").click()
    wait_for(lambda: len(asked(project)) == 2, what="both again")


def test_the_point_of_a_cover_moves_by_keys(project, page):
    row(page, "Cover")
    page.locator("#editor-cover").set_input_files(logo((1600, 800)))  # type: ignore[arg-type]
    ring = page.get_by_role("slider", name="Focal point")
    for key in ("ArrowLeft", "Shift+ArrowLeft", "ArrowDown"):
        ring.press(key)
    expect(ring).to_have_attribute(
        "aria-valuetext", "38 percent from the left, 52 percent from the top"
    )
    wait_for(
        lambda: design_of(project)["coverFocus"] == {"x": 38, "y": 52}, what="the point stored"
    )


def test_touching_a_part_of_the_page_opens_its_row(project, page):
    message = page.get_by_label("Message")
    row(page, "Thanks")
    expect(message).to_be_visible()
    preview_of(page).locator(".message-text").click()
    expect(message).to_be_visible()
    row(page, "Cover")
    expect(message).to_be_hidden()
    preview_of(page).get_by_role("heading", level=1).click()
    expect(page.get_by_label("Headline")).to_be_visible()


def test_nothing_in_the_preview_leads_away_or_is_sent(site, open_page):
    project = site.create_project(website="https://elsewhere.example.com")
    page = project.open(open_page, "/collect/page")
    inside = preview_of(page)
    row(page, "Guiding questions")
    inside.get_by_role("button", name="Send my testimonial").click()
    row(page, "Thanks")
    inside.get_by_role("link", name=re.compile("elsewhere.example.com")).click()
    expect(inside.get_by_role("heading", name=re.compile("Thank you")).first).to_be_visible()
    assert project.stored() == []


def test_the_list_is_gone_through_by_keyboard_alone(project, page):
    page.locator("#text > summary").focus()
    panel = page.locator("#questions")
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    # It lies over the list.
    expect(page.locator(".part-row").filter(visible=True)).to_have_count(1)
    page.keyboard.press("Tab")
    expect(panel.get_by_role("button", name="Add a question")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("Who sent you?")
    for key in ("Tab", "ArrowLeft"):
        page.keyboard.press(key)
    expect(panel.get_by_role("radio", name="Text")).to_be_checked()
    page.keyboard.press("Escape")
    expect(panel.locator("summary").first).to_be_focused()
    expect(panel.locator("> summary")).to_contain_text("1 of 5")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".part-row[open]")).to_have_attribute("id", "person")
    assert asked(project) == ["Who sent you?"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    value = page.locator("#person [data-value]")
    expect(value).to_have_text("4 of 5")


def test_all_of_it_works_without_a_script(open_page, project):
    page = project.open(open_page, "/collect/page", java_script_enabled=False)
    page.get_by_label("Headline").fill("How was the cut?")
    row(page, "Your own questions")
    for text in ("Who sent you?", "What did you like?"):
        page.locator("#questions .item-box > summary").last.click()
        empty = page.locator("#questions .item").last
        empty.get_by_label("Question", exact=True).fill(text)
        empty.get_by_role("radio", name="Text").check(force=True)
        follow(page.get_by_role("button", name="Save"))
        row(page, "Your own questions")
    assert asked(project) == ["Who sent you?", "What did you like?"]
    follow(page.get_by_role("button", name="Move up: What did you like?"))
    # The panel is open again, since it is what somebody works in.
    follow(page.get_by_role("button", name="Move up: Who sent you?"))
    assert asked(project) == ["Who sent you?", "What did you like?"]
    page.locator(".item-box > summary").first.click()
    follow(page.get_by_role("button", name="Delete", exact=True).first)
    assert asked(project) == ["What did you like?"]
    row(page, "Your own questions")
    follow(page.get_by_role("link", name="Another page"))
    page.get_by_label("Name").fill("After the course")
    follow(page.get_by_role("button", name="Add"))
    expect(page.get_by_role("heading", level=1)).to_have_text("After the course")
    assert project.call("GET", "")[CONFIG]["headline"] == "How was the cut?"


def test_a_page_is_added_renamed_and_deleted_in_the_title(project, page):
    page.get_by_role("link", name="Another page").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Name").fill("After the course")
    follow(sheet.get_by_role("button", name="Add"))
    title = page.locator(".title-menu")
    expect(title).to_contain_text("After the course")
    title.click()
    page.get_by_role("link", name="Rename").click()
    sheet.get_by_label("Name", exact=True).fill("Class")
    follow(sheet.get_by_role("button", name="Rename"))
    expect(title).to_contain_text("Class")
    page.get_by_role("switch", name="Takes testimonials").uncheck()
    where = "/forms/after-the-course"
    wait_for(lambda: not project.call("GET", where)["isOpen"], what="a closed page")
    page.reload()
    title.click()
    expect(page.get_by_role("link", name="Class Closed")).to_be_visible()
    follow(page.get_by_role("button", name="Delete"))
    expect(page.get_by_text("Deleted: Class")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your page")
    follow(page.get_by_role("button", name="Undo"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Class")
    expect(page.get_by_role("switch", name="Takes testimonials")).not_to_be_checked()
