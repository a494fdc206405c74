"""The path: how far visits to the page come, whatever arrives when, or never."""

import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select

from testimonials.analytics import counting, reports
from testimonials.analytics.counting import (
    VISIT_DAYS,
    Beacon,
    current_counts,
    delete_old_insights,
    write_insights,
)
from testimonials.analytics.models import OPENED, STARTED, InsightPathDay, InsightVisit
from testimonials.analytics.reports import count_unvisited, describe_insights, find_first_visit
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.urls import app_url
from testimonials.projects.models import Project
from testimonials.testimonials import models
from tests.conftest import Caller, MovableClock
from tests.support.rows import add_testimonial, change_testimonial
from tests.support.sampling import rounds
from tests.support.visitors import form_token

pytestmark = pytest.mark.postgres

AGENT = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
STEPS = ("opened", "started", "sent", "approved")


@pytest.fixture
def project(owner: Caller) -> str:
    return str(owner.create_project(slug="kiln", skipDemoTestimonials=True)["_id"])


def path(app: Flask, project: str, days: int = 7) -> tuple[int, ...]:
    """Write down what was counted; return the numbers of the path."""
    with app.app_context():
        write_insights()
        told = describe_insights(db.session.get_one(Project, project), days)["funnel"]
        return tuple(told[step] for step in STEPS)


def tell(app: Flask, client: FlaskClient, project: str, token: str, **what: Any) -> None:
    with app.app_context():
        headers = AGENT | {"Origin": app_url(), "Sec-Fetch-Site": "same-origin"}
    body = {"surface": "form", "form": "", "visit": token, **what}
    client.post(f"/widget/{project}/seen", data=json.dumps(body), headers=headers)


def open_page(client: FlaskClient, **headers: str) -> str:
    return form_token(client.get("/kiln", headers=AGENT | headers).text)


def send(client: FlaskClient, token: str, text: str = "Warm bread.") -> None:
    form = {"token": token, "text": text, "name": "Hannah Weir", "consent": "yes"}
    answer = client.post("/kiln", data=form, headers=AGENT)
    assert answer.status_code == 303, answer.text


def test_a_visit_goes_from_step_to_step(app, client, project, moved_clock):
    token = open_page(client)
    tell(app, client, project, token, opened=True)
    assert path(app, project) == (1, 0, 0, 0)
    tell(app, client, project, token, started=True)
    # A beacon that comes late, or again, takes nothing back.
    tell(app, client, project, token, opened=True)
    assert path(app, project) == (1, 1, 0, 0)
    moved_clock.move(minutes=1)
    send(client, token)
    assert path(app, project) == (1, 1, 1, 0)


def test_a_later_step_counts_those_before(app, client, project, moved_clock):
    """Without a script nothing is told; what is sent counts at once, and once."""
    token = open_page(client)
    moved_clock.move(minutes=1)
    send(client, token)
    send(client, token)
    send(client, token, "The same page again, after going back.")
    assert path(app, project) == (1, 1, 1, 0)
    tell(app, client, project, open_page(client), started=True)
    assert path(app, project) == (2, 2, 1, 0)


def test_what_was_sent_stays_sent(app, project):
    with app.app_context():
        day = f"{db.session.get_one(Project, project).created_at:%Y-%m-%d}"
    ids = [add_testimonial(app, project, visit=f"{day}.{n}") for n in range(3)]
    held = add_testimonial(app, project, visit=f"{day}.spam", status="spam")
    assert path(app, project) == (3, 3, 3, 3)
    change_testimonial(app, ids[0], status="rejected")
    with app.app_context(), write():
        db.session.delete(db.session.get_one(models.Testimonial, ids[1]))
    assert path(app, project) == (3, 3, 3, 1)
    change_testimonial(app, held, status="approved")
    assert path(app, project) == (4, 4, 4, 2)


def test_who_asks_not_to_be_counted_is_not(app, client, owner, project, moved_clock):
    for number, headers in enumerate(({"Sec-GPC": "1"}, {"DNT": "1"})):
        token = open_page(client, **headers)
        tell(app, client, project, token, opened=True)
        moved_clock.move(minutes=1)
        send(client, token, f"Words {number}")
    add_testimonial(app, project, source="import")
    add_testimonial(app, project, source="manual", status="rejected")
    add_testimonial(app, project, source="demo", status="demo")
    assert path(app, project) == (0, 0, 0, 0)
    with app.app_context():
        row = db.session.get_one(Project, project)
        assert count_unvisited(row, 7) == 4
        assert find_first_visit(row) is None


