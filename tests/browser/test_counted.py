"""How much there is to see and to do: taps, controls and heights, so that the pages stay calm."""

import re
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.pages import follow
from tests.dashboard.insights.counted import add_reads, add_views, add_visits
from tests.support.rows import add_testimonial

DESK: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 720}
# A group of radios is one; what only those who hear the page get, or a button opens, is none.
CONTROLS = """() => new Set(
  [...document.querySelectorAll('main :is(input, select, textarea, [contenteditable="true"])')]
  .filter((each) => !['hidden', 'submit'].includes(each.type))
  .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.offsetWidth > 1)
  .map((each, index) => each.type === 'radio' ? `radio ${each.name}` : index)).size"""


def visible_controls(page: Page) -> int:
    """Count the fields, choices and switches of a page that can be seen now."""
    return int(page.evaluate(CONTROLS))


def height(page: Page, until: str = "") -> float:
    """Return how high a page is, or how far from its top the first `until` begins."""
    if not until:
        return float(page.evaluate("document.documentElement.scrollHeight"))
    box = page.locator(until).first.bounding_box()
    assert box is not None
    return box["y"] + float(page.evaluate("scrollY"))


@dataclass
class Taps:
    """Counts what somebody presses."""

    count: int = 0

    def tap(self, control: Locator) -> None:
        control.click()
        self.count += 1

    def follow(self, control: Locator) -> None:
        """Press what leads to another page."""
        follow(control)
        self.count += 1


def test_insights_are_one_sentence_one_chart_and_one_list(open_page, project):
    app = project.site.app
    add_visits(app, project.id, 212, 61)
    for ago in range(60):
        add_views(app, project.id, 500 - ago, website="fern.example", ago=ago)
    for number in range(6):
        said = add_testimonial(app, project.id, author_name="Ida Sørensen", rating=5)
        add_reads(app, project.id, said, 9000 - number, 3000 - number)
    page = project.open(open_page, "/insights", viewport=DESK)
    assert height(page) <= 1140
    # What chooses a day.
    assert visible_controls(page) == 1
    page.set_viewport_size(PHONE)
    assert height(page) <= 1400
    assert height(page, ".path") <= 620


def test_inviting_comes_before_everything_on_a_phone_too(open_page, project):
    page = project.open(open_page, "/people", viewport=PHONE)
    expect(page.get_by_role("button", name="Invite", exact=True)).to_be_in_viewport()
    # The address and the role.
    assert visible_controls(page) == 2
    assert height(page) <= 720
    page.set_viewport_size(DESK)
    assert height(page) <= 720


PLACES = ["Inbox", "Collect", "Widget", "Insights", "Settings"]


