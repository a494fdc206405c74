"""The widget editor in a real browser: the real widget follows every setting; visitors see it once
it is published."""

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from testimonials.core.extensions import db
from testimonials.projects import models
from testimonials.projects.defaults import WIDGET_CONFIG
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import PAINTED, held_back
from tests.support.servers import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.process]

SHOWN = "main .stage:not(.is-next) [data-testimonials-project]"

# Changes one control and waits until the widget that stands in the preview shows it.
CHANGE = """
([selector, check]) => new Promise((done, fail) => {
  const preview = document.querySelector('[data-preview]').contentDocument;
  const isShown = new Function('root', 'host', 'return ' + check);
  const look = () => {
    const host = preview.querySelector('main .stage:not(.is-next) > div');
    const root = host?.shadowRoot?.querySelector('.tm');
    return root && !preview.querySelector('.is-next') && isShown(root, host);
  };
  if (look()) return fail(new Error('shown before the change'));
  const start = performance.now();
  const again = () => {
    if (look()) return done();
    if (performance.now() - start > 60000) return fail(new Error('not shown: ' + check));
    setTimeout(again, 2);
  };
  document.querySelector(selector).click();
  again();
})
"""


def open_editor(open_page: OpenPage, project: Project, **options: Any) -> Page:
    """Sign in and open the editor of the project."""
    page = open_page(project.page_url, **options)
    project.sign_in(page, "/widget")
    return page


@pytest.fixture
def project(site: Site) -> Project:
    return site.create_project(skipDemoTestimonials=False)


@pytest.fixture
def page(open_page: OpenPage, project: Project) -> Page:
    """The editor on a desk, with the preview ready."""
    page = open_editor(open_page, project, viewport={"width": 1280, "height": 860})
    expect(widget(page)).to_have_attribute("data-testimonials-state", "ready")
    return page


def shown(page: Page) -> FrameLocator:
    """Return the preview."""
    return page.frame_locator("[data-preview]")


def widget(page: Page) -> Locator:
    """Return the widget in it that is shown, and not the next one, which is made out of sight."""
    return shown(page).locator(SHOWN)


def stored(project: Project) -> dict[str, Any]:
    """Return the settings that visitors get."""
    answer = project.site.service.call("GET", f"/widget/{project.id}/feed")
    config: dict[str, Any] = answer.json["config"]
    return config


def drafted(project: Project) -> dict[str, Any]:
    """Return what of the project's draft differs from its published settings."""
    with project.site.app.app_context():
        found = db.session.get(models.Project, project.id)
        assert found is not None
        draft: dict[str, Any] = found.widget_draft or {}
        return {name: value for part in draft.values() for name, value in part.items()}


def wait_until_drafted(project: Project, **changes: object) -> None:
    """Wait until the draft has these changes and no others."""
    wait_for(lambda: drafted(project) == changes, what=f"{changes} to be saved")


def publish(page: Page) -> None:
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Published. Visitors see it now.")).to_be_visible()


def open_parts(page: Page) -> None:
    for name in ("Content", "Details"):
        page.get_by_role("heading", name=name).click()


def test_every_setting_shows_while_nothing_is_answered_and_is_saved(
    project: Project, page: Page
) -> None:
    """It shows at once because it waits for no answer: here none comes until all are shown."""
    open_parts(page)
    steps = {
        "#palette-rose": "getComputedStyle(root).getPropertyValue('--tm-solid') === '#e11d48'",
        "#cardStyle-stripe": "root.classList.contains('stripe')",
        "#theme-dark": "root.ownerDocument.defaultView.getComputedStyle(root)"
        ".getPropertyValue('--tm-text') > '#8'",
        "#layout-list": "root.classList.contains('list')",
        "#layout-carousel": "root.classList.contains('carousel')",
        "#stars-off": "!root.querySelector('.stars')",
        "#density-airy": "root.classList.contains('airy')",
        "#showCtaButton": "!root.querySelector('.cta')",
        "[data-step='-1']": "host.dataset.testimonialsCount === '4'",
        "#look-soft": "root.classList.contains('quote')",
    }
    held: list[Route] = []
    # The widget's own files are there for good once they were loaded.
    page.route(lambda url: not url.endswith(".js"), lambda route: held.append(route))
    # Fewer than the six that there are, so that the next step shows.
    page.get_by_label("Shown first").fill("5")
    expect(widget(page)).to_have_attribute("data-testimonials-count", "5")
    for selector, check in steps.items():
        page.evaluate(CHANGE, [selector, check])
    assert {route.request.method for route in held} == {"POST"}
    for route in held:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_role("status").filter(has_text=re.compile("^Saved$"))).to_be_visible()
    page.reload()
    expect(page.get_by_role("radio", name="Rose")).to_be_checked()
    expect(page.get_by_role("radio", name="Soft").first).to_be_checked()
    expect(widget(page)).to_have_attribute("data-testimonials-count", "4")
    # Until now nobody has seen any of it.
    assert stored(project) == WIDGET_CONFIG
    publish(page)
    expect(page.get_by_text("Visitors see this")).to_be_visible()
    assert drafted(project) == {}
    assert stored(project) == WIDGET_CONFIG | {
        "palette": "rose",
        "cardStyle": "quote",
        "theme": "dark",
        "layout": "carousel",
        "showDates": False,
        "showCtaButton": False,
        "initialCount": 4,
    }