def test_a_day_has_room_for_so_many_visits(app, project, monkeypatch, moved_clock):
    monkeypatch.setattr(counting, "MAX_VISITS_A_DAY", 3)
    for number in range(5):
        visit = f"{moved_clock.time:%Y-%m-%d}.{number}"
        with app.app_context():
            current_counts().note(project, Beacon(visit=visit, step=OPENED), str(number))
        assert path(app, project)[0] == min(number + 1, 3)
    # Those that are stored go on.
    with app.app_context():
        visit = f"{moved_clock.time:%Y-%m-%d}.1"
        current_counts().note(project, Beacon(visit=visit, step=STARTED), "a")
    assert path(app, project)[:2] == (3, 1)
    moved_clock.move(days=1)
    with app.app_context():
        visit = f"{moved_clock.time:%Y-%m-%d}.0"
        current_counts().note(project, Beacon(visit=visit, step=OPENED), "a")
    assert path(app, project)[0] == 4


def test_old_visits_become_sums(app, project, moved_clock):
    with app.app_context():
        first = moved_clock.time
        for number, step in ((1, OPENED), (2, STARTED), (3, STARTED)):
            day = f"{first:%Y-%m-%d}.{number}"
            current_counts().note(project, Beacon(visit=day, step=step), "a")
    add_testimonial(app, project, visit=f"{first:%Y-%m-%d}.3")
    assert path(app, project) == (3, 2, 1, 1)
    moved_clock.move(days=VISIT_DAYS + 2)
    for limit in (2, 5):
        with app.app_context(), write():
            delete_old_insights(limit)
        assert path(app, project, 90) == (3, 2, 1, 1)
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(InsightVisit)) == 0
        assert db.session.scalar(select(func.count()).select_from(InsightPathDay)) == 1
        row = db.session.get_one(Project, project)
        assert find_first_visit(row) == f"{first:%Y-%m-%d}"
    assert path(app, project, 30) == (0, 0, 0, 0)


def do_at_random(
    app: Flask, project: str, luck: Random, sent: list[str], clock: MovableClock
) -> None:
    """Let one thing happen to one of a few visits, or to what one of them sent."""
    day = f"{clock.time - timedelta(days=luck.choice((0, 0, 1, 33, 36))):%Y-%m-%d}"
    visit = f"{day}.{luck.randrange(4)}"
    event = luck.randrange(9)
    if event < 3:
        step = luck.choice((OPENED, STARTED))
        with app.app_context():
            beacon = Beacon(visit=visit, step=step)
            current_counts().note(project, beacon, str(luck.random()))
    elif event < 5:
        status = luck.choice(("pending", "approved", "spam"))
        sent.append(add_testimonial(app, project, visit=visit, status=status))
    elif event == 5 and sent:
        status = luck.choice(("approved", "rejected", "spam"))
        change_testimonial(app, luck.choice(sent), status=status)
    elif event == 6:
        with app.app_context():
            # Written, or lost by a process that was killed.
            write_insights() if luck.random() < 0.7 else current_counts().clear()
    elif event == 7:
        clock.move(days=luck.choice((0, 1, 20)))
    else:
        with app.app_context(), write():
            delete_old_insights(luck.choice((1, 3, 100)))


@pytest.mark.parametrize(
    "times", [60, pytest.param(2_000, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_no_step_is_larger_than_the_one_before(app, project, moved_clock, times):
    luck, sent = Random(31), list[str]()
    for number in range(times if times < 100 else rounds(times, 100_000)):
        for _ in range(luck.randrange(1, 6)):
            do_at_random(app, project, luck, sent, moved_clock)
        days = luck.choice((7, 30, 90, 365))
        with app.app_context():
            row = db.session.get_one(Project, project)
            # Finding all else that is told each time would take most of the test.
            told = reports._count_path(row, reports._days_ago(days - 1))
            assert list(told) == list(STEPS)
            assert list(told.values()) == sorted(told.values(), reverse=True), (days, told)
            if number % 100 == 50:
                assert describe_insights(row, days)["funnel"] == told
        # Long histories are slow to check; begin again.
        if number % 100 == 99:
            moved_clock.move(days=400)
            sent.clear()
