"""The widget editor in a real browser: the real widget follows every setting, and all is saved."""

import re
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from testimonials.projects.configuration.defaults import WIDGET_CONFIG
from tests.browser.axe import find_rules
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.screens import check_screens
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


def open_editor(site: Site, open_page: OpenPage, project: Project, **options: Any) -> Page:
    """Sign in and open the editor of the project."""
    page = open_page(project.page_url, **options)
    project.sign_in(page)
    page.goto(editor_url(site, project))
    expect(page.get_by_role("heading", level=1)).to_have_text("Widget")
    return page


def editor_url(site: Site, project: Project) -> str:
    return f"{project.dashboard}/widget"


def wide(site: Site, open_page: OpenPage, project: Project, **options: Any) -> Page:
    """Open the editor on a desk, with the preview ready."""
    options = {"viewport": {"width": 1280, "height": 860}} | options
    page = open_editor(site, open_page, project, **options)
    expect(widget(page)).to_have_attribute("data-testimonials-state", "ready")
    return page


def shown(page: Page) -> FrameLocator:
    """Return the preview."""
    return page.frame_locator("[data-preview]")


def widget(page: Page) -> Locator:
    """Return the widget in it that is shown, and not the next one, which is made out of sight."""
    return shown(page).locator(SHOWN)


def stored(site: Site, project: Project) -> dict[str, Any]:
    """Return the settings that visitors get."""
    answer = site.service.call("GET", f"/widget/{project.id}/feed")
    config: dict[str, Any] = answer.json["config"]
    return config


def wait_until_stored(site: Site, project: Project, **changes: object) -> None:
    """Wait until the settings are the defaults with these changes."""
    wanted = WIDGET_CONFIG | changes
    wait_for(lambda: stored(site, project) == wanted, what=f"{changes} to be saved")


def test_every_setting_shows_while_nothing_is_answered_and_is_saved(
    site: Site, open_page: OpenPage
) -> None:
    """It shows at once because it waits for no answer: here none comes until all are shown."""
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    steps = {
        "#palette-rose": "getComputedStyle(root).getPropertyValue('--tm-solid') === '#e11d48'",
        "#cardStyle-stripe": "root.classList.contains('stripe')",
        "#theme-dark": "getComputedStyle(root).getPropertyValue('--tm-card') === '#18181b'",
        "#layout-list": "root.classList.contains('list')",
        "#layout-carousel": "root.classList.contains('carousel')",
        "#animation-vertical": "root.classList.contains('vertical')",
        "#showStars": "!root.querySelector('.stars')",
        "#showDates": "!root.querySelector('time')",
        "#showCtaButton": "!root.querySelector('.cta')",
        "[data-step='-1']": "host.dataset.testimonialsCount === '4'",
    }
    page.emulate_media(reduced_motion="no-preference")
    held: list[Route] = []
    page.route("**/*", lambda route: held.append(route))
    # Fewer than the six that there are, so that the next step shows.
    page.get_by_label("Shown first").fill("5")
    expect(widget(page)).to_have_attribute("data-testimonials-count", "5")
    for selector, check in steps.items():
        page.evaluate(CHANGE, [selector, check])
    page.get_by_label("Testimonials in the preview").select_option("one")
    expect(widget(page).get_by_role("link", name="@mayakowalski")).to_be_visible()
    page.evaluate(CHANGE, ["#showSource", "!root.querySelector('figcaption a')"])
    assert {route.request.method for route in held} == {"POST"}
    for route in held:
        route.continue_()
    page.unroute("**/*")
    expect(page.get_by_role("status").filter(has_text=re.compile("^Saved$"))).to_be_visible()
    page.reload()
    changed: dict[str, object] = {
        "palette": "rose",
        "cardStyle": "stripe",
        "theme": "dark",
        "layout": "carousel",
        "animation": "vertical",
        "showStars": False,
        "showDates": False,
        "showSource": False,
        "showCtaButton": False,
        "initialCount": 4,
    }
    assert stored(site, project) == WIDGET_CONFIG | changed
    expect(page.get_by_role("radio", name="Rose")).to_be_checked()
    expect(page.get_by_role("radio", name="Vertical")).to_be_checked()
    expect(page.get_by_role("switch", name="Stars")).not_to_be_checked()
    expect(page.get_by_label("Shown first")).to_have_value("4")
    expect(widget(page)).to_have_attribute("data-testimonials-count", "4")


