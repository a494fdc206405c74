"""Help for people: ten pages, what a search finds, and which page fits where."""

import pytest
from flask.testing import FlaskClient
from selectolax.lexbor import LexborHTMLParser

from testimonials.operations.reference import read_words
from tests.dashboard.conftest import project as project

MOST_WORDS = 150


def titles(client: FlaskClient, q: str) -> list[str]:
    page = LexborHTMLParser(client.get("/help", query_string={"q": q}).text)
    return [each.text(strip=True) for each in page.css(".help-found .help-line")]


def test_ten_short_pages_are_for_everybody(app, client):
    with app.test_request_context():
        topics = read_words().topics
    assert len(topics) == 10
    index = client.get("/help").text
    for name, topic in topics.items():
        assert f'href="/help/{name}"' in index
        page = LexborHTMLParser(client.get(f"/help/{name}").text)
        heading = page.css_first("h1")
        assert heading is not None
        assert heading.text() == topic["title"]
        assert page.css_first(".help-picture[inert]") is not None
        assert "button solid large" not in page.html
        words = " ".join([topic["title"], topic["summary"], *topic["steps"]])
        assert len(words.split()) <= MOST_WORDS
    assert client.get("/help/nothing").status_code == 404


@pytest.mark.parametrize(("q", "first"), [
    ("How do I print the QR code?", "A card for the counter"),
    ("wordpress", "Put it on your site"),
    ("may my colleague approve", "Approve, reject, edit"),
    ("record a video", "Video and voice"),
])  # fmt: skip
def test_one_asks_in_ones_own_words(client, q, first):
    assert titles(client, q)[0] == first


def test_rows_of_settings_are_found_by_whom_they_are_for(client, browser, project):
    assert "Settings: Domain of your own" in titles(browser, "domain")
    assert titles(client, "domain") == ["A domain of your own"]
    assert titles(browser, "zzzz \0 <b>") == []
    assert "No results" in browser.get("/help?q=zzzz").text
    answer = browser.get("/help/domain").text
    assert f'href="/dashboard/projects/{project}/settings/domain"' in answer


def test_help_opens_at_the_page_that_fits(browser, project):
    here = f"/dashboard/projects/{project}"
    for path, topic in {"inbox": "/decide", "settings/domain": "/domain", "settings": ""}.items():
        assert f'href="/help{topic}"' in browser.get(f"{here}/{path}").text, path


def test_it_leads_to_pages_that_are_there(app, owner):
    with app.test_request_context():
        words = read_words()
    endpoints = {topic["endpoint"] for topic in words.topics.values()} | {
        row[1] for row in words.rows
    }
    assert endpoints <= {rule.endpoint for rule in app.url_map.iter_rules()}
