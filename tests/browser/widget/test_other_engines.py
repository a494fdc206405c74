"""What visitors with Firefox and Safari get: the same widget, in Firefox and WebKit themselves."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.engines import Engine, start_firefox, start_webkit
from tests.browser.widget.conftest import Pages, badge, feed, item
from tests.browser.widget.test_server_rendered_widget import PEOPLE, READ

STARTERS = {"firefox": start_firefox, "webkit": start_webkit}
# Before the widget's script: what goes wrong, from the first moment on. Its name lets it pass where
# a policy allows no other script of the page.
WATCH = """<script nonce="watch">
window.complaints = [];
addEventListener('securitypolicyviolation', (e) => complaints.push(e.violatedDirective));
addEventListener('error', (e) => complaints.push(e.message));
addEventListener('unhandledrejection', (e) => complaints.push(String(e.reason)));
console.warn = console.error = (...words) => complaints.push(words.join(' '));
</script>"""
# The names that the scripts of these tests use.
NAMES = """
const host = document.querySelector('[data-testimonials-project]'), root = host.shadowRoot;
const find = (selector) => root.querySelector(selector);
const all = (selector) => [...root.querySelectorAll(selector)];
const place = ({ left, top, width, height }) => [left, top, width, height].map(Math.round);
const boxes = (root) => [...root.querySelectorAll('li:not([inert])')].map((li) => place(li.getBoundingClientRect()));
const colour = () => getComputedStyle(find('.card')).backgroundColor;
return """
ROOT = "document.querySelector('[data-testimonials-project]').shadowRoot"
SCROLLED = f"{ROOT}.querySelector('.view').scrollLeft"
# Which of the dots below a carousel is the current one.
DOT = f"[...{ROOT}.querySelectorAll('.dots button')].findIndex((dot) => dot.matches('[aria-current=true]'))"
WHITE, BLACK = "rgb(255, 255, 255)", "rgb(23, 24, 30)"


@pytest.fixture(scope="module", params=STARTERS)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The browser, started once for all tests of it."""
    with STARTERS[request.param]() as engine:
        yield engine


def look(engine: Engine, expression: str) -> Any:
    """Return the value of an expression about the first widget of the page."""
    return engine.run(NAMES + expression)


def settle(engine: Engine, count: int = 1, state: str = "ready") -> None:
    """Wait until so many widgets stand."""
    selector = f"[data-testimonials-state={state}]"
    engine.wait(f"document.querySelectorAll('{selector}').length === {count}")


def show(engine: Engine, pages: Pages, data: dict[str, Any], **how: Any) -> None:
    """Open a page with one widget, `before` which there may be other elements."""
    pages.feed["p1"] = data
    body = WATCH + how.pop("before", "") + pages.snippet("p1", how.pop("attributes", ""))
    engine.open(pages.host_page(body + pages.tag(), **how))
    settle(engine)


def click(engine: Engine, label: str) -> None:
    """Press the mouse on the button with this label or text."""
    button = f"all('button').find((b) => (b.ariaLabel ?? b.textContent) === '{label}')"
    left, top, width, height = look(engine, f"place({button}.getBoundingClientRect())")
    engine.click(left + width / 2, top + height / 2)


def watch_is_quiet(engine: Engine) -> None:
    """Check that nothing went wrong on the page."""
    assert engine.run("return window.complaints") == []


def test_columns_follow_the_container(engine, pages):
    widths = {360: 1, 600: 2, 1000: 3}
    pages.feed["p1"] = feed(12)
    divs = [f'<div style="width:{width}px">{pages.snippet()}</div>' for width in widths]
    engine.open(pages.host_page(WATCH + "".join(divs) + pages.tag()))
    settle(engine, len(widths))
    hosts = "[...document.querySelectorAll('[data-testimonials-project]')]"
    masonry = look(engine, f"{hosts}.map((h) => boxes(h.shadowRoot))")
    for found, columns in zip(masonry, widths.values(), strict=True):
        lefts = {left for left, *_ in found}
        assert len(lefts) == columns
        for left in lefts:
            column = sorted(box for box in found if box[0] == left)
            for (_, top, _, height), (_, below, _, _) in itertools.pairwise(column):
                assert 19 <= below - top - height <= 21
    watch_is_quiet(engine)


