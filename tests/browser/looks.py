"""One look at a page as it is now: what is wrong with it on a desk and on a phone."""

from collections.abc import Collection, Iterator
from typing import Literal
from urllib.parse import urldefrag

from playwright.sync_api import Page

from tests.browser.axe import find_violations

# The narrow one comes last, so that a test which goes on does so where there is the least room.
DESK, PHONE = 1280, 320
# Wider than any font of a visitor's, and what WCAG 1.4.12 lets them set.
SPACED = """
* { font-family: monospace !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; line-height: 1.5 !important }
p { margin-block-end: 2em !important }
"""
# A sheet of the page's own is not held up by its policy.
SET_STYLE = """css => {
  window.testSheet ??= new CSSStyleSheet();
  window.testSheet.replaceSync(css);
  const others = document.adoptedStyleSheets.filter((sheet) => sheet !== window.testSheet);
  document.adoptedStyleSheets = [...others, window.testSheet];
}"""
# What takes up more room than the screen has, innermost first.
WIDEST = """width => [...document.body.querySelectorAll('*')].reverse()
  .filter((each) => each.getBoundingClientRect().right > width + 1)
  .slice(0, 2).map((each) => each.cloneNode().outerHTML)"""
# Menus of every page are looked at once, by a test of their own.
CLOSED = "details:not([open], header *, nav *, .side *)"
OPEN = f"document.querySelectorAll('{CLOSED}').forEach((each) => {{ each.open = true; }})"
LINKS = """() => {
  const links = [...document.querySelectorAll('a[href]')].map((each) => each.href);
  const gone = links.filter((href) => {
    const { origin, pathname, search, hash } = new URL(href);
    const [path, id] = [`${origin}${pathname}${search}`, decodeURIComponent(hash.slice(1))];
    return id && path === location.href.split('#')[0] && !document.getElementById(id);
  });
  return [links.filter((href) => new URL(href).origin === location.origin), gone];
}"""


def look(page: Page, allowed: Collection[str] = ()) -> list[str]:
    """Return what axe finds and what is cut off; `allowed` are rules of axe.

    By day on a desk and at night on a phone: what differs in the dark is the colours, which are
    the same on both. Where there is room enough nothing is cut off.
    """
    return [*_ask_axe(page, DESK, allowed, "light"), *look_on_a_phone(page, allowed)]


def look_on_a_phone(page: Page, allowed: Collection[str] = ()) -> list[str]:
    """Return the same for the narrow screen alone."""
    return [*_ask_axe(page, PHONE, allowed, "dark"), *find_overflow(page)]


def open_all(page: Page) -> bool:
    """Unfold all that is folded; tell whether anything was."""
    is_any = page.locator(CLOSED).count() > 0
    page.evaluate(OPEN)
    return is_any


def _ask_axe(
    page: Page, width: int, allowed: Collection[str], scheme: Literal["light", "dark"]
) -> Iterator[str]:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    for violation in find_violations(page):
        if violation["id"] not in allowed:
            nodes = " ".join(node["html"] for node in violation["nodes"][:3])
            yield f"{page.url}, {width} wide, {scheme}: {violation['id']}: {nodes}"
    page.emulate_media(color_scheme="light")


def find_overflow(page: Page) -> list[str]:
    """Tell of what is wider than the screen, as it is and with as much space as anybody sets."""
    found = []
    page.set_viewport_size({"width": PHONE, "height": 800})
    for css in (SPACED, ""):
        page.evaluate(SET_STYLE, css)
        if page.evaluate("document.documentElement.scrollWidth") > PHONE:
            how = "spaced" if css else "plain"
            found.append(f"{page.url}, {how}: wider than {PHONE}: {page.evaluate(WIDEST, PHONE)}")
    return found


def find_dead_links(page: Page, known: set[str]) -> list[str]:
    """Follow the links to our own pages, but those that are `known` to lead somewhere."""
    links, gone = page.evaluate(LINKS)
    dead = [f"{page.url}: nothing is at {href}" for href in gone]
    for href in links:
        address = urldefrag(href).url
        # A page that says what isn't there is looked at as well.
        if address not in {*known, urldefrag(page.url).url}:
            known.add(address)
            status = page.request.get(address).status
            dead += [f"{page.url}: {address} answers {status}"] if status >= 400 else []
    return dead
