"""The widget editor in a real browser: the real widget follows every setting; visitors see it once
it is published."""

import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import FrameLocator, Locator, Page, expect

from testimonials.core.extensions import db
from testimonials.projects import models
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import CLIPBOARD
from tests.support.servers import wait_for

SHOWN = "main .stage:not(.is-next) [data-testimonials-project]"
HEIGHTS = "all => all.map((each) => each.shadowRoot.querySelector('.tm').offsetHeight > 20)"
WIDE = {"width": 1280, "height": 860}


@pytest.fixture
def project(site: Site) -> Project:
    return site.create_project(skipDemoTestimonials=False)


@pytest.fixture
def page(open_page: OpenPage, project: Project) -> Page:
    """The editor on a desk, with the preview ready."""
    page = project.open(open_page, "/widget", viewport=WIDE)
    expect(widget(page)).to_have_attribute("data-testimonials-state", "ready")
    return page


def shown(page: Page) -> FrameLocator:
    """Return the preview."""
    return page.frame_locator("[data-frame]")


def widget(page: Page) -> Locator:
    """Return the widget in it that is shown, and not the next one, which is made out of sight."""
    return shown(page).locator(SHOWN)


def drafted(project: Project) -> dict[str, Any]:
    """Return what of the project's draft differs from its published settings."""
    with project.site.app.app_context():
        draft = db.session.get_one(models.Project, project.id).widget_draft or {}
        parts = (draft.get(part, {}) for part in ("config", "design", "cta"))
        return {name: value for part in parts for name, value in part.items()}


def wait_until_drafted(project: Project, **changes: object) -> None:
    """Wait until the draft has these changes and no others."""
    wait_for(lambda: drafted(project) == changes, what=f"{changes} to be saved")


def published(project: Project) -> dict[str, Any]:
    feed: dict[str, Any] = project.site.service.call("GET", f"/widget/{project.id}/feed").json
    return feed