def test_a_still_carousel_snaps_and_is_used_by_mouse_and_keyboard(engine, pages):
    items = [item(n, text="A long tale, told again. " * (n % 4 * 6 + 2)) for n in range(1, 13)]
    show(engine, pages, feed(items=items, layout="carousel"), before='<div style="width:700px">')
    assert engine.run(f"return {DOT}") == 0
    assert look(engine, "find('.view').scrollLeft") == 0
    assert "mandatory" in look(engine, "getComputedStyle(find('.view')).scrollSnapType")
    click(engine, "Next")
    # Two cards of 312 px and two gaps of 20 px.
    engine.wait(f"{SCROLLED} === 664")
    engine.wait(f"{DOT} === 1")
    # After its buttons comes the carousel itself, which the arrows scroll.
    engine.press("Tab")
    assert look(engine, "root.activeElement.className") == "view"
    engine.press("ArrowRight")
    engine.wait(f"{SCROLLED} > 664")
    watch_is_quiet(engine)


def test_a_moving_carousel_moves_until_paused(engine, pages):
    show(engine, pages, feed(12, layout="carousel", animation="horizontal"))
    run = "find('ul').getAnimations().map((run) => run.playState)"
    assert look(engine, run) == ["running"]
    assert look(engine, "all('li[inert][aria-hidden=true]').length") >= 4
    engine.wait(f"new DOMMatrix(getComputedStyle({ROOT}.querySelector('ul')).transform).m41 < -4")
    click(engine, "Pause")
    assert look(engine, run) == ["paused"]
    click(engine, "Play")
    assert look(engine, run) == ["running"]
    watch_is_quiet(engine)


def test_shapes(engine, pages):
    items = [item(n, text="Words. " * 60, authorRole="A long role " * 8) for n in range(6)]
    pages.feed["p1"] = feed(items=items, layout="carousel") | {"shape": "strip"}
    pages.feed["p2"] = badge("badge")
    engine.open(pages.host_page(WATCH + "".join(map(pages.snippet, pages.feed)) + pages.tag()))
    settle(engine, 2)
    strip = look(engine, "boxes(root)")
    assert {width for _, _, width, _ in strip} == {320}
    assert max(height for *_, height in strip) <= 190
    root = "document.querySelectorAll('[data-testimonials-project]')[1].shadowRoot"
    link = f"{root}.querySelector('a.badge')"
    _, _, width, height = look(engine, f"place({link}.getBoundingClientRect())")
    assert (height, width < 340) == (44, True)
    watch_is_quiet(engine)


def test_auto_follows_the_color_scheme_of_the_page(engine, pages):
    show(engine, pages, feed(2, theme="dark"), attributes='data-testimonials-theme="auto"')
    assert look(engine, "colour()") == WHITE
    engine.run("document.documentElement.style.colorScheme = 'dark'")
    assert look(engine, "colour()") == BLACK
    watch_is_quiet(engine)


def test_a_long_word_overflows_nothing_at_320(engine, pages):
    word = "W" * 2000
    people = {"authorName": word, "authorRole": word, "twitter": {"handle": word}}
    items = [item(1, text=word, **people), item(2)]
    layouts = ("masonry", "carousel", "list")
    pages.feed |= {layout: feed(items=items, layout=layout) for layout in layouts}
    inner = pages.host_page(WATCH + "".join(map(pages.snippet, layouts)) + pages.tag())
    # The window of a browser is never that narrow; a frame is a viewport as well.
    engine.open(pages.host_page(f'<iframe src="{inner}" width="320" height="800"></iframe>'))
    ready = "frames[0]?.document.querySelectorAll('[data-testimonials-state=ready]')"
    engine.wait(f"{ready}?.length === 3")
    assert engine.run("return frames[0].document.documentElement.scrollWidth") <= 320
    cards = f"[...{ready}].flatMap((host) => [...host.shadowRoot.querySelectorAll('.card')])"
    assert engine.run(f"return {cards}.every((c) => c.scrollWidth <= c.clientWidth)")
    assert engine.run("return frames[0].complaints") == []


