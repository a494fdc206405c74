"""The embeddable widget in a real browser, on a host page of another origin than its own.

`test_snippet_on_another_origin` and `test_journey` show the same script on the feed of the service.
"""

from __future__ import annotations

import itertools
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from testimonials.core.http.i18n import read_date_patterns
from testimonials.core.images.colors import contrast
from tests.browser.axe import find_violations
from tests.browser.pages import PAINTED
from tests.browser.widget.conftest import (
    ROOT,
    boxes,
    feed,
    item,
    look,
    open_widgets,
    settle,
    settle_later,
    styles,
    widget,
)
from tests.support.sampling import sample

PALETTES = ["neutral", "indigo", "emerald", "amber", "rose", "sky"]
STYLES = ["default", "quote", "stripe", "gradient", "outlined"]
LAYOUTS = ["masonry", "carousel", "list"]


def wait_for_count(page: Page, count: int, n: int = 0) -> None:
    """Wait until so many are shown."""
    expect(widget(page, n)).to_have_attribute("data-testimonials-count", str(count))


# --- Layouts -------------------------------------------------------------------------------------


# How much space was added to the card that got most of it.
HOLES = """Math.max(...[...root.querySelectorAll('.card')].map((card) => {
    const before = card.querySelector('.author').previousElementSibling;
    const words = before.hidden ? before.previousElementSibling : before;
    return card.querySelector('.author').offsetTop - words.offsetTop - words.offsetHeight - 12;
}))"""


def test_masonry_columns_follow_the_container(page, pages, case):
    for width, columns in ((360, 1), (768, 2), (1000, 3), (1280, 4)):
        page.set_viewport_size({"width": width, "height": 800})
        open_widgets(page, pages, feed(12))
        with case(width):
            found = boxes(page)
            assert len({left for left, *_ in found}) == columns
            for left in {left for left, *_ in found}:
                column = sorted(box for box in found if box[0] == left)
                for (_, top, _, height), (_, below, _, _) in itertools.pairwise(column):
                    assert 19 <= below - top - height <= 21
            # All end at the same height, and nobody's card has a hole between words and author.
            ends = [max(top + high for x, top, _, high in found if x == left) for left, *_ in found]
            assert max(ends) - min(ends) <= 1
            assert look(page, HOLES) <= 40
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(f"{ROOT}.querySelector('ul').matches(':not(.packed)')")
    assert len({left for left, *_ in boxes(page)}) == 1
    # It is right also when it is shown later than it was made.
    page.set_viewport_size({"width": 1280, "height": 800})
    open_widgets(page, pages, feed(8), before='<section id="tab" style="display:none">')
    page.evaluate("document.getElementById('tab').style.display = 'block'")
    page.wait_for_function(f"{ROOT}.querySelector('.packed')")
    assert len({left for left, *_ in boxes(page)}) == 4


