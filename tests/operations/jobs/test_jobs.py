"""The sweep, unclaimed accounts, and background jobs, each done by one of many processes."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core import jobs as leases
from testimonials.core.db import transactions
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import RateLimitCounter
from testimonials.core.jobs import (
    CUT_OFF,
    KINDS,
    Job,
    Kind,
    Retry,
    enqueue,
    enqueue_anew,
    keep_job,
    run_due,
    settle_job,
    take_job,
)
from testimonials.operations import expiry
from testimonials.operations.backup.creating import BACKUP_JOB, COPY_JOB, VERIFY_JOB
from testimonials.operations.expiry import sweep
from testimonials.projects.models import Project
from testimonials.testimonials import models
from tests.support.racing import at_once
from tests.support.rows import add_testimonial, count_rows, read_testimonials
from tests.support.servers import wait_for

pytestmark = pytest.mark.postgres
IS_DUE = KINDS["sweep"].is_due
assert IS_DUE is not None


def _take(app: Flask, name: str = "sweep") -> bool:
    with app.app_context():
        return take_job(name, IS_DUE)


def _settle(app: Flask, error: str | None = None) -> None:
    with app.app_context():
        settle_job("sweep", error)


def _row(app: Flask, name: str = "sweep") -> Job:
    with app.app_context():
        row = db.session.get_one(Job, name)
        db.session.expunge_all()
        db.session.rollback()
        return row


def _is_leased(app: Flask) -> bool:
    until = _row(app).leased_until
    return until is not None and until > clock.now()


def test_a_job_is_one_process_s_until_done(make_app, moved_clock):
    one, two = make_app(), make_app()
    assert [_take(one), _take(two), _take(one)] == [True, False, False]
    taken = _row(one)
    assert (taken.started_at, taken.finished_at) == (clock.now(), None)
    _settle(one)
    assert (_row(two).finished_at, _row(two).leased_until) == (clock.now(), None)
    # Whoever comes first in the next round does it.
    moved_clock.move(seconds=49)
    assert [_take(one), _take(two)] == [False, False]
    moved_clock.move(seconds=1)
    assert [_take(two), _take(one)] == [True, False]


def test_a_job_of_a_dead_process_is_taken_over_after_its_lease(make_app, moved_clock):
    died, other = make_app(), make_app()
    assert _take(died)
    moved_clock.move(minutes=1.9)
    assert not _take(other)
    moved_clock.move(minutes=0.2)
    assert _take(other)
    # It wasn't dead, only slow: what it says now is not the other's end.
    _settle(died)
    assert _row(other).leased_until is not None
    _settle(other)
    assert _row(other).finished_at == clock.now()


def test_a_long_job_stays_with_the_process_that_does_it(make_app, moved_clock, monkeypatch):
    monkeypatch.setattr(leases, "RENEWED_AFTER", timedelta(seconds=0.01))
    busy, other = make_app(), make_app()
    assert _take(busy)
    with busy.app_context(), keep_job("sweep", timedelta(hours=2)):
        for _ in range(2):
            moved_clock.move(minutes=30)
            wait_for(lambda: _is_leased(other), what="the lease to be renewed")
            assert not _take(other)
    _settle(busy)
    assert (_row(other).leased_until, _row(other).error) == (None, None)
    # Nothing brings it back once the job is done.
    moved_clock.move(seconds=90)
    assert _take(other)


def test_a_job_that_hangs_is_left_to_another(make_app, moved_clock):
    hangs, other = make_app(), make_app()
    assert _take(hangs)
    with hangs.app_context(), keep_job("sweep", timedelta()):
        moved_clock.move(minutes=2.1)
        assert _take(other)
        assert _row(other).error == CUT_OFF
        taken_until = _row(other).leased_until
    _settle(hangs)
    assert _row(other).leased_until == taken_until
    _settle(other)
    assert (_row(other).failed_at, _row(other).error) == (None, None)


def test_hosts_with_other_clocks_share_a_job(make_app, moved_clock):
    ahead, behind = make_app(), make_app()
    moved_clock.move(seconds=20)
    assert _take(ahead)
    moved_clock.move(seconds=-20)
    assert not _take(behind)
    _settle(ahead)
    assert not _take(behind)
    # A clock that is put back stops nothing.
    moved_clock.move(days=400)
    assert _take(ahead)
    moved_clock.move(days=-400)
    assert _take(behind)


def test_a_failure_is_noted_and_a_success_ends_it(app, moved_clock, monkeypatch, caplog):
    failing = [True]

    def work() -> None:
        if failing:
            raise RuntimeError("the disk is full\nDETAIL: (maya@example.com)")

    monkeypatch.setitem(KINDS, "sweep", Kind(work, "jobs", is_due=IS_DUE))
    with app.app_context():
        run_due("jobs")
    row = _row(app)
    assert row.error == "RuntimeError: the disk is full"
    assert (row.failed_at is None, row.finished_at, row.leased_until) == (False, None, None)
    assert "background work failed" in caplog.text
    failing.clear()
    moved_clock.move(minutes=1)
    with app.app_context():
        run_due("jobs")
    row = _row(app)
    assert (row.error, row.failed_at, row.finished_at is None) == (None, None, False)


def test_every_job_leaves_its_row(app):
    with app.app_context():
        run_due("jobs")
    repeated = {name: kind.thread for name, kind in KINDS.items() if kind.is_due}
    wanted = [name for name, thread in repeated.items() if thread == "jobs"]
    assert len(wanted) == 7
    assert repeated.keys() - wanted == {BACKUP_JOB, COPY_JOB, VERIFY_JOB, "record.sign"}
    assert all(_row(app, name).finished_at is not None for name in wanted)


def test_processes_at_once_do_each_job_once(make_app):
    apps = [make_app() for _ in range(4)]

    def take(place: int) -> list[bool]:
        return [_take(apps[place], f"job-{number}") for number in range(10)]

    taken = at_once(len(apps), take)
    assert [sum(each) for each in zip(*taken, strict=True)] == [1] * 10


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were given to jobs of the kind `note`, in the order in which they ended."""
    names: list[str] = []

    def note(name: str) -> None:
        if name.startswith("bad"):
            raise Retry("not now")
        names.append(name)

    def give_up(error: str, name: str) -> None:
        names.append(f"{name}: {error}")

    monkeypatch.setitem(
        KINDS, "note", Kind(note, "notes", attempts=2, account_limit=1, give_up=give_up)
    )
    return names