def test_writing_to_the_left_mirrors_and_texts_keep_their_side(engine, pages):
    data = feed(6, layout="carousel", cardStyle="stripe", design={"dateStyle": "absolute"})
    data["items"][1].update(text="خدمة رائعة وسريعة.", authorName="ليلى حداد", rating=3.5)
    # The side of their card on which the words, the name and the picture stand.
    sides = """[0, 1].map((i) => ['.text', '.name', '.avatar'].map((selector) => {
      const range = document.createRange();
      range.selectNodeContents(all(selector)[i]);
      const [words, box] = [range, all('.card')[i]].map((each) => each.getBoundingClientRect());
      return words.left - box.left <= box.right - words.right ? 'left' : 'right';
    }))"""
    show(engine, pages, data, before='<div style="width:700px">')
    # A whole card goes by its words, whatever is around it.
    assert look(engine, sides) == [["left"] * 3, ["right"] * 3]
    show(engine, pages, data, before='<div style="width:700px" dir="rtl">')
    assert look(engine, "find('.view').scrollLeft") == 0
    assert look(engine, sides) == [["left"] * 3, ["right"] * 3]
    # Not 2026 Mar 12.
    day, year = look(
        engine,
        """[[0, 2], [7, 11]].map(([from, to]) => {
      const range = document.createRange(), node = find('time bdi').firstChild;
      range.setStart(node, from);
      range.setEnd(node, to);
      return range.getBoundingClientRect().left;
    })""",
    )
    assert day < year
    bar = "const bar = getComputedStyle(card, '::before')"
    edges = f"all('.card').slice(0, 2).map((card) => {{ {bar}; return [bar.left, bar.right]; }})"
    (left, _), (_, right) = look(engine, edges)
    assert left == right == "-1px"
    first, second, *_ = look(engine, "boxes(root)")
    assert first[0] > second[0]
    click(engine, "Next")
    engine.wait(f"{SCROLLED} < -300")
    engine.wait(f"{DOT} === 1")
    watch_is_quiet(engine)


def test_a_strict_policy_has_nothing_to_refuse(engine, pages):
    policy = (
        f"default-src 'none'; script-src {pages.base} 'nonce-watch'; connect-src {pages.base}; "
        f"img-src {pages.base} data:; style-src 'self'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    # The sheet of the widget itself is in force, and that of the piece.
    sheets = {"masonry": ("button", "minHeight"), "carousel": ("arrow", "height")}
    for layout, (button, height) in sheets.items():
        data = feed(12, layout=layout, animation="horizontal", cardStyle="quote", initialCount=6)
        data["items"][0]["authorAvatar"] = f"{pages.base}/media/good.png"
        show(engine, pages, data, csp=policy)
        engine.wait(f"{ROOT}.querySelector('img').naturalWidth > 0")
        assert look(engine, f"getComputedStyle(find('.{button}')).{height}") == "44px"
        watch_is_quiet(engine)


def test_removed_inserted_again_and_failed(engine, pages):
    show(engine, pages, feed(6, layout="carousel", animation="horizontal"), before="<main></main>")
    engine.run("window.kept = document.querySelector('[data-testimonials-project]'); kept.remove()")
    engine.wait("!kept.shadowRoot.querySelector('li')")
    engine.run("document.querySelector('main').append(kept)")
    engine.wait("kept.shadowRoot.querySelectorAll('li:not([inert])').length === 6")
    watch_is_quiet(engine)
    engine.run("kept.dataset.testimonialsProject = 'unknown'")
    settle(engine, state="error")
    shown = "kept.querySelector('a').checkVisibility() && kept.querySelector('a').offsetHeight > 9"
    assert engine.run(f"return {shown}")
    complaints = engine.run("return window.complaints")
    assert [each.split()[0] for each in complaints] == ["Testimonials"]


def test_what_the_server_renders_is_the_same(site, engine, pages, project):
    for name, role, rating, text in PEOPLE:
        body = {"authorName": name, "authorRole": role, "text": text}
        project.call("POST", "/testimonials", body | ({"rating": rating} if rating else {}))
    snippet = project.call("GET", "/embed-snippet")
    engine.open(pages.host_page(WATCH + snippet["container"] + snippet["script"]))
    settle(engine)
    expected = look(engine, f"({READ})(root)")
    assert len(expected) == len(PEOPLE)
    watch_is_quiet(engine)
    engine.open(f"{site.url}/{project.slug}/wall")
    assert engine.run(f"return ({READ})(document.querySelector('div.tm-page'))") == expected
    corners = "(box) => [box.left, box.top].map(Math.round)"
    cards = "[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect())"
    tops: dict[int, int] = {}
    for left, top in engine.run(f"return {cards}.map({corners})"):
        tops[left] = min(top, tops.get(left, top))
    assert len(tops) > 1
    assert len(set(tops.values())) == 1
    fragment = site.service.call("GET", f"/widget/{project.id}/fragment").body.decode()
    engine.open(pages.host_page(fragment))
    built = "document.querySelector('div').shadowRoot"
    assert engine.run(f"return ({READ})({built})") == expected
    stars = f"{built}.querySelector('.stars').getBoundingClientRect()"
    assert engine.run(
        f"const {{ width, height }} = {stars}; return [width, height]"
    ) == pytest.approx([86.4, 16], abs=0.1)
