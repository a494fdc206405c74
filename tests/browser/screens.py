"""One look at a page as it is now on every screen: axe finds nothing, nothing is cut off."""

from collections.abc import Collection

from playwright.sync_api import Page

from tests.browser.axe import find_violations

# The narrow one comes last, so that a test which goes on does so where there is the least room.
WIDTHS = (1280, 320)
# What is no colour is judged once.
SCHEMES = {"light": (), "dark": ("color-contrast",)}
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


def check_screens(page: Page, allowed: Collection[str] = ()) -> None:
    """Check the page on each screen, in light and dark; `allowed` are rules of axe."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme, rules in SCHEMES.items():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = {
                violation["id"]: [node["html"] for node in violation["nodes"]]
                for violation in find_violations(page, rules)
                if violation["id"] not in allowed
            }
            assert found == {}, (page.url, width, scheme)
        for css in ("", SPACED):
            page.evaluate(SET_STYLE, css)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, css)
        page.evaluate(SET_STYLE, "")
