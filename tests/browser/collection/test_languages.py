"""The collection page in other languages, in a real browser: mirrored, switched, and small."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Project, Site
from tests.browser.looks import find_overflow
from tests.browser.pages import WATCH_SHIFTS, follow, open_form
from tests.support.sampling import sample

CODES = ["en", "de", "es", "fr", "it", "nl", "pl", "pt", "sv", "tr", "ja", "ar"]
MOST_BYTES = 45_000
# Names the element that is painted largest.
WATCH_PAINTING = """() => {
  window.largest = '';
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.largest = entry.element?.tagName ?? '';
  }).observe({ type: 'largest-contentful-paint', buffered: true });
}"""

# Whether Clear stands beside how many stars there are, not on it.
IS_CLEAR_BESIDE = """() => {
  const [value, clear] = [...document.querySelectorAll('.stars-value, [data-clear="rating"]')]
    .map((each) => each.getBoundingClientRect());
  return value.right <= clear.left || clear.right <= value.left;
}"""


@pytest.fixture
def project(site: Site) -> Project:
    return site.create_project(website="example.com")


def refuse(page: Page) -> None:
    """Send the form with too long a text and nothing else."""
    open_form(page)
    page.locator("#text").fill("w" * 2003)
    page.locator("[data-send]").click()
    expect(page.get_by_role("alert")).to_be_focused()


@pytest.mark.parametrize("code", sample(CODES, 3))
def test_every_language_fits_the_screen(project, open_page, code):
    page = open_page(f"{project.page_url}?lang={code}")
    page.locator("#rating-4").check(force=True)
    assert find_overflow(page) == []
    assert page.evaluate(IS_CLEAR_BESIDE)
    # A button's text stands in one line and whole.
    send = page.locator("[data-send]")
    assert send.evaluate("button => button.scrollWidth <= button.clientWidth")
    assert send.evaluate("button => button.clientHeight") <= 56
    refuse(page)
    assert page.evaluate("document.documentElement.lang") == code
    assert find_overflow(page) == []
    for path in ("/thanks", "/no/such/page"):
        page.goto(f"{project.page_url}{path}?lang={code}")
        assert find_overflow(page) == []


def test_arabic_is_mirrored(project, open_page):
    """What stands left of something in English stands right of it in Arabic."""
    sides = {}
    for code in ("en", "ar"):
        page = open_page(f"{project.page_url}?lang={code}", viewport={"width": 800, "height": 900})
        refuse(page)
        page.locator("#rating-2").check(force=True)
        open_form(page)

        def left(selector: str, page: Page = page) -> float:
            box = page.locator(selector).first.bounding_box()
            assert box
            return box["x"]

        pairs = (
            (".plate .tile-letter", ".plate-name"), ('[for="rating-1"]', '[for="rating-5"]'),
            ('[for="rating-5"]', '[data-clear="rating"]'), ("#role", "#company"),
            ("#consent", ".check span"), ("#name-error .icon", "#name-error > span"),
        )  # fmt: skip
        sides[code] = [left(first) < left(second) for first, second in pairs]
        # The headline stands at the page's beginning.
        edges = page.locator("h1").evaluate(
            """h1 => {
              const range = document.createRange();
              range.selectNodeContents(h1);
              const text = range.getBoundingClientRect();
              const box = h1.getBoundingClientRect();
              return [text.left - box.left, box.right - text.right];
            }"""
        )
        assert edges[0 if code == "en" else 1] < 2
    assert sides == {"en": [True] * 6, "ar": [False] * 6}


def test_words_of_another_direction_start_as_the_page(site, open_page):
    project = site.create_project(headline="How was it?")
    page = open_page(f"{project.page_url}?lang=ar", viewport={"width": 800, "height": 900})
    heading = page.get_by_role("heading", level=1)
    assert heading.evaluate("h1 => getComputedStyle(h1).direction") == "ltr"
    assert heading.evaluate("h1 => getComputedStyle(h1).textAlign") == "right"


def test_switching_the_language_keeps_what_was_typed(project, open_page):
    page = open_page(f"{project.page_url}?from=mail")
    open_form(page)
    page.get_by_label("Your words").fill("Two good questions.")
    page.get_by_label("Your name").fill("Hannah")
    page.get_by_role("radio", name="4 stars").check(force=True)
    follow(page.get_by_role("link", name="Deutsch"))
    expect(page).to_have_url(f"{project.page_url}?from=mail&lang=de")
    expect(page.get_by_label("Ihre Worte")).to_have_value("Two good questions.")
    expect(page.get_by_label("Ihr Name")).to_have_value("Hannah")
    expect(page.get_by_role("radio", name="4 Sterne")).to_be_checked()
    expect(page.get_by_text("Ihr Entwurf ist noch da.")).to_be_visible()
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    expect(page.get_by_role("link", name="Deutsch")).to_have_attribute("aria-current", "true")


def test_the_script_speaks_the_language_too(project, open_page):
    page = open_page(project.page_url, locale="de-AT")
    open_form(page)
    words = page.get_by_label("Ihre Worte")
    words.fill("x" * 1700)
    expect(page.get_by_text("1700 von 2000")).to_be_visible()
    words.fill("x" * 12_000)
    expect(page.get_by_text("10.000 zu viel (12.000 von 2000)")).to_be_visible()
    page.get_by_role("radio", name="3 Sterne").check(force=True)
    shown = page.locator(".stars-value").evaluate("e => getComputedStyle(e, '::after').content")
    assert shown == '"3 von 5"'
    statuses = [413, 429, 500]

    def answer(route: Route) -> None:
        route.fulfill(status=statuses.pop(0), body="", content_type="text/html")

    page.route(project.page_url, answer)
    for button, text in (
        ("Absenden", "zu lang zum Senden"),
        ("Noch einmal", "zu viele"),
        ("Noch einmal", "Bei uns ist"),
    ):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_text(text)).to_be_visible()
    expect(words).to_have_value("x" * 12_000)


@pytest.mark.parametrize("code", sample(["en", "ja", "ar"], 1))
def test_the_page_is_small_and_our_own(project, open_page, code):
    page = open_page("about:blank", viewport={"width": 360, "height": 800})
    sizes: dict[str, int] = {}

    def note(request: object) -> None:
        sizes[request.url] = request.sizes()["responseBodySize"]  # type: ignore[attr-defined]

    page.on("requestfinished", note)
    page.goto(f"{project.page_url}?lang={code}", wait_until="networkidle")
    page.evaluate(WATCH_SHIFTS)
    page.evaluate(WATCH_PAINTING)
    page.wait_for_function("window.largest")
    assert sum(sizes.values()) <= MOST_BYTES
    assert all(url.startswith(project.site.url) for url in sizes)
    assert len(sizes) >= 4
    assert page.context.cookies() == []
    assert page.evaluate("shifted()") == 0
    assert page.evaluate("window.largest") in {"H1", "P", "SPAN", "LABEL"}
