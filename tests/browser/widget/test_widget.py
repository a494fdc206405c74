"""The embeddable widget in a real browser, on a host page of another origin than its own.

The feed is written by each test, so that every combination, failure and hostile value can be shown;
`test_snippet_on_another_origin` and `test_journey` show the same script on the feed of the service.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Page, expect

from testimonials.projects.configuration.widget_design import read_look
from testimonials.widget.design.colours import read_colours, write_colours
from testimonials.widget.design.words import WORDS
from testimonials.widget.script.assembly import MODULES, build_module, build_script, module_digest
from tests.browser.axe import find_violations
from tests.support.sampling import sample
from tests.support.servers import PATIENCE

pytestmark = pytest.mark.browser
PALETTES = ["neutral", "indigo", "emerald", "amber", "rose", "sky"]
STYLES = ["default", "quote", "stripe", "gradient", "outlined"]
LAYOUTS = ["masonry", "carousel", "list"]


# --- What the tests need from a server; everything below this block only uses `site`. -------------


class Site:
    """Two origins: host pages on one, the script and the feeds on the other."""

    def __init__(self) -> None:
        self.feed: dict[str, dict[str, Any]] = {}  # project id -> {config, items, cta, ...}
        self.broken: set[str] = set()  # project ids whose feed answers 500
        self.requests: list[str] = []
        self.pages: dict[str, tuple[str, str | None]] = {}
        self._servers = [self._serve(self._host), self._serve(self._service)]
        self.host_url, self.base = (f"http://127.0.0.1:{s.server_port}" for s in self._servers)
        self.script_url = f"{self.base}/widget/v1.js"

    def host_page(self, html_body: str, csp: str | None = None, lang: str = "en") -> str:
        path = f"/{len(self.pages)}"
        head = '<meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">'
        html = (
            f'<!doctype html><html lang="{lang}"><head>{head}</head><body>{html_body}</body></html>'
        )
        self.pages[path] = (html, csp)
        return self.host_url + path

    def snippet(self, project: str = "p1", attributes: str = "") -> str:
        return (
            f'<div data-testimonials-project="{project}" {attributes}>'
            f'<a href="{self.base}/widget/{project}">Read our testimonials</a></div>'
        )

    def tag(self) -> str:
        return f'<script src="{self.script_url}" async></script>'

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _host(self, path: str) -> tuple[int, str, bytes, str | None]:
        html, csp = self.pages.get(path, ("", None))
        return 200, "text/html", html.encode(), csp

    def _service(self, path: str) -> tuple[int, str, bytes, str | None]:
        url = urlparse(path)
        self.requests.append(path)
        if url.path == "/widget/v1.js":
            return 200, "text/javascript; charset=utf-8", build_script(), None
        for name in MODULES:
            if url.path == f"/widget/v1-{module_digest(name)}.js":
                return 200, "text/javascript; charset=utf-8", build_module(name), None
        if url.path.endswith("/good.png"):
            return 200, "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>', None
        project = url.path.split("/")[2] if url.path.endswith("/feed") else ""
        if project not in self.feed:
            return 404, "text/plain", b"", None
        if project in self.broken:
            return 500, "text/plain", b"", None
        body = dict(self.feed[project])
        items, size = body["items"], body["config"]["initialCount"]
        after = int(parse_qs(url.query).get("after", ["0"])[0])
        body.setdefault("total", len(items))
        body["items"] = items[after : after + size]
        body["next"] = str(after + size) if after + size < len(items) else None
        return 200, "application/json", json.dumps(body).encode(), None

    @staticmethod
    def _serve(answer: Any) -> ThreadingHTTPServer:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body, csp = answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Cache-Control", "no-store")
                if csp:
                    self.send_header("Content-Security-Policy", csp)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


# --- Helpers -------------------------------------------------------------------------------------

ROOT = "document.querySelector('[data-testimonials-project]').shadowRoot"
# Counts violations, uncaught errors and layout shifts from the first moment of a page.
WATCH = """
window.violations = []; window.errors = []; window.cls = 0; window.events = [];
document.addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective));
addEventListener('error', e => errors.push(e.message));
addEventListener('unhandledrejection', e => errors.push(String(e.reason)));
for (const name of ['ready', 'error'])
  document.addEventListener('testimonials:' + name, e => events.push([name, e.detail]));
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) cls += e.value; }))
  .observe({ type: 'layout-shift', buffered: true });
"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="no-preference"
    )
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.add_init_script(WATCH)
    page.messages = []  # type: ignore[attr-defined]
    page.on("console", lambda m: page.messages.append((m.type, m.text)))  # type: ignore[attr-defined]
    page.on("pageerror", lambda e: page.messages.append(("pageerror", str(e))))  # type: ignore[attr-defined]
    yield page
    if not page.is_closed():
        assert page.evaluate("window.errors || []") == []
    context.close()


