"""Highlighting words and ordering by hand: with the mouse, by keys, and without the script."""

import contextlib
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.process]

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


def test_words_are_selected_and_highlighted(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_page(project.page_url)
    project.sign_in(page, f"/testimonials/{add(project, 'Maya', WORDS)}")
    page.locator("[data-shown]").evaluate(SELECT)
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


def test_testimonials_are_ordered(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    for name in ("Aiko", "Ben", "Cleo"):
        add(project, name)
    page = open_page(project.page_url)
    project.sign_in(page, "/order")
    for name in ("Aiko", "Ben", "Cleo"):
        follow(page.get_by_role("button", name=re.compile(f"^Add.*{name}")))
    with saving(page):
        page.get_by_role("button", name=re.compile("^Move up.*Cleo")).click()
    assert [each["authorName"] for each in shown(project, page)] == ["Aiko", "Cleo", "Ben"]
    handle = page.get_by_role("button", name="Move Ben")
    with saving(page):
        handle.press("ArrowUp")
    expect(handle).to_be_focused()
    expect(page.get_by_text("Ben is number 2 of 3")).to_be_attached()
    start, end = handle.bounding_box(), page.get_by_role("button", name="Move Aiko").bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 9, start["y"] + 9)
    page.mouse.down()
    page.mouse.move(end["x"] + 9, end["y"] - 4, steps=4)
    with saving(page):
        page.mouse.up()
    expect(page.get_by_text("Ben is number 1 of 3")).to_be_attached()
    assert [each["authorName"] for each in shown(project, page)] == ["Ben", "Aiko", "Cleo"]
    project.sign_in(page, "/widgets")
