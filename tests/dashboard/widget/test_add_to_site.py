"""Putting the widget on a site: steps, snippet, addresses and lines; mailing them to somebody."""

import base64
import hashlib
import re

from flask import Flask
from selectolax.lexbor import LexborHTMLParser

from testimonials.core.extensions import db
from testimonials.core.mail.outbox import OutboxMail
from testimonials.widget.embed import STEPS
from testimonials.widget.sightings import note_sighting
from tests.dashboard.inbox.inbox import JSON, Inbox
from tests.support.rows import add_widget, change_project

HERE = "widget/add-to-site"


def open_steps(inbox: Inbox, query: str = "") -> LexborHTMLParser:
    return LexborHTMLParser(inbox.get(f"{HERE}{query}").text)


def read(page: LexborHTMLParser, place: str) -> str:
    """Return what the copy button of a place copies."""
    node = page.css_first(f"#{place}")
    return node.attributes.get("value") or node.text()


def chosen(page: LexborHTMLParser) -> str | None:
    return page.css_first("[name=made_with][checked]").attributes["value"]


def test_each_site_has_three_steps_and_the_snippet_of_the_api(inbox):
    page = open_steps(inbox)
    snippet = inbox.owner.get(f"/v1/projects/{inbox.project}/embed-snippet").json["data"]  # type: ignore[index]
    for place in ("snippet", "code-html"):
        assert read(page, place) == f"{snippet['container']}\n{snippet['script']}"
    for site in STEPS:
        lines = [each.css_first(f"p[data-site={site}]") for each in page.css(".site-steps > li")]
        assert len(lines) == 3
        assert all(line.text().strip() for line in lines)
    assert page.css_first("p[data-site=wordpress] strong").text() == "Custom HTML"
    for language in ("react", "vue", "next"):
        code = read(page, f"code-{language}")
        assert f'data-testimonials-project="{inbox.project}"' in code
        assert f'"{snippet["widgetUrl"]}"' in code


def test_what_the_site_is_made_with_is_guessed_and_kept(app, inbox):
    assert chosen(open_steps(inbox)) == "other"
    change_project(app, inbox.project, brand={"read": {"madeWith": "webflow"}})
    assert chosen(open_steps(inbox)) == "webflow"
    path = f"{inbox.base}/{HERE}/made-with"
    assert inbox.client.post(path, data={"made_with": "wix"}, headers=JSON).json["ok"]  # type: ignore[index]
    assert chosen(open_steps(inbox)) == "wix"
    answer = inbox.client.post(path, data={"made_with": "code"})
    assert answer.headers["Location"] == f"{inbox.base}/{HERE}"
    assert chosen(open_steps(inbox)) == "code"
    assert inbox.client.post(path, data={"made_with": "geocities"}).status_code == 422
    assert chosen(open_steps(inbox)) == "code"


def test_a_saved_widget_has_a_snippet_of_its_own(app, inbox):
    add_widget(app, inbox.project, "home-page")
    page = open_steps(inbox, "?widget=home-page")
    assert "home-page" in page.css_first("h1").text()
    for place in ("snippet", "code-react", "shortcode", "element-vue"):
        assert re.search('widget="home-page"', read(page, place)), place
    for place in ("fragment", "json-feed", "newsletter-address", "frame-address"):
        assert read(page, place).endswith("?widget=home-page"), place
    assert inbox.client.get(f"{inbox.base}/{HERE}?widget=unknown").status_code == 404


def test_places_without_script_get_what_is_served(inbox, client):
    inbox.owner.create_testimonial(inbox.project, text="Short </textarea><b>")
    page = open_steps(inbox)
    base = f"https://testimonials.example.com/widget/{inbox.project}"
    served = client.get(f"/widget/{inbox.project}/newsletter?limit=3").text
    assert read(page, "newsletter").strip() == served.strip()
    assert read(page, "json-feed") == f"{base}/feed.json"
    for place in ("fragment", "json-feed", "newsletter-address", "frame-address"):
        assert client.get(read(page, place)).status_code == 200
    for language in ("astro", "hugo"):
        assert f'"{base}/fragment"' in read(page, f"code-{language}")
    assert f'<iframe src="{base}" title="Testimonials"' in read(page, "frame")
    element = LexborHTMLParser(read(page, "element-vue")).body.child
    assert element.attributes["project"] == inbox.project
    # React takes no text as a style.
    assert "style={{ display: 'block', width: '100%', minHeight: '" in read(page, "element-react")


def test_lines_for_a_strict_policy_and_for_a_fixed_version(inbox, client):
    page = open_steps(inbox)
    for name in ("script-src", "connect-src", "img-src", "media-src"):
        assert f"{name} https://testimonials.example.com;" in read(page, "policy")
    # What the snippet has in its style attribute.
    (style,) = re.findall('style="([^"]+)"', read(page, "snippet"))
    assert read(page, "rule") == f'[data-testimonials-project="{inbox.project}"] {{ {style} }}'
    address = re.search(
        r"https://testimonials\.example\.com(/widget/v1-\w+\.js)", read(page, "pinned")
    )
    digest = re.search(r"sha384-([\w+/=]+)", read(page, "pinned"))
    assert address
    assert digest
    served = client.get(address[1])
    assert "immutable" in served.headers["Cache-Control"]
    assert base64.b64encode(hashlib.sha384(served.data).digest()).decode() == digest[1]


def test_the_first_visit_is_told(app, inbox):
    page = open_steps(inbox)
    assert "hidden" not in page.css_first("[data-watching]").attributes
    assert inbox.get(f"{HERE}/seen").json is None
    with app.app_context():
        note_sighting(inbox.project, "https://fern.example")
    seen = inbox.get(f"{HERE}/seen").json
    assert (seen["text"], seen["url"]) == ("Seen just now on fern.example", "https://fern.example")  # type: ignore[index]
    page = open_steps(inbox)
    assert "hidden" in page.css_first("[data-watching]").attributes
    assert page.css_first("[data-look]").attributes["href"] == "https://fern.example"


def mails(app: Flask) -> list[OutboxMail]:
    with app.app_context():
        return list(db.session.query(OutboxMail).filter_by(purpose="widget-steps"))


def test_the_steps_are_mailed_to_one_address(app, inbox):
    path = f"{inbox.base}/{HERE}/mail"
    assert inbox.client.post(path, data={"email": "two@fern.example, x"}).status_code == 422
    inbox.client.post(f"{inbox.base}/{HERE}/made-with", data={"made_with": "shopify"})
    answer = inbox.client.post(path, data={"email": " Web@Fern.example "})
    page = inbox.client.get(answer.headers["Location"]).text
    assert "Sent" in page
    (mail,) = mails(app)
    assert (mail.recipient, mail.reply_to) == ("web@fern.example", inbox.owner.email)
    assert mail.sender_name == "Fern & Fable"
    done = "emailed the steps of “Add to your site” to web@fern.example"
    assert done in inbox.client.get(f"{inbox.base}/settings/developers/activity").text
    snippet = inbox.owner.get(f"/v1/projects/{inbox.project}/embed-snippet").json["data"]  # type: ignore[index]
    assert snippet["container"] in mail.text
    assert "“Custom Liquid”" in mail.text
    assert "&lt;div data-testimonials-project" in mail.html
    for _ in range(2):
        inbox.client.post(path, data={"email": "web@fern.example"})
    assert inbox.client.post(path, data={"email": "web@fern.example"}).status_code == 429
    assert len(mails(app)) == 3