def test_load_more_in_the_preview_reaches_the_last_testimonial(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project()
    for number in range(57):
        project.call("POST", "/testimonials", {"authorName": "A", "text": f"Number {number}."})
    page = wide(site, open_page, project)
    page.get_by_label("Shown first").fill("25")
    host = widget(page)
    for count in ("25", "50", "57"):
        expect(host).to_have_attribute("data-testimonials-count", count)
        if count != "57":
            widget(page).get_by_role("button", name="Load more").click()
    expect(widget(page).get_by_text("Number 0.", exact=True)).to_be_attached()
    expect(widget(page).get_by_role("button", name="Load more")).to_have_count(0)
    texts = widget(page).locator("blockquote").all_text_contents()
    assert texts == [f"Number {number}." for number in reversed(range(57))]


def test_other_testimonials_show_what_may_come(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    choose = page.get_by_label("Testimonials in the preview").select_option
    host = widget(page)
    choose("none")
    expect(host).to_have_attribute("data-testimonials-state", "empty")
    expect(page.get_by_text("the widget shows nothing on your page")).to_be_visible()
    choose("one")
    expect(host).to_have_attribute("data-testimonials-count", "1")
    expect(page.get_by_text("the widget takes no room")).to_be_hidden()
    choose("rtl")
    expect(shown(page).locator("html")).to_have_attribute("dir", "rtl")
    expect(widget(page).locator(".tm.rtl")).to_be_visible()
    choose("long")
    # What stood there before stays until the next one is whole.
    expect(host.get_by_role("button", name=re.compile("Read more")).first).to_be_visible()
    lengths = host.locator("blockquote").evaluate_all("all => all.map(n => n.textContent.length)")
    assert lengths[:2] == [2000, 2000]
    expect(shown(page).locator("html")).to_have_js_property("dir", "ltr")
    choose("real")
    expect(host).to_have_attribute("data-testimonials-count", "6")
    # What is chosen for the preview is nobody else's business.
    assert stored(site, project) == WIDGET_CONFIG


def test_nothing_approved_is_explained(site: Site, open_page: OpenPage) -> None:
    project = site.create_project()
    page = open_editor(site, open_page, project, viewport={"width": 1280, "height": 860})
    expect(page.get_by_text("Nothing is approved yet")).to_be_visible()
    site.pause(project.id)
    page.reload()
    expect(page.get_by_text("This project is paused")).to_be_visible()


def test_the_preview_is_as_wide_as_the_chosen_device(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    box = page.locator("[data-box]")
    for name, width in (("360", 360), ("768", 768)):
        page.get_by_role("radio", name=name).check()
        page.wait_for_function(
            """width => {
              const { innerWidth, document: { documentElement: root } }
                = document.querySelector('[data-preview]').contentWindow;
              return innerWidth === width && root.scrollWidth <= root.clientWidth;
            }""",
            arg=width,
        )
        room = page.locator("[data-stage]").bounding_box()
        size = box.bounding_box()
        assert room is not None
        assert size is not None
        assert room["x"] <= size["x"]
        assert size["x"] + size["width"] <= room["x"] + room["width"]
    page.get_by_role("radio", name="Full").check()
    size = box.bounding_box()
    assert size is not None
    assert abs(size["width"] - room["width"]) < 1


def test_the_page_colour_follows_the_theme_until_one_is_chosen(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    text = page.get_by_label("Page colour", exact=True)
    ground = shown(page).locator("html")
    expect(ground).to_have_css("background-color", "rgb(250, 250, 250)")
    page.get_by_role("radio", name="Dark").check()
    expect(ground).to_have_css("background-color", "rgb(11, 11, 13)")
    text.fill("f3ede2")
    expect(ground).to_have_css("background-color", "rgb(243, 237, 226)")
    text.fill("nonsense")
    expect(text).to_have_attribute("aria-invalid", "true")
    text.blur()
    expect(text).to_have_value("#F3EDE2")
    page.get_by_label("Choose the page colour").fill("#336699")
    expect(ground).to_have_css("background-color", "rgb(51, 102, 153)")
    page.reload()
    expect(ground).to_have_css("background-color", "rgb(51, 102, 153)")
    text.fill("")
    expect(ground).to_have_css("background-color", "rgb(11, 11, 13)")
    expect(widget(page)).to_have_attribute("data-testimonials-state", "ready")


def test_links_in_the_preview_lead_nowhere(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    link = widget(page).get_by_role("link", name="Share your experience")
    link.click()
    link.click(button="middle")
    link.press("Enter")
    page.wait_for_timeout(300)
    assert len(page.context.pages) == 1
    expect(link).to_be_visible()


def test_what_was_changed_last_is_saved_though_the_page_is_left(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    page.evaluate(
        """next => {
          for (const id of ['palette-rose', 'palette-sky', 'layout-list', 'cardStyle-quote'])
            document.getElementById(id).click();
          location.href = next;
        }""",
        f"{site.url}/dashboard/account",
    )
    page.wait_for_url("**/account")
    wait_until_stored(site, project, palette="sky", layout="list", cardStyle="quote")


def test_one_request_at_a_time_with_what_changed_alone(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    sent: list[str] = []
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method != "POST":
            route.fallback()
            return
        sent.append(route.request.post_data or "")
        held.append(route)

    page.route(editor_url(site, project), hold)
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
    expect(page.get_by_role("radio", name="Outlined")).to_be_checked()
    expect(widget(page).locator(".tm.outlined")).to_be_visible()
    wait_for_more(page, held)
    assert sent == ["palette=rose", "palette=amber&layout=list"]
    held.pop().continue_()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    wait_until_stored(site, project, palette="amber", layout="list", cardStyle="outlined")


def wait_for_more(page: Page, held: list[Route]) -> None:
    """Wait until a request is held; that the page has sent it is not that it is here."""
    # Playwright calls handlers while it is asked for something, and not while this process sleeps.
    wait_for(lambda: page.title() and held, what="a request")


def test_what_could_not_be_saved_is_said_and_tried_again(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    failing = re.compile(re.escape(editor_url(site, project)) + "$")
    # The browser itself would report a refused connection as an error of the page.
    page.evaluate("() => { window.was = fetch; fetch = async () => { throw new TypeError(); }; }")
    page.get_by_role("radio", name="Rose").check()
    expect(page.get_by_text("Not saved. The server can’t be reached.")).to_be_visible()
    expect(widget(page).locator(".tm")).to_have_css("--tm-solid", "#e11d48")
    page.evaluate("() => { fetch = window.was; }")
    page.route(failing, lambda route: route.fulfill(status=500, body="<p>no</p>"))
    page.get_by_role("switch", name="Dates").uncheck()
    expect(page.get_by_text("Not saved. Something went wrong on our side.")).to_be_visible()
    page.unroute(failing)
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    wait_until_stored(site, project, palette="rose", showDates=False)


def test_a_number_out_of_range_is_refused_and_not_sent(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    field = page.get_by_label("Shown first")
    field.fill("51")
    expect(page.get_by_text("Choose a whole number from 3 to 50.")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("")
    expect(field).to_have_attribute("aria-invalid", "true")
    assert stored(site, project) == WIDGET_CONFIG
    page.get_by_role("button", name="Fewer").click()
    expect(field).to_have_value("9")
    field.fill("50")
    expect(page.get_by_role("button", name="More")).to_have_attribute("aria-disabled", "true")
    # It says that it does nothing here, which Playwright would wait out.
    page.get_by_role("button", name="More").dispatch_event("click")
    expect(field).to_have_value("50")
    wait_until_stored(site, project, initialCount=50)


def test_the_buttons_words_and_target_show_and_save_themselves(
    site: Site, open_page: OpenPage
) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    label, link = page.get_by_label("Button label"), page.get_by_label("Button link")
    button = widget(page).locator(".cta")
    expect(button).to_have_text("Share your experience")
    label.fill("Book a chair")
    expect(button).to_have_text("Book a chair")
    link.fill("fern.example/book")
    expect(button).to_have_attribute("href", "https://fern.example/book")
    expect(page.get_by_text("Leads to fern.example/book.")).to_be_visible()
    link.blur()
    expect(link).to_have_value("https://fern.example/book")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    own = {"label": "Book a chair", "url": "https://fern.example/book"}
    wait_for(lambda: public_button(site, project) == own, what="the button to be saved")
    # What can't be followed is said at the field and not sent.
    link.fill("two words")
    link.blur()
    expect(page.get_by_text("Write an address such as")).to_be_visible()
    expect(link).to_have_attribute("aria-invalid", "true")
    label.fill("x" * 61)
    expect(page.get_by_text("Shorten this to 60 characters.")).to_be_visible()
    # A button that is not shown needs no words; but those that are wrong stay in sight.
    page.get_by_role("switch", name="Button to your page").uncheck()
    expect(link).to_be_visible()
    wait_until_stored(site, project, showCtaButton=False)
    assert public_button(site, project) == own
    page.get_by_role("button", name="Reset").click()
    expect(link).to_have_value("")
    expect(page.get_by_text("Write an address such as")).to_have_count(0)
    expect(button).to_have_text("Share your experience")
    wait_until_stored(site, project)
    page.get_by_role("button", name="Undo").click()
    expect(label).to_have_value("Book a chair")
    wait_for(lambda: public_button(site, project) == own, what="the button to be back")


def public_button(site: Site, project: Project) -> Any:
    """Return the button that visitors get."""
    return site.service.call("GET", f"/widget/{project.id}/feed").json["cta"]


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_reset_and_undo(site: Site, open_page: OpenPage, has_script: bool) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    changed: dict[str, object] = {"palette": "rose", "layout": "carousel", "initialCount": 3}
    project.call("PATCH", "/widget-config", changed)
    page = open_editor(site, open_page, project, java_script_enabled=has_script)
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Back to the defaults")).to_be_visible()
    expect(page.get_by_role("radio", name="Neutral")).to_be_checked()
    wait_until_stored(site, project)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Your settings are back")).to_be_visible()
    expect(page.get_by_role("radio", name="Rose")).to_be_checked()
    expect(page.get_by_label("Shown first")).to_have_value("3")
    wait_until_stored(site, project, **changed)


def test_the_form_works_without_a_script(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = open_editor(site, open_page, project, java_script_enabled=False)
    expect(page.locator("[data-preview]")).to_be_hidden()
    page.get_by_role("radio", name="Carousel").check()
    page.get_by_role("radio", name="Horizontal").check()
    page.get_by_role("switch", name="Stars").uncheck()
    page.get_by_label("Shown first").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="One thing needs a change")).to_be_visible()
    expect(page.get_by_label("Shown first")).to_have_value("2")
    expect(page.get_by_role("radio", name="Horizontal")).to_be_checked()
    page.get_by_label("Shown first").fill("12")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    wait_until_stored(
        site, project, layout="carousel", animation="horizontal", showStars=False, initialCount=12
    )


def test_the_keyboard_reaches_and_changes_everything(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = wide(site, open_page, project)
    page.get_by_role("link", name="Share", exact=True).last.focus()
    names = []
    for _ in range(17):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate(
                "document.activeElement.name || document.activeElement.dataset.step"
                " || document.activeElement.id || document.activeElement.localName"
            )
        )
        if names[-1] in ("layout", "animation", "theme", "palette", "cardStyle"):
            page.keyboard.press("ArrowRight")
        elif names[-1] == "initialCount":
            page.keyboard.press("ArrowUp")
        elif names[-1].startswith("show"):
            page.keyboard.press("Space")
        elif names[-1] == "preview-width":
            page.keyboard.press("ArrowLeft")
    controls = ["layout", "animation", "theme", "palette", "cardStyle", "-1", "initialCount", "1"]
    controls += ["showStars", "showDates", "showSource", "showCtaButton", "preview-width"]
    assert names[:13] == controls
    wait_until_stored(
        site,
        project,
        layout="carousel",
        animation="horizontal",
        theme="dark",
        palette="indigo",
        cardStyle="quote",
        initialCount=10,
        showStars=False,
        showDates=False,
        showSource=False,
        showCtaButton=False,
    )
    expect(page.get_by_role("radio", name="768")).to_be_checked()


def test_a_phone_shows_one_pane_at_a_time(site: Site, open_page: OpenPage) -> None:
    project = site.create_project(skipDemoTestimonials=False)
    page = open_editor(site, open_page, project, viewport={"width": 360, "height": 740})
    preview = page.get_by_role("button", name="Preview", exact=True)
    expect(preview).to_be_in_viewport()
    expect(page.locator("[data-preview]")).to_be_hidden()
    page.get_by_role("radio", name="Rose").check()
    preview.click()
    expect(preview).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("radio", name="Rose")).to_be_hidden()
    expect(widget(page)).to_be_visible()
    expect(widget(page).locator(".tm")).to_have_css("--tm-solid", "#e11d48")
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_role("radio", name="Rose")).to_be_in_viewport()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_the_editor_and_its_preview(
    site: Site, open_page: OpenPage, theme: str
) -> None:
    project = site.create_project(skipDemoTestimonials=False, businessName=theme + "x" * 90)
    if theme == "dark":
        project.call("PATCH", "/widget-config", {"theme": "dark", "layout": "carousel"})
    page = open_editor(site, open_page, project, color_scheme=theme)
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    check_screens(page)
    page.get_by_role("button", name="Preview", exact=True).click()
    check_screens(page)
    page.goto(editor_url(site, project) + "/preview")
    expect(page.locator(SHOWN)).to_have_attribute("data-testimonials-state", "ready")
    assert find_rules(page) == []
