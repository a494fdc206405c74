"""The dashboard in languages with long words, other letters and another direction."""

import pytest

from tests.support.sampling import sample
from tests.support.servers import wait_for

PAGES = (
    "inbox", "collect", "collect/asked", "widget", "widget/new", "collect/page",
    "insights", "integrations", "settings", "import", "domain", "team",
)  # fmt: skip
WIDTH = "document.documentElement.scrollWidth"
ACCOUNT = (
    "projects",
    "account",
    "account/security",
    "account/people",
    "account/activity",
    "account/projects",
    "account/data",
)


@pytest.mark.parametrize("language", sample(["de", "fr", "ar"], 2, seed=1))
def test_each_page_fits_a_phone(site, open_page, language, project):
    project.call(
        "POST", "/testimonials", {"text": "Words " * 60, "authorName": "Noor Haddad", "rating": 5}
    )
    page = project.open(open_page, viewport={"width": 360, "height": 740})
    page.goto(f"{site.url}/dashboard/account/language")
    page.locator(f"button[value={language}]").click()
    paths = [*ACCOUNT, *(f"projects/{project.id}/{name}" for name in PAGES)]
    for path in paths:
        answer = page.goto(f"{site.url}/dashboard/{path}")
        assert answer is not None
        assert answer.status == 200, path
        root = page.locator("html")
        assert root.get_attribute("lang") == language, path
        assert root.get_attribute("dir") == ("rtl" if language == "ar" else "ltr"), path
        # The preview of an editor gets its room from a script.
        wait_for(lambda: page.evaluate(WIDTH) <= 360, what=f"{path} to fit")
    page.set_viewport_size({"width": 1280, "height": 740})
    side = page.locator(".side").bounding_box()
    assert side is not None
    assert (side["x"] > 640) == (language == "ar")
