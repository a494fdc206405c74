"""Badges, the row of people and the popup, drawn by pieces of the script."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect

from testimonials.widget.container import BADGES
from tests.browser.axe import find_violations
from tests.browser.widget.conftest import (
    Pages,
    badge,
    feed,
    item,
    look,
    open_widgets,
    settle,
    styles,
)
from tests.support.servers import wait_for

# What a link of each shape says to people who listen.
SAYS = {
    "badge": "Rated 4.8 out of 5 4.8 from all 214 ratings",
    "badge-sentence": "Rated 4.8 out of 5 4.8 from all 214 ratings",
    "badge-card": "4.8 Rated 4.8 out of 5 from all 214 ratings",
    "badge-corner": "Rated 4.8 out of 5 4.8 from all 214 ratings",
    "people": "230 people wrote Rated 4.8 out of 5 4.8 from all 214 ratings",
}
NARROW = {"people": "Rated 4.8 out of 5 "}
HEIGHTS = {"badge": 44, "badge-card": 146, "badge-corner": 44, "people": 44}


def popup(count: int = 3, **changes: Any) -> dict[str, Any]:
    items = [item(n, text=f"Praise number {n}.") for n in range(1, count + 1)]
    data = feed(items=items, **changes) | {"shape": "popup"}
    del data["cta"]
    return data


def pass_time(page: Page) -> int:
    """Let the popup's present wait be over; return how many milliseconds it was to take."""
    return int(
        look(
            page,
            """new Promise((done) => {
              const wait = root.querySelector('.tm').getAnimations()[0];
              wait.addEventListener('finish', () => done(wait.effect.getTiming().duration));
              wait.finish();
            })""",
        )
    )


def state(page: Page) -> str:
    return str(look(page, "root.querySelector('.tm').getAnimations()[0].playState"))


def test_badges(page, pages, case):
    for shape in BADGES:
        with case(shape):
            check_badge(page, pages, shape)


def check_badge(page: Page, pages: Pages, shape: str) -> None:
    policy = f"script-src {pages.base}; style-src 'self'; require-trusted-types-for 'script'"
    before = '<main align="center"><h1>Host</h1>Small shop, '
    for theme, width in (("light", 1280), ("dark", 300)):
        page.set_viewport_size({"width": width, "height": 600})
        data = badge(shape, theme=theme)
        attributes = f'data-testimonials-shape="{shape}"'
        open_widgets(page, pages, data, before=before, attributes=attributes, csp=policy)
        # There is no room for people's stars, and the number says the same.
        name = SAYS[shape] if width > 400 else SAYS[shape].replace(NARROW.get(shape, ""), "")
        link = page.get_by_role("link", name=name, exact=True)
        assert link.get_attribute("href") == "https://example.com/fern/wall"
        box = link.bounding_box()
        assert box is not None
        if name == SAYS[shape]:
            assert box["height"] == HEIGHTS.get(shape, box["height"])
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        policy_link = page.get_by_role("link", name="How we collect")
        assert policy_link.get_attribute("href") == "https://example.com/fern/how"
        if shape == "badge-corner":
            assert 600 - box["y"] - box["height"] == width - box["x"] - box["width"] == 20
            assert look(page, "host.offsetHeight") == 0
        elif shape != "badge-sentence":
            # They stand where the words around them do, in a row if there is room.
            beside = policy_link.bounding_box()
            assert beside is not None
            end = max(each["x"] + each["width"] for each in (box, beside))
            assert abs(box["x"] + end - width) <= 12
        if theme == "dark":
            page.evaluate("document.body.bgColor = '#111'")
            page.evaluate("document.body.text = '#eee'")
        assert find_violations(page, ["color-contrast", "link-name", "aria-hidden-focus"]) == []
        assert look(page, "host.dataset.testimonialsCount") == "214"
        assert page.evaluate("violations") == []


def test_a_badge_has_room_in_a_row_of_others(page, pages):
    for width, height in ((1280, 44), (390, 88)):
        page.set_viewport_size({"width": width, "height": 600})
        open_widgets(page, pages, badge("badge"), before='<nav style="display:flex"><b>Fern</b>')
        # On a phone "How we collect" is below it.
        assert look(page, "host.offsetHeight") == height
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_script_of_a_badge_draws_what_comes_later_too(page, pages):
    pages.script_url += "?shape=badge"
    pages.feed |= {"p1": badge("badge"), "p2": feed(3)}
    page.goto(pages.host_page(f"<main></main>{pages.tag()}"))
    wait_for(lambda: any("watch.js" in path for path in pages.requests))
    both = pages.snippet("p1", 'data-testimonials-shape="badge"') + pages.snippet("p2")
    page.evaluate("html => { document.querySelector('main').innerHTML = html }", both)
    settle(page, count=2)
    assert look(page, "root.querySelectorAll('.card').length", 1) == 3
    page.evaluate(
        "document.querySelector('[data-testimonials-shape]').dataset.testimonialsProject = 'p2'"
    )
    page.wait_for_function(
        "document.querySelectorAll('[data-testimonials-count=\"3\"]').length === 2"
    )


