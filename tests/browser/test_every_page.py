"""Every page of the service, on a desk and a phone, in light and dark: nothing is wrong with it.

The pages are read from the URL map, so a new one is looked at without being named here, by the
first who may see it. `test_every_state` has what only somebody's doing leads to.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jinja2 import BytecodeCache
from playwright.sync_api import Page, Response, expect

from testimonials.dashboard.moved import MOVED
from tests.attacks.world import Door
from tests.browser.axe import find_violations
from tests.browser.conftest import OpenPage, Site
from tests.browser.looks import find_dead_links, look, look_on_a_phone, open_all
from tests.browser.rich_world import RichSite, path_at, serve_rich_site
from tests.browser.test_counted import DESK, visible_controls
from tests.support import sampling

Known = dict[str, set[str]]

# In how many tests; one worker takes them all, since the world is large.
PARTS = 8
# What answers with a page to nobody in the world, and why.
NO_PAGES = {
    "It leads on.": {
        "/dashboard", "/dashboard/projects/<project_id>/decide", "/dashboard/tokens/new",
        "/login/company/done", *MOVED,
    },
    "It is a file, which the world has none of, or for programs.": {
        "/media/recordings/<recording_id>",
        "/media/recordings/<recording_id>.vtt",
        "/metrics",
    },
    "It takes a company's provider, as in account/test_company.": {"/login/company/claim"},
    "It takes a mailed link, as in account/test_company.": {"/dashboard/account/company/mailed"},
    "It takes an offer, as in test_every_state.": {"/dashboard/projects/<project_id>/people/offer"},
    "It takes a recording, as in test_every_state.": {"/yours/<token>/recording"},
}  # fmt: skip
# What is no page of its own, but a part of one or of a mail.
PARTS_OF_PAGES = {
    "/<slug>/recorder", "/<slug>/recordings/<recording_id>", "/widget/<project_id>/fragment",
    "/widget/<project_id>/newsletter",
}  # fmt: skip
# More of the same pages, by who opens them.
PROJECT = "/dashboard/projects/{project_id}"
MORE = {
    "nobody": (
        "/nothing-here", "/claim/nothing", "/invite/broken", "/{slug}/wall?lang=ar&rating=4",
    ),
    "owner": (
        *(
            f"{PROJECT}/inbox?status={status}"
            for status in (
                "approved", "rejected", "spam", "trash", "set-aside", "all", "all&q=nothing+such",
            )
        ),
        "/dashboard/account/activity?q=nothing+such",
        f"{PROJECT}/collect/page/words?lang=de", f"{PROJECT}/collect/page?form=after-class",
        f"{PROJECT}/collect/page?open=questions", f"{PROJECT}/collect/page/name?form=after-class",
    ),
    "reader": (
        f"{PROJECT}/inbox", f"{PROJECT}/testimonials/{{testimonial_id}}", f"{PROJECT}/people",
        "/dashboard/account/people",
    ),
}  # fmt: skip
# Rules that a page may break, and why.
ALLOWED = {
    # axe takes what is in a closed details element for hidden. Beside the text it is always shown,
    # and Tab leads through its links, as a test below holds.
    "/docs": {"scrollable-region-focusable"}
}


@pytest.fixture(scope="module")
def rich(sqlite_template: Path, compiled_templates: BytecodeCache) -> Iterator[RichSite]:
    with serve_rich_site(sqlite_template, compiled_templates) as rich:
        yield rich


@pytest.fixture(scope="module")
def known(rich: RichSite) -> Known:
    """The addresses that lead somewhere, by who follows them; at first those that are opened."""
    found: Known = defaultdict(set)
    for visitor, path, rule in list_visits(rich):
        if rule:
            found[visitor].add(f"{rich.site.url}{path}")
    return found


@pytest.fixture
def site(rich: RichSite) -> Site:
    return rich.site


def keep_some_calls(page: Page) -> None:
    """Leave a few of the reference's many equal sections; with --deep, after all were judged.

    The colours of ten thousand elements would take half a minute.
    """
    if sampling.IS_DEEP:
        found = {each["id"] for each in find_violations(page, others=("color-contrast",))}
        assert found <= ALLOWED["/docs"]
    left_out = "[...document.querySelectorAll('.docs-body > section')].slice(8, -8)"
    page.evaluate(f"{left_out}.forEach((section) => section.remove())")


def remove_preview(page: Page) -> None:
    """Take the page inside away: it may have the owner's own colours, and the editor says so."""
    page.locator("[data-preview]").evaluate_all("all => all.forEach((each) => each.remove())")


