"""The public wall with its figures and filters, and the page of one testimonial."""

import html
import re
from typing import Any

import pytest
from flask import Flask

from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.projects import lock_project
from testimonials.projects.settings import rename_slug
from testimonials.widget.wall import read_choice, read_wall
from tests.support.plans import count_statements, explain_statements
from tests.support.rows import add_testimonial, change_project, change_testimonial
from tests.widget.rendered.test_server_rendered import _texts

APP = "https://testimonials.example.com"
PHOTO = "https://example.com/a.png"


@pytest.fixture
def wall(app: Flask, project: str) -> str:
    for rating, values in (
        (5, {"tags": ["Wheel"]}), (4.5, {"author_avatar": PHOTO}), (None, {}), (1, {}),
        (4, {"tags": ["Wheel", "Ovens"]}), (3, {"twitter": {"handle": "maya", "avatarUrl": PHOTO}}),
        (5, {"status": "demo", "text": "Sample"}), (2, {"status": "pending", "tags": ["Wheel"]}),
    ):  # fmt: skip
        columns: dict[str, Any] = {"text": f"Rated {rating}", "rating": rating} | values
        add_testimonial(app, project, **columns)
    return project


def _links(page: str) -> dict[str, tuple[int, str]]:
    """Return the links of the filters and the bars: what each is called, its count and address."""
    chips = re.findall(r'<a href="([^"]+)"[^>]*><bdi>([^<]+)</bdi> <span>(\d+)</span></a>', page)
    bars = re.findall(
        r'<a href="([^"]+)"[^>]*><span><span[^>]*>(\d)<.*?<span>(\d+)</span></a>', page
    )
    return {name: (int(count), html.unescape(url)) for url, name, count in chips + bars}


def test_each_filter_shows_as_many_as_it_says(client, wall):
    page = client.get("/kiln/wall").text
    links = _links(page)
    counts = {"All": 7, "Wheel": 2, "Ovens": 1, "With photo": 2, "5": 2, "4": 1, "3": 1, "1": 1}
    assert {name: count for name, (count, _) in links.items()} == counts
    # 3.5 is the average of five ratings; the sample's isn't one of them.
    assert "3.5 out of 5, from 5 ratings" in page
    for name, (count, url) in links.items():
        shown = client.get(url).text
        assert len(_texts(shown)) == count, name
        assert "aria-current" in shown
        # The figures are those of all ratings, and the address for search engines that of the wall.
        assert "3.5 out of 5, from 5 ratings" in shown
        assert f'<link rel="canonical" href="{APP}/kiln/wall">' in shown
    assert _texts(client.get(links["5"][1]).text) == ["Rated 4.5", "Rated 5"]
    assert _texts(client.get("/kiln/wall?tag=WHEEL&rating=4").text) == ["Rated 4"]
    assert "No results" in client.get("/kiln/wall?tag=none").text
    for query in ("rating=6", "rating=x", "photo=yes", "sort=worst", "tag=%00", "min=x", "after=x"):
        answer = client.get(f"/kiln/wall?{query}")
        assert answer.status_code == 400, query
        assert query.partition("=")[0] in answer.text


def test_the_best_first_and_pages_that_follow(app, client, wall):
    for number in range(100):
        add_testimonial(app, wall, text=f"No. {number}", rating=3.5 + number % 3 / 2)
    pinned = add_testimonial(app, wall, text="Pinned", rating=2)
    change_testimonial(app, pinned, is_pinned=True)
    url: str | None = html.unescape(_links(client.get("/kiln/wall?sort=best").text)["All"][1])
    texts: list[str] = []
    while url:
        page = client.get(url).text
        texts += _texts(page)
        add_testimonial(app, wall, text="Approved meanwhile", rating=5)
        further = re.findall(r'<a class="button"[^>]* href="([^"]+)" rel="next">', page)
        url = html.unescape(further[0]) if further else None
    assert len(texts) == len(set(texts)) == 108
    assert texts[0] == "Pinned"
    numbers = [int(text[4:]) for text in texts if text.startswith("No.")]
    assert numbers == sorted(range(100), key=lambda each: (-(each % 3), -each))
    assert texts[-1] == "Rated None"


