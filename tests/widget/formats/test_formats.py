"""Testimonials for newsletters and as a JSON Feed: GET /widget/:id/..."""

import re

from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser

from testimonials.core import clock
from tests.support.rows import add_testimonial, change_project, expire_account

FORMATS = ("newsletter", "feed.json")


def _text_of(client: FlaskClient, project: str, form: str, query: str = "") -> str:
    answer = client.get(f"/widget/{project}/{form}?{query}")
    assert answer.status_code == 200, answer.text
    return answer.text


def _words(client: FlaskClient, project: str, query: str = "") -> list[list[str]]:
    feed = client.get(f"/widget/{project}/feed.json?{query}").json
    newsletter = LexborHTMLParser(_text_of(client, project, "newsletter", query))
    return [
        [item["content_text"] for item in feed["items"]],
        [node.text() for node in newsletter.css("p[dir]")],
    ]


def test_they_show_what_the_widget_shows(app, client, project):
    ids = [add_testimonial(app, project, text=f"Words no. {number}") for number in range(4)]
    values = {"tags": ["Glaze"], "author_email": "x@example.com", "is_pinned": True}
    pinned = add_testimonial(app, project, text="Pinned", **values)
    for status in ("pending", "rejected", "spam", "withdrawn"):
        add_testimonial(app, project, text=f"Hidden {status}", status=status)
    add_testimonial(app, project, text="Hidden trash", deleted_at=clock.now())
    four = ["Pinned", "Words no. 3", "Words no. 2", "Words no. 1"]
    assert _words(client, project, "limit=4") == [four] * 2
    for query in ("tag=glaze", f"id={pinned}", "limit=1", "theme=dark&limit=1&lang=de"):
        assert _words(client, project, query) == [["Pinned"]] * 2
    assert _words(client, project, "min=2000") == [[]] * 2
    assert _text_of(client, project, "newsletter").count("<p dir=") == 3
    for form in FORMATS:
        text = _text_of(client, project, form)
        assert "Hidden" not in text
        assert "x@example.com" not in text
        assert "https://testimonials.example.com/kiln/wall" in text
        # A language is only ever what the address says, so caches give it to everybody.
        german = {"Accept-Language": "de"}
        assert client.get(f"/widget/{project}/{form}", headers=german).text == text
        assert _text_of(client, project, form, "lang=de") != text
    change_project(app, project, widget_design={"order": "hand", "chosen": ids[1:3]})
    assert _words(client, project, "limit=3") == [["Words no. 1", "Words no. 2", "Pinned"]] * 2
    change_project(app, project, status="inactive")
    assert _words(client, project) == [[]] * 2


def test_they_may_be_fetched_from_anywhere(app, client, owner, agent, project):
    owner.create_testimonial(project)
    base = f"/widget/{project}"
    types = ("text/html; charset=utf-8", "application/feed+json")
    for form, kind in zip(FORMATS, types, strict=True):
        answer = client.get(f"{base}/{form}")
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        for query in ("limit=51", "limit=" + "9" * 400, "id=1", "after=x"):
            refused = client.get(f"{base}/{form}?{query}")
            assert (refused.status_code, refused.is_json) == (400, True), (form, query)
        for unknown in ("x", "0" * 24, "%00", f"{project}%20"):
            assert client.get(f"/widget/{unknown}/{form}").status_code == 404
    abandoned = agent.create_project()["_id"]
    expire_account(app, agent.account_id)
    for form in FORMATS:
        assert client.get(f"/widget/{abandoned}/{form}").status_code == 404


def test_newsletters_suit_old_mail_programs(app, client, project):
    picture = "https://example.com/a.webp"
    add_testimonial(app, project, text="word " * 400, rating=3.5, author_avatar=picture)
    add_testimonial(
        app, project, text="ق" * 600, author_name="أحمد", highlights=[[0, 9], [400, 500]]
    )
    answer = client.get(f"/widget/{project}/newsletter")
    assert "'unsafe-inline'" in answer.headers["Content-Security-Policy"]
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    page = LexborHTMLParser(answer.text)
    assert not page.css("style, link, script, template, svg, [class], [id]")
    assert [node.attributes["dir"] for node in page.css("table[dir]")] == ["rtl", "ltr"]
    for words in page.css("p[dir]"):
        assert 400 < len(words.text()) <= 420
        assert words.text().endswith("…")
    marks = page.css("p[dir=rtl] span")
    # The cut takes what lies behind it, and keeps the mark before.
    assert [len(node.text()) for node in marks] == [9, 19]
    assert [node.attributes["aria-label"] for node in page.css("[aria-label]")] == ["4/5"]
    assert [node.attributes["src"] for node in page.css("img")] == [picture]
    for node in page.css("[style]"):
        assert not re.search(r"flex|grid|position|var\(|light-dark", node.attributes["style"] or "")
    for text, size in (("x" * 64, 22), ("日" * 33, 18), ("x" * 140, 18), ("x" * 141, 16)):
        add_testimonial(app, project, text=text)
        words = _text_of(client, project, "newsletter", "limit=1")
        assert re.findall(r"<p dir=[^>]*font-size:(\d+)px", words) == [str(size)]
    dark = _text_of(client, project, "newsletter", "theme=dark")
    for html, is_light in ((answer.text, True), (dark, False)):
        grounds = LexborHTMLParser(html).css("table[bgcolor]")
        assert {node.attributes["bgcolor"] == "#FFFFFF" for node in grounds} == {is_light}


def test_the_json_feed_and_its_pages(app, client, project):
    values = {"tags": ["a & b"], "rating": 4.5, "reply": "Thanks", "highlights": [[0, 3]]}
    values["replied_at"] = clock.now()
    ids = [add_testimonial(app, project, text=f"No. {number}", **values) for number in range(5)]
    add_testimonial(app, project, text="Other")
    address: str | None = f"/widget/{project}/feed.json?limit=2&tag=a%20%26%20B"
    found = []
    while address:
        feed = client.get(address).json
        assert feed["version"] == "https://jsonfeed.org/version/1.1"
        assert feed["title"] == "What customers say about Kiln & Clay"
        assert feed["feed_url"].endswith("/feed.json?tag=a+%26+B&limit=2")
        found += feed["items"]
        address = feed.get("next_url", "").removeprefix("https://testimonials.example.com")
    assert [item["id"] for item in found] == ids[::-1]
    for item in found:
        assert isinstance(item["content_text"], str)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", item["date_published"])
        assert item["authors"][0]["name"]
        assert item["url"] == f"https://testimonials.example.com/kiln/{item['id']}"
        assert item["_testimonial"].pop("record")
        assert item["_testimonial"] == {"rating": 4.5, "reply": "Thanks", "highlights": [[0, 3]]}
