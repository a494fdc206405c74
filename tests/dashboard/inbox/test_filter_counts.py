"""How many testimonials a filter of the inbox finds, whose number comes from the counts."""

import itertools
import re

import pytest
from flask import Flask
from sqlalchemy import func, select

from testimonials.core.extensions import db
from testimonials.testimonials import models
from testimonials.testimonials.inbox import TABS, InboxFilter, count_tabs, list_inbox, match_filter
from tests.conftest import Caller, MovableClock
from tests.dashboard.inbox.inbox import Inbox, open_inbox
from tests.support.plans import explain_statements

STATUSES = ("pending", "approved", "rejected", "withdrawn", "spam", "demo")
RATINGS = (None, 1.0, 1.5, 3.9, 4.0, 4.4, 4.5, 4.99, 5.0)


@pytest.fixture
def inbox(app: Flask, owner: Caller) -> Inbox:
    """An inbox with each status and rating, in the trash and outside."""
    inbox = open_inbox(app, owner, slug="salon")
    states = list(itertools.product(STATUSES, RATINGS, (True, False)))
    ids, table = inbox.fill(len(states)), models.Testimonial.__table__
    with app.app_context():
        for each, (status, rating, is_deleted) in zip(ids, states, strict=True):
            values = {
                "status": status, "rating": rating, "source": ("import", "manual")[is_deleted],
            }  # fmt: skip
            values["deleted_at"] = MovableClock().time if is_deleted else None
            db.session.execute(table.update().where(table.c.id == each).values(values))
            tags = ["Fast", "Kind"] if rating == 4 else ["Kind"] if rating else []
            if tags:
                same = {"testimonial_id": each, "project_id": inbox.project}
                rows = [same | {"name": name} for name in tags]
                db.session.execute(models.TestimonialTag.__table__.insert(), rows)
        db.session.commit()
    return inbox


def test_the_number_is_that_of_the_rows(inbox):
    filters = [
        InboxFilter(tab, rating=rating, source=source, kind=kind)
        for tab in TABS
        for rating in (None, 1, 2, 3, 4, 5)
        for source in ("", "import")
        for kind in ("", "written", "video")
    ]
    filters += [
        InboxFilter(tab, tag=tag, rating=rating)
        for tab in TABS
        for tag in ("Fast", "Kind", "nothing")
        for rating in (None, 4)
    ]
    with inbox.app.app_context():
        counts = count_tabs(inbox.project)[inbox.project]
        for wanted in filters:
            total = list_inbox(inbox.project, wanted, 1, counts)[2]
            condition = match_filter(inbox.project, wanted)
            found = db.session.scalar(select(func.count(models.Testimonial.id)).where(condition))
            assert total == (found, True), wanted


def test_nothing_is_counted_by_its_rows(inbox):
    """A page reads its rows in the order of an index, without sorting."""
    with inbox.app.app_context():
        engine = db.engine
    for query in ("", "?status=all", "?status=all&rating=5", "?source=import"):
        inbox.client.get(f"{inbox.base}/inbox{query}")
        plans = explain_statements(
            engine, lambda query=query: inbox.client.get(f"{inbox.base}/inbox{query}")
        )
        assert plans
        for plan in plans:
            assert "USING INDEX" in plan or "USING COVERING INDEX" in plan, plan
            assert "SCAN testimonial" not in plan


def test_what_no_count_has_is_counted_so_far(inbox, monkeypatch):
    monkeypatch.setattr("testimonials.testimonials.inbox.MOST_COUNTED", 3)
    monkeypatch.setattr("testimonials.testimonials.inbox.PAGE_SIZE", 2)
    names = inbox.receive(*(f"Zelda {number}" for number in range(5)), rating=5.0)
    with inbox.app.app_context():
        for each in names:
            db.session.get_one(models.Testimonial, each).tags = ["Zelda"]
        db.session.commit()
    address = f"{inbox.base}/inbox?tag=Zelda&rating=5"
    pages = [inbox.client.get(f"{address}&page={page}").text for page in (1, 2, 3)]
    assert [
        re.search(r"\d to \d of \d\+?", page)[0]
        for page in pages  # type: ignore[index]
    ] == ["1 to 2 of 3+", "3 to 4 of 4+", "5 to 5 of 5"]
    assert "Select all 3+" in pages[0]
    assert ['rel="next"' in page for page in pages] == [True, True, False]
