"""The Insights page, as a person uses it: by keyboard, by pointer, and on every screen."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow
from tests.dashboard.insights.counted import add_forms, add_reads, add_views
from tests.support.rows import add_testimonial

pytestmark = [pytest.mark.browser, pytest.mark.process]

LONG = "An unbroken" + "word" * 40


def open_insights(project: Project, open_page: OpenPage, **options: object) -> Page:
    """Open the page as the owner."""
    page = open_page(f"{project.site.url}/", **options)
    project.sign_in(page, "/insights")
    expect(page.get_by_role("heading", level=1)).to_have_text("Insights")
    return page


def count_much(site: Site, project: Project) -> None:
    """Have views on more websites than fit, and testimonials with all they can have."""
    for ago in range(30):
        add_views(site.app, project.id, 400 + 13 * ago, website="fern.example", ago=ago, clicks=9)
        add_views(site.app, project.id, 40 + ago, ago=ago)
    add_views(site.app, project.id, 7, website="shop.fern.example", ago=10)
    for number in range(6):
        add_views(site.app, project.id, 3, website=f"{'long' * 9}{number}.fern.example", clicks=1)
        values = {"author_name": "Ida Sørensen", "text": LONG, "rating": 5 - number / 2}
        values["is_pinned"] = number == 1
        said = add_testimonial(site.app, project.id, status="approved", **values)
        add_reads(site.app, project.id, said, 9000 - number, 3000 - number)
    add_forms(site.app, project.id, 212, 61)


def test_much_on_every_screen(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    count_much(site, project)
    page = open_insights(project, open_page)
    # From what is read most to its testimonial, and back.
    row = page.get_by_role("row", name="Ida Sørensen").filter(has_text="Pinned")
    expect(row).to_have_count(1)
    follow(row.get_by_role("link", name="Ida Sørensen"))
    expect(page.get_by_role("button", name="Save changes")).to_be_visible()
    page.go_back()
    follow(page.get_by_role("link", name="All 6 that were seen"))
    page.locator(".views summary").click()
    expect(page.get_by_role("table", name="Views per day, newest first")).to_be_visible()


def test_a_day_is_chosen_by_keyboard_and_by_pointer(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    count_much(site, project)
    page = open_insights(project, open_page, viewport={"width": 1280, "height": 900})
    day, views = page.locator("[data-chosen-day]"), page.locator("[data-chosen-widget]")
    chooser = page.get_by_role("slider", name="Day")
    chooser.focus()
    page.keyboard.press("ArrowLeft")
    expect(views).to_have_text("413")
    name = day.text_content()
    expect(chooser).to_have_attribute("aria-valuetext", f"{name}: widget 413, public wall 41")
    page.keyboard.press("Home")
    expect(views).to_have_text("777")
    room = page.locator("[data-views] .plot-room").bounding_box()
    assert room is not None
    page.mouse.move(room["x"] + room["width"] - 3, room["y"] + 20)
    expect(page.locator("[data-chosen-wall]")).to_have_text("40")


def test_the_phones_bar_has_four_places(site: Site, open_page: OpenPage) -> None:
    page = open_insights(site.create_project(), open_page, viewport={"width": 360, "height": 740})
    bar = page.get_by_role("navigation", name="Dashboard")
    expect(bar.get_by_role("link")).to_contain_text(["Inbox", "Insights", "Share"])
    bar.get_by_text("More").click()
    for name in ("Widget", "Page", "Integrations", "Settings"):
        expect(bar.get_by_role("link", name=name)).to_be_visible()
