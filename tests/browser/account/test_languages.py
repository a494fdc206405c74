"""The dashboard in other languages: mirrored where they are written so, and nothing cut off."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, Project, Site

pytestmark = [pytest.mark.browser, pytest.mark.process]


@pytest.mark.parametrize(("code", "direction"), [("ar", "rtl"), ("de", "ltr")])
def test_pages_run_in_the_languages_direction(
    site: Site, open_page: OpenPage, code: str, direction: str
) -> None:
    project: Project = site.create_project(skipDemoTestimonials=False)
    page = open_page(f"{site.url}/login", locale=code)
    project.sign_in(page)
    for path in ("/inbox", "/settings"):
        page.goto(f"{project.dashboard}{path}")
        root = page.locator("html")
        expect(root).to_have_attribute("lang", code)
        expect(root).to_have_attribute("dir", direction)
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        page.set_viewport_size({"width": 1280, "height": 800})
        side = page.locator(".side").bounding_box()
        assert side is not None
        assert (side["x"] > 640) == (direction == "rtl")
