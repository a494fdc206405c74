"""The Insights page, as a person uses it: by keyboard, by pointer, and on every screen."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site
from tests.dashboard.insights.counted import add_views

pytestmark = [pytest.mark.browser, pytest.mark.process]


def test_a_day_is_chosen_by_keyboard_and_by_pointer(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    for ago in range(30):
        add_views(site.app, project.id, 400 + 13 * ago, website="fern.example", ago=ago, clicks=9)
        add_views(site.app, project.id, 40 + ago, ago=ago)
    page = open_page(site.url, viewport={"width": 1280, "height": 900})
    project.sign_in(page, "/insights")
    views = page.locator("[data-chosen-widget]")
    chooser = page.get_by_role("slider", name="Day")
    chooser.focus()
    page.keyboard.press("ArrowLeft")
    expect(views).to_have_text("413")
    name = page.locator("[data-chosen-day]").text_content()
    expect(chooser).to_have_attribute("aria-valuetext", f"{name}: widget 413, public wall 41")
    page.keyboard.press("Home")
    expect(views).to_have_text("777")
    room = page.locator("[data-views] .plot-room").bounding_box()
    assert room is not None
    page.mouse.move(room["x"] + room["width"] - 3, room["y"] + 20)
    expect(page.locator("[data-chosen-wall]")).to_have_text("40")
