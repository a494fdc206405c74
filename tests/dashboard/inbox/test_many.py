"""Decisions about many testimonials at once: right in every part, and in a few statements."""

import pytest

from testimonials.extensions import db
from testimonials.testimonials import models
from testimonials.testimonials.moderation import changes, parts
from tests.conftest import MovableClock
from tests.dashboard.inbox.inbox import JSON, Inbox
from tests.support.plans import count_statements
from tests.support.rows import count_rows

pytestmark = pytest.mark.recount

ADD = {"new_tag": "New", "tagging": "add", "all": "1", "status": "all"}
REMOVE = ADD | {"new_tag": "old", "tagging": "remove"}


def fill(inbox: Inbox, count: int) -> None:
    """Add testimonials of two states, every other one with a tag."""
    ids = inbox.fill(count)
    with inbox.app.app_context():
        table = models.Testimonial.__table__
        values = {"status": "rejected", "reviewed_at": MovableClock().time}
        db.session.execute(table.update().where(table.c.id.in_(ids[::3])).values(values))
        tags = [
            {"testimonial_id": each, "project_id": inbox.project, "name": "Old"}
            for each in ids[::2]
        ]
        db.session.execute(models.TestimonialTag.__table__.insert(), tags)
        db.session.commit()


def read(inbox: Inbox) -> list[tuple[object, ...]]:
    """Return what decisions change of every testimonial."""
    row, tag = models.Testimonial, models.TestimonialTag
    query = db.select(row.id, row.status, row.reviewed_at, tag.name).outerjoin(tag)
    with inbox.app.app_context():
        return [tuple(each) for each in db.session.execute(query.order_by(row.id, tag.name))]


@pytest.mark.parametrize("rows", [7, 250])
def test_many_are_changed_and_put_back_exactly(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """They are written in parts, here of 25, and committed in parts, here of 7."""
    monkeypatch.setattr(changes, "CHUNK", 25)
    monkeypatch.setattr(parts, "ROWS", rows)
    fill(inbox, 30)
    before = read(inbox)
    approved = inbox.bulk("approve", all="1", status="all")
    assert approved.json["notice"]["text"] == "Approved 30 testimonials"
    assert (inbox.counts()["approved"], inbox.undo(approved).status_code) == (30, 200)
    assert read(inbox) == before
    for data, text, rows in (
        (ADD, "Tagged 30 testimonials", 45),
        (REMOVE, "Removed a tag from 15 testimonials", 30),
    ):
        answer = inbox.client.post(f"{inbox.base}/tags", data=data, headers=JSON)
        assert (answer.json["notice"]["text"], len(read(inbox))) == (text, rows)
        assert (inbox.undo(answer).status_code, read(inbox)) == (200, before)
    assert count_rows(inbox.app, models.TestimonialChange) == 2 * (30 + 30 + 15)


def test_twice_as_many_take_no_more_statements(inbox: Inbox) -> None:
    with inbox.app.app_context():
        engine = db.engine

    def work() -> None:
        assert inbox.undo(inbox.bulk("approve", all="1", status="all")).status_code == 200
        answer = inbox.client.post(f"{inbox.base}/tags", data=ADD, headers=JSON)
        assert inbox.undo(answer).status_code == 200

    counts = []
    for count in (20, 40):
        with inbox.app.app_context():
            db.session.execute(models.Testimonial.__table__.delete())
            db.session.commit()
        fill(inbox, count)
        counts.append(count_statements(engine, work))
    assert counts[0] == counts[1] < 60
