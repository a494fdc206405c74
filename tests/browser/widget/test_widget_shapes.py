"""What a container chooses, and what an owner changes from outside, on a page of another origin."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.widget.test_badges_and_popup import badge
from tests.browser.widget.test_widget import (  # noqa: F401
    ROOT,
    Site,
    boxes,
    feed,
    host,
    item,
    open_widget,
    page,
    settle,
    site,
)

pytestmark = pytest.mark.browser


def asked(site: Site) -> str:  # noqa: F811
    """The newest address under which data was asked for."""
    return next(each for each in reversed(site.requests) if "/feed" in each)


def test_attributes_are_sent_and_nothing_else(page: Page, site: Site) -> None:  # noqa: F811
    chosen = 'data-testimonials-tag="Wedding hair" data-testimonials-min="80" data-testimonials-x=1'
    open_widget(page, site, feed(3), attributes=chosen)
    assert asked(site) == "/widget/p1/feed?tag=Wedding+hair&min=80&lang=en"


def test_a_changed_attribute_draws_anew(page: Page, site: Site) -> None:  # noqa: F811
    open_widget(page, site, feed(3))
    site.feed["p1"] = feed(2)
    page.evaluate(
        "document.querySelector('[data-testimonials-project]').dataset.testimonialsTag = 'b'"
    )
    page.wait_for_selector('[data-testimonials-count="2"]', state="attached")
    assert asked(site) == "/widget/p1/feed?tag=b&lang=en"
    assert page.locator("li").count() == 2


def test_a_badge_without_ratings_shows_nothing(page: Page, site: Site) -> None:  # noqa: F811
    site.feed["p1"] = badge("badge") | {"total": 0}
    page.goto(site.host_page(site.snippet("p1", 'data-testimonials-shape="badge"') + site.tag()))
    settle(page, "empty")
    assert host(page, "host.offsetHeight") == 0


def test_strip_is_low_and_fades_where_more_follows(page: Page, site: Site) -> None:  # noqa: F811
    page.set_viewport_size({"width": 800, "height": 600})
    items = [item(n, text="Words. " * 60, authorRole="A long role " * 8) for n in range(6)]
    data = feed(items=items, layout="carousel", animation="horizontal") | {"shape": "strip"}
    del data["cta"]
    open_widget(page, site, data, attributes='data-testimonials-shape="strip"')
    assert {(width, height) for _, _, width, height in boxes(page)} == {(320, 158)}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fades = "['begun', 'further'].map(name => root.querySelector('.tm').classList.contains(name))"
    assert host(page, fades) == [False, True]
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(f"[...{ROOT}.querySelector('.tm').classList].includes('begun')")
    page.get_by_role("group", name="Testimonials").focus()
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(f"![...{ROOT}.querySelector('.tm').classList].includes('further')")
    assert host(page, fades) == [True, False]


@pytest.mark.parametrize(
    ("scheme", "system", "expected"),
    [
        ("light", "dark", "rgb(255, 255, 255)"),
        ("dark", "light", "rgb(23, 24, 30)"),
        ("light dark", "dark", "rgb(23, 24, 30)"),
        ("light dark", "light", "rgb(255, 255, 255)"),
    ],
)
def test_auto_follows_the_color_scheme_of_the_page(
    page: Page, site: Site, scheme: str, system: str, expected: str  # noqa: F811
) -> None:  # fmt: skip
    page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
    style = f"<style>html{{color-scheme:{scheme}}}</style>"
    # The configured theme is the other one.
    theme = "light" if expected == "rgb(23, 24, 30)" else "dark"
    open_widget(
        page, site, feed(2, theme=theme), before=style, attributes='data-testimonials-theme="auto"'
    )
    assert host(page, "getComputedStyle(root.querySelector('.card')).backgroundColor") == expected
    # Also when the page changes its mind later, as sites with a switch do.
    page.evaluate("document.documentElement.style.colorScheme = 'dark'")
    assert (
        host(page, "getComputedStyle(root.querySelector('.card')).backgroundColor")
        == "rgb(23, 24, 30)"
    )


def test_a_theme_on_the_container_comes_before_the_configured_one(page: Page, site: Site) -> None:  # noqa: F811
    open_widget(page, site, feed(2, theme="light"), attributes='data-testimonials-theme="dark"')
    colour = "getComputedStyle(root.querySelector('.card')).backgroundColor"
    assert host(page, colour) == "rgb(23, 24, 30)"


def test_owners_change_it_by_custom_properties_and_parts(page: Page, site: Site) -> None:  # noqa: F811
    style = """<style>
    [data-testimonials-project] { --testimonials-card: rgb(1, 2, 3); --testimonials-radius: 3px;
      --testimonials-font: Georgia }
    [data-testimonials-project]::part(name) { letter-spacing: 5px }
    [data-testimonials-project]::part(cta) { text-transform: uppercase }
    </style>"""
    open_widget(page, site, feed(2), before=style)

    def look(selector: str, name: str) -> str:
        return str(host(page, f"getComputedStyle(root.querySelector('{selector}')).{name}"))

    assert look(".card", "backgroundColor") == "rgb(1, 2, 3)"
    assert look(".card", "borderTopLeftRadius") == "3px"
    assert look(".text", "fontFamily") == "Georgia"
    assert look(".name", "letterSpacing") == "5px"
    assert look(".cta", "textTransform") == "uppercase"


def test_the_link_stands_until_everything_is_in_its_place(page: Page, site: Site) -> None:  # noqa: F811
    site.feed["p1"] = feed(50, initialCount=50)
    page.goto(site.host_page(site.snippet()))
    # Looked at after each change inside, whether there is something to see at every moment.
    page.evaluate("""() => {
      const link = document.querySelector('[data-testimonials-project] a');
      window.gaps = 0; window.looks = 0;
      const look = () => {
        const root = document.querySelector('[data-testimonials-project]').shadowRoot?.querySelector('.tm');
        const stands = root && getComputedStyle(root).visibility === 'visible' && root.querySelector('li');
        looks += 1;
        if (!stands && !link.checkVisibility()) gaps += 1;
        if (!stands) setTimeout(look);
      };
      look();
    }""")
    page.evaluate(
        "url => document.head.append(Object.assign(document.createElement('script'), { src: url }))",
        site.script_url,
    )
    settle(page)
    assert page.evaluate("gaps") == 0
    assert page.evaluate("looks") > 3


def test_a_thousand_come_page_by_page_and_none_moves(page: Page, site: Site) -> None:  # noqa: F811
    open_widget(page, site, feed(1000, initialCount=50))
    before = boxes(page)
    for _ in range(19):
        count = page.locator("li").count()
        page.get_by_role("button", name="Show more").click()
        page.wait_for_function(
            "n => document.querySelector('[data-testimonials-project]').dataset.testimonialsCount > n",
            arg=count,
        )
    assert host(page, "host.dataset.testimonialsCount") == "1000"
    assert page.get_by_role("button", name="Show more").count() == 0
    page.evaluate("scrollTo(0, 0)")
    assert boxes(page)[:50] == before
    assert len(set(page.locator("li blockquote").all_inner_texts())) == 1000


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_a_name_of_either_direction_stands_beside_its_face(
    page: Page,  # noqa: F811
    site: Site,  # noqa: F811
    direction: str,
) -> None:
    items = [item(1, authorName="ليلى منصور"), item(2, authorName="Tom Okafor")]
    before = f"<script>document.dir = '{direction}'</script>"
    open_widget(page, site, feed(items=items), before=before)
    gaps = host(
        page,
        """[...root.querySelectorAll('.author')].map(caption => {
          const range = document.createRange();
          range.selectNodeContents(caption.querySelector('.name'));
          const face = caption.querySelector('.avatar').getBoundingClientRect(), name = range.getBoundingClientRect();
          return Math.round(Math.max(name.left - face.right, face.left - name.right));
        })""",
    )
    assert gaps == [12, 12]
