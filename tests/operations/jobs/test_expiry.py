"""The sweep, and accounts that nobody claimed."""

import pytest
from flask import Flask

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.rate_limit_counters import RateLimitCounter
from testimonials.operations.jobs import expiry
from testimonials.operations.jobs.expiry import sweep
from testimonials.projects.models import Project
from testimonials.testimonials import models
from tests.conftest import Caller, MakeCaller, MovableClock
from tests.support.rows import add_testimonial, count_rows, read_testimonials

pytestmark = pytest.mark.postgres

TABLES = (Account, Project, models.Testimonial)


def _sweep(app: Flask) -> int:
    with app.app_context():
        return sweep()["accounts"]


def test_the_sweep_removes_account_projects_and_testimonials(
    app: Flask, agent: Caller, owner: Caller, moved_clock: MovableClock
) -> None:
    """Of those that nobody claimed in time; other accounts and windows that run stay."""
    agent.create_project(skipDemoTestimonials=False)
    project = owner.create_project()["_id"]
    moved_clock.move(days=6.9)
    agent.client.post("/v1/auth/agent-init", json={"email": "new@example.com"})
    counters = count_rows(app, RateLimitCounter)
    assert counters >= 1
    assert _sweep(app) == 0
    assert [count_rows(app, table) for table in TABLES] == [3, 2, 6]
    moved_clock.move(days=0.2)
    assert _sweep(app) == 1
    assert [count_rows(app, table) for table in TABLES] == [2, 1, 0]
    assert _sweep(app) == 0
    moved_clock.move(days=4000)
    assert _sweep(app) == 1
    assert owner.get(f"/v1/projects/{project}").status_code == 200


def test_the_key_answers_401_from_that_moment_also_before_a_sweep(
    agent: Caller, moved_clock: MovableClock
) -> None:
    project = agent.create_project()
    slug = project["publicPageConfig"]["slug"]
    paths = ("/v1/me", "/v1/projects", f"/v1/projects/{project['_id']}/testimonials")
    assert {agent.get(path).status_code for path in paths} == {200}
    moved_clock.move(days=7)
    assert {agent.get(path).status_code for path in paths} == {401}
    assert agent.post("/v1/projects", {}).status_code == 401
    assert agent.client.get(f"/widget/{project['_id']}").status_code == 404
    assert agent.client.get(f"/{slug}").status_code == 404


def test_the_same_address_can_start_again_with_nothing_left(
    app: Flask, agent: Caller, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    agent.create_project(slug="mine", skipDemoTestimonials=False)
    moved_clock.move(days=8)
    again = make_caller(agent.email)
    assert again.account_id != agent.account_id
    assert again.get("/v1/projects").json["data"] == []
    # Its project counts as the first again, and the slug is free.
    first = again.create_project(slug="mine", skipDemoTestimonials=False)
    assert len(again.get(f"/v1/projects/{first['_id']}/testimonials").json["data"]["items"]) == 6
    assert agent.get("/v1/me").status_code == 401


def test_another_request_starts_the_days_anew(
    app: Flask, agent: Caller, make_caller: MakeCaller, moved_clock: MovableClock
) -> None:
    project = agent.create_project()
    moved_clock.move(days=6)
    again = make_caller(agent.email)
    moved_clock.move(days=6)
    assert _sweep(app) == 0
    assert again.get(f"/v1/projects/{project['_id']}").status_code == 200
    assert agent.get("/v1/me").status_code == 401


def test_much_is_removed_in_parts_between_which_others_can_write(
    app: Flask, owner: Caller, moved_clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = owner.create_project()["_id"]
    for number in range(5):
        deleted_at = clock.now() if number else None
        add_testimonial(app, project, text=f"Words {number}", deleted_at=deleted_at)
    moved_clock.move(days=31)
    monkeypatch.setattr(expiry, "MAX_AT_ONCE", 2)
    with app.app_context():
        assert expiry.preview()["testimonials"] == 4
    left = []

    def write_meanwhile() -> None:
        with app.test_request_context():
            left.append(len(read_testimonials(app, project)))
        add_testimonial(app, project, text="Meanwhile")

    monkeypatch.setattr(expiry, "let_others_write", write_meanwhile)
    with app.app_context():
        assert sweep()["testimonials"] == 4
    # Between the parts, and after the second, behind which there may be a third.
    assert left == [3, 2]
    assert len(read_testimonials(app, project)) == 3