PREPARE: dict[str, Callable[[Page], object]] = {"/docs": keep_some_calls}
# What a page of the owner may have at most, so that it has one thing to do.
MOST_CONTROLS = 15
SOLID = """() => [...document.querySelectorAll('main :is(.solid, .danger-solid)')]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }) && each.offsetWidth > 1)
  .map((each) => each.textContent.trim())"""
DRAWN = """() => [...document.querySelectorAll('[data-testimonials-project]')].every((each) =>
  ['ready', 'empty'].includes(each.dataset.testimonialsState))"""


def name(door: Door) -> str:
    """Return a rule with its fixed words in their places."""
    return re.sub(r"<any\(.*?\):(\w+)>", lambda found: door.words[found[1]], door.rule.rule)


def test_every_page_is_seen_by_somebody(rich):
    missing = [door for door, visitor in rich.pages if visitor is None]
    unseen = {door.rule.rule if door.rule.rule in MOVED else name(door) for door in missing}
    assert unseen == set().union(*NO_PAGES.values())
    assert {door.rule.rule for door, _ in rich.pages} >= PARTS_OF_PAGES
    assert len(rich.pages) > 70


def list_visits(rich: RichSite) -> list[tuple[str, str, str]]:
    """Return who opens which path, and its rule where there is a page in any case."""
    visits = [
        (visitor, path_at(rich, door), door.rule.rule)
        for door, visitor in rich.pages
        if visitor and door.rule.rule not in PARTS_OF_PAGES
    ]
    for visitor, paths in MORE.items():
        visits += [(visitor, path.format(**rich.world.ids), "") for path in paths]
    return visits


@pytest.mark.parametrize("part", range(PARTS))
def test_no_page_is_wrong(rich, open_page, known, part):
    found: list[str] = []
    tabs: dict[str, Page] = {}
    for visitor, path, rule in list_visits(rich)[part::PARTS]:
        if visitor not in tabs:
            tabs[visitor] = open_tab(rich, open_page, visitor, found)
        found += visit(tabs[visitor], f"{rich.site.url}{path}", rule, known[visitor])
    assert not found, "\n".join(found)


def open_tab(rich: RichSite, open_page: OpenPage, visitor: str, found: list[str]) -> Page:
    """Open somebody's browser, which notes each file that a page asks for in vain."""
    page = open_page("about:blank")
    if visitor in rich.world.cookies:
        cookie = {"name": "testimonials", "value": rich.world.cookies[visitor]}
        page.context.add_cookies([cookie | {"url": rich.site.url}])  # type: ignore[list-item]

    def note(answer: Response) -> None:
        if answer.status >= 400 and not answer.request.is_navigation_request():
            found.append(f"{page.url}: {answer.url} answers {answer.status}")

    page.on("response", note)
    return page


def visit(page: Page, url: str, rule: str, known: set[str]) -> Iterator[str]:
    """Open a page as a link to it does, and look at it; then unfold what is folded.

    Those without a rule may be about something that isn't there.
    """
    answer = page.goto(url)
    assert answer is not None
    if rule and answer.status != 200:
        yield f"{url} answers {answer.status}"
    page.wait_for_function(DRAWN)
    yield from find_dead_links(page, known)
    if rule.startswith("/dashboard"):
        yield from find_noise(page)
    PREPARE.get(rule, remove_preview)(page)
    if not page.title().strip():
        yield f"{page.url} has no title"
    allowed = ALLOWED.get(rule, ())
    yield from look(page, allowed)
    if open_all(page):
        yield from (f"unfolded: {each}" for each in look_on_a_phone(page, allowed))


def find_noise(page: Page) -> Iterator[str]:
    """Tell of more controls than one looks through, and of a second main button."""
    page.set_viewport_size(DESK)
    if (count := visible_controls(page)) > MOST_CONTROLS:
        yield f"{page.url} shows {count} controls"
    if len(solid := page.evaluate(SOLID)) > 1:
        yield f"{page.url} has more than one main button: {solid}"


def test_keyboard_reaches_the_list_of_calls(site, open_page):
    page = open_page(f"{site.url}/docs", viewport={"width": 1280, "height": 800})
    links = page.locator("nav a")
    for _ in range(2):
        page.keyboard.press("Tab")
    for link in links.all():
        page.keyboard.press("Tab")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()
