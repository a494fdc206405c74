"""Every page, on a phone and a desk, in light and dark: axe and the browser find nothing."""

import itertools
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import find_violations
from tests.browser.conftest import OpenPage, Project, Site
from tests.browser.pages import open_form
from tests.browser.screens import check_screens

pytestmark = [pytest.mark.browser, pytest.mark.process]

# The path behind the service's address, and what is done there before the look.
Look = tuple[Callable[[Project], str], Callable[[Page], None]]

# Rules that a page may break, and why.
ALLOWED = {
    # axe takes what is in a closed details element for hidden. Beside the text it is always shown,
    # and Tab leads through its links, as a test below holds.
    "reference": {"scrollable-region-focusable"},
}

numbers = itertools.count(1)


def stay(_: Page) -> None:
    """Do nothing: the page is looked at as it comes."""


def keep_some_calls(page: Page) -> None:
    """Judge the whole reference but for its colours; then leave a few of its many equal sections.

    The colours of ten thousand elements would take half a minute.
    """
    found = {each["id"] for each in find_violations(page, others=("color-contrast",))}
    assert found <= ALLOWED["reference"]
    left_out = "[...document.querySelectorAll('.docs-body > section')].slice(12, -12)"
    page.evaluate(f"{left_out}.forEach((section) => section.remove())")


def claim(key: str) -> Callable[[Page], None]:
    """Claim the account, and keep or replace its key."""

    def act(page: Page) -> None:
        page.get_by_label("Password", exact=True).fill("three blue wardrobes")
        page.get_by_role("radio", name=key).check()
        press("Claim my account", "Your account is claimed")(page)

    return act


def press(button: str, heading: str) -> Callable[[Page], None]:
    """Press a button and wait for the heading that follows."""

    def act(page: Page) -> None:
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("heading", name=heading).first).to_be_visible()

    return act


def send_nothing(page: Page) -> None:
    """Send the collection page's form as it is."""
    open_form(page)
    press("Send my testimonial", "3 things need a change")(page)


def ask_for_link(page: Page) -> None:
    """Ask for a new link."""
    address = f"nobody{next(numbers)}@example.com"
    page.get_by_role("textbox", name="Your email address").fill(address)
    press("Send me a new link", "Check your mail")(page)


def wait_for_widget(page: Page) -> None:
    """Wait until the widget stands."""
    expect(page.locator('[data-testimonials-state="ready"]')).to_be_attached()


def claim_path(project: Project) -> str:
    """Return the path of the project's magic link."""
    return project.claim_link().removeprefix(project.site.url)


def pause(project: Project) -> str:
    """Pause the project; return its path."""
    project.site.pause(project.id)
    return f"/{project.slug}"


PAGES: dict[str, Look] = {
    "home": (lambda _: "/", wait_for_widget),
    "reference": (lambda _: "/docs", keep_some_calls),
    "claim": (claim_path, stay),
    "claim with errors": (claim_path, press("Claim my account", "One thing needs a change")),
    "claimed": (claim_path, claim("Keep it")),
    "claimed with a new key": (claim_path, claim("Replace it")),
    "decline": (lambda project: claim_path(project) + "/decline", stay),
    "declined": (lambda _: "/claim/declined", stay),
    "broken link": (lambda _: "/claim/nothing", stay),
    "replaced link": (lambda project: replaced_path(project), stay),
    "link request": (lambda _: "/claim", stay),
    "link request with errors": (
        lambda _: "/claim",
        press("Send me a new link", "One thing needs a change"),
    ),
    "link sent": (lambda _: "/claim", ask_for_link),
    "collection": (lambda project: f"/{project.slug}", stay),
    "collection with errors": (
        lambda project: f"/{project.slug}",
        send_nothing,
    ),
    "thanks": (lambda project: f"/{project.slug}/thanks", stay),
    "paused": (pause, stay),
    "wall": (lambda project: f"/widget/{project.id}", wait_for_widget),
    "empty wall": (lambda project: emptied_wall(project), stay),
    "not found": (lambda _: "/nothing-here", stay),
}


def replaced_path(project: Project) -> str:
    """Return the path of a magic link that a newer one has replaced."""
    path = claim_path(project)
    project.site.agent_init(project.email)
    return path


def emptied_wall(project: Project) -> str:
    """Take the samples away; return the path of the wall."""
    project.call("DELETE", "/testimonials/demo")
    return f"/widget/{project.id}"


@pytest.mark.parametrize("name", PAGES)
def test_axe_and_the_browser_find_nothing(site: Site, open_page: OpenPage, name: str) -> None:
    make_path, act = PAGES[name]
    project = site.create_project(skipDemoTestimonials=False, website="example.com")
    page = open_page(site.url + make_path(project))
    act(page)
    check_screens(page, ALLOWED.get(name, ()))
    assert re.search(r"\S", page.title())


def test_keyboard_reaches_the_list_of_calls(site: Site, open_page: OpenPage) -> None:
    page = open_page(f"{site.url}/docs", viewport={"width": 1280, "height": 800})
    links = page.locator("nav a")
    for _ in range(2):
        page.keyboard.press("Tab")
    for link in links.all():
        page.keyboard.press("Tab")
        expect(link).to_be_focused()
        expect(link).to_be_in_viewport()
