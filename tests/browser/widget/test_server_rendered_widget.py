"""The widget without its script, and the snippet as copied, on the feed of the service."""

import pytest

from testimonials.core import clock
from testimonials.core.http.i18n import LANGUAGES, read_date_patterns, speaking
from testimonials.widget.words import write_dates
from tests.browser.pages import WATCH_SHIFTS
from tests.support.rows import add_recording, add_testimonial, change_project, change_testimonial
from tests.support.sampling import sample

PEOPLE = (
    ("Maya Kowalski", "Owner", 5, "Booking used to be three phone calls.\nNow it is none."),
    ("ليلى منصور", "مصممة", 4.5, "صالون هادئ ونظيف."),
    ("山田 さくら", "", 3, "初めてなのに、すぐに分かってくれました。"),
    ("O’Neil  de la Cruz", "Regular", None, "W" * 300),
)
# What a reader gets of each card: the words, and how they look.
READ = """root => [...root.querySelectorAll('li')].map(li => [
  ...['.text', 'mark', '.reply', '.name', '.role', '.date', '.avatar', '.sample', '.source', '.play', '.answers', '.marks', '.check'].map(s => li.querySelector(s)?.textContent.trim() ?? ''),
  li.querySelector('.stars')?.getAttribute('aria-label') ?? '',
  li.querySelector('.stars svg')?.getAttribute('width') ?? '',
  li.querySelector('.play')?.getAttribute('aria-label') ?? '',
  ...['.check', '.shortened'].map(s => li.querySelector(s)?.href ?? ''), root.querySelector('.proof').textContent,
  ...['.card', '.text', '.avatar', '.name', '.meta', '.reply', '.stars', '.stars svg', '.glyph', 'mark', '.recording', '.shape', '.sign',
    '.time', '.wave', '.answers', 'dt', 'dd', '.marks', '.marks .icon', '.marks a', '.check'].map(s => {
    const node = li.querySelector(s);
    if (!node) return s + ' is missing';
    const look = getComputedStyle(node);
    return [s, look.fontSize, look.lineHeight, look.fontWeight, look.color, look.backgroundColor, look.backgroundImage, look.fill, look.stroke,
      look.padding, look.borderRadius, look.borderColor, look.direction, look.textAlign, look.textDecorationColor, look.gap].join(' ');
  }),
])"""
# How browsers write each month of a year, in every language of the public pages.
WRITE_DATES = """codes => codes.map(code => ['short', 'long'].flatMap(month => [{ month }, { month, day: 'numeric' }]).map(form =>
  [...Array(12).keys()].map(month => new Intl.DateTimeFormat(code, { ...form, year: 'numeric', timeZone: 'UTC' }).format(Date.UTC(2026, month, 25)))))"""

# How they write how long ago it was.
WRITE_AGO = """codes => codes.map(code => {
  const format = new Intl.RelativeTimeFormat(code, { numeric: 'auto' });
  return [['day', 0, 6], ['week', 1, 4], ['month', 1, 12], ['year', 1, 20]].flatMap(([unit, from, to]) =>
    Array.from({ length: to - from + 1 }, (_, i) => format.format(-from - i, unit)));
})"""


@pytest.mark.parametrize(
    ("theme", "style", "design"),
    [
        ("light", "quote", {"dateStyle": "absolute", "featured": "off"}),
        ("dark", "gradient", {"brandColor": "#FACC15", "radius": 6, "density": "compact"}),
        ("light", "stripe", {"dateStyle": "month", "featured": "solid", "starColor": "brand"}),
    ],
)
def test_the_server_renders_the_same_cards_as_the_script(
    site, open_page, host, theme, style, design
):
    project = site.create_project()
    for name, role, rating, text in PEOPLE:
        body = {"authorName": name, "authorRole": role, "text": text}
        made = project.call("POST", "/testimonials", body | ({"rating": rating} if rating else {}))
    project.call("PATCH", "/widget-config", {"theme": theme, "cardStyle": style, "palette": "rose"})
    # What only the dashboard can give it.
    change_project(site.app, project.id, widget_design=design)
    more = {"highlights": [[0, 7]], "reply": "Thank you.", "replied_at": clock.now()}
    change_testimonial(site.app, made["_id"], twitter={"handle": "x"}, is_pinned=True, **more)
    asked = {"id": "aaaaaaaa", "question": "Will you come back?", "kind": "scale", "answer": 9}
    others = {"answers": [asked | {"isPublic": True}], "is_rewarded": True, "is_insider": True}
    others |= {"original_text": "Many more words than these, which nobody sees." * 4}
    for kind in ("video", "voice"):
        told = add_testimonial(site.app, project.id, **others, purchase_verified_at=clock.now())
        add_recording(site.app, told, kind)
    snippet = project.call("GET", "/embed-snippet")
    host.body = snippet["container"] + snippet["script"]
    live = open_page(host.url).locator('[data-testimonials-state="ready"]')
    expected = live.evaluate(f"node => ({READ})(node.shadowRoot)")
    assert len(expected) == len(PEOPLE) + 2
    wall = open_page(f"{site.url}/{project.slug}/wall", java_script_enabled=False)
    assert wall.locator("div.tm-page").evaluate(READ) == expected
    path = f"/widget/{project.id}/fragment"
    fragment = site.service.call("GET", path).body.decode()
    # Such a page asks nobody for anything.
    host.body, host.policy = (
        fragment,
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    )
    built = open_page(host.url, java_script_enabled=False)
    found = built.locator("div").first.evaluate(f"node => ({READ})(node.shadowRoot)")
    assert found == expected


def test_dates_are_written_as_browsers_do(open_page):
    codes = [language.code for language in LANGUAGES]
    found = open_page("about:blank").evaluate(WRITE_DATES, codes)
    forms = [(style, is_long) for is_long in (False, True) for style in ("month", "absolute")]
    times = [f"2026-{month:02}-25T12:00:00.000Z" for month in range(1, 13)]
    for code, written in zip(codes, found, strict=True):
        with speaking(code):
            for (style, is_long), months in zip(forms, written, strict=True):
                assert write_dates(times, style, is_long=is_long) == months, code
    ago = open_page("about:blank").evaluate(WRITE_AGO, codes)
    assert [read_date_patterns()[code]["ago"] for code in codes] == ago


@pytest.mark.parametrize("layout", sample(["masonry", "carousel", "list"], 1))
def test_nothing_moves_with_the_snippet_as_copied(browser, host, layout, project):
    for number in range(7):
        text = "We switched on a Tuesday and nobody noticed. " * (number % 4 + 1)
        body = {"authorName": f"Maya {number}", "authorRole": "Owner", "text": text, "rating": 5}
        project.call("POST", "/testimonials", body)
    project.call("PATCH", "/widget-config", {"layout": layout})
    snippet = project.call("GET", "/embed-snippet")
    host.body = f"<p>Above</p>{snippet['container']}<p id=below>Below</p>{snippet['script']}"
    tab = browser.new_page()
    tab.add_init_script(WATCH_SHIFTS)
    for width in (360, 768, 1280):
        # High enough that all of the page is in sight.
        tab.set_viewport_size({"width": width, "height": 3000})
        tab.goto(host.url)
        widget = tab.locator('[data-testimonials-state="ready"]')
        widget.wait_for()
        assert tab.evaluate("shifted()") == 0, width
        reserved, needed = widget.evaluate(
            "node => [node.offsetHeight, node.shadowRoot.querySelector('.tm').offsetHeight]"
        )
        assert needed <= reserved <= 1.35 * needed, width
    tab.close()