def test_a_badge_in_a_sentence_takes_its_size_and_colour(page, pages):
    pages.feed["p1"] = badge("badge-sentence")
    words = '<p style="font:26px/40px Georgia;color:rgb(10, 90, 60)">Small shop, '
    span = pages.snippet("p1", 'data-testimonials-shape="badge-sentence"').replace("div", "span")
    page.goto(pages.host_page(words + span + " and counting.</p>" + pages.tag()))
    link = page.get_by_role("link", name=SAYS["badge-sentence"])
    expect(link).to_be_visible()
    found = styles(page, "a", "fontSize", "fontFamily", "color")
    assert found == ["26px", "Georgia", "rgb(10, 90, 60)"]
    assert page.locator("p").bounding_box()["height"] <= 42  # type: ignore[index]


def test_the_popup_comes_one_by_one_and_waits_for_people(page, pages):
    policy = f"script-src {pages.base}; style-src 'self'; require-trusted-types-for 'script'"
    before = "<main><h1>Host</h1><button>Here</button><dialog id=native>Sure?</dialog>"
    before += "<div id=own role=dialog aria-modal=true hidden>Really?</div>"
    open_widgets(page, pages, popup(), before=before, csp=policy)
    card = page.get_by_role("region", name="Testimonials")
    expect(card).to_be_hidden()
    assert look(page, "host.offsetHeight") == 0
    assert pass_time(page) == 6000
    expect(page.get_by_text("Praise number 1.")).to_be_visible()
    # It stays for as long as somebody points at it, or has the focus in it.
    assert state(page) == "running"
    card.hover()
    assert state(page) == "paused"
    box = card.bounding_box()
    assert box is not None
    assert (box["x"], box["width"], 800 - box["y"] - box["height"]) == (20, 360, 20)
    assert find_violations(page) == []
    page.mouse.move(900, 100)
    assert state(page) == "running"
    page.get_by_role("button", name="Here").focus()
    page.get_by_role("button", name="Close").focus()
    assert state(page) == "paused"
    page.get_by_role("button", name="Here").focus()
    assert pass_time(page) == 8000
    expect(page.get_by_text("Praise number 2.")).to_be_visible()
    expect(page.get_by_text("Praise number 1.")).to_be_hidden()

    # It is never over a dialog, of whatever kind.
    for opened, closed in [
        ("native.showModal()", "native.close()"),
        ("native.show()", "native.close()"),
        ("own.hidden = false", "own.hidden = true"),
    ]:
        page.evaluate(opened)
        assert not card.is_visible()
        assert state(page) == "paused"
        page.evaluate(closed)
        expect(card).to_be_visible()
        assert state(page) == "running"

    # Closed, it is over, also when it is drawn anew; the focus goes back to where it was.
    page.get_by_role("button", name="Here").focus()
    close = page.get_by_role("button", name="Close")
    assert min(close.bounding_box()["width"], close.bounding_box()["height"]) == 36  # type: ignore[index]
    close.press("Enter")
    expect(card).to_be_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Here"
    requests = len(pages.requests)
    look(page, "host.dataset.testimonialsTag = 'b'")
    wait_for(lambda: page.evaluate("events.length") == 2, what="a second drawing")
    assert len(pages.requests) > requests
    assert look(page, "root.querySelector('.tm').getAnimations().length") == 0
    kept = "[document.cookie, localStorage.length, sessionStorage.length]"
    assert page.evaluate(kept) == ["", 0, 0]
    assert page.evaluate("violations") == []


def test_the_popup_ends_and_stays_away_from_small_screens(page, pages):
    page.emulate_media(reduced_motion="reduce")
    open_widgets(page, pages, popup(2))
    card = page.locator(".view")
    for _ in range(2):
        pass_time(page)
        expect(card).to_be_visible()
        # It appears without sliding.
        assert look(page, "root.querySelector('li:not([hidden])').getAnimations().length") == 0
    pass_time(page)
    expect(card).to_be_hidden()
    assert look(page, "root.querySelector('.tm').getAnimations().length") == 0
    page.set_viewport_size({"width": 390, "height": 800})
    for style, is_shown in (("", False), ("--testimonials-popup:flex", True)):
        open_widgets(page, pages, popup(), before=f"<style>:root{{{style}}}</style>")
        waits = "root.querySelector('.tm').getAnimations().length === 1"
        assert look(page, waits) is is_shown
        if is_shown:
            pass_time(page)
            expect(card).to_be_visible()