def test_each_change_shows_is_kept_and_is_taken_back(project, page):
    root = widget(page).locator(".tm")
    page.get_by_role("radio", name="Airy").check()
    expect(root).to_have_class(re.compile("airy"))
    page.get_by_label("Cards").select_option("Stripe")
    expect(root).to_have_class(re.compile("stripe airy"))
    page.get_by_role("radio", name="None", exact=True).check()
    expect(root.locator(".stars")).to_have_count(0)
    page.get_by_role("button", name="Fewer").click()
    expect(widget(page)).to_have_attribute("data-testimonials-count", "6")
    page.get_by_label("Corners").press("End")
    expect(root).to_have_css("--tm-radius", "24px")
    changes = {"cardStyle": "stripe", "density": "airy", "showStars": False, "radius": 24}
    wait_until_drafted(project, **changes, initialCount=8)
    expect(page.get_by_text("5 changes, not on your site yet")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(root).to_have_css("--tm-radius", "16px")
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("Control+z")
    expect(page.get_by_label("Number at first")).to_have_value("9")
    # Until now nobody has seen any of it.
    assert published(project)["config"]["cardStyle"] == "default"
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Published")).to_be_visible()
    expect(page.get_by_text("not on your site yet")).to_have_count(0)
    feed = published(project)
    assert (feed["config"]["cardStyle"], feed["design"]["density"]) == ("stripe", "airy")
    assert drafted(project) == {}


def test_a_look_and_a_colour_and_what_visitors_see_now(project, page):
    root = widget(page).locator(".tm")
    page.get_by_role("link", name="Change").click()
    # The pictures may still move what would be clicked.
    page.get_by_role("radio", name="Letters").press("Space")
    page.get_by_role("button", name="Use “Letters”").click()
    expect(root).to_have_class(re.compile("list"))
    page.get_by_text("Your brand", exact=True).first.click()
    page.get_by_label("Its own colour").fill("#065f46")
    expect(root).to_have_css("--tm-solid", "#065f46")
    expect(page.get_by_text("Its own colour", exact=True).first).to_be_visible()
    page.get_by_role("heading", level=1).focus()
    page.keyboard.down("c")
    expect(root).to_have_class(re.compile("masonry"))
    page.keyboard.up("c")
    expect(root).to_have_class(re.compile("list"))
    page.get_by_role("button", name="Use the brand").click()
    expect(page.get_by_text("Your brand", exact=True).first).to_be_visible()
    page.locator(".editor-acts details.menu > summary").click()
    page.get_by_role("button", name="Discard the changes").click()
    expect(page.get_by_role("paragraph").filter(has_text="Changes discarded")).to_be_visible()
    expect(root).to_have_class(re.compile("masonry"))
    wait_until_drafted(project)


CHANGE_MEANWHILE = """() => {
    const real = fetch, colour = document.getElementById('editor-colour');
    window.fetch = (...sent) => {
        window.fetch = real;
        colour.value = '#065f46';
        colour.dispatchEvent(new InputEvent('input', { bubbles: true }));
        return real(...sent);
    };
}"""


def test_a_refused_field_holds_up_no_other(project, page):
    colour = page.get_by_label("Its own colour")
    page.get_by_text("Your brand", exact=True).first.click()
    colour.fill("#zz")
    expect(colour).to_have_attribute("aria-invalid", "true")
    page.get_by_role("radio", name="Airy").check()
    wait_until_drafted(project, density="airy")
    expect(colour).to_have_value("#zz")
    for text in ("#zz", "#yy"):
        # Right after typing, too.
        colour.fill(text)
        with page.expect_response(lambda it: "publish=" in (it.request.post_data or "")) as sent:
            page.get_by_role("button", name="Publish").click()
        assert sent.value.status == 422
        expect(colour).to_have_attribute("aria-invalid", "true")
    # The refusal comes when it has another value already.
    page.evaluate(CHANGE_MEANWHILE)
    colour.fill("#xx")
    wait_until_drafted(project, density="airy", brandColor="#065F46")
    expect(colour).to_have_attribute("aria-invalid", "false")


def test_more_slides_over_and_is_left_by_escape(page):
    page.locator("details.more > summary").click()
    page.get_by_label("Arrangement").select_option("Slider")
    expect(widget(page).locator(".tm")).to_have_class(re.compile("carousel"))
    page.get_by_label("Show more").fill("And more")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Arrangement")).to_be_hidden()


def test_the_widget_is_tried_with_other_words_on_a_picture_and_as_on_a_phone(page, tmp_path):
    picture = Image.new("RGB", (1200, 1600), "#F4F1EA")
    picture.save(tmp_path / "page.png")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    menu = page.locator(".editor-acts details.menu > summary")
    menu.click()
    page.get_by_role("button", name="On a picture of my page").click()
    page.locator("[data-file]").set_input_files(tmp_path / "page.png")
    expect(shown(page).locator("html")).to_have_class("has-picture")
    assert not [url for url in sent if not url.startswith(("data:", "blob:"))]
    menu.click()
    page.get_by_role("radio", name="None", exact=True).first.check()
    expect(page.get_by_text("The widget is empty")).to_be_visible()
    menu.click()
    page.get_by_role("radio", name="Phone").check()
    expect(page.locator("[data-frame]")).to_have_js_property("offsetWidth", 390)


def test_what_was_changed_last_is_saved_though_the_page_is_left(project, page):
    page.get_by_label("Number at first").fill("12")
    page.goto(f"{project.site.url}/dashboard/account")
    wait_until_drafted(project, initialCount=12)


def test_a_new_widget_begins_with_a_look_and_is_renamed_by_keyboard_alone(project, page):
    title = page.locator(".title-menu > summary")
    title.press("Enter")
    page.get_by_role("link", name="New widget").press("Enter")
    tiles = page.locator("[data-testimonials-project]")
    expect(tiles).to_have_count(12)
    expect(page.locator('[data-testimonials-state="ready"]')).to_have_count(12)
    # Each is the real widget.
    assert all(tiles.evaluate_all(HEIGHTS))
    page.get_by_role("radio", name="Wall").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Use “Letters”")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/widget?widget=letters")
    expect(widget(page).locator(".tm")).to_have_class(re.compile("list"))
    title.press("Enter")
    page.get_by_role("link", name="Rename").press("Enter")
    name = page.get_by_role("dialog").get_by_label("Name")
    name.fill("!")
    name.press("Enter")
    expect(page.get_by_text("Write a name with letters")).to_be_visible()
    name.fill("Cakes")
    name.press("Enter")
    page.wait_for_url("**/widget?widget=cakes*")
    page.get_by_role("link", name="Change").press("Enter")
    expect(page.get_by_role("radio", name="Letters")).to_be_checked()
    page.get_by_role("radio", name="Faces").check(force=True)
    page.get_by_role("button", name="Use “Faces”").press("Enter")
    expect(page.get_by_text("1 change, not on your site yet")).to_be_visible()
    title.press("Enter")
    page.get_by_role("button", name="Delete").press("Enter")
    page.wait_for_url(re.compile(r"/widget\?(?!widget)"))
    expect(page.get_by_text("Deleted: cakes")).to_be_visible()
    page.locator("[data-toasts]").get_by_role("button", name="Undo").press("Enter")
    page.wait_for_url("**/widget?widget=cakes*")
    expect(page.get_by_text("1 change, not on your site yet")).to_be_visible()


def test_the_snippet_is_copied_by_three_taps(project, open_page):
    page = open_page(project.page_url, viewport=WIDE)
    page.context.grant_permissions(CLIPBOARD)
    project.sign_in(page, "/inbox")
    page.get_by_role("link", name="Widget", exact=True).click()
    page.get_by_role("link", name="Add to your site").click()
    page.get_by_role("dialog").get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "data-testimonials-project" in page.evaluate("navigator.clipboard.readText()")


def test_fifteen_controls_are_in_sight(page):
    # A group of radios is one; what opens, such as More, counts by itself.
    names = page.locator("[data-controls]").evaluate(
        """form => [...form.querySelectorAll('input, select, a, summary')]
          .filter((each) => each.checkVisibility() && !each.closest('.more'))
          .map((each) => each.name || each.textContent.trim())"""
    )
    assert len(set(names)) == 15, names
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".more > summary").click()
    expect(page.get_by_label("Arrangement")).to_be_in_viewport()
