"""The front page: the real widget to try."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Site

pytestmark = [pytest.mark.browser, pytest.mark.process]

READ = """() => {
  const root = document.querySelector('[data-testimonials-state="ready"]').shadowRoot;
  return [getComputedStyle(root.querySelector('.card')).backgroundColor,
    root.textContent.includes('Sample')];
}"""


def test_the_widget_can_be_tried(site: Site, open_page: OpenPage) -> None:
    page = open_page(site.url, viewport={"width": 1280, "height": 900})
    stands = page.locator('[data-testimonials-state="ready"]:not(.is-next)')
    expect(stands).to_have_count(1)
    seen = [page.evaluate(READ)]
    for control, name in (("radio", "Rose"), ("radio", "List"), ("checkbox", "Dark")):
        page.get_by_role(control, name=name).press("Space")  # type: ignore[arg-type]
        expect(page.locator(".is-next")).to_have_count(0)
        expect(stands).to_have_attribute("data-testimonials-count", "4")
        seen.append(page.evaluate(READ))
    colours = [colour for colour, _ in seen]
    assert colours[0] != colours[1] == colours[2] != colours[3]
    assert all(is_sample for _, is_sample in seen)