def test_a_large_wall_costs_little(app, client, wall):
    with app.app_context():
        found = lock_project(wall)
        for query in ({}, {"rating": "4"}, {"tag": "wheel"}, {"sort": "best"}, {"photo": "1"}):
            plans = explain_statements(
                db.engine, lambda query=query: read_wall(found, read_choice(query), None)
            )
            assert plans
            for plan in plans:
                # Nothing is read but the project's own rows.
                assert "SCAN testimonial" not in plan, (query, plan)
        engine = db.engine
    client.get("/kiln/wall?tag=Wheel")
    # Until something changes, the page is in memory.
    assert count_statements(engine, lambda: client.get("/kiln/wall?tag=Wheel")) <= 1
    add_testimonial(app, wall, text="New", tags=["Wheel"])
    assert "New" in _texts(client.get("/kiln/wall?tag=Wheel").text)


def test_what_search_engines_may_keep(client, agent, wall):
    assert "noindex" not in client.get("/kiln/wall").text
    samples = agent.create_project(slug="samples", skipDemoTestimonials=False)
    page = client.get("/samples/wall").text
    # Made-up words are no testimonials.
    assert '<meta name="robots" content="noindex">' in page
    feed = client.get(f"/widget/{samples['_id']}/feed").json
    assert "noindex" in client.get(f"/samples/{feed['items'][0]['id']}").text
    agent.create_project(slug="empty")
    assert "noindex" in client.get("/empty/wall").text


def test_one_testimonial_has_an_address(app, client, wall):
    text = "Booking used to be three phone calls.\n" * 10
    key = add_testimonial(app, wall, text=text, author_name="Maya <b>", rating=5)
    answer = client.get(f"/kiln/{key}")
    page = answer.text
    assert "<title>Maya &lt;b&gt; about Kiln &amp; Clay</title>" in page
    assert f'<link rel="canonical" href="{APP}/kiln/{key}">' in page
    assert f'<meta property="og:url" content="{APP}/kiln/{key}">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page
    described = re.findall(r'<meta name="description" content="([^"]*)">', page)[0]
    # Long words are cut where there are others, with a link to all of them.
    assert "Read more: Maya" not in page
    link = f'href="{APP}/kiln/{key}" aria-label="Read more: Maya'
    assert link not in client.get("/kiln/wall").text
    change_testimonial(app, key, text=text * 2)
    assert link in client.get("/kiln/wall").text
    change_testimonial(app, key, text=text)
    assert described.endswith("…")
    assert len(described) <= 200
    assert _texts(page) == [text]
    assert 'href="/kiln/wall"' in page
    assert "<script" not in page
    german = client.get(f"/kiln/{key}?lang=de").text
    assert 'href="/kiln/wall?lang=de"' in german
    assert "Maya &lt;b&gt; über Kiln" in german
    page = client.get("/kiln/wall").text
    assert page.count("Share your experience") == 1
    assert f'href="{APP}/kiln"><bdi>Share your experience</bdi></a>' in page
    assert "Erfahrung teilen" in client.get("/kiln/wall?lang=de").text
    change_project(app, wall, status="inactive")
    assert "Share your experience" not in client.get("/kiln/wall").text


def test_it_leads_nowhere_else(app, client, owner, wall):
    key = add_testimonial(app, wall)
    waiting = add_testimonial(app, wall, status="pending")
    elsewhere = add_testimonial(app, owner.create_project(slug="other")["_id"])
    with app.app_context(), write():
        rename_slug(lock_project(wall), "ovens")
    for path in (f"/kiln/{key}", "/kiln/wall"):
        answer = client.get(f"{path}?lang=de")
        assert (answer.status_code, answer.location) == (
            307, path.replace("kiln", "ovens") + "?lang=de",
        )  # fmt: skip
    assert client.get(f"/ovens/{key}").status_code == 200
    for path in (waiting, elsewhere, "0" * 24, key.upper(), "x" * 24, f"{key}0", key[:-1]):
        assert client.get(f"/ovens/{path}").status_code == 404, path
    # The API's own answers are not pages.
    assert client.get(f"/v1/{key}").json["message"]
    change_project(app, wall, status="inactive")
    assert client.get(f"/ovens/{key}").status_code == 404
