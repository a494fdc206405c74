"""The Brand screen: set once, seen everywhere."""

import io
import re

import pytest

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import UNDO
from tests.support.pictures import photo, to_bytes


@pytest.fixture
def project(owner: Caller) -> str:
    """The id of a bakery's project at /oat."""
    return str(owner.create_project(slug="oat", businessName="Oat & Ember Bakery")["_id"])


def path(project: str, after: str = "") -> str:
    return f"/dashboard/projects/{project}/settings/brand{after}"


def brand_of(owner: Caller, project: str) -> dict[str, str | None]:
    data: dict[str, dict[str, str | None]] = owner.get(f"/v1/projects/{project}/brand").json["data"]
    return data["brand"] | {"set": data["color"]}  # type: ignore[dict-item]


def test_one_form_sets_the_brand_of_every_surface(owner, browser, project):
    page = browser.get(path(project)).text
    assert "walk past two other bakeries" in page.partition("<template")[0]
    form = {
        "businessName": "Oat & Ember Bakery", "website": "", "color": "#C2410C",
        "another": "#c2410c", "trade": "bakery", "font": "site",
    }  # fmt: skip
    for name in ("color", "font"):
        assert f'name="{name}" value="{form[name]}" checked' in page
    # What stands there by itself isn't set because the form has it.
    assert browser.post(path(project), data=form).status_code == 303
    assert brand_of(owner, project)["set"] is None
    values = {"color": "another", "another": "#6d4aff", "website": "oat.example"}
    values |= {"font": "classic", "businessName": "Oat & Ember", "trade": "shop"}
    answer = browser.post(path(project), data=form | values)
    assert answer.status_code == 303
    # Without a logo, its initial stands in that color in the sidebar.
    inbox = browser.get(f"/dashboard/projects/{project}/inbox").text
    assert re.search(r'<path d="M0 0h28v28H0z" fill="#6D4AFF"/><text [^>]+>O<', inbox)
    assert brand_of(owner, project) == {
        "name": "Oat & Ember", "website": "https://oat.example", "logo": None, "trade": "shop",
        "color": "#6D4AFF", "set": "#6D4AFF", "font": "classic",
    }  # fmt: skip
    assert "--tm-button:#6D4AFF" in browser.get("/oat/theme.css").text
    styles = browser.get(f"/dashboard/projects/{project}/brand.css").text
    assert "--owner:light-dark(#6D4AFF," in styles
    tried = browser.get("/dashboard/brand.css?color=%23C2410C&font=plain").text
    assert "--owner:light-dark(#C2410C," in tried
    refused = browser.post(path(project), data=form | {"color": "red;}", "website": "a b"})
    assert refused.status_code == 422
    assert brand_of(owner, project)["color"] == "#6D4AFF"


def test_a_logo_shows_on_the_page_and_is_taken_off(owner, browser, project):
    file = io.BytesIO(to_bytes(photo(60, 20), "PNG"))
    sent = browser.post(path(project, "/logo"), data={"logo": (file, "logo.png")})
    assert sent.status_code == 303
    logo = brand_of(owner, project)["logo"]
    assert logo
    for surface in ("/oat", "/oat/wall", path(project)):
        assert f'src="{logo}"' in browser.get(surface).text
    # The page has none of its own.
    page = owner.get(f"/v1/projects/{project}").json["data"]["publicPageConfig"]
    assert page["logo"] is None
    nothing = browser.post(path(project, "/logo"), data={})
    assert nothing.status_code == 422
    assert "can’t be read as a picture" in nothing.text
    told = browser.post(path(project, "/logo/remove"), follow_redirects=True).text
    assert brand_of(owner, project)["logo"] is None
    undo = UNDO.findall(told)[0]
    assert browser.post(path(project, "/logo/undo"), data={"undo": undo}).status_code == 303
    assert brand_of(owner, project)["logo"] == logo
    # Only once; the form beside it, which saves itself, isn't emptied.
    again = browser.post(path(project, "/logo/undo"), data={"undo": undo})
    assert again.status_code == 422
    assert re.search(r'name="businessName"[^>]* value="Oat &amp; Ember Bakery"', again.text)


def test_what_has_its_own_color_says_so_and_takes_the_brand(owner, browser, project):
    owner.patch(f"/v1/projects/{project}/widget-config", {"palette": "emerald"})
    page = browser.get(path(project)).text
    assert "Its own colour: Widget" in page
    assert browser.post(path(project, "/everywhere")).status_code == 303
    assert "Its own colour" not in browser.get(path(project)).text
    shown = owner.get(f"/v1/projects/{project}").json["data"]["widgetConfig"]
    assert shown["palette"] == "neutral"
