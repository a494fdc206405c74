"""The numbers of genuine ratings on all doors, after histories at random, and over an upgrade."""

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.defaults import RATED
from testimonials.projects.models import Project
from testimonials.testimonials import models
from testimonials.testimonials.new_numbers import mark_overdue
from tests.auth.browsers import open_browser
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.integrations.mcp.talking import connect
from tests.support.commands import run_json
from tests.support.rows import add_testimonial, change_project

Said = tuple[float, int]


def make_project(app: Flask, owner: Caller, **values: Any) -> dict[str, Any]:
    """Return a new project that shows its numbers wherever it can."""
    project = owner.create_project(**values)
    change_project(
        app,
        project["_id"],
        widget_design={"showHeader": True},
        dashboard_config={RATED: {"kind": "Product", "name": "Bread"}},
    )
    return project


class Reader:
    """Somebody who reads what each door says."""

    def __init__(self, app: Flask, owner: Caller) -> None:
        self.app, self.browser = app, open_browser(app, owner)
        self.token = give_token(app, owner, Scope.READ)
        self.agent = connect(app, owner.account_id, Scope.READ)

    def read(self, project: dict[str, Any]) -> dict[str, Said]:
        """Return the average and the number of ratings that each door says."""
        path, slug = f"/v1/projects/{project['_id']}", project["publicPageConfig"]["slug"]
        widget = f"/widget/{project['_id']}"
        header = self.browser.get(f"{widget}/feed").json["header"]
        badge = self.browser.get(f"{widget}/feed?shape=badge").json["header"]
        wall = self.browser.get(f"/{slug}/wall").text
        summary = self.token.get(f"{path}/summary").json["data"]
        insights = self.token.get(f"{path}/insights?days=30").json["data"]["ratings"]
        told = self.agent.call("get_summary", projectId=project["_id"])
        command = run_json(self.app, "projects", "insights", slug, "--days", "30")["ratings"]
        found = {
            "header": (header["average"], header["count"]),
            "badge": (badge["average"], badge["count"]),
            "summary": (summary["averageRating"] or 0, summary["ratingCount"]),
            "insights": (insights["average"] or 0, insights["count"]),
            "mcp": (told["averageRating"] or 0, told["ratingCount"]),
            "command": (command["average"] or 0, command["count"]),
        }
        if stated := re.search(r'"ratingValue": ([\d.]+), "ratingCount": (\d+)', wall):
            found["structured data"] = (float(stated[1]), int(stated[2]))
        if score := re.search(r'class="unseen">([\d.]+) out of 5, from (one|[\d,]+) rating', wall):
            count = 1 if score[2] == "one" else int(score[2].replace(",", ""))
            found["wall"] = (float(score[1]), count)
        return found


@pytest.mark.postgres
def test_what_waits_for_fourteen_days_counts(app, owner):
    project, reader = make_project(app, owner), Reader(app, owner)
    row = add_testimonial(app, project["_id"], rating=2, status="pending")
    doors = reader.read(project)
    assert set(doors.values()) == {(0, 0)}
    with app.app_context():
        with write():
            assert mark_overdue() == 0
            found = db.session.get_one(models.Testimonial, row)
            found.created_at = clock.now() - timedelta(days=models.OVERDUE_DAYS, minutes=1)
        version = db.session.get_one(Project, project["_id"]).feed_version
        with write():
            assert mark_overdue() == 1
            assert mark_overdue() == 0
        assert db.session.get_one(Project, project["_id"]).feed_version > version
    assert set(reader.read(project).values()) == {(2, 1)}


def test_the_numbers_of_before_stand_until_their_day(app, owner):
    project, reader = make_project(app, owner, slug="bread"), Reader(app, owner)
    for rating, status in ((5, "approved"), (4, "approved"), (1, "rejected")):
        add_testimonial(app, project["_id"], rating=rating, status=status)
    old = {"total": 9_000_000_000, "stars": [0, 0, 0, 1, 1]}
    until = clock.now() + timedelta(days=3)
    change_project(app, project["_id"], old_numbers=old, numbers_from=until)
    doors = reader.read(project)
    # Insights says what came in which week.
    assert {doors.pop("insights"), doors.pop("command")} == {(3.3, 3)}
    assert set(doors.values()) == {(4.5, 2)}
    assert "shown or not" not in owner.client.get("/bread/wall").text
    change_project(app, project["_id"], numbers_from=clock.now())
    assert set(reader.read(project).values()) == {(3.3, 3)}
    assert "shown or not" in owner.client.get("/bread/wall").text


def test_a_bar_leads_to_what_is_shown_and_says_that_it_is_less(app, owner):
    project = make_project(app, owner, slug="bread")["_id"]
    for rating, status in ((1, "approved"), (1, "rejected"), (2, "rejected"), (5, "approved")):
        add_testimonial(app, project, rating=rating, status=status)
    page = owner.client.get("/bread/wall").text
    links = re.findall(r'href="/bread/wall\?rating=(\d)"', page)
    assert links == ["5", "1"]
    assert re.findall(r"</svg><span>(\d)</span>", page)[-5:] == ["1", "0", "0", "1", "2"]
    assert "<bdi>1 star</bdi> <span>1 of 2</span>" in owner.client.get("/bread/wall?rating=1").text
    assert "<bdi>5 stars</bdi> <span>1</span>" in owner.client.get("/bread/wall?rating=5").text
