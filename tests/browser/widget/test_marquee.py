"""Cards that move by themselves, drawn by a piece of the script."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.axe import find_violations
from tests.browser.widget.conftest import feed, item, look, open_widgets
from tests.support.servers import wait_for

# A website's own policy: nothing but the service's script, data and pictures.
POLICY = (
    "default-src 'none'; script-src {base}; connect-src {base}; img-src {base} data:; "
    "style-src 'self'; require-trusted-types-for 'script'"
)
LANES = "[...root.querySelectorAll('ul')].filter(each => !each.hidden)"


def moving(count: int, animation: str, **design: Any) -> dict[str, Any]:
    items = [item(n, text="A word of praise. " * (n % 4 * 4 + 1)) for n in range(1, count + 1)]
    config = {"layout": "carousel", "animation": animation, "showCtaButton": False}
    return feed(items=items, design=design, **config)


def ready(page: Page) -> None:
    """Wait for the frame in which pausing and playing take effect."""
    page.evaluate("Promise.all(document.getAnimations().map(each => each.ready))")


def is_still(page: Page) -> bool:
    states = f"{LANES}.map(each => each.getAnimations()[0].playState)"
    return set(look(page, states)) == {"paused"}


@pytest.mark.parametrize(("animation", "axis"), [("horizontal", "e"), ("vertical", "f")])
def test_two_lanes_move_apart_until_they_are_paused(page, pages, animation, axis):
    policy = POLICY.format(base=pages.base)
    before = "<main><h1>Host</h1>"
    data = moving(12, animation)
    data["items"][0]["authorAvatar"] = f"{pages.base}/media/missing.png"
    open_widgets(page, pages, data, before=before, csp=policy)
    # A copy's photo is loaded on its own, and fails too: the initials stay.
    copied = "root.querySelectorAll('[inert] img')"
    look(page, f"{copied}.forEach((img) => img.dispatchEvent(new Event('error')))")
    assert look(page, f"{copied}.length") == 0
    places = f"{LANES}.map(each => new DOMMatrix(getComputedStyle(each).transform).{axis})"

    def expect_moving() -> None:
        ready(page)
        one, other = look(page, places)
        wait_for(lambda: look(page, places)[0] < one, what="the first lane")
        wait_for(lambda: look(page, places)[1] > other, what="the second lane")

    page.mouse.move(5, 795)
    expect_moving()
    sizes = "each => each.getAnimations()[0].effect.getKeyframes().map(each => each.transform)"
    ends = look(page, f"{LANES}.map({sizes})")
    times = look(page, f"{LANES}.map(e => e.getAnimations()[0].effect.getTiming().duration)")
    speeds = [
        round(1000 * float("".join(c for c in max(end, key=len) if c.isdigit() or c == ".")) / time)
        for end, time in zip(ends, times, strict=True)
    ]
    assert speeds == [40, 32]
    assert find_violations(page) == []

    # The button is the first stop of the keyboard.
    page.keyboard.press("Tab")
    assert look(page, "root.activeElement.getAttribute('aria-label')") == "Pause"
    button = page.get_by_role("button", name="Pause")
    box = button.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44
    button.press("Enter")
    assert is_still(page)
    page.get_by_role("button", name="Play").press("Enter")
    expect_moving()
    page.locator(".view").hover()
    assert is_still(page)
    page.mouse.move(5, 795)
    expect_moving()

    # People who want less motion get the carousel, at once and without a reload.
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Next").first.wait_for()
    assert look(page, "root.querySelectorAll('[inert]').length") == 0
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(reduced_motion="no-preference")
    button.wait_for()
    assert page.evaluate("violations") == []


def test_how_many_lanes_there_are(page, pages):
    for width, data, lanes in [
        (700, moving(5, "horizontal"), 1),
        (700, moving(6, "horizontal"), 2),
        # Two would not fill so wide a page.
        (1280, moving(6, "horizontal"), 1),
        (1280, moving(12, "horizontal", marqueeRows=1), 1),
        (1280, moving(12, "vertical"), 2),
        (500, moving(12, "vertical"), 1),
        (320, moving(6, "horizontal"), 2),
    ]:
        page.set_viewport_size({"width": width, "height": 800})
        open_widgets(page, pages, data)
        assert look(page, f"{LANES}.length") == lanes
        widths = look(page, "[...root.querySelectorAll('li')].map(each => each.offsetWidth)")
        assert all(width <= 520 for width in widths)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if width == 1280:
            height = look(page, "root.querySelector('.view').offsetHeight")
            assert height < 700
    # What fits stands still.
    page.set_viewport_size({"width": 1280, "height": 800})
    open_widgets(page, pages, moving(2, "horizontal"))
    assert look(page, "root.querySelectorAll('[inert], button:not([hidden])').length") == 0
    assert page.evaluate("document.getAnimations().length") == 0


def test_keyboard_and_clicks_reach_every_card(page, pages):
    long = [item(n, text="A long tale, told again. " * 40) for n in range(1, 9)]
    data = feed(items=long, layout="carousel", animation="horizontal", showCtaButton=False)
    open_widgets(page, pages, data)
    for stop in range(17):
        page.keyboard.press("Tab")
        name = f"Read more: Maya Kowalski {(stop + 1) // 2}" if stop % 2 else "Check this"
        name = name if stop else "Pause"
        said = "root.activeElement.getAttribute('aria-label') || root.activeElement.textContent"
        assert look(page, said) == name
        left, right = look(
            page, "(b => [b.left, b.right])(root.activeElement.getBoundingClientRect())"
        )
        assert 0 <= left < right <= 1280, name
        assert look(page, "root.querySelector('.view').scrollLeft") == 0
    page.evaluate("document.activeElement.blur()")
    # The copies are pictures only, so a click on one is a click on what it shows.
    page.mouse.move(640, 120)
    look(page, "root.querySelector('ul').getAnimations()[0].currentTime = 25 * 1900")
    place = look(
        page,
        "(b => [b.left + 5, b.top + 5])(root.querySelector('[inert] .more').getBoundingClientRect())",
    )
    page.mouse.click(*place)
    opened = (
        "[...root.querySelectorAll('li:not([inert])')].findIndex(e => e.querySelector('.open'))"
    )
    assert look(page, opened) == 0
