"""Background jobs: each is done by one of the processes that share a database."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from flask import Flask

from testimonials.core import clock
from testimonials.core.data import leases
from testimonials.core.data.leases import (
    CUT_OFF,
    BackgroundJob,
    keep_job,
    settle_job,
    take_job,
)
from testimonials.extensions import db
from testimonials.operations.jobs import registry as jobs
from testimonials.operations.jobs.registry import JOBS, Job, is_due_each_minute, run_jobs
from tests.conftest import MakeApp, MovableClock
from tests.support.servers import wait_for

pytestmark = pytest.mark.postgres


def _take(app: Flask, name: str = "sweep") -> bool:
    with app.app_context():
        return take_job(name, is_due_each_minute)


def _settle(app: Flask, error: str | None = None) -> None:
    with app.app_context():
        settle_job("sweep", error)


def _row(app: Flask, name: str = "sweep") -> BackgroundJob:
    with app.app_context():
        row = db.session.get_one(BackgroundJob, name)
        db.session.expunge_all()
        db.session.rollback()
        return row


def _is_leased(app: Flask) -> bool:
    until = _row(app).leased_until
    return until is not None and until > clock.now()


def test_a_job_is_one_process_s_until_it_is_done(
    make_app: MakeApp, moved_clock: MovableClock
) -> None:
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


def test_the_job_of_a_process_that_died_is_taken_over_when_its_lease_has_run_out(
    make_app: MakeApp, moved_clock: MovableClock
) -> None:
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


def test_a_job_that_takes_long_stays_with_the_process_that_does_it(
    make_app: MakeApp, moved_clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_job_that_hangs_is_left_to_another(make_app: MakeApp, moved_clock: MovableClock) -> None:
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


def test_a_clock_that_is_put_back_stops_nothing(
    make_app: MakeApp, moved_clock: MovableClock
) -> None:
    one, two = make_app(), make_app()
    moved_clock.move(days=400)
    assert _take(one)
    moved_clock.move(days=-400)
    assert _take(two)


def test_hosts_whose_clocks_differ_by_seconds_share_a_job_too(
    make_app: MakeApp, moved_clock: MovableClock
) -> None:
    ahead, behind = make_app(), make_app()
    moved_clock.move(seconds=20)
    assert _take(ahead)
    moved_clock.move(seconds=-20)
    assert not _take(behind)
    _settle(ahead)
    assert not _take(behind)


def test_a_failure_is_noted_and_a_success_ends_it(
    app: Flask,
    moved_clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing = [True]

    def work() -> None:
        if failing:
            raise RuntimeError("the disk is full\nDETAIL: (maya@example.com)")

    monkeypatch.setattr(jobs, "JOBS", (Job("sweep", work),))
    with app.app_context():
        run_jobs()
    row = _row(app)
    assert row.error == "RuntimeError: the disk is full"
    assert (row.failed_at is None, row.finished_at, row.leased_until) == (False, None, None)
    assert "background work failed" in caplog.text
    failing.clear()
    moved_clock.move(minutes=1)
    with app.app_context():
        run_jobs()
    row = _row(app)
    assert (row.error, row.failed_at, row.finished_at is None) == (None, None, False)


def test_every_job_leaves_its_row(app: Flask) -> None:
    with app.app_context():
        run_jobs()
    wanted = [job.name for job in JOBS]
    assert len(wanted) == 4
    assert all(_row(app, name).finished_at is not None for name in wanted)


def test_processes_at_once_do_each_job_once(make_app: MakeApp) -> None:
    apps = [make_app() for _ in range(4)]
    barrier = Barrier(len(apps))

    def take(app: Flask) -> list[bool]:
        barrier.wait()
        return [_take(app, f"job-{number}") for number in range(10)]

    with ThreadPoolExecutor(len(apps)) as pool:
        taken = list(pool.map(take, apps))
    assert [sum(each) for each in zip(*taken, strict=True)] == [1] * 10