def config(**changes: Any) -> dict[str, Any]:
    return {
        "theme": "light", "layout": "masonry", "animation": "none", "palette": "indigo",
        "cardStyle": "default", "initialCount": 12, "showStars": True, "showDates": True,
        "showSource": True, "showCtaButton": True, **changes,
    }  # fmt: skip


def item(n: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"t{n}", "authorName": f"Maya Kowalski {n}", "authorRole": "Owner",
        "authorCompany": "Fern & Fable", "text": f"Number {n}. " + "We switched on a Tuesday. " * (n % 5 + 1),
        "rating": 5, "submittedAt": f"2026-03-{n % 28 + 1:02}T09:30:00.000Z", **changes,
    }  # fmt: skip


ENGLISH = WORDS | {
    "rated": "Rated {rating} out of 5", "progress": "{n} of {total}", "page": "Page {n} of {total}",
    "reply": "Reply from {name}", "ratings": "{n} ratings",
}  # fmt: skip


def feed(
    count: int = 6,
    items: list[dict[str, Any]] | None = None,
    design: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """Return what the service would send: its design differs from the defaults as `design` says."""
    settings, chosen = config(**changes), design or {}
    return {
        "project": {"id": "p1", "name": "Fern & Fable", "active": True},
        "config": settings,
        "design": read_look(chosen),
        "colours": write_colours(read_colours(settings, chosen)),
        "lang": "en",
        "words": ENGLISH | chosen.get("labels", {}),
        "cta": {"label": "Share your experience", "url": "https://example.com/fern"},
        "items": [item(n) for n in range(1, count + 1)] if items is None else items,
    }


def open_widget(
    page: Page,
    site: Site,
    data: dict[str, Any],
    *,
    before: str = "",
    attributes: str = "",
    **how: Any,
) -> None:
    site.feed["p1"] = data
    page.goto(site.host_page(before + site.snippet("p1", attributes) + site.tag(), **how))
    settle(page)


def settle(page: Page, state: str = "ready", count: int = 1) -> None:
    page.wait_for_function(
        "([s, n]) => document.querySelectorAll(`[data-testimonials-state=${s}]`).length === n",
        arg=[state, count],
    )


def host(page: Page, script: str) -> Any:
    """The value of an expression in which `host` is the div and `root` its shadow root."""
    return page.evaluate(
        f"(() => {{ const host = document.querySelector('[data-testimonials-project]'), root = host.shadowRoot; return {script} }})()"
    )


def boxes(page: Page) -> list[list[float]]:
    found = "[...root.querySelectorAll('li:not([inert])')].map(li => li.getBoundingClientRect())"
    return host(page, f"{found}.map(b => [b.left, b.top, b.width, b.height].map(Math.round))")


# --- Layouts -------------------------------------------------------------------------------------


# How much space was added to the card that got most of it.
HOLES = """Math.max(...[...root.querySelectorAll('.card')].map((card) => {
    const before = card.querySelector('.author').previousElementSibling;
    const words = before.hidden ? before.previousElementSibling : before;
    return card.querySelector('.author').offsetTop - words.offsetTop - words.offsetHeight - 12;
}))"""


@pytest.mark.parametrize(("width", "columns"), [(360, 1), (768, 2), (1000, 3), (1280, 4)])
def test_masonry_columns_follow_the_container(
    page: Page, site: Site, width: int, columns: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_widget(page, site, feed(12))
    found = boxes(page)
    assert len({left for left, *_ in found}) == columns
    for left in {left for left, *_ in found}:
        column = sorted(box for box in found if box[0] == left)
        for (_, top, _, height), (_, below, _, _) in itertools.pairwise(column):
            assert 19 <= below - top - height <= 21
    # All end at the same height, and nobody's card has a hole between words and author.
    ends = [max(top + height for x, top, _, height in found if x == left) for left, *_ in found]
    assert max(ends) - min(ends) <= 1
    assert host(page, HOLES) <= 40
    if columns > 1:
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function(
            "document.querySelector('[data-testimonials-project]').shadowRoot.querySelector('ul').matches(':not(.packed)')"
        )
        assert len({left for left, *_ in boxes(page)}) == 1


def test_masonry_is_right_when_shown_later(page: Page, site: Site) -> None:
    open_widget(page, site, feed(8), before='<section id="tab" style="display:none">')
    page.evaluate("document.getElementById('tab').style.display = 'block'")
    page.wait_for_function(
        "document.querySelector('[data-testimonials-project]').shadowRoot.querySelector('.packed')"
    )
    assert len({left for left, *_ in boxes(page)}) == 4


@pytest.mark.parametrize("count", range(2, 8))
def test_few_cards_fill_their_rows(page: Page, site: Site, count: int) -> None:
    """Under two cards a column, there are rows of cards that are equally high."""
    open_widget(page, site, feed(count))
    rows: dict[int, list[list[float]]] = {}
    for box in boxes(page):
        rows.setdefault(round(box[1]), []).append(box)
    assert len(rows) == -(-count // 4)
    for row in rows.values():
        assert row[0][0] == 8
        assert round(row[-1][0] + row[-1][2]) == 1272
        assert len({height for *_, height in row}) == 1


@pytest.mark.parametrize("featured", ["soft", "solid", "off"])
def test_the_first_pinned_is_featured(page: Page, site: Site, featured: str) -> None:
    page.set_viewport_size({"width": 1000, "height": 800})
    items = [item(n, pinned=n < 3 or None) for n in range(1, 10)]
    open_widget(page, site, feed(items=items, design={"featured": featured}))
    first, *others = (width for _, _, width, _ in boxes(page))
    assert len(set(others)) == 1
    assert first == (others[0] if featured == "off" else 2 * others[0] + 20)
    assert host(page, f"root.querySelectorAll('.featured.{featured}').length") == (
        featured != "off"
    )


def test_header_counts_all_ratings(page: Page, site: Site) -> None:
    people = [{"name": f"Maya {n}", "avatar": None} for n in range(5)]
    header = {"average": 5, "count": 1280, "loved": 1200, "faces": people}
    data = feed(3, design={"showHeader": True}) | {"header": header}
    open_widget(page, site, data, before='<h2 style="font-family:Georgia">Host</h2>')
    head = page.locator(".head")
    assert head.inner_text().split("\n")[:2] == ["5.0", "1,280 ratings"]
    assert head.locator(".avatar").count() == 5
    assert host(page, "getComputedStyle(root.querySelector('.average')).fontFamily") == "Georgia"
    page.set_viewport_size({"width": 400, "height": 800})
    expect(head.locator(".faces")).to_be_hidden()
    open_widget(page, site, data | {"header": header | {"count": 0}})
    assert head.count() == 0


def test_list_is_one_column_of_960(page: Page, site: Site) -> None:
    open_widget(page, site, feed(3, layout="list"))
    assert {(left, width) for left, _, width, _ in boxes(page)} == {(160, 960)}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("animation", ["none", "horizontal"])
def test_one_alone_is_centred_and_still(
    page: Page, site: Site, layout: str, animation: str
) -> None:
    open_widget(page, site, feed(1, layout=layout, animation=animation))
    assert [box[::2] for box in boxes(page)] == [[360, 560]]
    assert page.get_by_role("button").count() == 0


def test_meaning(page: Page, site: Site) -> None:
    open_widget(page, site, feed(2, design={"dateStyle": "absolute"}))
    assert (
        host(
            page,
            "root.querySelectorAll('ul > li > figure > blockquote + button + figcaption').length",
        )
        == 2
    )
    assert host(page, "root.querySelector('time').dateTime") == "2026-03-02T09:30:00.000Z"
    assert page.get_by_text("Owner, Fern & Fable").count() == 2
    assert host(page, "host.dataset.testimonialsCount") == "2"
    assert page.evaluate("events") == [["ready", {"projectId": "p1", "count": 2, "total": 2}]]
    assert page.messages == []  # type: ignore[attr-defined]


# --- Hostile input and hostile pages -------------------------------------------------------------


def test_every_field_is_text(page: Page, site: Site) -> None:
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
    open_widget(page, site, data)
    assert page.locator("blockquote").first.inner_text() == evil
    assert host(page, "root.querySelectorAll('img, script').length") == 0
    assert host(page, "[...root.querySelectorAll('a')].every(a => a.protocol === 'https:')")
    assert page.get_by_role("img", name="Rated 5 out of 5").count() == 1


def test_strict_csp_and_trusted_types(page: Page, site: Site) -> None:
    csp = (
        f"default-src 'none'; script-src {site.base}; connect-src {site.base}; img-src {site.base} data:; "
        "style-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    for layout, animation in [
        *((layout, "none") for layout in LAYOUTS),
        ("carousel", "horizontal"),
    ]:
        data = feed(12, layout=layout, animation=animation, cardStyle="quote", initialCount=6)
        data["items"][0]["authorAvatar"] = f"{site.base}/media/good.png"
        open_widget(page, site, data, csp=csp)
        if animation == "none":
            name = "Next" if layout == "carousel" else "Show more"
            page.get_by_role("button", name=name).click()
            page.wait_for_selector("[data-testimonials-count='12']", state="attached")
        assert page.evaluate("violations") == []
        assert page.messages == []  # type: ignore[attr-defined]


def test_looks_the_same_on_a_hostile_page(page: Page, site: Site) -> None:
    look = """[...root.querySelectorAll('*:not(path, svg svg)')].map(e => { const b = e.getBoundingClientRect(), s = getComputedStyle(e);
        return [e.localName, b.width, b.height, b.left, s.color, s.backgroundColor, s.font, s.letterSpacing, s.textTransform].join() })"""
    open_widget(
        page,
        site,
        feed(6),
        before="<style>body{margin:8px!important;display:block!important}</style>",
    )
    calm = host(page, look)
    css = (
        "*{all:unset!important}html{display:block!important;font-size:62.5%!important}"
        "body{display:block!important;margin:8px!important;text-transform:uppercase;letter-spacing:3px;line-height:3;color:red;text-align:center}"
        "div{display:none!important;visibility:hidden!important;opacity:0!important;float:right!important;width:10px!important}"
        "button,a,li,figure,svg{color:red!important;display:none!important}"
    )
    open_widget(page, site, feed(6), before=f"<style>{css}</style>")
    assert host(page, look) == calm
    assert page.get_by_role("link", name="Share your experience").is_visible()


def test_nothing_else_on_the_page_changes(page: Page, site: Site) -> None:
    site.feed["p1"] = feed(3)
    page.goto(site.host_page('<main id="m"><p>Before</p></main>' + site.snippet()))
    before = page.evaluate("Object.getOwnPropertyNames(window)")
    html = page.content()
    page.add_script_tag(url=site.script_url)
    settle(page)
    assert set(page.evaluate("Object.getOwnPropertyNames(window)")) - set(before) <= {
        "__testimonials"
    }
    page.evaluate("document.querySelector('script[src]').remove()")
    page.evaluate(
        "['State', 'Count'].forEach(n => delete document.querySelector('[data-testimonials-project]').dataset['testimonials' + n])"
    )
    assert page.content() == html
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == [
        "",
        0,
        0,
    ]


# --- Cards ---------------------------------------------------------------------------------------


def test_stars_name_and_clip_the_fraction(page: Page, site: Site) -> None:
    ratings = [4.5, 5, 1, 3.25, None, 0, "5"]
    items = [item(n, rating=rating) for n, rating in enumerate(ratings)]
    open_widget(page, site, feed(items=items))
    labels = host(
        page, "[...root.querySelectorAll('.stars')].map(s => s.getAttribute('aria-label'))"
    )
    assert labels[:3] == ["Rated 4.5 out of 5", "Rated 5 out of 5", "Rated 1 out of 5"]
    # A star is 20 wide, the gap 2: four and a half stars end at 4 x 22 + 10, the last gap is outside.
    assert host(
        page, "[...root.querySelectorAll('.stars svg')].slice(0, 2).map(s => s.width.baseVal.value)"
    ) == [98, 110]


def test_switches(page: Page, site: Site) -> None:
    one = item(1, twitter={"handle": "@maya_k"}, isSample=True)
    open_widget(page, site, feed(items=[one]))
    link = page.get_by_role("link", name="@maya_k")
    assert (link.get_attribute("href"), link.get_attribute("rel")) == (
        "https://x.com/maya_k",
        "noopener nofollow",
    )
    assert page.get_by_text("Sample", exact=True).is_visible()
    assert (
        page.get_by_role("link", name="Share your experience").get_attribute("href")
        == "https://example.com/fern"
    )
    off = feed(items=[one], showStars=False, showDates=False, showSource=False, showCtaButton=False)
    open_widget(page, site, off)
    assert (
        page.get_by_role("img").count()
        == page.get_by_role("link").count()
        == page.locator("time").count()
        == 0
    )
    assert page.locator(".role").all_inner_texts() == ["Owner"]
    assert page.get_by_text("Sample", exact=True).is_visible()


def test_faces(page: Page, site: Site) -> None:
    names = ["Maya Kowalski", "佐藤 美咲", "🎉 🎊", "Zoë", "Jean-Luc de la Tour (CEO)", "नेहा शर्मा"]
    items = [item(n, authorName=name) for n, name in enumerate(names)]
    items += [
        item(7, authorAvatar=f"{site.base}/media/good.png"),
        item(8, authorAvatar=f"{site.base}/media/missing.png"),
    ]
    open_widget(page, site, feed(items=items))
    page.wait_for_function(
        "document.querySelector('[data-testimonials-project]').shadowRoot.querySelectorAll('img').length === 1"
    )
    assert page.locator(".avatar").all_inner_texts()[:6] == ["MK", "佐美", "★", "Z", "JC", "नेश"]
    assert host(
        page,
        "(({ alt, loading, referrerPolicy }) => [alt, loading, referrerPolicy])(root.querySelector('img'))",
    ) == ["", "lazy", "no-referrer"]


@pytest.mark.parametrize(
    ("lang", "style", "shown"),
    [
        ("de", "absolute", "12. März 2026"),
        ("ja", "absolute", "2026年3月12日"),
        ("en-US", "month", "Mar 2026"),
        ("not a tag!", "absolute", "Mar 12, 2026"),
        ("en-GB", "relative", "2 weeks ago"),
        ("fr", "relative", "il y a 2 semaines"),
    ],
)
def test_dates_speak_the_language_of_the_page(
    page: Page, site: Site, lang: str, style: str, shown: str
) -> None:
    page.clock.set_fixed_time("2026-03-27T12:00:00Z")
    when = item(1, submittedAt="2026-03-12T09:30:00.000Z")
    open_widget(page, site, feed(items=[when], design={"dateStyle": style}), lang=lang)
    assert page.locator("time").inner_text() == shown
    of_data = [url for url in site.requests if urlparse(url).path.endswith("/feed")]
    asked = parse_qs(urlparse(of_data[-1]).query)["lang"]
    assert asked == ["en" if "!" in lang else lang[:2]]


def test_a_date_that_half_of_them_share_says_nothing(page: Page, site: Site) -> None:
    same = [item(n, submittedAt="2026-03-12T09:30:00.000Z") for n in range(4)]
    for items, style, shown in [
        (same, "month", 0),
        (same, "absolute", 4),
        ([item(1, submittedAt="2025-01-01T00:00:00.000Z"), *same[:2]], "month", 0),
        ([item(n, submittedAt=f"2025-0{n}-01T00:00:00.000Z") for n in range(1, 5)], "month", 4),
    ]:
        open_widget(page, site, feed(items=items, design={"dateStyle": style}))
        assert page.locator("time").count() == shown


def test_words_are_sized_by_their_length_and_highlighted(page: Page, site: Site) -> None:
    texts = ["Short.", "W" * 65, "W" * 141, "山" * 33, "🎉 Great, they said."]
    items = [item(n, text=words) for n, words in enumerate(texts)]
    items[4]["highlights"] = [[2, 7], [14, 18]]
    items[4]["reply"] = {"text": "Thank you.", "repliedAt": None}
    open_widget(page, site, feed(items=items))
    sizes = "[...root.querySelectorAll('.text')].map(t => getComputedStyle(t).fontSize)"
    assert host(page, sizes) == ["22px", "18px", "16px", "18px", "22px"]
    assert page.locator("mark").all_inner_texts() == ["Great", "said"]
    assert page.locator(".text").last.inner_text() == texts[4]
    assert page.locator(".reply b").inner_text() == "Reply from Fern & Fable"
    assert page.locator(".reply p").inner_text() == "Thank you."
    open_widget(page, site, feed(items=items, design={"showHighlights": False}))
    assert page.locator("mark").count() == 0


def test_long_text_opens_and_closes(page: Page, site: Site) -> None:
    open_widget(page, site, feed(items=[item(1, text="One line.\n" * 12), item(2)]))
    assert page.get_by_role("button", name="Read more").count() == 1
    assert host(page, "root.querySelector('blockquote').clientHeight") == 8 * 28
    more = page.get_by_role("button", name="Read more: Maya Kowalski 1")
    assert more.get_attribute("aria-expanded") == "false"
    more.click()
    less = page.get_by_role("button", name="Show less: Maya Kowalski 1")
    assert less.get_attribute("aria-expanded") == "true"
    assert host(page, "root.querySelector('blockquote').clientHeight") == 12 * 28
    less.click()
    assert host(page, "root.querySelector('blockquote').clientHeight") == 8 * 28


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_long_word_overflows_nothing_at_320(page: Page, site: Site, layout: str) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    word = "W" * 2000
    long = item(
        1,
        text=word,
        authorName=word,
        authorRole=word,
        authorCompany=word,
        twitter={"handle": word},
        isSample=True,
    )
    open_widget(page, site, feed(items=[long, item(2)], layout=layout))
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    assert host(
        page, "[...root.querySelectorAll('.card')].every(c => c.scrollWidth <= c.clientWidth)"
    )


def test_a_card_goes_by_its_words(page: Page, site: Site) -> None:
    data = feed(6, layout="carousel", cardStyle="stripe")
    data["items"][0].update(text="خدمة رائعة وسريعة.", authorName="Tom", rating=3.5)
    data["items"][1].update(authorName="ليلى حداد")
    open_widget(page, site, data, before="<script>document.dir = 'rtl'</script>", lang="ar")
    first, second, *_ = boxes(page)
    assert first[0] > second[0]
    face_is_right = """[...root.querySelectorAll('.author')].slice(0, 2).map(author => {
        const [face, name] = ['.avatar', '.name'].map(s => author.querySelector(s).getBoundingClientRect());
        return face.left > name.left;
    })"""
    assert host(page, face_is_right) == [True, False]
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(
        "document.querySelector('[data-testimonials-project]').shadowRoot.querySelector('.view').scrollLeft < -300"
    )
    expect(page.get_by_role("status")).to_have_text("5–6 of 6")


# --- More of them, and none of them --------------------------------------------------------------


def test_show_more(page: Page, site: Site) -> None:
    open_widget(page, site, feed(30, initialCount=8))
    before = boxes(page)
    button = page.get_by_role("button", name="Show more")
    assert button.inner_text().split() == ["Show", "more", "8", "of", "30"]
    button.press("Enter")
    page.wait_for_selector("[data-testimonials-count='16']", state="attached")
    assert "Number 9." in host(page, "root.activeElement.innerText")
    assert page.get_by_role("status").inner_text() == "16 of 30"
    # The six that would be left couldn't fill their columns, so they come along.
    button.dblclick()
    page.wait_for_selector("[data-testimonials-count='30']", state="attached")
    expect(button).to_have_count(0)
    assert len([r for r in site.requests if "after" in r]) == 3
    # The first eight are still in their places below each other, then come the other blocks.
    page.evaluate("scrollTo(0, 0)")
    found = boxes(page)
    assert found[:8] == before
    for start, end in [(0, 8), (8, 16)]:
        ends = max(top + height for _, top, _, height in found[start:end])
        assert min(top for _, top, *_ in found[end:]) == ends + 20


def test_show_more_can_be_tried_again(page: Page, site: Site) -> None:
    labels = {"showMore": "More voices"}
    open_widget(page, site, feed(6, initialCount=3, layout="list", design={"labels": labels}))
    site.broken.add("p1")
    page.get_by_role("button", name="More voices").click()
    again = page.get_by_role("button", name="Try again")
    again.wait_for()
    assert page.get_by_role("status").inner_text() == "That could not be loaded."
    site.broken.clear()
    again.click()
    page.wait_for_selector("[data-testimonials-count='6']", state="attached")


def test_none_shows_the_button_or_nothing(page: Page, site: Site) -> None:
    inactive, silent = feed(3), feed(0, showCtaButton=False)
    inactive["project"]["active"] = False
    for data, height in [(inactive, 0), (silent, 0), (feed(0), 98)]:
        site.feed["p1"] = data
        reserved = 'style="min-height:300px;--tm-reserve:300px"'
        page.goto(site.host_page(site.snippet(attributes=reserved) + site.tag()))
        settle(page, "empty")
        assert not page.get_by_role("link", name="Read our testimonials").is_visible()
        assert page.get_by_role("link", name="Share your experience").is_visible() == bool(height)
        assert page.evaluate("events.at(-1)") == [
            "ready",
            {"projectId": "p1", "count": 0, "total": 0},
        ]
        # What the snippet reserved goes with the next thing that somebody does.
        assert host(page, "host.getBoundingClientRect().height") == 300
        page.keyboard.press("Shift")
        assert host(page, "host.getBoundingClientRect().height") == height


@pytest.mark.parametrize("failure", ["500", "offline", "timeout", "nonsense"])
def test_failure_keeps_the_link(page: Page, site: Site, failure: str) -> None:
    site.feed["p1"] = feed(3)
    if failure == "500":
        site.broken.add("p1")
    elif failure == "nonsense":
        site.feed["p1"]["project"] = None
    elif failure == "offline":
        page.route("**/feed?*", lambda route: route.abort())
    else:
        page.clock.install()
        page.route("**/feed?*", lambda route: None)
    page.goto(site.host_page(site.snippet() + site.tag()))
    if failure == "timeout":
        settle(page, "loading")
        page.clock.fast_forward(8100)
    settle(page, "error")
    assert page.get_by_role("link", name="Read our testimonials").is_visible()
    assert [kind for kind, text in page.messages if "Testimonials" in text] == ["warning"]  # type: ignore[attr-defined]
    assert page.evaluate("events")[0][0] == "error"


@pytest.mark.parametrize("reserved", [2400, 200])
def test_no_layout_shift_whatever_was_reserved(page: Page, site: Site, reserved: int) -> None:
    """A snippet pasted long ago reserves the height of another configuration."""
    height = "host.getBoundingClientRect().height"
    style = f'style="min-height:{reserved}px;--tm-reserve:{reserved}px"'
    site.feed["p1"] = feed(6, layout="carousel")
    below = '<p id="below">Below</p><p style="height:3000px"></p>'
    for width, above in itertools.product([360, 1280], [0, 700, 1500]):
        page.set_viewport_size({"width": width, "height": 800})
        before = f'<p style="height:{above}px">Above</p>'
        page.goto(site.host_page(before + site.snippet(attributes=style) + below + site.tag()))
        settle(page)
        real = host(page, "root.querySelector('.tm').getBoundingClientRect().height")
        if reserved < real:
            # That it is higher shows only where its lower end is in view.
            assert host(page, height) == real
            assert page.evaluate("cls") < (0.25 if above < 800 else 0.001)
            continue
        expected = reserved if above + real < 800 else real
        page.wait_for_function(f"() => {ROOT}.host.offsetHeight === Math.round({expected})")
        assert page.evaluate("cls") == 0
        # Nobody sees it go: it is out of view, or it goes with what somebody does.
        if expected == reserved:
            page.mouse.wheel(0, 100)
            page.mouse.click(5, 5)
            assert host(page, height) == real
            page.wait_for_timeout(100)
            assert page.evaluate("cls") == 0


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


def test_no_task_is_longer_than_three_cards_take(page: Page, site: Site) -> None:
    """How many ms that takes on a slow device is a figure of scripts/bench."""
    page.add_init_script(COUNT_BY_TASK)
    open_widget(page, site, feed(50, initialCount=50))
    counts = page.evaluate("cardsByTask")
    assert sum(counts) == 50
    assert max(counts) <= 3, counts


# --- Lifecycle -----------------------------------------------------------------------------------


def test_script_in_head_twice_and_several_projects(page: Page, site: Site) -> None:
    site.feed["p1"], site.feed["p2"] = feed(3), feed(4, layout="list", theme="dark")
    page.goto(
        site.host_page(
            site.tag() + site.snippet("p1") + site.snippet("p2") + site.snippet("p1") + site.tag()
        )
    )
    settle(page, count=3)
    assert len([r for r in site.requests if "/feed" in r]) == 3
    assert page.locator("li").count() == 10
    assert page.messages == []  # type: ignore[attr-defined]


def test_late_moved_changed_and_removed(page: Page, site: Site) -> None:
    site.feed["p1"], site.feed["p2"] = feed(3), feed(4)
    page.goto(site.host_page('<main id="a"></main><main id="b"></main>' + site.tag()))
    page.evaluate("html => { a.innerHTML = html }", site.snippet())
    settle(page)
    page.evaluate("b.append(a.firstChild)")
    page.wait_for_timeout(100)
    assert len([r for r in site.requests if "/feed" in r]) == 1
    assert page.locator("li").count() == 3
    page.evaluate("b.firstChild.dataset.testimonialsProject = 'p2'")
    page.wait_for_function("document.querySelector('[data-testimonials-count=\"4\"]')")
    page.evaluate("window.kept = b.firstChild; kept.remove()")
    page.wait_for_timeout(50)
    assert page.evaluate("kept.shadowRoot.querySelectorAll('li').length") == 0
    page.evaluate("a.append(kept)")
    page.wait_for_function("kept.shadowRoot.querySelectorAll('li').length === 4")


def test_a_hundred_mounts_leave_nothing_behind(page: Page, site: Site) -> None:
    site.feed["p1"] = feed(6, layout="carousel", animation="horizontal")
    page.goto(site.host_page('<main id="a"></main>' + site.tag()))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    counts, heaps = [], []
    for _ in range(5):
        for _ in range(20):
            page.evaluate("html => { a.innerHTML = html }", site.snippet())
            settle(page)
            page.evaluate("a.replaceChildren()")
        page.wait_for_timeout(200)
        session.send("HeapProfiler.collectGarbage")
        counters = session.send("Memory.getDOMCounters")
        counts.append((counters["jsEventListeners"], counters["nodes"]))
        metrics = {
            each["name"]: each["value"]
            for each in session.send("Performance.getMetrics")["metrics"]
        }
        heaps.append(metrics["JSHeapUsedSize"])
    assert counts[-1][0] <= counts[0][0]
    assert counts[-1][1] <= counts[0][1] + 50
    # Eighty more of them: less than one widget's worth each would show.
    assert heaps[-1] - heaps[0] < 400_000, heaps
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.messages == []  # type: ignore[attr-defined]


# --- Carousels -----------------------------------------------------------------------------------


def test_still_carousel_by_keyboard(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    open_widget(page, site, feed(7, layout="carousel"))
    view = page.locator("[aria-roledescription=carousel]")
    assert (view.get_attribute("role"), view.get_attribute("aria-label")) == (
        "group",
        "Testimonials",
    )
    status, dots = page.get_by_role("status"), page.locator(".dots button")
    assert dots.count() == 7
    page.keyboard.press("Tab")
    assert host(page, "root.activeElement.getAttribute('aria-disabled')") == "true"
    for name in [f"Page {n} of 7" for n in range(1, 8)] + ["Next"]:
        page.keyboard.press("Tab")
        assert host(page, "root.activeElement.getAttribute('aria-label')") == name
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(status).to_have_text("3 of 7")
    page.wait_for_function(
        "document.querySelector('[data-testimonials-project]').shadowRoot.querySelector('.view').scrollLeft > 600"
    )
    expect(page.locator("[aria-current=true]")).to_have_attribute("aria-label", "Page 3 of 7")
    dots.last.press("Enter")
    expect(status).to_have_text("7 of 7")
    page.wait_for_function(
        f"(v => v.scrollLeft + v.clientWidth + 2 > v.scrollWidth)({ROOT}.querySelector('.view'))"
    )
    expect(page.get_by_role("button", name="Next")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[aria-current=true]")).to_have_attribute("aria-label", "Page 6 of 7")
    box = page.get_by_role("button", name="Next").bounding_box()
    assert box
    assert box["width"] >= 44
    assert box["height"] >= 44


def test_a_still_carousel_loads_ahead_and_hangs_its_arrows_out(page: Page, site: Site) -> None:
    data = feed(40, layout="carousel", initialCount=6)
    place = "(b => [Math.round(b.left), Math.round(b.right)])(root.querySelector('.arrow:last-child').getBoundingClientRect())"
    for style, right, beside in [
        ("margin:0 36px", 1244 + 28, 1244),
        ("margin:0 20px", 1260, 1232),
        ("overflow:hidden;margin:0 36px", 1244, 1216),
    ]:
        open_widget(
            page, site, data, before=f'<style>body{{margin:0}}</style><div style="{style}">'
        )
        assert host(page, place)[1] == right
        assert host(page, "root.querySelector('.view').getBoundingClientRect().right") == beside
    assert page.get_by_text("1 / 14", exact=True).is_visible()
    assert host(page, "host.dataset.testimonialsCount") == "6"
    following = page.get_by_role("button", name="Next")
    for shown in ("4–6", "7–9", "10–12", "13–15"):
        following.click()
        expect(page.get_by_role("status")).to_have_text(f"{shown} of 40")
    page.wait_for_selector("[data-testimonials-count='18']", state="attached")
    heights = {height for *_, height in boxes(page)}
    assert len(heights) == 1


def test_a_pause_in_the_scrolling_is_not_its_end(page: Page, site: Site) -> None:
    """As between two frames of a slow device: the next press counts from where this one leads."""
    page.set_viewport_size({"width": 360, "height": 700})
    open_widget(page, site, feed(12, layout="carousel"))
    host(
        page,
        """(view => {
          view.scrollTo = () => view.dispatchEvent(new Event('scroll'));
          root.querySelector('[aria-label=Next]').click();
        })(root.querySelector('.view'))""",
    )
    page.wait_for_timeout(200)
    assert page.get_by_text("2 / 12", exact=True).is_visible()
    host(page, "root.querySelector('.view').dispatchEvent(new Event('scrollend'))")
    expect(page.get_by_text("1 / 12", exact=True)).to_be_visible()


# --- Colours, media, size ------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_axe_finds_nothing(page: Page, site: Site, theme: str, layout: str) -> None:
    items = [
        item(
            n,
            rating=n % 5 + 0.5,
            text="Words. " * n * 30,
            isSample=n == 1,
            twitter={"handle": "maya"},
        )
        for n in range(1, 7)
    ]
    data = feed(items=items, theme=theme, layout=layout, cardStyle="gradient", initialCount=4)
    ground = "#0B0B0D" if theme == "dark" else "#FAFAFA"
    style = f"<style>body{{background:{ground};color:#71717A}}</style>"
    open_widget(page, site, data, before=f"{style}<main><h1>Host</h1>")
    found = find_violations(page)
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []


def luminance(colour: list[float]) -> float:
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (v / 255 for v in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: list[float], other: list[float]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_of_all_sixty(page: Page, site: Site, theme: str) -> None:
    items = [
        item(n, text="Words. " * 200, isSample=True, twitter={"handle": "maya"}) for n in range(16)
    ]
    read = """(() => {
        const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number), look = s => getComputedStyle(root.querySelector(s));
        const card = look('.card'), grounds = [...(card.backgroundImage.match(/rgb\\([^)]+\\)/g) || []), card.backgroundColor].map(rgb);
        const pairs = ['blockquote', '.more', '.name', '.role', '.card a', '.sample', 'time'].flatMap(s => grounds.map(g => [s, rgb(look(s).color), g, 4.5]));
        for (const face of root.querySelectorAll('.avatar')) pairs.push(['avatar', rgb(getComputedStyle(face).color), rgb(getComputedStyle(face).backgroundColor), 4.5]);
        for (const s of ['.button', '.button span', '.cta']) { const b = look(s.split(' ')[0]); pairs.push([s, rgb(look(s).color), rgb(b.backgroundColor), 4.5]); }
        const cta = look('.cta'); pairs.push(['.cta', rgb(cta.color), rgb(cta.backgroundColor), 4.5]);
        return pairs })()"""
    design = {"dateStyle": "absolute"}
    for palette, style in sample(itertools.product(PALETTES, STYLES), 8, seed=len(theme)):
        looks = {"theme": theme, "palette": palette, "cardStyle": style}
        data = feed(items=items, design=design, initialCount=14, **looks)
        open_widget(page, site, data)
        for what, front, ground, least in host(page, read):
            assert contrast(front, ground) >= least, (palette, style, what, front, ground)


def test_forced_colours_keep_borders_and_stars(page: Page, site: Site) -> None:
    page.emulate_media(forced_colors="active")
    open_widget(page, site, feed(2, cardStyle="quote"))
    assert (
        host(page, "getComputedStyle(root.querySelector('.card')).borderTopColor")
        != "rgba(0, 0, 0, 0)"
    )
    assert host(page, "getComputedStyle(root.querySelector('.stars svg')).fill") == host(
        page, "getComputedStyle(root.querySelector('blockquote')).color"
    )


def test_print_shows_everything_still(page: Page, site: Site) -> None:
    long = [item(n, text="One line.\n" * 12) for n in range(6)]
    for changes in [
        {"layout": "masonry"},
        {"layout": "carousel", "animation": "vertical"},
        {"layout": "carousel", "animation": "horizontal"},
    ]:
        page.emulate_media(media="screen")
        open_widget(page, site, feed(items=long, **changes))
        page.emulate_media(media="print")
        assert host(
            page,
            "[...root.querySelectorAll('li:not([inert]) blockquote')].every(q => q.scrollHeight === q.clientHeight && q.clientHeight >= 312)",
        )
        assert host(page, "getComputedStyle(root.querySelector('ul')).transform") == "none"
        assert host(
            page,
            "root.querySelector('.view').scrollWidth <= root.querySelector('.view').clientWidth",
        )
        assert not page.get_by_role("button").first.is_visible()
