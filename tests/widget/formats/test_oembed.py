"""GET /oembed, and the pages that name it."""

import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser

from tests.conftest import Caller
from tests.support.rows import add_testimonial, change_project, expire_account

APP = "https://testimonials.example.com"


@pytest.fixture
def project(owner: Caller) -> str:
    project = str(owner.create_project(businessName='Kiln & "Clay" <b>', slug="kiln")["_id"])
    owner.create_testimonial(project, text="Words")
    return project


def _ask(client: FlaskClient, url: str, **values: str) -> Any:
    return client.get(f"/oembed?{urlencode({'url': url} | values)}")


def test_each_page_names_its_frame(app, client, project):
    one = add_testimonial(app, project, text="One", tags=["a & b"])
    base = f"/widget/{project}"
    pages = {
        base: (base, 600), f"{base}?shape=badge": (f"{base}?shape=badge", 64),
        f"{base}?shape=strip&theme=dark&min=2": (f"{base}?shape=strip&min=2&theme=dark", 232),
        f"{base}?id={one}": (f"{base}?id={one}", 360), f"/kiln/{one}": (f"{base}?id={one}", 360),
        "/kiln/wall": (base, 600), "/KILN/wall?tag=a+%26+b": (f"{base}?tag=a+%26+b", 600),
    }  # fmt: skip
    for page, (framed, height) in pages.items():
        head = LexborHTMLParser(client.get(page).text).css_first("head")
        link = head.css_first("link[type='application/json+oembed']").attributes["href"] or ""
        answer = client.get(link.removeprefix(APP))
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        found = answer.json
        assert re.fullmatch(r"[0-9a-z ,.()-]{0,80}", found.pop("reserve"))
        quote, frame = LexborHTMLParser(found.pop("html")).body.css("body > *")
        assert quote.css_first("a").attributes == {"href": f"{APP}/kiln/wall"}
        title = 'What customers say about Kiln & "Clay" <b>'
        assert frame.attributes == {
            "src": APP + framed, "title": title, "width": "640", "height": str(height),
            "frameborder": "0",
        }  # fmt: skip
        assert "frame-ancestors *" in client.get(framed).headers["Content-Security-Policy"]
        assert found == {
            "version": "1.0", "type": "rich", "title": title, "width": 640, "height": height,
            "author_name": 'Kiln & "Clay" <b>', "author_url": f"{APP}/kiln/wall",
            "provider_name": "Testimonials", "provider_url": APP,
        }  # fmt: skip


def test_it_stays_within_the_sizes_asked_for(client, project):
    url = f"{APP}/widget/{project}"
    for sizes, found in (
        ({"maxwidth": "320", "maxheight": "200"}, (320, 200)),
        ({"maxwidth": "5000", "maxheight": "99999", "format": "json"}, (640, 600)),
        ({"maxwidth": "1"}, (1, 600)),
    ):
        answer = _ask(client, url, **sizes).json
        assert (answer["width"], answer["height"]) == found
        assert f'width="{found[0]}" height="{found[1]}"' in answer["html"]
    assert _ask(client, url.replace("https", "HTTP")).status_code == 200


def test_what_it_refuses(app, client, agent, project):
    abandoned = agent.create_project(slug="gone")["_id"]
    expire_account(app, agent.account_id)
    waiting = add_testimonial(app, project, status="pending")
    base = f"{APP}/widget/{project}"
    nothing = (
        "x", APP, f"{APP}/", f"{APP}/kiln", f"{APP}/login", f"{APP}/nobody/wall",
        f"{APP}/gone/wall",
        f"{APP}/widget/{abandoned}", f"{APP}/widget/x", f"{APP}/widget/%00", f"{base}/feed",
        f"{base}/fragment", f"{APP}/kiln/{waiting}", f"{APP}/kiln/{'0' * 24}",
        f"{base}?shape=circle", f"{base}?min=" + "9" * 50, f"{base}?" + "a=1&" * 30,
        f"{base}?tag=" + "x" * 3000, base.replace("https", "javascript"),
        base.replace(APP, "https://elsewhere.example"), base.replace(APP, f"{APP}.evil.example"),
        base.replace(APP, "https://testimonials.example.com:81"), base.replace("https:", ""),
        base.replace(APP, "https://testimonials.example.com@elsewhere.example"),
        "http://[", "http://[::1", "\x00", "https://testimonials.example.com\\@x/kiln/wall",
    )  # fmt: skip
    for url in nothing:
        answer = _ask(client, url)
        assert (answer.status_code, answer.json["code"]) == (404, "NOT_FOUND"), url
    for form in ("xml", "JSON", "jsonp"):
        answer = _ask(client, base, format=form)
        assert (answer.status_code, answer.json["code"]) == (501, "FORMAT_NOT_IMPLEMENTED")
    for name, value in (
        ("maxwidth", "0"), ("maxwidth", "-1"), ("maxheight", "x"), ("maxheight", "9" * 9000),
        ("maxwidth", "1e3"), ("maxwidth", "\u0663"), ("url", ""),
    ):  # fmt: skip
        answer = client.get(f"/oembed?url={quote(base)}&{name}={quote(value)}")
        if name == "url":
            answer = client.get("/oembed?url=")
        assert (answer.status_code, list(answer.json["errors"])) == (400, [name])
    assert client.get("/oembed").status_code == 400
    # A paused project is embedded empty.
    change_project(app, project, status="inactive")
    assert _ask(client, base).status_code == 200
