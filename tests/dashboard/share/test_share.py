"""The Share page: snippets, link, QR code and the message to customers."""

import base64
import hashlib
import html
import io
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import segno
from flask import Flask
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser
from werkzeug.test import TestResponse

from tests.conftest import Caller
from tests.dashboard.inbox.inbox import JSON, Inbox, open_inbox

LINK = "https://testimonials.example.com/fern"


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    return open_inbox(app, owner, slug="fern", businessName="Fern & Fable")


def save(inbox: Inbox, message: str, **options: object) -> TestResponse:
    data = {"message": message}
    return inbox.client.post(f"{inbox.base}/share/message", data=data, **options)  # type: ignore[arg-type]


def message_on(page: str) -> str:
    found = re.search(r'<textarea[^>]*name="message"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    return html.unescape(found[1])


def mail_on(page: str) -> dict[str, str]:
    parts = urlsplit(html.unescape(re.search(r'href="(mailto:[^"]+)"', page)[1]))
    assert parts.path == ""
    return {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}


def code_on(page: str, platform: str, place: str = "code") -> str:
    found = re.search(rf'<code id="{place}-{platform}">(.*?)</code>', page, re.DOTALL)
    return html.unescape(re.sub(r"</?span[^>]*>", "", found[1]))


SNIPPETS = ("html", "wordpress", "shopify", "wix", "squarespace", "webflow", "framer")
OTHERS = ("frame", "react", "next", "vue", "astro", "hugo")


def test_the_snippet_is_the_one_of_the_api(inbox: Inbox) -> None:
    page = inbox.get("share").text
    path = f"/v1/projects/{inbox.project}/embed-snippet"
    snippet = inbox.owner.get(path).json["data"]  # type: ignore[index]
    for platform in SNIPPETS:
        assert code_on(page, platform) == f"{snippet['container']}\n{snippet['script']}"
    for platform in ("react", "next", "vue"):
        code = code_on(page, platform)
        assert f'data-testimonials-project="{inbox.project}"' in code
        assert f'"{snippet["widgetUrl"]}"' in code
    widget = f"https://testimonials.example.com/widget/{inbox.project}"
    assert code_on(page, "frame") == widget
    assert f'<iframe src="{widget}" title="Testimonials"' in code_on(page, "frame", "more")
    for platform in ("astro", "hugo"):
        assert f'"{widget}/fragment"' in code_on(page, platform)
    options = page.partition('id="embed-platform"')[2].partition("</select>")[0]
    tabs = re.findall(r'id="tab-(\w+)"', page)
    assert tabs == re.findall(r'<option value="(\w+)"', options)
    assert set(tabs) == {*SNIPPETS, *OTHERS}


def choose(inbox: Inbox, **choice: str) -> str:
    return inbox.get(f"share?{urlencode(choice)}").text


def approve(inbox: Inbox, *names: str, **values: object) -> list[str]:
    return [
        inbox.owner.create_testimonial(inbox.project, authorName=name, **values)["_id"]
        for name in names
    ]


BADGE = 'data-testimonials-shape="badge"'
CHOICES = (
    ({"shape": "badge"}, BADGE),
    ({"shape": "badge", "theme": "dark"}, f'{BADGE} data-testimonials-theme="dark"'),
    ({"tag": 'a "b" & <c>'}, 'data-testimonials-tag="a &#34;b&#34; &amp; &lt;c&gt;"'),
    ({"shape": "strip", "min": "80"}, 'data-testimonials-shape="strip" data-testimonials-min="80"'),
    # A badge counts every rating, and one testimonial is chosen by its id.
    ({"shape": "badge", "tag": "x", "min": "80", "id": "0" * 24}, BADGE),
)


def test_a_shape_and_its_options_are_in_every_kind_of_code(inbox: Inbox) -> None:
    approve(inbox, "Maya", rating=5)
    for choice, attributes in CHOICES:
        page = choose(inbox, **choice)
        for platform in (*SNIPPETS, "react", "next", "vue"):
            code = code_on(page, platform)
            assert f'data-testimonials-project="{inbox.project}" {attributes}' in code, platform
            assert code.count("data-testimonials-") == attributes.count("data-testimonials-") + 1
        names = ("shape", "theme") if choice.get("shape") == "badge" else choice
        sent = {name: [choice[name]] for name in names if name in choice}
        places = [(each, "code") for each in ("astro", "hugo", "frame")] + [("curl", "share")]
        for platform, place in places:
            address = re.search(r"https://[^\s\"']+", code_on(page, platform, place))
            assert parse_qs(urlsplit(address[0]).query) == sent
        # Another tab keeps the choice.
        tab = re.search(r'id="tab-vue" href="([^"]+)"', page)
        assert parse_qs(urlsplit(html.unescape(tab[1])).query) == sent | {"platform": ["vue"]}


def test_one_testimonial_is_chosen_from_the_newest(inbox: Inbox) -> None:
    assert "data-testimonials-id" not in code_on(choose(inbox, shape="one"), "html")
    older, newer = approve(inbox, "Older <b>", "Newer", text="Long words. " * 20)
    page = choose(inbox, shape="one")
    assert f'data-testimonials-id="{newer}"' in code_on(page, "html")
    options = re.findall(r'<option value="(\w{24})"( selected)?>([^<]*)</option>', page)
    assert [(each[0], bool(each[1])) for each in options] == [(newer, True), (older, False)]
    assert options[1][2].startswith("Older &lt;b&gt;: Long words.")
    page = choose(inbox, shape="one", id=older, tag="x", min="80")
    assert f'data-testimonials-id="{older}"' in code_on(page, "html")
    assert "data-testimonials-tag" not in code_on(page, "html")
    page = choose(inbox, shape="one", id="newest")
    assert 'data-testimonials-shape="single"' in code_on(page, "html")
    assert "data-testimonials-id" not in code_on(page, "html")
    whole = code_on(inbox.get("share").text, "html")
    for choice in (
        {"shape": '"><script>'}, {"shape": "one", "id": "nonsense"}, {"theme": "sepia"},
        {"min": "-1"}, {"shape": "strip", "min": "9" * 40}, {"tag": "x" * 200}, {"tag": "a\nb"},
    ):  # fmt: skip
        page = choose(inbox, **choice)
        assert code_on(page, "html") == whole, choice
        assert '"><script>' not in page


def test_a_saved_widget_has_a_snippet_of_its_own(inbox: Inbox) -> None:
    approve(inbox, "Maya")
    assert 'name="widget"' not in inbox.get("share").text
    inbox.client.post(f"{inbox.base}/widgets", data={"name": "Home page"})
    page = choose(inbox, widget="home-page", theme="dark")
    for platform in ("html", "react"):
        assert 'data-testimonials-theme="dark"' in code_on(page, platform)
        assert 'data-testimonials-widget="home-page"' in code_on(page, platform)
    assert "<option selected>home-page</option>" in page
    assert "widget=home-page" in page.partition("data-preview")[0].rpartition("<iframe")[2]
    assert "data-testimonials-widget" not in code_on(choose(inbox, widget="unknown"), "html")


def test_a_pinned_script_is_the_one_that_is_served(inbox: Inbox, client: FlaskClient) -> None:
    page = choose(inbox, pin="1", shape="badge")
    assert "until you paste a newer snippet" in page
    for platform in (*SNIPPETS, "react", "next", "vue"):
        code = code_on(page, platform)
        address = re.search(r"https://testimonials\.example\.com(/widget/v1-\w+\.js)", code)
        digest = re.search(r"sha384-([\w+/=]+)", code)
        assert address, platform
        assert digest, platform
        served = client.get(address[1])
        assert "immutable" in served.headers["Cache-Control"]
        assert base64.b64encode(hashlib.sha384(served.data).digest()).decode() == digest[1]
        assert "nonymous" in code
    assert "sha384" not in inbox.get("share").text


def test_the_page_names_what_a_strict_policy_needs(inbox: Inbox) -> None:
    page = inbox.get("share").text
    for name in ("script-src", "connect-src", "img-src"):
        assert f"{name} https://testimonials.example.com;" in page
    # What the snippet has in its style attribute.
    (height,) = re.findall(r'--tm-reserve:([^"]+)"', code_on(page, "html"))
    rule = f'[data-testimonials-project="{inbox.project}"] {{ min-height: {height}; '
    assert f"{rule}--tm-reserve: {height} }}" in html.unescape(page)


def test_the_codes_and_the_card_to_print_have_the_address(inbox: Inbox) -> None:
    expected = segno.make_qr(LINK, error="m", boost_error=False)
    for kind, content_type, scale in (("svg", "image/svg+xml", 10), ("png", "image/png", 25)):
        answer = inbox.get(f"share/qr.{kind}")
        assert answer.headers["Content-Type"] == content_type
        assert answer.headers["Content-Disposition"] == f'attachment; filename="fern-qr.{kind}"'
        file = io.BytesIO()
        expected.save(file, kind=kind, scale=scale, border=4, dark="#000000", light="#FFFFFF")
        assert answer.data == file.getvalue()
    assert expected.designator.endswith("-M")
    page = inbox.get("share/card").text
    assert "How was your experience with Fern &amp; Fable?" in page
    assert "<svg" in page
    assert "testimonials.example.com/fern</p>" in page


def test_a_message_follows_the_address(inbox: Inbox) -> None:
    old = message_on(inbox.get("share").text)
    inbox.client.post(f"{inbox.base}/settings/address", data={"slug": "new"})
    assert message_on(inbox.get("share").text) == old.replace("/fern", "/new")
    here = "https://testimonials.example.com/new"
    save(inbox, f"Mine: {here}, not {here}er or {here}/thanks")
    inbox.client.post(f"{inbox.base}/settings/address", data={"slug": "newer-still"})
    followed = f"Mine: {here}er-still, not {here}er or {here}/thanks"
    assert message_on(inbox.get("share").text) == followed


def test_a_message_is_kept_as_typed_until_it_is_reset_and_has_its_limits(inbox: Inbox) -> None:
    suggested = message_on(inbox.get("share").text)
    text = "Hóla!\n</textarea><b>& two\n\nlines 100%"
    assert save(inbox, text.replace("\n", "\r\n")).status_code == 303
    page = inbox.get("share").text
    assert message_on(page) == text
    assert "<b>" not in page
    mail = mail_on(page)
    assert mail["body"] == text.replace("\n", "\r\n")
    assert "Fern & Fable" in mail["subject"]
    for form in ({"message": "  "}, {"message": "mine", "reset": "1"}):
        assert save(inbox, "Mine", headers=JSON).json == {"ok": True, "is_own": True}
        assert message_on(inbox.get("share").text) == "Mine"
        inbox.client.post(f"{inbox.base}/share/message", data=form)
        assert message_on(inbox.get("share").text) == suggested
    assert save(inbox, "ä" * 2000).status_code == 303
    for text, said in (
        ("ä" * 2001, "Shorten this to 2000 characters; it has 2001."),
        ("a\x00b", "Remove the control characters"),
    ):
        answer = save(inbox, text)
        assert answer.status_code == 422
        assert said in answer.text
        assert save(inbox, text, headers=JSON).status_code == 422
    assert message_on(inbox.get("share").text) == "ä" * 2000


def test_what_is_chosen_goes_to_places_without_a_widget(inbox: Inbox, client: FlaskClient) -> None:
    for number in range(4):
        inbox.owner.create_testimonial(inbox.project, text=f"Long enough for this, no. {number}")
    inbox.owner.create_testimonial(inbox.project, text="Short </textarea><b>")
    for query in ("", "min=20", "min=2000", "shape=one", "shape=badge&theme=dark"):
        page = LexborHTMLParser(inbox.get(f"share?{query}").text)
        query = query if "min" in query else ""
        if "one" in (page.css_first("[name=shape][checked]").attributes["value"] or ""):
            query = f"id={page.css_first('#embed-id [selected]').attributes['value']}"
        if page.css("#embed-theme option[value=dark][selected]"):
            query = "theme=dark"
        base = f"/widget/{inbox.project}"
        copied = page.css_first("#share-newsletter").text()
        served = client.get(f"{base}/newsletter?limit=3&{query}").text
        assert (copied.strip(), copied.strip() == "") == (served.strip(), query == "min=2000")
        element = LexborHTMLParser(page.css_first("#share-element").text()).body.child
        assert element.attributes["project"] == inbox.project
        wanted = query.replace("id=", "testimonial=").partition("=")
        assert not query or element.attributes[wanted[0]] == wanted[2]
        shortcode = page.css_first("#share-shortcode").attributes["value"] or ""
        assert shortcode.startswith(f'[testimonials_widget project="{inbox.project}"')
        address = page.css_first("#share-json-feed").attributes["value"] or ""
        path = address.removeprefix("https://testimonials.example.com")
        assert path == f"{base}/feed.json?{query}".rstrip("?")
        assert client.get(path).status_code == 200
