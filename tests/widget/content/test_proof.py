"""What says how testimonials came to be shown: marks, the line below, policy and record."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.collection.images.pictures import describe_picture
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.i18n import LANGUAGES
from testimonials.core.http.urls import log_url, policy_url, record_url
from testimonials.projects.defaults import WIDGET_CONFIG
from testimonials.testimonials import models
from testimonials.testimonials.counts import BILLION
from testimonials.widget.container import BADGES
from tests.conftest import Caller
from tests.support.plans import count_statements
from tests.support.rows import add_testimonial, change_project, change_testimonial
from tests.widget.conftest import read_feed

SELECTED = "Selected by Oat &amp; Ember"
SHORT = "Warm buns."
MARKS = {
    "verified": ({"purchase_verified_at": clock.EPOCH}, "Verified customer"),
    "insider": ({"is_insider": True}, "Works here or is related"),
    "rewarded": ({"is_rewarded": True}, "Got a thank-you for writing"),
    "translated": ({"translated_from": "pl", "original_text": "Ciepłe bułki."}, "Translated"),
    "shortened": ({"original_text": f"{SHORT} And late."}, "Shortened by Oat &amp; Ember"),
    "edited": ({"original_text": "Cold bun."}, "Edited by Oat &amp; Ember"),
}

NO_MARKS = {
    "purchase_verified_at": None, "is_insider": False, "is_rewarded": False,
    "translated_from": None, "original_text": SHORT,
}  # fmt: skip


@pytest.fixture
def project(owner: Caller) -> str:
    made = owner.create_project(slug="oat", businessName="Oat & Ember", skipDemoTestimonials=True)
    return str(made["_id"])


@pytest.fixture
def policy(app: Flask) -> str:
    with app.app_context():
        return policy_url("oat")


def see(client: FlaskClient, project: str, one: str) -> Iterator[tuple[str, str]]:
    """Yield each page that shows cards, and what is on it."""
    widget = f"/widget/{project}"
    for path in (widget, f"{widget}/fragment", f"{widget}/newsletter", "/oat/wall", f"/oat/{one}"):
        yield path, client.get(path).text


def describe(app: Flask, one: str) -> dict[str, Any]:
    with app.app_context():
        row = db.session.get_one(models.Testimonial, one)
        return describe_picture(row.project, row).shown


def test_each_mark_is_on_every_door(app, client, project):
    one = add_testimonial(app, project, text=SHORT, original_text=SHORT)
    assert "extras" not in read_feed(client, project)["items"][0]
    labels = [label for _, label in MARKS.values()]
    assert not [each for _, text in see(client, project, one) for each in labels if each in text]
    assert describe(app, one)["marks"] == ""
    for mark, (values, label) in MARKS.items():
        change_testimonial(app, one, **NO_MARKS | values)
        feed = read_feed(client, project, "lang=en")
        assert feed["items"][0]["extras"] == {"marks": [mark]}
        assert feed["words"][mark] == label.replace("&amp;", "&")
        assert feed["words"][f"{mark}Means"]
        for path, text in see(client, project, one):
            assert label in text, (mark, path)
        assert describe(app, one)["marks"] == label.replace("&amp;", "&")
        read = client.get(f"/widget/{project}/feed.json").json
        assert read["items"][0]["_testimonial"]["marks"] == [mark]


@pytest.mark.postgres
def test_less_than_all_is_called_selected(app, client, project, policy):
    sent = {"source": "public_page", "text": SHORT}
    add_testimonial(app, project, status="demo", source="demo", tags=["a"])
    long = sent | {"text": f"{SHORT} Again and again."}
    one = add_testimonial(app, project, rating=5.0, tags=["a"], **long)
    add_testimonial(app, project, rating=3.0, **sent)
    add_testimonial(app, project, status="pending", **sent)

    def read_line(query: str = "") -> dict[str, str]:
        return dict(read_feed(client, project, query)["proof"])

    def choose(**design: Any) -> bool:
        change_project(app, project, widget_design=design)
        return "text" in read_line()

    with app.app_context():
        record, log = record_url("oat", "{id}", None), log_url(project)
    assert read_line() == {"label": "How we collect", "url": policy, "record": record, "log": log}
    for path, text in see(client, project, one):
        # A newsletter has three at most, which are all here.
        assert SELECTED not in text, path
        assert f'href="{policy}"' in text, path
    # Whatever leaves some out, and nothing else.
    for query in ("tag=a", "min=20", f"id={one}", "shape=single"):
        assert read_line(query).get("text") == "Selected by Oat & Ember", query
    for shape in ("strip", "popup", *BADGES):
        assert "text" not in read_line(f"shape={shape}"), shape
    assert choose(minRating=4)
    assert not choose(minRating=2)
    assert choose(tags=["a"])
    assert choose(order="hand", chosen=[one], onlyChosen=True)
    assert not choose(order="hand", chosen=[one])
    # What waits is not counted yet, what was turned down is, and what is spam never.
    for status, is_selected in (("pending", False), ("spam", False), ("rejected", True)):
        change_testimonial(app, last := add_testimonial(app, project, **sent), status=status)
        assert choose() == is_selected, status
        change_testimonial(app, last, status="pending")
    change_testimonial(app, last, status="rejected")
    for path, text in see(client, project, one):
        assert SELECTED in text, path
    assert describe(app, one)["business"] == "Selected by Oat & Ember"
    for language in LANGUAGES:
        assert "Oat & Ember" in read_line(f"lang={language.code}")["text"]


def test_a_marquee_shows_its_first_page_alone(app, client, project):
    for _ in range(5):
        add_testimonial(app, project, source="public_page")
    for changes, is_selected in (
        ({"layout": "carousel", "animation": "none"}, False),
        ({"layout": "carousel", "animation": "horizontal"}, True),
        ({"layout": "carousel", "animation": "horizontal", "initialCount": 6}, False),
    ):
        change_project(app, project, widget_config=WIDGET_CONFIG | {"initialCount": 4} | changes)
        assert ("text" in read_feed(client, project)["proof"]) == is_selected, changes


def test_samples_alone_say_nothing_of_a_choice(client, agent, policy):
    project = agent.create_project(slug="oat", skipDemoTestimonials=False)["_id"]
    assert "text" not in read_feed(client, project, "min=2000")["proof"]
    feed = read_feed(client, project)
    assert feed["items"]
    assert "text" not in feed["proof"]
    # They have no record, either.
    for path in (f"/widget/{project}", f"/widget/{project}/fragment", "/oat/wall"):
        text = client.get(path).text
        assert f'href="{policy}"' in text, path
        assert "Check this" not in text, path


def test_every_card_leads_to_its_record(app, client, project, policy):
    changed = {"original_text": f"{SHORT} And late."}
    ids = [add_testimonial(app, project, text=SHORT, **values) for values in ({}, changed)]
    proof = read_feed(client, project)["proof"]
    record, log = proof["record"], proof["log"]
    for path in (f"/widget/{project}", f"/widget/{project}/fragment", "/oat/wall"):
        text = client.get(path).text
        assert f'<link rel="describedby" href="{policy}">' in text, path
        assert f'<link rel="describedby" type="application/x-ndjson" href="{log}">' in text, path
        # The mark of what was changed leads there too.
        for one, count in zip(ids, (1, 2), strict=True):
            assert text.count(f'href="{record.replace("{id}", one)}"') == count, path
        assert text.count(">Check this</a>") == 2, path


def test_a_badge_names_all_ratings_once_they_are_counted(app, client, project, policy):
    add_testimonial(app, project, rating=5.0, source="public_page")
    add_testimonial(app, project, rating=2.0, source="public_page", status="rejected")
    for shape in BADGES:
        badge = client.get(f"/widget/{project}/fragment?shape={shape}").text
        words = " ".join(re.sub("<[^>]+>", " ", badge).split())
        assert "3.5" in words, shape
        assert "from all 2 ratings" in words, shape
        assert f'href="{policy}"' in badge, shape
    # Until the numbers of before the upgrade end, which were of approved ones alone.
    old = {"stars": [0, 0, 0, 0, 1], "total": 5 * BILLION}
    until = clock.now() + timedelta(days=14)
    change_project(app, project, old_numbers=old, numbers_from=until)
    words = read_feed(client, project, "shape=badge&lang=en")["words"]
    assert words["ratings"] == "from {n} rating"


@pytest.mark.postgres
def test_edits_are_looked_up_together(app, client, project):
    with app.app_context():
        engine = db.engine

    def count(**values: Any) -> int:
        for _ in range(3):
            add_testimonial(app, project, text=SHORT, **values)
        return count_statements(engine, lambda: read_feed(client, project))

    plain = count()
    assert [count(original_text="Cold buns.") for _ in range(2)] == [plain + 1] * 2