def test_few_cards_fill_their_rows(page, pages, case):
    """Under two cards a column, there are rows of cards that are equally high."""
    open_widgets(page, pages, *(feed(count) for count in range(2, 8)))
    for count in range(2, 8):
        rows: dict[int, list[list[float]]] = {}
        for box in boxes(page, count - 2):
            rows.setdefault(round(box[1]), []).append(box)
        with case(count):
            assert len(rows) == -(-count // 4)
            for row in rows.values():
                assert row[0][0] == 8
                assert round(row[-1][0] + row[-1][2]) == 1272
                assert len({height for *_, height in row}) == 1


def test_one_alone_and_lists_are_centred(page, pages):
    alone = [
        feed(1, layout=layout, animation=animation)
        for layout, animation in itertools.product(LAYOUTS, ["none", "horizontal"])
    ]
    open_widgets(page, pages, *alone, feed(3, layout="list"))
    found = [[box[::2] for box in boxes(page, n)] for n in range(len(alone) + 1)]
    assert found == [*[[[360, 560]]] * len(alone), [[160, 960]] * 3]
    assert page.get_by_role("button").count() == 0


def test_the_first_pinned_is_featured(page, pages, case):
    page.set_viewport_size({"width": 1000, "height": 800})
    items = [item(n, pinned=n < 3 or None) for n in range(1, 10)]
    kinds = ["soft", "solid", "off"]
    open_widgets(page, pages, *(feed(items=items, design={"featured": kind}) for kind in kinds))
    for n, kind in enumerate(kinds):
        first, *others = (width for _, _, width, _ in boxes(page, n))
        with case(kind):
            assert len(set(others)) == 1
            # Each of them is rounded.
            wanted = others[0] if kind == "off" else 2 * others[0] + 20
            assert first == pytest.approx(wanted, abs=2)
            assert widget(page, n).locator(f".featured.{kind}").count() == (kind != "off")
    # On a ground of the brand's colour the stars are in that of the words.
    drawn = "getComputedStyle(root.querySelector('.stars svg')).fill"
    words = "getComputedStyle(root.querySelector('.text')).color"
    assert look(page, drawn, kinds.index("solid")) == look(page, words, kinds.index("solid"))


def test_header_counts_all_ratings(page, pages):
    people = [{"face": [f"M{n}", 0], "avatar": None} for n in range(5)]
    header = {"average": 5, "count": 1280, "people": 1300, "faces": people}
    data = feed(3, design={"showHeader": True})
    without = data | {"header": header | {"count": 0}}
    georgia = '<h2 style="font-family:Georgia">Host</h2>'
    open_widgets(page, pages, data | {"header": header}, without, before=georgia)
    head = widget(page).locator(".head")
    assert head.inner_text().split("\n")[:2] == ["5.0", "1,280 ratings"]
    assert head.locator(".avatar").count() == 5
    assert styles(page, ".average", "fontFamily") == ["Georgia"]
    page.set_viewport_size({"width": 400, "height": 800})
    expect(head.locator(".faces")).to_be_hidden()
    assert widget(page, 1).locator(".head").count() == 0


# --- Hostile input and hostile pages -------------------------------------------------------------


def test_every_field_is_text(page, pages):
    evil = '<img src=x onerror="errors.push(1)"><script>errors.push(2)</script>'
    bad = item(
        1, authorName=evil, authorRole=evil, authorCompany=evil, text=evil, authorAvatar="javascript:errors.push(3)",
        twitter={"handle": evil, "avatarUrl": "data:text/html,x", "displayName": evil}, submittedAt=evil, rating=evil, id=evil,
    )  # fmt: skip
    data = feed(items=[bad, {}, item(2, rating=99, twitter={"handle": 7})])
    data["cta"] = {"label": evil, "url": "javascript:errors.push(4)"}
    data["config"].update(
        theme=evil, layout=evil, palette="__proto__", cardStyle=evil, animation=None
    )
    open_widgets(page, pages, data)
    assert page.locator("blockquote").first.inner_text() == evil
    assert look(page, "root.querySelectorAll('img, script').length") == 0
    assert look(page, "[...root.querySelectorAll('a')].every(a => a.protocol === 'https:')")
    assert page.get_by_role("img", name="Rated 5 out of 5").count() == 1


def test_strict_csp_and_trusted_types(page, pages):
    csp = (
        f"default-src 'none'; script-src {pages.base}; connect-src {pages.base}; img-src {pages.base} data:; "
        "style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    kinds = [*((layout, "none") for layout in LAYOUTS), ("carousel", "horizontal")]
    feeds = [
        feed(12, layout=layout, animation=animation, cardStyle="quote", initialCount=6)
        for layout, animation in kinds
    ]
    for data in feeds:
        data["items"][0]["authorAvatar"] = f"{pages.base}/media/good.png"
    open_widgets(page, pages, *feeds, csp=csp)
    for n, layout in enumerate(LAYOUTS):
        name = "Next" if layout == "carousel" else "Show more"
        widget(page, n).get_by_role("button", name=name).click()
        wait_for_count(page, 12, n)
    assert page.evaluate("violations") == []
    assert page.messages == []  # type: ignore[attr-defined]


def test_looks_the_same_on_a_hostile_page(page, pages):
    read = """[...root.querySelectorAll('*:not(path, svg svg)')].map(e => { const b = e.getBoundingClientRect(), s = getComputedStyle(e);
        return [e.localName, b.width, b.height, b.left, s.color, s.backgroundColor, s.font, s.letterSpacing, s.textTransform].join() })"""
    calm = "<style>body{margin:8px!important;display:block!important}</style>"
    open_widgets(page, pages, feed(6), before=calm)
    expected = look(page, read)
    css = (
        "*{all:unset!important}html{display:block!important;font-size:62.5%!important}"
        "body{display:block!important;margin:8px!important;text-transform:uppercase;letter-spacing:3px;line-height:3;color:red;text-align:center}"
        "div{display:none!important;visibility:hidden!important;opacity:0!important;float:right!important;width:10px!important}"
        "button,a,li,figure,svg{color:red!important;display:none!important}"
    )
    # Where others are only as wide as what is in them, it still takes the whole width.
    centred = "<style>body{display:grid!important;place-items:center}</style>"
    for before in (f"<style>{css}</style>", calm + centred):
        open_widgets(page, pages, feed(6), before=before)
        assert look(page, read) == expected
    assert page.get_by_role("link", name="Share your experience").is_visible()


def test_what_others_put_into_the_page_neither_runs_nor_stops_it(page, pages):
    # The document has these, and an element of that name in place of its own.
    names = (
        "currentScript",
        "querySelector",
        "querySelectorAll",
        "createElement",
        "createElementNS",
    )
    forms = "".join(f"<form name={name}></form>" for name in (*names, "addEventListener", "fonts"))
    guest = f"<img id=__testimonials><div id=guests>{forms}</div>"
    # As an old Prototype.js does.
    guest += "<script>Object.prototype.onload = 'document.title = 1'; Array.from = (l) => [...Array(l.length)]</script>"
    moving = {"layout": "carousel", "animation": "horizontal"}
    for draws in ({}, {"layout": "list"}, {"layout": "carousel"}, moving):
        pages.feed["p1"] = feed(6, **draws)
        page.goto(pages.host_page(guest + pages.snippet() + pages.tag()))
        page.wait_for_function("events.length")
        page.evaluate("guests.remove()")
        settle(page)
        found = look(page, "[...root.querySelectorAll('*')].flatMap((e) => e.getAttributeNames())")
        assert "class" in found
        assert "onload" not in found
        assert "undefined" not in look(page, "root.textContent")
        assert page.title() != "1"


def test_nothing_else_on_the_page_changes(page, pages):
    pages.feed["p1"] = feed(3)
    page.goto(pages.host_page('<main id="m"><p>Before</p></main>' + pages.snippet()))
    names = "Object.getOwnPropertyNames(window)"
    before, html = page.evaluate(names), page.content()
    page.add_script_tag(url=pages.script_url)
    settle(page)
    assert set(page.evaluate(names)) - set(before) <= {"__testimonials"}
    page.evaluate("document.querySelector('script[src]').remove()")
    look(page, "['State', 'Count'].forEach(n => delete host.dataset['testimonials' + n])")
    assert page.content() == html
    kept = "[document.cookie, localStorage.length, sessionStorage.length]"
    assert page.evaluate(kept) == ["", 0, 0]


# --- Cards ---------------------------------------------------------------------------------------


def test_a_card_has_what_is_switched_on(page, pages):
    one = item(1, twitter={"handle": "@maya_k"}, isSample=True)
    open_widgets(page, pages, feed(items=[one], design={"dateStyle": "absolute"}))
    assert page.locator("ul > li > figure > blockquote + button + figcaption").count() == 1
    assert page.locator("time").get_attribute("datetime") == one["submittedAt"]
    assert page.get_by_text("Owner, Fern & Fable").count() == 1
    assert look(page, "host.dataset.testimonialsCount") == "1"
    assert page.evaluate("events") == [["ready", {"projectId": "p1", "count": 1, "total": 1}]]
    link = page.get_by_role("link", name="@maya_k")
    assert link.get_attribute("href") == "https://x.com/maya_k"
    assert link.get_attribute("rel") == "noopener nofollow"
    assert page.get_by_text("Sample", exact=True).is_visible()
    button = page.get_by_role("link", name="Share your experience")
    assert button.get_attribute("href") == "https://example.com/fern"
    off = {"showStars": False, "showDates": False, "showSource": False, "showCtaButton": False}
    open_widgets(page, pages, feed(items=[one], **off))
    for gone in (page.get_by_role("img"), page.locator("time")):
        assert gone.count() == 0
    # No owner can switch it off; a sample has no record.
    assert page.get_by_role("link").all_inner_texts() == ["How we collect"]
    assert page.locator(".role").all_inner_texts() == ["Owner"]
    assert page.get_by_text("Sample", exact=True).is_visible()
    assert page.messages == []  # type: ignore[attr-defined]


def test_faces(page, pages):
    names = ["Maya Kowalski", "佐藤 美咲", "🎉 🎊", "Zoë", "Jean-Luc de la Tour (CEO)", "नेहा शर्मा"]
    items = [item(n, authorName=name) for n, name in enumerate(names)]
    for name in ("good", "missing"):
        items.append(item(len(items), authorAvatar=f"{pages.base}/media/{name}.png"))
    open_widgets(page, pages, feed(items=items))
    expect(page.locator(".avatar img")).to_have_count(1)
    assert page.locator(".avatar").all_inner_texts()[:6] == ["MK", "佐美", "★", "Z", "JC", "नेश"]
    read = "(({ alt, loading, referrerPolicy }) => [alt, loading, referrerPolicy])(root.querySelector('img'))"
    assert look(page, read) == ["", "lazy", "no-referrer"]


def test_dates_speak_the_language_of_the_page(page, pages, case):
    page.clock.set_fixed_time("2026-03-27T12:00:00Z")
    when = item(1, submittedAt="2026-03-12T09:30:00.000Z")
    for lang, style, shown in [
        ("de", "absolute", "12. März 2026"),
        ("ja", "absolute", "2026年3月12日"),
        ("en-US", "month", "Mar 2026"),
        ("not a tag!", "absolute", "Mar 12, 2026"),
        ("en-GB", "relative", "2 weeks ago"),
        ("fr", "relative", "il y a 2 semaines"),
    ]:
        open_widgets(page, pages, feed(items=[when], design={"dateStyle": style}), lang=lang)
        with case(lang):
            assert page.locator("time").inner_text() == shown
            of_data = [url for url in pages.requests if urlparse(url).path.endswith("/feed")]
            asked = parse_qs(urlparse(of_data[-1]).query)["lang"]
            assert asked == [lang.partition("-")[0]]


def test_dates_of_the_services_languages_come_with_the_feed(page, pages, case):
    page.clock.set_fixed_time("2026-03-27T12:00:00Z")
    ages = {"2026-03-27": 0, "2026-03-21": 6, "2026-02-20": 11, "2025-03-27": 23, "2005-01-01": 43}
    items = [item(n, submittedAt=f"{day}T11:00:00.000Z") for n, day in enumerate(ages)]
    patterns = read_date_patterns()
    for lang, style, name in (("fr", "relative", "ago"), ("de-AT", "month", "short")):
        data = feed(items=items, design={"dateStyle": style})
        data |= {"lang": lang[:2], "dates": patterns[lang[:2]][name]}
        open_widgets(page, pages, data, lang=lang)
        with case(lang):
            shown = widget(page).locator("time").all_inner_texts()
            if style == "month":
                assert shown == ["März 2026"] * 2 + ["Feb. 2026", "März 2025", "Jan. 2005"]
            else:
                # After twenty years it is left out.
                assert shown == [data["dates"][age] for age in [*ages.values()][:4]]
            assert not [url for url in pages.requests if url.endswith("dates.js")]
    # The service speaks no Finnish, but the browser does.
    open_widgets(page, pages, data | {"lang": "en"}, lang="fi")
    assert widget(page).locator("time").last.inner_text() == "tammi 2005"


def test_a_date_that_half_of_them_share_says_nothing(page, pages):
    same = [item(n, submittedAt="2026-03-12T09:30:00.000Z") for n in range(4)]
    other = item(1, submittedAt="2025-01-01T00:00:00.000Z")
    months = [item(n, submittedAt=f"2025-0{n}-01T00:00:00.000Z") for n in range(1, 5)]
    kinds = [(same, "month"), (same, "absolute"), ([other, *same[:2]], "month"), (months, "month")]
    feeds = [feed(items=items, design={"dateStyle": style}) for items, style in kinds]
    open_widgets(page, pages, *feeds)
    assert [widget(page, n).locator("time").count() for n in range(4)] == [0, 4, 0, 4]


def test_words_are_sized_by_their_length_and_highlighted(page, pages):
    texts = ["Short.", "W" * 65, "W" * 141, "山" * 33, "🎉 Great, they said."]
    ratings = [4.5, 5, None, 0, "5"]
    items = [item(n, text=texts[n], rating=ratings[n]) for n in range(5)]
    items[4]["highlights"] = [[2, 7], [14, 18]]
    items[4]["reply"] = {"text": "Thank you.", "repliedAt": None}
    open_widgets(page, pages, feed(items=items))
    sizes = "[...root.querySelectorAll('.text')].map(t => getComputedStyle(t).fontSize)"
    assert look(page, sizes) == ["22px", "18px", "16px", "18px", "22px"]
    assert page.locator("mark").all_inner_texts() == ["Great", "said"]
    assert page.locator(".text").last.inner_text() == texts[4]
    assert page.locator(".reply b").inner_text() == "Reply from Fern & Fable"
    # A star is 20 wide, the gap 2: four and a half stars end at 4 x 22 + 10, the last gap is outside.
    widths = "[...root.querySelectorAll('.stars svg')].slice(0, 2).map(s => s.width.baseVal.value)"
    assert look(page, widths) == [98, 110]
    named = [page.locator(".stars").nth(n).get_attribute("aria-label") for n in range(2)]
    assert named == ["Rated 4.5 out of 5", "Rated 5 out of 5"]


def test_long_text_opens_and_closes(page, pages):
    open_widgets(page, pages, feed(items=[item(1, text="One line.\n" * 12), item(2)]))
    assert page.get_by_role("button", name="Read more").count() == 1
    height = "root.querySelector('blockquote').clientHeight"
    for name, lines, is_open in (("Read more", 8, "false"), ("Show less", 12, "true")):
        button = page.get_by_role("button", name=f"{name}: Maya Kowalski 1")
        assert button.get_attribute("aria-expanded") == is_open
        assert look(page, height) == lines * 28
        button.click()
    assert look(page, height) == 8 * 28


def test_what_hangs_out_of_a_tall_fonts_last_line_is_not_cut(page, pages):
    """Noto Naskh Arabic is as tall as this, and taller than the lines of short words."""
    tall = "ascent-override:140%;descent-override:60%;src:local('DejaVu Sans'),local('Liberation Sans')"
    style = f"<style>@font-face{{font-family:Tall;{tall}}}body{{font-family:Tall}}</style>"
    answers = {"answers": [["Why?", "Because."]] * 5}
    texts = ["Short.", "Medium. " * 12, "One line.\n" * 8, "One line.\n" * 9]
    items = [item(n, text=text, extras=answers) for n, text in enumerate(texts, start=1)]
    layouts = [feed(items=items, layout=layout) for layout in ("masonry", "list")]
    open_widgets(page, pages, *layouts, before=style)
    for n in range(2):
        cut = "[...root.querySelectorAll('.text')].map(e => e.scrollHeight > e.clientHeight + 1)"
        assert look(page, cut, n)[0], "the font is not tall"
        buttons = widget(page, n).get_by_role("button", name="Read more")
        assert [each.get_attribute("aria-label") for each in buttons.all()] == (
            ["Read more: Maya Kowalski 4"] if n == 0 else []
        )


def test_a_long_word_overflows_nothing_at_320(page, pages):
    page.set_viewport_size({"width": 320, "height": 700})
    word = "W" * 2000
    people = {"authorName": word, "authorRole": word, "authorCompany": word}
    long = item(1, text=word, twitter={"handle": word}, isSample=True, **people)
    open_widgets(page, pages, *(feed(items=[long, item(2)], layout=each) for each in LAYOUTS))
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    fit = "[...root.querySelectorAll('.card')].every(c => c.scrollWidth <= c.clientWidth)"
    assert [look(page, fit, n) for n in range(3)] == [True] * 3


def test_a_card_goes_by_its_words(page, pages):
    data = feed(6, layout="carousel", cardStyle="stripe")
    data["items"][0].update(text="خدمة رائعة وسريعة.", authorName="Tom", rating=3.5)
    data["items"][1].update(authorName="ليلى حداد")
    open_widgets(page, pages, data, before="<script>document.dir = 'rtl'</script>", lang="ar")
    first, second, *_ = boxes(page)
    assert first[0] > second[0]
    face_is_right = """[...root.querySelectorAll('.author')].slice(0, 2).map(author => {
        const [face, name] = ['.avatar', '.name'].map(s => author.querySelector(s).getBoundingClientRect());
        return face.left > name.left;
    })"""
    assert look(page, face_is_right) == [True, False]
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(f"{ROOT}.querySelector('.view').scrollLeft < -300")
    expect(page.get_by_role("status")).to_have_text("5–6 of 6")


# --- More of them, and none of them --------------------------------------------------------------


def test_show_more(page, pages):
    open_widgets(page, pages, feed(30, initialCount=8))
    before = boxes(page)
    button = page.get_by_role("button", name="Show more")
    assert button.inner_text().split() == ["Show", "more", "8", "of", "30"]
    button.press("Enter")
    wait_for_count(page, 16)
    assert "Number 9." in look(page, "root.activeElement.innerText")
    assert page.get_by_role("status").inner_text() == "16 of 30"
    # The six that would be left couldn't fill their columns, so they come along.
    button.dblclick()
    wait_for_count(page, 30)
    expect(button).to_have_count(0)
    assert len([r for r in pages.requests if "after" in r]) == 3
    # The first eight are still in their places below each other, then come the other blocks.
    page.evaluate("scrollTo(0, 0)")
    found = boxes(page)
    assert found[:8] == before
    assert len(set(page.locator("li blockquote").all_inner_texts())) == 30
    for start, end in [(0, 8), (8, 16)]:
        ends = max(top + height for _, top, _, height in found[start:end])
        assert min(top for _, top, *_ in found[end:]) == ends + 20


def test_show_more_can_be_tried_again(page, pages):
    labels = {"showMore": "More voices"}
    later = "**/*later.js"
    page.route(later, lambda route: route.abort())
    open_widgets(page, pages, feed(6, initialCount=3, layout="list", design={"labels": labels}))
    page.get_by_role("button", name="More voices").click()
    # Neither this code nor the data could be loaded.
    page.unroute(later)
    pages.broken.add("p1")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("status")).to_have_text("This couldn’t be loaded.")
    pages.broken.clear()
    page.get_by_role("button", name="Try again").click()
    wait_for_count(page, 6)


def test_none_shows_the_button_or_nothing(page, pages):
    inactive = feed(3)
    inactive["project"]["active"] = False
    feeds = [inactive, feed(0, showCtaButton=False), feed(0)]
    reserved = 'style="min-height:300px;--tm-reserve:300px"'
    open_widgets(page, pages, *feeds, attributes=reserved, state="empty")
    assert not page.get_by_role("link", name="Read our testimonials").first.is_visible()
    assert page.get_by_role("link", name="Share your experience").count() == 1
    told = [["ready", {"projectId": f"p{n}", "count": 0, "total": 0}] for n in (1, 2, 3)]
    assert sorted(page.evaluate("events"), key=str) == told
    # What the snippet reserved goes with the next thing that somebody does.
    height = "host.getBoundingClientRect().height"
    assert [look(page, height, n) for n in range(3)] == [300] * 3
    page.keyboard.press("Shift")
    assert [look(page, height, n) for n in range(3)] == [0, 0, 130]


def test_failure_keeps_the_link(page, pages, case):
    nonsense = feed(3) | {"project": None}
    pages.feed["p1"] = feed(3)
    for failure in ("500", "nonsense", "offline", "timeout"):
        page.messages.clear()  # type: ignore[attr-defined]
        pages.broken = {"p1"} if failure == "500" else set()
        pages.feed["p1"] = nonsense if failure == "nonsense" else feed(3)
        if failure == "offline":
            page.route("**/feed?*", lambda route: route.abort())
        elif failure == "timeout":
            page.clock.install()
            page.route("**/feed?*", lambda route: None)
        page.goto(pages.host_page(pages.snippet() + pages.tag()))
        if failure == "timeout":
            settle(page, "loading")
            page.clock.fast_forward(8100)
        settle(page, "error")
        with case(failure):
            assert page.get_by_role("link", name="Read our testimonials").is_visible()
            messages = page.messages  # type: ignore[attr-defined]
            assert [kind for kind, text in messages if "Testimonials" in text] == ["warning"]
            assert page.evaluate("events")[0][0] == "error"


def test_no_layout_shift_whatever_was_reserved(page, pages, case):
    """A snippet pasted long ago reserves the height of another configuration."""
    height = "host.getBoundingClientRect().height"
    pages.feed["p1"] = feed(6, layout="carousel")
    below = '<p id="below">Below</p><p style="height:3000px"></p>'
    for reserved, width, above in itertools.product([2400, 200], [360, 1280], [0, 700, 1500]):
        style = f'style="min-height:{reserved}px;--tm-reserve:{reserved}px"'
        page.set_viewport_size({"width": width, "height": 800})
        before = f'<p style="height:{above}px">Above</p>'
        page.goto(pages.host_page(before + pages.snippet(attributes=style) + below + pages.tag()))
        settle(page)
        settle_later(page)
        real = look(page, "root.querySelector('.tm').getBoundingClientRect().height")
        with case(reserved, width, above):
            if reserved < real:
                # That it is higher shows only where its lower end is in view.
                assert look(page, height) == real
                assert page.evaluate("shifted()") < (0.25 if above < 800 else 0.001)
                continue
            expected = reserved if above + real < 800 else real
            page.wait_for_function(f"() => {ROOT}.host.offsetHeight === Math.round({expected})")
            assert page.evaluate("shifted()") == 0
            # Nobody sees it go: it is out of view, or it goes with what somebody does.
            if expected == reserved:
                page.mouse.wheel(0, 100)
                page.mouse.click(5, 5)
                assert look(page, height) == real
                assert page.evaluate("shifted()") == 0


# Counts the cards that come in each task. A task of the highest priority is next after the one that
# asked for it, so however the script divides its work, it can't put a task of its own before.
COUNT_BY_TASK = """
window.cardsByTask = [];
let isSameTask = false;
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  const root = attach.call(this, options);
  new MutationObserver((records) => {
    const added = records.flatMap((record) => [...record.addedNodes]);
    const count = added.filter((node) => node.localName === 'li').length;
    if (!count) return;
    if (!isSameTask) {
      cardsByTask.push(0);
      isSameTask = true;
      scheduler.postTask(() => { isSameTask = false; }, { priority: 'user-blocking' });
    }
    cardsByTask[cardsByTask.length - 1] += count;
  }).observe(root, { childList: true, subtree: true });
  return root;
};
"""
# Looked at after each change inside, whether there is something to see at every moment.
LOOK_FOR_GAPS = """() => {
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
}"""


def test_fifty_come_two_a_task_and_the_link_stands_until_then(page, pages):
    """How many ms a task takes on a slow device is a figure of scripts/bench."""
    page.add_init_script(COUNT_BY_TASK)
    pages.feed["p1"] = feed(50, initialCount=50)
    page.goto(pages.host_page(pages.snippet()))
    page.evaluate(LOOK_FOR_GAPS)
    page.evaluate(
        "src => void document.head.append(Object.assign(document.createElement('script'), { src }))",
        pages.script_url,
    )
    settle(page)
    assert page.evaluate("gaps") == 0
    assert page.evaluate("looks") > 3
    counts = page.evaluate("cardsByTask")
    assert sum(counts) == 50
    assert max(counts) <= 2, counts


# --- Lifecycle -----------------------------------------------------------------------------------


def test_script_in_head_twice_and_several_projects(page, pages):
    pages.feed["p1"], pages.feed["p2"] = feed(3), feed(4, layout="list", theme="dark")
    snippets = "".join(pages.snippet(project) for project in ("p1", "p2", "p1"))
    page.goto(pages.host_page(pages.tag() + snippets + pages.tag()))
    settle(page, count=3)
    assert len([r for r in pages.requests if "/feed" in r]) == 3
    assert page.locator("li").count() == 10
    assert page.messages == []  # type: ignore[attr-defined]


def test_late_moved_changed_and_removed(page, pages):
    pages.feed["p1"], pages.feed["p2"] = feed(3), feed(4)
    page.goto(pages.host_page('<main id="a"></main><main id="b"></main>' + pages.tag()))
    page.evaluate("html => { a.innerHTML = html }", pages.snippet())
    settle(page)
    page.evaluate("b.append(a.firstChild)")
    page.evaluate(PAINTED)
    assert len([r for r in pages.requests if "/feed" in r]) == 1
    assert page.locator("li").count() == 3
    page.evaluate("b.firstChild.dataset.testimonialsProject = 'p2'")
    wait_for_count(page, 4)
    page.evaluate("window.kept = b.firstChild; kept.remove()")
    page.wait_for_function("kept.shadowRoot.querySelector('slot')")
    page.evaluate("a.append(kept)")
    page.wait_for_function("kept.shadowRoot.querySelectorAll('li').length === 4")


def test_a_hundred_mounts_leave_nothing_behind(page, pages):
    pages.feed["p1"] = feed(6, layout="carousel", animation="horizontal")
    page.goto(pages.host_page('<main id="a"></main>' + pages.tag()))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    counts, heaps = [], []
    mount = """async (html) => {
      for (let n = 0; n < 20; n += 1) {
        const stands = new Promise(done => a.addEventListener('testimonials:ready', done, { once: true }));
        a.innerHTML = html;
        await stands;
        a.replaceChildren();
      }
      events.length = 0;
    }"""
    for _ in range(5):
        page.evaluate(mount, pages.snippet())
        page.evaluate(PAINTED)
        session.send("HeapProfiler.collectGarbage")
        counters = session.send("Memory.getDOMCounters")
        counts.append((counters["jsEventListeners"], counters["nodes"]))
        metrics = session.send("Performance.getMetrics")["metrics"]
        heaps.append({each["name"]: each["value"] for each in metrics}["JSHeapUsedSize"])
    assert counts[-1][0] <= counts[0][0]
    assert counts[-1][1] <= counts[0][1] + 50
    # Eighty more of them: less than one widget's worth each would show.
    assert heaps[-1] - heaps[0] < 400_000, heaps
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.messages == []  # type: ignore[attr-defined]


# --- Carousels -----------------------------------------------------------------------------------


def test_still_carousel_by_keyboard(page, pages):
    page.set_viewport_size({"width": 360, "height": 700})
    open_widgets(page, pages, feed(7, layout="carousel"))
    expect(page.get_by_role("group", name="Testimonials", exact=True)).to_have_attribute(
        "aria-roledescription", "carousel"
    )
    status, dots = page.get_by_role("status"), page.locator(".dots button")
    assert dots.count() == 7
    page.keyboard.press("Tab")
    assert look(page, "root.activeElement.getAttribute('aria-disabled')") == "true"
    for name in [f"Page {n} of 7" for n in range(1, 8)] + ["Next"]:
        page.keyboard.press("Tab")
        assert look(page, "root.activeElement.getAttribute('aria-label')") == name
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(status).to_have_text("3 of 7")
    page.wait_for_function(f"{ROOT}.querySelector('.view').scrollLeft > 600")
    expect(page.locator("[aria-current=true]")).to_have_attribute("aria-label", "Page 3 of 7")
    dots.last.press("Enter")
    expect(status).to_have_text("7 of 7")
    page.wait_for_function(
        f"(v => v.scrollLeft + v.clientWidth + 2 > v.scrollWidth)({ROOT}.querySelector('.view'))"
    )
    following = page.get_by_role("button", name="Next")
    expect(following).to_have_attribute("aria-disabled", "true")
    for key in ("Tab", "Tab", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("[aria-current=true]")).to_have_attribute("aria-label", "Page 6 of 7")
    box = following.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 44


def test_a_still_carousel_loads_ahead_and_hangs_its_arrows_out(page, pages):
    data = feed(40, layout="carousel", initialCount=6)
    place = "['.arrow:last-child', '.view'].map(s => Math.round(root.querySelector(s).getBoundingClientRect().right))"
    for style, right, beside in [
        ("margin:0 36px", 1244 + 28, 1244),
        ("margin:0 20px", 1260, 1232),
        ("overflow:hidden;margin:0 36px", 1244, 1216),
    ]:
        before = f'<style>body{{margin:0}}</style><div style="{style}">'
        open_widgets(page, pages, data, before=before)
        assert look(page, place) == [right, beside]
    assert page.get_by_text("1 / 14", exact=True).is_visible()
    assert look(page, "host.dataset.testimonialsCount") == "6"
    following = page.get_by_role("button", name="Next")
    for shown in ("4–6", "7–9", "10–12", "13–15"):
        following.click()
        expect(page.get_by_role("status")).to_have_text(f"{shown} of 40")
    wait_for_count(page, 18)
    assert len({height for *_, height in boxes(page)}) == 1


def test_a_pause_in_the_scrolling_is_not_its_end(page, pages):
    """As between two frames of a slow device: the next press counts from where this one leads."""
    page.set_viewport_size({"width": 360, "height": 700})
    page.clock.install()
    open_widgets(page, pages, feed(12, layout="carousel"))
    look(
        page,
        """(view => {
          view.scrollTo = () => view.dispatchEvent(new Event('scroll'));
          root.querySelector('[aria-label=Next]').click();
        })(root.querySelector('.view'))""",
    )
    page.clock.run_for(1000)
    assert page.get_by_text("2 / 12", exact=True).is_visible()
    look(page, "root.querySelector('.view').dispatchEvent(new Event('scrollend'))")
    expect(page.get_by_text("1 / 12", exact=True)).to_be_visible()


# --- Colours, media, size ------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(page, pages, theme):
    more: dict[str, Any] = {"twitter": {"handle": "maya"}}
    items = [
        item(n, rating=n % 5 + 0.5, text="Words. " * n * 30, isSample=n == 1, **more)
        for n in range(1, 7)
    ]
    looks = {"theme": theme, "cardStyle": "gradient", "initialCount": 4}
    ground = "#0B0B0D" if theme == "dark" else "#FAFAFA"
    style = f"<style>body{{background:{ground};color:#71717A}}</style>"
    feeds = [feed(items=items, layout=layout, **looks) for layout in LAYOUTS]
    open_widgets(page, pages, *feeds, before=f"{style}<main><h1>Host</h1>")
    found = find_violations(page)
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_of_all_sixty(page, pages, case, theme):
    more: dict[str, Any] = {"isSample": True, "twitter": {"handle": "maya"}}
    items = [item(n, text="Words. " * 200, **more) for n in range(16)]
    read = """(() => {
        const rgb = c => '#' + c.match(/[\\d.]+/g).slice(0, 3).map(n => Math.round(n).toString(16).padStart(2, 0)).join(''), look = s => getComputedStyle(root.querySelector(s));
        const card = look('.card'), grounds = [...(card.backgroundImage.match(/rgb\\([^)]+\\)/g) || []), card.backgroundColor].map(rgb);
        const pairs = ['blockquote', '.more', '.name', '.role', '.card a', '.sample', 'time'].flatMap(s => grounds.map(g => [s, rgb(look(s).color), g, 4.5]));
        for (const face of root.querySelectorAll('.avatar')) pairs.push(['avatar', rgb(getComputedStyle(face).color), rgb(getComputedStyle(face).backgroundColor), 4.5]);
        for (const s of ['.button', '.button span', '.cta']) { const b = look(s.split(' ')[0]); pairs.push([s, rgb(look(s).color), rgb(b.backgroundColor), 4.5]); }
        return pairs })()"""
    kinds = sample(itertools.product(PALETTES, STYLES), 8, seed=len(theme))
    changes: dict[str, Any] = {"design": {"dateStyle": "absolute"}, "initialCount": 14}
    feeds = [
        feed(items=items, theme=theme, palette=palette, cardStyle=style, **changes)
        for palette, style in kinds
    ]
    open_widgets(page, pages, *feeds)
    for n, kind in enumerate(kinds):
        with case(*kind):
            for what, front, ground, least in look(page, read, n):
                assert contrast(front, ground) >= least, (what, front, ground)


def test_forced_colours_keep_borders_and_stars(page, pages):
    page.emulate_media(forced_colors="active", color_scheme="dark")
    open_widgets(
        page, pages, feed(2, cardStyle="quote"), feed(items=[item(0, highlights=[[0, 3]])])
    )
    settle_later(page)
    # The text of a mark has the color that goes with this ground.
    marked = "getComputedStyle(root.querySelector('.mark')).backgroundColor"
    assert look(page, marked, 1) == "rgb(255, 255, 0)"
    assert styles(page, ".card", "borderTopColor") != ["rgba(0, 0, 0, 0)"]
    assert styles(page, ".stars svg", "fill") == styles(page, "blockquote", "color")


def test_print_shows_everything_still(page, pages, case):
    long = [item(n, text="One line.\n" * 12) for n in range(6)]
    kinds = [("masonry", "none"), ("carousel", "vertical"), ("carousel", "horizontal")]
    feeds = [feed(items=long, layout=layout, animation=animation) for layout, animation in kinds]
    open_widgets(page, pages, *feeds)
    settle_later(page)
    page.emulate_media(media="print")
    whole = "[...root.querySelectorAll('li:not([inert]) blockquote')].every(q => q.scrollHeight === q.clientHeight && q.clientHeight >= 312)"
    fits = "(view => view.scrollWidth <= view.clientWidth)(root.querySelector('.view'))"
    for n, kind in enumerate(kinds):
        with case(*kind):
            assert look(page, whole, n)
            assert look(page, "getComputedStyle(root.querySelector('ul')).transform", n) == "none"
            assert look(page, fits, n)
            assert not widget(page, n).get_by_role("button").first.is_visible()
