"""What an owner is told: periods, sums, websites gone quiet, ratings by weeks."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from testimonials.analytics.models import InsightDay, InsightTestimonialDay
from testimonials.analytics.reports import count_unvisited, describe_insights
from testimonials.core.db.engine import Base
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from tests.conftest import Caller, MovableClock
from tests.support.plans import explain_statements
from tests.support.rows import add_testimonial

# A Wednesday.
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture
def project(owner: Caller, moved_clock: MovableClock) -> str:
    project_id: str = owner.create_project(skipDemoTestimonials=True)["_id"]
    moved_clock.time = NOW
    return project_id


def add(app: Flask, *rows: Base) -> None:
    with app.app_context(), write():
        db.session.add_all(rows)


def viewed(project: str, ago: int, website: str, views: int, clicks: int = 0) -> InsightDay:
    """Make the row of a website's day; without a name, of the wall's."""
    time = NOW - timedelta(days=ago)
    return InsightDay(
        project_id=project, day=f"{time:%Y-%m-%d}", surface="widget" if website else "wall",
        website=website, views=views, clicks=clicks, last_seen_at=time,
    )  # fmt: skip


def describe(app: Flask, project: str, days: int = 7, **options: Any) -> dict[str, Any]:
    with app.app_context():
        return describe_insights(db.session.get_one(Project, project), days, **options)


def test_nothing_is_told_as_nothing(app, project):
    told = describe(app, project)
    assert told["period"] == {"days": 7, "from": "2026-11-12", "to": "2026-11-18"}
    assert told["views"] == {"widget": 0, "wall": 0, "total": 0, "previous": 0}
    assert [day["day"][-2:] for day in told["days"]] == ["12", "13", "14", "15", "16", "17", "18"]
    assert told["funnel"] == {"opened": 0, "started": 0, "sent": 0, "approved": 0}
    assert told["requests"] == {"sent": 0, "opened": 0, "answered": 0}
    assert told["testimonials"] == told["websites"] == told["quiet"] == []
    assert told["ratings"] == {"average": None, "count": 0, "stars": [0] * 5, "weeks": []}
    with app.app_context():
        row = db.session.get_one(Project, project)
        plans = explain_statements(db.engine, lambda: describe_insights(row, 365), "")
        assert any("USING COVERING INDEX ix_testimonial_visited" in plan for plan in plans)
        (plan,) = explain_statements(db.engine, lambda: count_unvisited(row, 365))
        assert "USING INDEX ix_testimonial_unvisited" in plan
    for plan in plans:
        # Of what was found already, a statement may read all.
        assert not re.search(r"SCAN (?!\(|anon_)", plan), plan


def test_views_are_summed_by_day_and_by_website(app, project, owner):
    other = owner.create_project()["_id"]
    add(
        app,
        viewed(project, 0, "a.example", 3, 1),
        viewed(project, 6, "b.example", 5),
        viewed(project, 6, "", 7, 2),
        viewed(project, 7, "a.example", 11),
        viewed(project, 13, "", 13),
        viewed(project, 14, "", 17),
        viewed(other, 0, "a.example", 100, 100),
    )
    told = describe(app, project)
    assert told["views"] == {"widget": 8, "wall": 7, "total": 15, "previous": 24}
    assert told["clicks"] == 3
    assert told["days"][0] == {"day": "2026-11-12", "widget": 5, "wall": 7, "clicks": 2}
    assert told["days"][6] == {"day": "2026-11-18", "widget": 3, "wall": 0, "clicks": 1}
    websites = [(each["website"], each["views"]) for each in told["websites"]]
    assert websites == [("", 7), ("b.example", 5), ("a.example", 3)]
    assert told["websites"][2]["last_seen_at"] == NOW
    assert describe(app, project, 30, top=1)["websites"][0]["views"] == 37


def test_a_website_that_stopped_is_quiet(app, project):
    add(
        app,
        viewed(project, 0, "still.example", 1),
        viewed(project, 5, "still.example", 1),
        viewed(project, 5, "stopped.example", 1),
        viewed(project, 40, "forgotten.example", 1),
        viewed(project, 5, "", 1),
    )
    assert describe(app, project)["quiet"] == [
        {"website": "stopped.example", "last_seen_at": NOW - timedelta(days=5)}
    ]


def test_what_is_read_most_comes_first(app, project):
    seen, read = (add_testimonial(app, project) for _ in range(2))
    for day, said, shown, opened in ((18, seen, 9, 1), (17, read, 4, 1), (18, read, 2, 2)):
        row = {"day": f"2026-11-{day}", "testimonial_id": said, "seen": shown, "read": opened}
        add(app, InsightTestimonialDay(project_id=project, **row))
    assert describe(app, project)["testimonials"] == [
        {"id": read, "seen": 6, "read": 3},
        {"id": seen, "seen": 9, "read": 1},
    ]


def test_ratings_are_averaged_by_week(app, project):
    for ago, rating in (0, 5), (1, 4.5), (3, 2), (4, 1), (9, 5):
        add_testimonial(app, project, rating=rating, submitted_at=NOW - timedelta(days=ago))
    add_testimonial(app, project, rating=1, status="pending")
    add_testimonial(app, project, rating=1, source="demo", status="demo")
    add_testimonial(app, project)
    assert describe(app, project)["ratings"] == {
        "average": 3.1,
        "count": 4,
        "stars": [2, 0, 0, 1, 1],
        "weeks": [
            {"from": "2026-11-09", "average": 1.5, "count": 2},
            {"from": "2026-11-16", "average": 4.8, "count": 2},
        ],
    }