def _enqueue(app: Flask, *names: str, **options: Any) -> None:
    with app.app_context(), write():
        for name in names:
            enqueue("note", name=name, **options)


def _run(app: Flask) -> int:
    with app.app_context():
        return run_due("notes")


def test_those_of_a_lane_wait_for_the_one_before_and_for_no_other(app, done, moved_clock):
    _enqueue(app, "bad", "second", lane="one")
    _enqueue(app, "another", lane="two")
    assert (_run(app), done) == (2, ["another"])
    # It is tried twice, and then given up.
    moved_clock.move(seconds=5)
    assert (_run(app), done) == (2, ["another", "bad: not now", "second"])
    assert _run(app) == count_rows(app, Job) == 0


def test_an_account_has_its_share_of_the_processes(make_app, done, moved_clock):
    one, two = make_app(), make_app()
    _enqueue(one, "first", "second", account_id="a")
    _enqueue(one, "other", account_id="b")
    with one.app_context():
        assert leases._take_next("notes") is not None
    assert (_run(two), done) == (1, ["other"])
    # The first process has died.
    moved_clock.move(minutes=2)
    assert (_run(two), done) == (2, ["other", "first", "second"])


def test_a_job_for_later_is_cancelled_by_one_statement(app, done, moved_clock):
    for name in ("kept", "cancelled"):
        _enqueue(app, name, id=name, run_at=clock.now() + timedelta(seconds=30))
    moved_clock.move(seconds=29)
    assert _run(app) == 0
    with app.app_context(), write():
        db.session.execute(delete(Job).where(Job.id == "cancelled"))
    moved_clock.move(seconds=1)
    assert (_run(app), done) == (1, ["kept"])


def test_what_is_enqueued_anew_while_it_is_done_is_done_again(app, monkeypatch):
    rounds: list[int] = []

    def work() -> None:
        rounds.append(1)
        if len(rounds) == 1:
            with write():
                enqueue_anew("twice", ["the-id"])

    monkeypatch.setitem(KINDS, "twice", Kind(work, "notes"))
    with app.app_context(), write():
        enqueue("twice", id="the-id")
    assert (_run(app), len(rounds), count_rows(app, Job)) == (2, 2, 0)


TABLES = (Account, Project, models.Testimonial)


def _sweep(app: Flask) -> int:
    with app.app_context():
        return sweep()["accounts"]


def test_the_sweep_removes_account_projects_and_testimonials(app, agent, owner, moved_clock):
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
    assert (_sweep(app), owner.get(f"/v1/projects/{project}").status_code) == (1, 200)


def test_the_same_address_can_start_again_with_nothing_left(app, agent, make_caller, moved_clock):
    agent.create_project(slug="mine", skipDemoTestimonials=False)
    moved_clock.move(days=8)
    again = make_caller(agent.email)
    assert again.account_id != agent.account_id
    assert again.get("/v1/projects").json["data"] == []
    # Its project counts as the first again, and the slug is free.
    first = again.create_project(slug="mine", skipDemoTestimonials=False)
    assert len(again.get(f"/v1/projects/{first['_id']}/testimonials").json["data"]["items"]) == 6
    assert agent.get("/v1/me").status_code == 401


def test_others_write_between_the_parts_of_a_large_removal(app, owner, moved_clock, monkeypatch):
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

    monkeypatch.setattr(transactions, "let_others_write", write_meanwhile)
    with app.app_context():
        assert sweep()["testimonials"] == 4
    # Between the parts, and after the second, behind which there may be a third.
    assert (left, len(read_testimonials(app, project))) == ([3, 2], 3)
