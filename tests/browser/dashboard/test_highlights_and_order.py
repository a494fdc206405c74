"""Highlighting words and ordering by hand: with the mouse, by keys, and without the script."""

import contextlib
import re
from collections.abc import Iterator

from playwright.sync_api import Page, expect

from tests.browser.conftest import Project

WORDS = "😀 Hair that stayed up through rain.\nHair for years."
# A page's own selection, as a finger or a mouse makes it.
SELECT = """(text) => {
  const range = document.createRange();
  const at = text.firstChild.data.lastIndexOf('Hair');
  range.setStart(text.firstChild, at);
  range.setEnd(text.firstChild, at + 5);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


def add(project: Project, name: str, text: str = "Words.") -> str:
    body = {"authorName": name, "text": text}
    return str(project.call("POST", "/testimonials", body)["_id"])


def shown(project: Project, page: Page) -> list[dict[str, object]]:
    """Return what the widget shows."""
    answer = page.request.get(f"{project.site.url}/widget/{project.id}/feed")
    return list(answer.json()["items"])


@contextlib.contextmanager
def saving(page: Page) -> Iterator[None]:
    """Wait at the end of the block until what it does has been saved."""
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        yield


def test_words_are_selected_and_highlighted(open_page, project):
    page = project.open(open_page, f"/testimonials/{add(project, 'Maya', WORDS)}")
    page.locator("[data-shown]").evaluate(SELECT)
    expect(page.get_by_role("button", name="Highlight")).to_be_visible()
    with saving(page):
        page.keyboard.press("h")
    expect(page.locator("[data-shown] mark")).to_have_text(["Hair"])
    # By keys, in the field itself.
    text = page.get_by_role("textbox", name="Words")
    text.focus()
    page.keyboard.press("Control+Home")
    for key in ("ArrowRight", "ArrowRight", "Shift+Control+ArrowRight"):
        page.keyboard.press(key)
    with saving(page):
        page.get_by_role("button", name="Highlight").click()
    expect(page.locator("[data-shown] mark")).to_have_text(["Hair", "Hair"])
    (item,) = shown(project, page)
    assert item["highlights"] == [[2, 6], [36, 40]]


def first(page: Page) -> list[str]:
    """Return who comes first on the sheet."""
    return page.locator("[data-first] .order-name").all_text_contents()


def test_testimonials_are_ordered(open_page, project):
    for name in ("Dana", "Cleo", "Ben", "Aiko"):
        add(project, name)
    page = project.open(open_page, "/widget")
    page.get_by_role("link", name="Order").click()
    sheet = page.get_by_role("dialog", name="Order")
    sheet.get_by_role("button", name=re.compile("^Add.*Aiko")).focus()
    # The next one's button follows, so that several are added by one key.
    for _ in range(3):
        with saving(page):
            page.keyboard.press("Enter")
    assert first(page) == ["Aiko", "Ben", "Cleo"]
    expect(sheet.get_by_role("button", name=re.compile("^Add.*Dana"))).to_be_focused()
    with saving(page):
        sheet.get_by_role("button", name=re.compile("^Move up.*Ben")).click()
    assert first(page) == ["Ben", "Aiko", "Cleo"]
    expect(sheet.get_by_role("button", name=re.compile("^Move down.*Ben"))).to_be_focused()
    handle = sheet.get_by_role("button", name="Move Cleo")
    with saving(page):
        handle.press("ArrowUp")
    expect(handle).to_be_focused()
    expect(page.get_by_text("Cleo is number 2 of 3")).to_be_attached()
    start = handle.bounding_box()
    end = sheet.get_by_role("button", name="Move Ben").bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 9, start["y"] + 9)
    page.mouse.down()
    page.mouse.move(end["x"] + 9, end["y"] - 4, steps=4)
    with saving(page):
        page.mouse.up()
    with saving(page):
        sheet.get_by_role("button", name=re.compile("^Remove.*Aiko")).click()
    assert first(page) == ["Cleo", "Ben"]
    others = page.locator("[data-others] .order-name")
    expect(others).to_have_text(["Aiko", "Dana"])
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Order")).to_be_focused()
    expect(page.get_by_role("link", name="Order By hand")).to_be_visible()
    expect(page.get_by_text("1 change, not on your site yet")).to_be_visible()
    assert shown(project, page)[0]["authorName"] == "Aiko"
    with saving(page):
        page.get_by_role("button", name="Publish").click()
    names = [each["authorName"] for each in shown(project, page)]
    assert names == ["Cleo", "Ben", "Aiko", "Dana"]


def test_what_cannot_be_kept_goes_back(open_page, project):
    add(project, "Aiko")
    page = project.open(open_page, "/widget")
    page.get_by_role("link", name="Order").click()
    button = page.get_by_role("button", name=re.compile("^Add.*Aiko"))
    expect(button).to_be_visible()
    page.context.set_offline(True)
    button.click()
    expect(page.get_by_text("Not saved.")).to_be_visible()
    expect(button).to_be_visible()
    assert first(page) == []
