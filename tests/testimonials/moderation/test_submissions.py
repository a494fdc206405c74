"""Submissions of any state, tags and undoing, for agents with tokens."""

from functools import partial
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.extensions import db, lock_for_writing
from testimonials.testimonials import models
from testimonials.testimonials.inbox import InboxFilter, list_inbox
from testimonials.testimonials.schemas import STATUSES
from tests.auth.tokens import TokenCaller, give_token
from tests.conftest import Caller
from tests.support.plans import explain_statements
from tests.support.rows import (
    add_testimonial,
    change_project,
    count_for_planner,
    read_project,
    read_testimonials,
)


@pytest.fixture
def reader(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.READ)


@pytest.fixture
def helper(app: Flask, owner: Caller) -> TokenCaller:
    return give_token(app, owner, Scope.READ, Scope.PUBLISH)


def read(caller: Caller, project_id: str, query: str = "") -> Any:
    answer = caller.get(f"/v1/projects/{project_id}/submissions{query}")
    assert answer.status_code == 200, answer.text
    return answer.json["data"]  # type: ignore[index]


def names(caller: Caller, project_id: str, query: str) -> list[str]:
    return [item["authorName"] for item in read(caller, project_id, query)["items"]]


def test_lists_what_its_owner_alone_sees(app, reader, project_id):
    values = {"status": "pending", "author_email": "maya@example.com", "original_text": "Ist good"}
    add_testimonial(app, project_id, **values)
    add_testimonial(app, project_id, author_name="Approved")
    (item,) = read(reader, project_id)["items"]
    assert (item["authorEmail"], item["originalText"]) == ("maya@example.com", "Ist good")
    assert item["tags"] == []
    assert "heldFor" not in item
    add_testimonial(app, project_id, status="spam", held_for="links,fast")
    assert read(reader, project_id, "?status=spam")["items"][0]["heldFor"] == ["links", "fast"]


def test_filters_narrow_the_list(app, reader, project_id):
    for status in STATUSES:
        add_testimonial(app, project_id, status=status, author_name=status, rating=3)
    add_testimonial(app, project_id, author_name="trash", deleted_at=clock.now())
    add_testimonial(app, project_id, author_name="Vera", rating=4.5, text="A quick one")
    for status in {*STATUSES, "trash"} - {"approved"}:
        assert names(reader, project_id, f"?status={status}") == [status]
    everything = names(reader, project_id, "?status=all")
    assert everything == ["Vera", *(name for name in reversed(STATUSES) if name != "spam")]
    assert names(reader, project_id, "?status=all&minRating=4") == ["Vera"]
    assert names(reader, project_id, "?status=all&q=quick+vera") == ["Vera"]
    assert names(reader, project_id, "?status=approved&source=manual") == []
    answer = reader.get(f"/v1/projects/{project_id}/submissions?status=new&minRating=9")
    assert set(answer.json["errors"]) == {"status", "minRating"}


def test_pages_follow_by_cursor(app, reader, project_id):
    for number in range(5):
        add_testimonial(app, project_id, status="pending", author_name=str(number))
    page = read(reader, project_id, "?limit=2")
    found = [item["authorName"] for item in page["items"]]
    while page["next"]:
        page = read(reader, project_id, f"?limit=2&after={page['next']}")
        found += [item["authorName"] for item in page["items"]]
    assert found == ["4", "3", "2", "1", "0"]


def test_each_state_is_read_in_order(app, reader, project_id):
    with app.app_context():
        lock_for_writing()
        rows = [
            {
                "id": f"{number:024x}", "project_id": project_id, "source": "public_page",
                "status": STATUSES[number % len(STATUSES)], "author_name": "Maya",
                "author_role": "", "text": "Words", "submitted_at": clock.now(),
                "created_at": clock.from_milliseconds(number), "updated_at": clock.now(),
                "deleted_at": None if number % 50 else clock.now(),
                "set_aside": None if number % 100 != 1 else "off_topic",
            }
            for number in range(3000)
        ]  # fmt: skip
        db.session.execute(insert(models.Testimonial), rows)
        db.session.commit()
        engine = db.engine
    count_for_planner(app)
    for status in (*STATUSES, "trash", "all"):
        after = read(reader, project_id, f"?status={status}&limit=5")["next"]
        page = partial(read, reader, project_id, f"?status={status}&after={after}")
        plan = explain_statements(engine, page)[0]
        assert "USING INDEX" in plan, status
        assert "TEMP B-TREE" not in plan, status
    # What was set aside is found without reading all else.
    with app.app_context():
        plan = explain_statements(
            engine, lambda: list_inbox(project_id, InboxFilter("set-aside"), 1, {})
        )[1]
    assert "ix_testimonial_taken_out" in plan
    assert "TEMP B-TREE" not in plan


def tags_of(helper: Caller, project_id: str) -> list[list[str]]:
    return [item["tags"] for item in read(helper, project_id, "?status=all")["items"]]


def test_renaming_joins_tags_and_widgets(app, helper, project_id):
    for tags in (["a/b"], ["a/b", "Press"], ["Press"]):
        add_testimonial(app, project_id, tags=tags)
    change_project(app, project_id, widget_design={"tags": ["a/b"]})
    path = f"/v1/projects/{project_id}/tags"
    listed = helper.get(path).json["data"]
    assert {tag["name"]: tag["count"] for tag in listed}["a/b"] == 2
    answer = helper.patch(f"{path}/a%2Fb", {"name": "Case study"})
    assert answer.json["data"] == {"name": "Case study", "count": 2}
    assert tags_of(helper, project_id) == [["Press"], ["Case study", "Press"], ["Case study"]]
    assert read_project(app, project_id).widget_design == {"tags": ["Case study"]}
    assert helper.patch(f"{path}/a%2Fb", {"name": "x"}).status_code == 404
    assert helper.patch(f"{path}/Case%20study", {"name": "a, b"}).status_code == 422
    assert helper.patch(f"{path}/case%20STUDY", {"name": "Press"}).json["data"]["count"] == 2
    assert [len(tags) for tags in tags_of(helper, project_id)] == [1, 1, 1]


def test_a_removed_tag(app, helper, outsider, project_id):
    add_testimonial(app, project_id, tags=["press"])
    answer = helper.delete(f"/v1/projects/{project_id}/tags/PRESS")
    assert answer.json["data"]["count"] == 1
    assert tags_of(helper, project_id) == [[]]
    body = {"undo": answer.json["data"]["undo"]}
    theirs = outsider.create_project()["_id"]
    assert give_token(app, outsider).post(f"/v1/projects/{theirs}/undo", body).status_code == 409
    assert helper.post(f"/v1/projects/{project_id}/undo", body).json["data"] == {"undoneCount": 1}
    assert tags_of(helper, project_id) == [["press"]]
    assert helper.post(f"/v1/projects/{project_id}/undo", body).status_code == 409
    assert len(read_testimonials(app, project_id)) == 1
