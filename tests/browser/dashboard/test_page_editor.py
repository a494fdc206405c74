"""The page editor in Chromium: what is changed shows at once, saves itself, and can be read."""

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import FrameLocator, Page, Route, expect

from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import follow, next_page
from tests.browser.screens import check_screens
from tests.support.servers import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]

CONFIG = "publicPageConfig"


def open_editor(site: Site, open_page: OpenPage, project: Project, **options: object) -> Page:
    """Sign in and open its project's page editor."""
    page = open_page(project.page_url, **options)
    project.sign_in(page, "/page")
    return page


def preview_of(page: Page) -> FrameLocator:
    return page.frame_locator("[data-preview]")


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


def logo(size: tuple[int, int] = (200, 200)) -> dict[str, str | bytes]:
    out = io.BytesIO()
    Image.new("RGB", size, "#047857").save(out, "PNG")
    return {"name": "logo.png", "mimeType": "image/png", "buffer": out.getvalue()}


def test_a_change_shows_at_once_and_saves_itself(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    inside = preview_of(page)
    held: list[Route] = []
    page.route("**/*", lambda route: held.append(route))
    page.get_by_label("Headline").fill("How was the cut?")
    # While nothing that the page asks for is answered.
    expect(inside.get_by_role("heading", level=1)).to_have_text("How was the cut?")
    for route in held:
        route.continue_()
    page.unroute("**/*")
    page.get_by_role("switch", name="Rating").uncheck()
    expect(inside.get_by_text("Your rating")).to_have_count(0)
    page.get_by_label("Dark").check(force=True)
    expect(inside.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_label("Button colour", exact=True).fill("#ffcc00")
    page.get_by_label("Button text", exact=True).fill("#000000")
    button = inside.locator("[data-send]")
    expect(button).to_have_css("background-color", "rgb(255, 204, 0)")
    page.get_by_text("Thank-you", exact=True).click()
    page.get_by_label("Thank-you message").fill("You made our day")
    expect(inside.get_by_text("You made our day")).to_be_visible()
    wait_until_stored(
        project, buttonColor="#FFCC00", thankYouMessage="You made our day", theme="dark"
    )
    saved(page)
    page.reload()
    expect(page.get_by_label("Headline")).to_have_value("How was the cut?")
    assert project.call("GET", "")[CONFIG]["collectFields"]["rating"] is False


def test_leaving_in_the_middle_of_a_word_loses_nothing(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    page.get_by_label("Headline").fill("Typed and gone")
    page.goto(f"{site.url}/dashboard/projects/{project.id}/inbox")
    wait_until_stored(project, headline="Typed and gone")
    page.goto(project.page_url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Typed and gone")


def test_a_server_in_trouble_keeps_what_was_changed(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    page.route("**/page", lambda route: route.fulfill(status=503, body="busy"))
    page.get_by_label("Headline").fill("Kept")
    expect(page.get_by_text("Not saved. Something went wrong on our side.")).to_be_visible()
    page.unroute("**/page")
    page.get_by_role("button", name="Retry").click()
    saved(page)
    assert project.call("GET", "")[CONFIG]["headline"] == "Kept"


def test_a_colour_that_is_hard_to_read_offers_one_that_is_not(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    page.get_by_label("Button colour", exact=True).fill("#2F8F6B")
    expect(page.get_by_text("Hard to read: 3.9 to 1.")).to_be_visible()
    page.get_by_role("button", name="Use text in #18181B").click()
    expect(page.get_by_text(re.compile("Hard to read"))).to_be_hidden()
    wait_until_stored(project, buttonColor="#2F8F6B", buttonTextColor="#18181B")
    saved(page)


def test_text_that_is_too_long_is_named_and_not_sent(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    page.get_by_label("Headline").fill("x" * 161)
    expect(page.get_by_text("Shorten this to 160 characters.")).to_be_visible()
    page.get_by_label("Headline").fill("😀" * 160)
    expect(page.get_by_text("Shorten this")).to_have_count(0)
    wait_until_stored(project, headline="😀" * 160)


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_a_logo_is_chosen_shown_and_removed(
    site: Site, open_page: OpenPage, has_script: bool
) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project, java_script_enabled=has_script)
    page.locator("#editor-logo").set_input_files(logo())  # type: ignore[arg-type]
    if not has_script:
        page.get_by_role("button", name="Upload").click()
    expect(page.get_by_alt_text("Your logo now")).to_be_visible()
    assert project.call("GET", "")[CONFIG]["logo"].endswith(".webp")
    if has_script:
        expect(preview_of(page).locator(".plate .logo")).to_be_visible()
    svg = {"name": "a.png", "mimeType": "image/png", "buffer": b"<svg/>"}
    page.locator("#editor-logo").set_input_files(svg)  # type: ignore[arg-type]
    if not has_script:
        page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("SVG pictures can contain scripts.").first).to_be_visible()
    page.get_by_role("button", name="Remove the logo").click()
    expect(page.get_by_alt_text("Your logo now")).to_have_count(0)
    assert project.call("GET", "")[CONFIG]["logo"] is None


def test_a_logo_can_be_dropped(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    drop = """(bytes) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], 'logo.png', { type: 'image/png' }));
      const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
      document.querySelector('[data-drop]').dispatchEvent(event);
    }"""
    content = logo()["buffer"]
    assert isinstance(content, bytes)
    page.evaluate(drop, list(content))
    expect(page.get_by_alt_text("Your logo now")).to_be_visible()


def test_it_works_without_a_script(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project, java_script_enabled=False)
    page.get_by_label("Headline").fill("Saved by hand")
    page.get_by_label("Button colour", exact=True).fill("#2F8F6B")
    page.get_by_role("switch", name="Company").uncheck()
    with next_page(page):
        page.get_by_label("Headline").press("Enter")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    follow(page.get_by_role("button", name="Use text in #18181B"))
    config = project.call("GET", "")[CONFIG]
    assert config["headline"] == "Saved by hand"
    assert (config["buttonColor"], config["buttonTextColor"]) == ("#2F8F6B", "#18181B")
    assert config["collectFields"]["company"] is False


def test_nothing_in_the_preview_leads_away_or_is_sent(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(website="https://elsewhere.example.com")
    page = open_editor(site, open_page, project)
    inside = preview_of(page)
    inside.get_by_role("button", name="Send my testimonial").click()
    page.get_by_text("Thank-you", exact=True).click()
    inside.get_by_role("link", name=re.compile("Back to")).click()
    expect(inside.get_by_role("heading", name="Thank you")).to_be_visible()
    assert project.stored() == []


def test_axe_finds_nothing(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project)
    page.get_by_label("Button colour", exact=True).fill("#2F8F6B")
    expect(page.get_by_text("Hard to read: 3.9 to 1.")).to_be_visible()
    saved(page)
    # The page inside may have the owner's own colours, and the editor says so.
    page.locator("[data-preview]").evaluate("frame => frame.remove()")
    check_screens(page)
