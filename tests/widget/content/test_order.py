"""Which testimonials a widget shows, and in which order."""

import re
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testimonials.core.extensions import db
from testimonials.projects.projects import get_project
from testimonials.widget.selection import BEST, BY_HAND, NEWEST, Content, count_shown, list_shown
from tests.conftest import Caller
from tests.support.plans import explain_statements
from tests.support.rows import add_testimonial, change_project, change_testimonial

Rows = dict[str, str]
INDEXES = {NEWEST: "ix_testimonial_visible_pinned_first", BEST: "ix_testimonial_visible_best_first"}


@pytest.fixture
def project(project: str, owner: Caller) -> str:
    owner.patch(f"/v1/projects/{project}/widget-config", {"initialCount": 3})
    return project


@pytest.fixture
def rows(app: Flask, project: str) -> dict[str, str]:
    """Seven testimonials from the oldest to the newest, by their texts."""
    described: list[tuple[str, dict[str, Any]]] = [
        ("five", {"rating": 5, "tags": ["vip"]}), ("four and a half", {"rating": 4.5}),
        ("five again", {"rating": 5, "tags": ["vip", "food"]}),
        ("none", {"rating": None, "tags": ["food"]}), ("pinned", {"rating": 2, "is_pinned": True}),
        ("one", {"rating": 1}), ("three", {"rating": 3}),
    ]  # fmt: skip
    return {text: add_testimonial(app, project, text=text, **each) for text, each in described}


def walk(client: FlaskClient, project: str, query: str = "") -> list[str]:
    """Return the texts of all pages; the number on the first must be theirs."""
    found: list[str] = []
    after, total = "", None
    while after is not None:
        answer = client.get(f"/widget/{project}/feed?{query}{after}")
        assert answer.status_code == 200, answer.text
        total = answer.json["total"] if total is None else total
        found += [item["text"] for item in answer.json["items"]]
        after = answer.json["next"] and f"&after={answer.json['next']}"
    assert total == len(found)
    return found


def test_order_and_selection(app, client, project, rows):
    designs: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "pinned three one none five again four and a half five"),
        ({"order": "best"}, "pinned five again five four and a half three one none"),
        ({"minRating": 4}, "five again four and a half five"),
        ({"minRating": 2, "order": "best"}, "pinned five again five four and a half three"),
        ({"tags": ["VIP", "food"]}, "none five again five"),
        ({"minLength": 6}, "pinned five again four and a half"),
    )
    for design, expected in designs:
        change_project(app, project, widget_design=design)
        assert " ".join(walk(client, project)) == expected
        # Whatever is selected, a rating is of all: 5, 4.5, 5, 2, 1 and 3.
        badge = client.get(f"/widget/{project}/feed?shape=badge").json
        assert (badge["badge"]["average"], badge["total"]) == (3.4, 6)


def test_the_newest_are_those_of_the_newest_date_shown(app, client, owner, project):
    """However late they arrived; the API's list stays in the order of arrival."""
    days = [12, 25, 3, 19, 7]
    for day in days:
        add_testimonial(
            app, project, text=f"of day {day}", submitted_at=datetime(2025, 5, day, tzinfo=UTC)
        )
    expected = [f"of day {day}" for day in sorted(days, reverse=True)]
    assert walk(client, project) == expected
    listed = owner.get(f"/v1/projects/{project}/testimonials").json["data"]["items"]
    assert [row["text"] for row in listed] == [f"of day {day}" for day in reversed(days)]
    feed = client.get(f"/widget/{project}/feed.json").json
    assert [item["content_text"] for item in feed["items"]] == expected[: len(feed["items"])]
    for path in (f"/widget/{project}", "/kiln/wall", "/kiln/wall?sort=best"):
        page = client.get(path).text
        assert (
            re.findall(r"of day \d+(?=<)", page)
            == expected[: 3 if path.startswith("/widget") else 5]
        )


def test_by_hand_first(app, client, project, rows):
    names = ["one", "five", "none", "four and a half"]
    # One that is gone, and one that is no longer approved, take no place.
    chosen = ["0" * 24, *(rows[name] for name in names)]
    change_project(app, project, widget_design={"order": "hand", "chosen": chosen})
    assert walk(client, project) == [*names, "pinned", "three", "five again"]
    change_testimonial(app, rows["five"], status="rejected")
    names.remove("five")
    assert walk(client, project) == [*names, "pinned", "three", "five again"]
    design = {"order": "hand", "chosen": chosen, "onlyChosen": True, "tags": ["food"]}
    change_project(app, project, widget_design=design)
    assert walk(client, project) == ["none"]
    # An attribute of the container overrides the tags of the settings.
    assert walk(client, project, "tag=vip") == []
    change_project(app, project, widget_design={"chosen": chosen, "onlyChosen": True})
    assert walk(client, project) == names


def test_visitors_read_on(app, client, project, rows):
    """Also with a cursor from before the upgrade, and of one that is no longer shown."""
    url = f"/widget/{project}/feed"
    after = client.get(url).json["next"]
    by_hand = {"order": "hand", "chosen": [rows["five"]]}
    for design in ({"order": "best"}, by_hand, {"minRating": 5}):
        change_project(app, project, widget_design=design)
        answer = client.get(f"{url}?after={after}")
        assert answer.status_code == 200, answer.text


def test_the_wall_shows_all(app, client, project, rows):
    design = {"minRating": 5, "onlyChosen": True, "chosen": [rows["five"]], "order": "hand"}
    change_project(app, project, widget_design=design)
    page = client.get("/kiln/wall").text
    assert all(f">{text}<" in page for text in rows)


def test_pages_use_their_index_and_chosen_ones_their_ids(app, project, rows):
    for order, index in INDEXES.items():
        with app.app_context():
            found, content = get_project(project), Content(order=order)
            _, cursor = list_shown(found, content, None, 3)
            first = explain_statements(db.engine, partial(list_shown, found, content, None, 3))
            second = explain_statements(db.engine, partial(list_shown, found, content, cursor, 3))
            (counted,) = explain_statements(db.engine, partial(count_shown, found, content))
        for plan in first + second:
            assert f"USING INDEX {index}" in plan
            assert "TEMP B-TREE" not in plan
            assert "SCAN" not in plan
        # The second page begins in the index where the first has ended.
        assert "is_pinned" in second[0]
        assert "is_pinned" not in first[0]
        assert counted.startswith("SEARCH testimonial_count USING INDEX")
    chosen = tuple(rows.values())
    with app.app_context():
        found = get_project(project)
        for content in (
            Content(order=BY_HAND, chosen=chosen),
            Content(order=BEST, chosen=chosen, is_only_chosen=True),
        ):
            plan, *_ = explain_statements(db.engine, partial(list_shown, found, content, None, 3))
            assert "(id=?)" in plan