def test_now_shows_what_visitors_see_and_undo_goes_back(project: Project, page: Page) -> None:
    root = widget(page).locator(".tm")
    page.locator("#look-outline").check()
    expect(root).to_have_class(re.compile("outlined"))
    page.get_by_role("radio", name="Now").check()
    expect(root).not_to_have_class(re.compile("outlined"))
    # A change is there to be seen.
    page.get_by_role("radio", name="List").check()
    expect(page.get_by_role("radio", name="Draft")).to_be_checked()
    expect(root).to_have_class(re.compile("list outlined"))
    page.keyboard.press("Control+z")
    expect(root).to_have_class(re.compile("masonry outlined"))
    expect(page.locator("#layout-masonry")).to_be_checked()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("radio", name="Quiet")).to_be_checked()
    wait_until_drafted(project)
    for _ in range(2):
        page.keyboard.press("Control+Shift+z")
    expect(root).to_have_class(re.compile("list outlined"))
    page.get_by_role("button", name="Discard").click()
    wait_until_drafted(project)
    page.locator("[data-toasts]").get_by_role("button", name="Undo").click()
    expect(root).to_have_class(re.compile("list outlined"))
    assert stored(project) == WIDGET_CONFIG
    page.get_by_role("radio", name="Both").check()
    beside = page.frame_locator("[data-box-now] iframe").locator(SHOWN).locator(".tm")
    expect(beside).to_have_class(re.compile("masonry default"))
    publish(page)
    expect(beside).to_have_class(re.compile("list outlined"))


def test_the_preview_stands_on_the_owners_own_page(page: Page, tmp_path: Path) -> None:
    picture = Image.new("RGB", (1200, 1600), "#F4F1EA")
    picture.paste("#065F46", (0, 0, 1200, 90))
    picture.save(tmp_path / "page.png")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_text("Your page", exact=True).click()
    page.get_by_label("Picture of it").set_input_files(tmp_path / "page.png")
    ground = shown(page).locator("html")
    expect(ground).to_have_css("background-color", "rgb(244, 241, 234)")
    expect(ground).to_have_class("has-picture")
    page.get_by_label("Page font").fill("Georgia")
    expect(ground).to_have_css("font-family", "Georgia")
    assert not [url for url in sent if not url.startswith(("data:", "blob:"))]
    page.get_by_role("button", name="Use #065F46 as your colour").click()
    expect(widget(page).locator(".tm")).to_have_css("--tm-solid", "#065f46")
    # It is kept in this browser, and nowhere else.
    page.reload()
    expect(ground).to_have_class("has-picture")
    page.get_by_text("Your page", exact=True).click()
    page.get_by_role("button", name="Remove the picture").click()
    expect(ground).not_to_have_class("has-picture")
    page.get_by_label("Picture of it").set_input_files(__file__)
    expect(page.get_by_text("This file is no picture")).to_be_visible()


def test_the_preview_is_as_wide_as_the_device_and_leads_nowhere(
    project: Project, page: Page
) -> None:
    for width in (360, 768):
        page.get_by_role("radio", name=str(width)).check()
        page.wait_for_function(
            """width => {
              const { innerWidth, document: { documentElement: root } }
                = document.querySelector('[data-preview]').contentWindow;
              return innerWidth === width && root.scrollWidth <= root.clientWidth;
            }""",
            arg=width,
        )
    link = widget(page).get_by_role("link", name="Share your experience")
    link.click()
    link.click(button="middle")
    link.press("Enter")
    page.evaluate(PAINTED)
    assert len(page.context.pages) == 1
    expect(link).to_be_visible()


def test_what_was_changed_last_is_saved_though_the_page_is_left(
    project: Project, page: Page
) -> None:
    page.evaluate(
        """next => {
          for (const id of ['palette-rose', 'palette-sky', 'layout-list', 'cardStyle-quote'])
            document.getElementById(id).click();
          location.href = next;
        }""",
        f"{project.site.url}/dashboard/account",
    )
    page.wait_for_url("**/account")
    wait_until_drafted(project, palette="sky", layout="list", cardStyle="quote")


def test_what_is_changed_before_the_script_comes_is_kept(
    open_page: OpenPage, project: Project
) -> None:
    page = open_page(project.page_url, viewport={"width": 1280, "height": 860})
    project.sign_in(page)
    with held_back(page, "/widget-editor.js"):
        page.goto(f"{project.dashboard}/widget", wait_until="commit")
        page.get_by_role("radio", name="Rose").check()
        page.get_by_role("radio", name="List").check()
    wait_until_drafted(project, palette="rose", layout="list")
    expect(page.get_by_role("radio", name="List")).to_be_checked()
    expect(widget(page).locator(".tm.list")).to_be_visible()


