"""What a container chooses, and what an owner changes from outside, on a page of another origin."""

from __future__ import annotations

import pytest

from tests.browser.widget.conftest import (
    ROOT,
    badge,
    boxes,
    feed,
    item,
    look,
    open_widgets,
    styles,
    widget,
)

WHITE, BLACK = "rgb(255, 255, 255)", "rgb(23, 24, 30)"


def test_attributes_are_sent_and_draw_anew(page, pages):
    chosen = 'data-testimonials-tag="Wedding hair" data-testimonials-min="80" data-testimonials-x=1'
    theme = ' data-testimonials-theme="dark"'
    open_widgets(page, pages, feed(3, theme="light"), attributes=chosen + theme)
    # The container's theme comes before the configured one.
    assert styles(page, ".card", "backgroundColor") == [BLACK]
    pages.feed["p1"] = feed(2)
    look(page, "host.dataset.testimonialsTag = 'b'")
    page.wait_for_selector('[data-testimonials-count="2"]', state="attached")
    assert page.locator("li").count() == 2
    asked = [each for each in pages.requests if "/feed" in each]
    path = "/widget/p1/feed?tag="
    assert asked == [f"{path}Wedding+hair&min=80&lang=en", f"{path}b&min=80&lang=en"]


def test_a_badge_without_ratings_shows_nothing(page, pages):
    shape = 'data-testimonials-shape="badge"'
    open_widgets(page, pages, badge("badge") | {"total": 0}, attributes=shape, state="empty")
    assert look(page, "host.offsetHeight") == 0


def test_strip_is_low_and_fades_where_more_follows(page, pages):
    page.set_viewport_size({"width": 800, "height": 600})
    items = [item(n, text="Words. " * 60, authorRole="A long role " * 8) for n in range(6)]
    data = feed(items=items, layout="carousel", animation="horizontal") | {"shape": "strip"}
    del data["cta"]
    open_widgets(page, pages, data, attributes='data-testimonials-shape="strip"')
    assert {(width, height) for _, _, width, height in boxes(page)} == {(320, 158)}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fades = "['begun', 'further'].map(name => root.querySelector('.tm').classList.contains(name))"
    assert look(page, fades) == [False, True]
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(f"[...{ROOT}.querySelector('.tm').classList].includes('begun')")
    page.get_by_role("group", name="Testimonials").focus()
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(f"![...{ROOT}.querySelector('.tm').classList].includes('further')")
    assert look(page, fades) == [True, False]


def test_auto_follows_the_color_scheme_of_the_page(page, pages, case):
    """Whatever the configured theme is, and also when the page changes its mind."""
    themes = [feed(2, theme="light"), feed(2, theme="dark")]
    open_widgets(page, pages, *themes, attributes='data-testimonials-theme="auto"')
    for scheme, system, expected in (
        ("light", "dark", WHITE),
        ("dark", "light", BLACK),
        ("light dark", "dark", BLACK),
        ("light dark", "light", WHITE),
    ):
        page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
        page.evaluate("scheme => { document.documentElement.style.colorScheme = scheme }", scheme)
        with case(scheme, system):
            for n in range(2):
                ground = widget(page, n).locator(".card").first
                found = ground.evaluate("card => getComputedStyle(card).backgroundColor")
                assert found == expected


def test_owners_change_it_by_custom_properties_and_parts(page, pages):
    style = """<style>
    [data-testimonials-project] { --testimonials-card: rgb(1, 2, 3); --testimonials-radius: 3px;
      --testimonials-font: Georgia; --testimonials-solid: white; --testimonials-on: black }
    [data-testimonials-project]::part(name) { letter-spacing: 5px }
    [data-testimonials-project]::part(cta) { text-transform: uppercase }
    </style>"""
    open_widgets(page, pages, feed(2), before=style)
    card = styles(page, ".card", "backgroundColor", "borderTopLeftRadius")
    assert card == ["rgb(1, 2, 3)", "3px"]
    assert styles(page, ".text", "fontFamily") == ["Georgia"]
    assert styles(page, ".name", "letterSpacing") == ["5px"]
    # A white button has an edge, made from its words.
    border = "color(srgb 0 0 0 / 0.25)"
    assert styles(page, ".cta", "textTransform", "borderTopColor") == ["uppercase", border]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_name_of_either_direction_stands_beside_its_face(page, pages, direction):
    items = [item(1, authorName="ليلى منصور"), item(2, authorName="Tom Okafor")]
    before = f"<script>document.dir = '{direction}'</script>"
    open_widgets(page, pages, feed(items=items), before=before)
    gaps = look(
        page,
        """[...root.querySelectorAll('.author')].map(caption => {
          const range = document.createRange();
          range.selectNodeContents(caption.querySelector('.name'));
          const face = caption.querySelector('.avatar').getBoundingClientRect(), name = range.getBoundingClientRect();
          return Math.round(Math.max(name.left - face.right, face.left - name.right));
        })""",
    )
    assert gaps == [12, 12]
