"""GET .../insights, and the same as a command: what was counted, for programs."""

from datetime import timedelta

import pytest
from flask import Flask

from testimonials.auth.tokens import Scope
from testimonials.core import clock
from tests.auth.tokens import give_token
from tests.conftest import Caller
from tests.dashboard.insights.counted import add_reads, add_views, add_visits
from tests.support.commands import run_json, run_well
from tests.support.rows import add_testimonial

TOTALS = {"widget": 8, "wall": 0, "total": 8, "previous": 3}


@pytest.fixture
def project(app: Flask, owner: Caller) -> str:
    project_id = str(owner.create_project(slug="fern", skipDemoTestimonials=True)["_id"])
    add_views(app, project_id, 8, website="fern.example", clicks=2)
    add_views(app, project_id, 3, website="shop.example", ago=10)
    add_visits(app, project_id, 5, 4)
    return project_id


def test_programs_are_told_the_same(app, owner, project):
    visit = f"{clock.now():%Y-%m-%d}.{0:022}"
    values = {"rating": 4.5, "submitted_at": clock.now(), "visit": visit}
    said = add_testimonial(app, project, **values)
    add_reads(app, project, said, 7, 3)
    reader = give_token(app, owner, Scope.READ)
    told = reader.get(f"/v1/projects/{project}/insights?days=7").json["data"]
    today, first = (f"{clock.now() - timedelta(days=ago):%Y-%m-%d}" for ago in (0, 6))
    assert (told["period"], told["views"]) == ({"days": 7, "from": first, "to": today}, TOTALS)
    assert told["clicks"] == 2
    assert told["days"][-1] == {"day": today, "widget": 8, "wall": 0, "clicks": 2}
    assert told["funnel"] == {"opened": 5, "started": 4, "sent": 1, "approved": 1}
    assert told["requests"] == {"sent": 0, "opened": 0, "answered": 0}
    assert told["testimonials"] == [{"testimonialId": said, "seen": 7, "read": 3}]
    (website,) = told["websites"]
    assert (website["website"], website["views"], website["clicks"]) == ("fern.example", 8, 2)
    assert website["lastSeenAt"].endswith("Z")
    assert [each["website"] for each in told["quiet"]] == ["shop.example"]
    ratings = told["ratings"]
    assert (ratings["average"], ratings["count"], ratings["stars"]) == (4.5, 1, [1, 0, 0, 0, 0])
    assert [(each["average"], each["count"]) for each in ratings["weeks"]] == [(4.5, 1)]


def test_no_average_and_no_other_period(app, owner, project):
    reader = give_token(app, owner, Scope.READ)
    path = f"/v1/projects/{project}/insights"
    told = reader.get(path).json["data"]
    assert told["period"]["days"] == 30
    assert told["ratings"] == {"average": None, "count": 0, "stars": [0] * 5, "weeks": []}
    for query in ("days=8", "days=", "days=7.0", "days=07", "period=7"):
        answer = reader.get(f"{path}?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.json["errors"]


def test_the_command_says_it_in_lines_and_as_json(app, project):
    assert run_json(app, "projects", "insights", project)["views"]["total"] == 11
    said = run_well(app, "projects", "insights", "fern", "--days", "7")
    lines = [line.split() for line in said.splitlines()]
    assert ["views", "8"] in lines
    assert ["viewsBefore", "3"] in lines
    assert ["averageRating", "-"] in lines