def test_one_request_at_a_time_with_what_changed_alone(project: Project, page: Page) -> None:
    sent: list[str] = []
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method != "POST":
            route.fallback()
            return
        sent.append(route.request.post_data or "")
        held.append(route)

    page.route(f"{project.dashboard}/widget", hold)
    page.get_by_role("radio", name="Rose").check()
    expect(page.get_by_text("Saving…")).to_be_visible()
    wait_for_more(page, held)
    page.get_by_role("radio", name="Sky").check()
    page.get_by_role("radio", name="List").check()
    page.get_by_role("radio", name="Amber").check()
    assert sent == ["palette=rose"]
    # A colleague's change meanwhile stays, and shows here.
    project.call("PATCH", "/widget-config", {"cardStyle": "outlined"})
    held.pop().continue_()
    expect(page.locator("#cardStyle-outlined")).to_be_checked()
    expect(widget(page).locator(".tm.outlined")).to_be_visible()
    wait_for_more(page, held)
    assert sent == ["palette=rose", "palette=amber&layout=list"]
    held.pop().continue_()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    wait_until_drafted(project, palette="amber", layout="list")
    # What the colleague has changed is not taken back.
    publish(page)
    assert stored(project)["cardStyle"] == "outlined"


def wait_for_more(page: Page, held: list[Route]) -> None:
    """Wait until a request is held; that the page has sent it is not that it is here."""
    # Playwright calls handlers while it is asked for something, and not while this process sleeps.
    wait_for(lambda: page.title() and held, what="a request")


def test_what_could_not_be_saved_is_said_and_tried_again(project: Project, page: Page) -> None:
    failing = re.compile(re.escape(f"{project.dashboard}/widget") + "$")
    # The browser itself would report a refused connection as an error of the page.
    page.evaluate("() => { window.was = fetch; fetch = async () => { throw new TypeError(); }; }")
    page.get_by_role("radio", name="Rose").check()
    expect(page.get_by_text("Not saved. The server can’t be reached.")).to_be_visible()
    expect(widget(page).locator(".tm")).to_have_css("--tm-solid", "#e11d48")
    page.evaluate("() => { fetch = window.was; }")
    page.route(failing, lambda route: route.fulfill(status=500, body="<p>no</p>"))
    page.get_by_role("radio", name="Dark").check()
    expect(page.get_by_text("Not saved. Something went wrong on our side.")).to_be_visible()
    # What isn't saved can't be published.
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Not saved. Something went wrong on our side.")).to_be_visible()
    page.unroute(failing)
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    wait_until_drafted(project, palette="rose", theme="dark")
    assert stored(project) == WIDGET_CONFIG


def test_the_keyboard_reaches_and_changes_everything(project: Project, page: Page) -> None:
    open_parts(page)
    page.get_by_role("button", name="Discard").focus()
    names = []
    for _ in range(46):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate(
                "document.activeElement.name || document.activeElement.dataset.step"
                " || document.activeElement.localName"
            )
        )
        if names[-1] in ("layout", "theme", "font", "radius", "stars", "dates", "cardStyle"):
            page.keyboard.press("ArrowRight")
        elif names[-1] == "initialCount":
            page.keyboard.press("ArrowUp")
        elif names[-1].startswith("show"):
            page.keyboard.press("Space")
        elif names[-1] == "preview-width":
            page.keyboard.press("ArrowLeft")
            break
    reached = [name for name in names if name not in ("a", "button", "summary", "input")]
    assert reached == [
        *("publish", "look", "layout", "brandColor", "palette", "font", "theme", "radius"),
        *("stars", "order", "minRating", "minLength", "-1", "initialCount", "1", "dates"),
        *("showHeader", "showHighlights", "showSource", "onlyChosen", "cardStyle", "cardWidth"),
        *("density", "photoSize", "featured", "labelShowMore", "labelReadMore", "labelShowLess"),
        *("showCtaButton", "preview-view", "preview-width"),
    ]
    changes = {
        "layout": "carousel", "font": "system", "theme": "dark", "radius": 24, "starColor": "brand",
        "initialCount": 10, "dateStyle": "month", "showHeader": True, "showHighlights": False,
        "showSource": False, "cardStyle": "quote", "showCtaButton": False,
    }  # fmt: skip
    wait_until_drafted(project, **changes)
    expect(page.get_by_role("radio", name="768")).to_be_checked()


def test_a_phone_shows_one_pane_at_a_time(open_page: OpenPage, project: Project) -> None:
    page = open_editor(open_page, project, viewport={"width": 360, "height": 740})
    preview = page.get_by_role("button", name="Preview", exact=True)
    rose = page.get_by_role("radio", name="Rose")
    expect(page.locator("[data-preview]")).to_be_hidden()
    rose.check()
    preview.click()
    expect(rose).to_be_hidden()
    expect(widget(page).locator(".tm")).to_have_css("--tm-solid", "#e11d48")
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(rose).to_be_visible()