def test_a_phone_has_five_places(open_page, project):
    page = project.open(open_page, "/inbox", viewport=PHONE)
    bar = page.get_by_role("navigation", name="Project")
    expect(bar.get_by_role("link")).to_have_count(5)
    box = bar.bounding_box()
    assert box is not None
    assert round(box["height"]) == 73
    taps = Taps()
    for name in PLACES:
        taps.follow(bar.get_by_role("link", name=name))
        expect(bar.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
    assert taps.count == len(PLACES)


def test_a_long_name_in_another_direction_keeps_to_its_place(open_page, site):
    project = site.create_project(businessName=f"صالون {'x' * 100}")
    page = project.open(open_page, viewport=PHONE)
    page.goto(f"{site.url}/dashboard/account")
    bar = page.get_by_role("navigation", name="Project")
    for name in ("صالون", "Account"):
        box = bar.get_by_role("link", name=name).bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= PHONE["width"]
    page.locator(".switcher > summary").click()
    expect(page.locator(".menu-list .cut")).to_have_css("text-align", "left")


def test_keys_lead_to_the_five_places(open_page, project):
    page = project.open(open_page, "/settings", viewport=DESK)
    bar = page.get_by_role("navigation", name="Project")
    for key, name in zip("icwns", PLACES, strict=True):
        # At once, since a second and a half later it would be a letter alone.
        with page.expect_event("load"):
            page.keyboard.type(f"g{key}")
        expect(bar.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="All shortcuts")
    keys.get_by_role("switch").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.type("gi")
    page.reload()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()


def test_settings_are_one_screen_and_a_colleague_is_three_taps_away(open_page, project):
    page = project.open(open_page, "/settings", viewport=DESK)
    assert height(page) <= 960
    # Ten rows, of which one is a switch.
    rows = page.locator("main :is(a.line, form.line)").filter(visible=True)
    expect(rows).to_have_count(10)
    assert visible_controls(page) == 1
    page.goto(f"{project.dashboard}/inbox")
    taps = Taps()
    taps.follow(page.get_by_role("link", name="Settings"))
    taps.follow(page.get_by_role("link", name=re.compile("^People")))
    invite = page.get_by_role("button", name="Invite", exact=True)
    expect(invite).to_be_in_viewport()
    page.get_by_label("Email address").fill("sana@example.com")
    taps.follow(invite)
    expect(page.get_by_text("Sent: sana@example.com")).to_be_visible()
    assert taps.count == 3


def test_collect_is_calm_and_asks_ten_customers_by_two_taps_and_pasting(open_page, project):
    page = project.open(open_page, "/inbox", viewport=DESK)
    taps = Taps()
    taps.follow(page.get_by_role("link", name="Collect", exact=True))
    # The addresses, and a list from a file.
    assert visible_controls(page) == 2
    people = ", ".join(f"c{number}@example.com" for number in range(10))
    page.get_by_label("Email addresses").fill(people)
    page.get_by_label("Email addresses").blur()
    taps.follow(page.get_by_role("button", name="Send to 10 people"))
    expect(page.get_by_text("10 mails go out in 30 seconds")).to_be_visible()
    assert taps.count == 2
    page.goto(f"{project.dashboard}/collect")
    assert height(page) <= 1060
    page.set_viewport_size(PHONE)
    assert height(page, ".collect-rows") <= 900


def test_the_page_editor_is_one_list_of_which_one_row_is_open(open_page, project):
    page = project.open(open_page, "/collect/page", viewport=DESK)
    # Headline, note, a person or not, light or dark, stars; and the width of the preview.
    assert visible_controls(page) == 6
    expect(page.locator("main .part-row")).to_have_count(14)
    expect(page.locator("main .part-row[open]")).to_have_count(1)
    assert height(page) <= 1130
    page.locator("#headline > summary").click()
    # Stars, light or dark, and the width.
    assert visible_controls(page) == 3
    assert height(page) <= 890
    page.set_viewport_size(PHONE)
    assert height(page) <= 1030


BOXES = """() => [...document.querySelectorAll('.item :is(.button, p)')].map((each) => {
  const { x, y, width, height } = each.getBoundingClientRect();
  return [each.textContent.trim(), x, y + scrollY, width, height];
})"""


def test_focus_moves_nothing_in_the_inbox(open_page, project):
    for name in ("Maya", "Tom", "Aiko"):
        add_testimonial(project.site.app, project.id, status="pending", author_name=name)
    page = project.open(open_page, "/inbox", viewport=DESK)
    before = page.evaluate(BOXES)
    for key in "jjk":
        page.keyboard.press(key)
        assert page.evaluate(BOXES) == before
    for name, width in (("Approve", 112), ("Reject", 96)):
        boxes = map(Locator.bounding_box, page.get_by_role("button", name=name).all())
        assert [box and box["width"] for box in boxes] == [width] * 3
    # Three rows are on one screen; on a phone the first is decided without scrolling.
    assert height(page) <= DESK["height"]
    page.set_viewport_size(PHONE)
    assert height(page, ".item-actions") <= PHONE["height"] - 73 - 52


@pytest.mark.parametrize("language", ["de-DE", "fr-FR", "nl-NL"])
def test_the_buttons_hold_their_words_and_keys_in_other_languages(open_page, project, language):
    add_testimonial(project.site.app, project.id, status="pending")
    page = open_page(project.page_url, viewport=DESK, locale=language)
    project.sign_in(page, "/inbox")
    fits = "all => all.every((each) => each.scrollWidth <= each.clientWidth)"
    assert page.locator(".item-actions > .button").evaluate_all(fits)
    edge = page.locator(".item").bounding_box()
    more = page.locator(".item-actions > .menu").bounding_box()
    assert edge is not None
    assert more is not None
    assert more["x"] + more["width"] <= edge["x"] + edge["width"]


def test_one_testimonial_is_its_card_its_tags_and_a_switch(open_page, project):
    row = add_testimonial(project.site.app, project.id, rating=5)
    page = project.open(open_page, f"/testimonials/{row}", viewport=DESK)
    expect(page.locator("[data-tags]")).to_be_visible()
    # Words, name, role, company, photo; and the tags.
    assert visible_controls(page) == 6
    expect(page.locator("main").get_by_role("switch")).to_have_count(1)
    assert height(page) <= DESK["height"]
    page.set_viewport_size(PHONE)
    expect(page.get_by_role("button", name="Take it off your site")).to_be_in_viewport()
    # Its own head is the only one there.
    expect(page.locator(".switcher")).to_be_hidden()
    # With the rows that ask why it is set aside, or deleted.
    assert height(page) <= 1080
