"""`insert_row`: a model inserted by one plain statement, as if it had been added and flushed."""

from contextlib import nullcontext
from typing import Any

import pytest
from sqlalchemy import inspect, select
from sqlalchemy.exc import IntegrityError

from testimonials.core import clock
from testimonials.core.db.engine import insert_row, insert_values
from testimonials.core.db.prepared import in_one_trip
from testimonials.core.extensions import db, lock_for_writing
from testimonials.testimonials import models

pytestmark = pytest.mark.postgres

COLUMNS = models.Testimonial.__table__.columns
GIVEN: list[dict[str, Any]] = [
    {},
    {"twitter": {"handle": "maya"}, "rating": 4.5, "author_company": "", "is_rewarded": True},
    {"answers": [], "highlights": None, "kind": "video", "reply": "Thanks", "deleted_at": None},
]


@pytest.mark.parametrize("given", GIVEN)
def test_the_row_is_what_a_flush_writes(app, owner, given):
    project_id, now = str(owner.create_project()["_id"]), clock.now()
    base: dict[str, Any] = {"project_id": project_id, "text": "Fine", "author_name": "Maya"}
    base |= {"status": "approved", "source": "manual", "submitted_at": now, "updated_at": now}
    with app.app_context():
        lock_for_writing()
        flushed = models.Testimonial(id="a" * 24, created_at=now, **base | given)
        db.session.add(flushed)
        db.session.flush()
        plain = models.Testimonial(id="b" * 24, created_at=now + clock.MILLISECOND, **base | given)
        insert_row(db.session(), plain)
        assert not inspect(plain).modified
        told = {each.name: getattr(plain, each.name) for each in COLUMNS}
        plain.text = "Changed later"
        db.session.commit()
        table = models.Testimonial.__table__
        query = select(table).where(table.c.id.in_(["a" * 24, "b" * 24])).order_by(table.c.id)
        first, second = map(dict, db.session.execute(query).mappings())
    assert second.pop("text") == "Changed later"
    for row in (first, second):
        del row["id"], row["created_at"]
        row.pop("text", None)
    assert first == second
    assert {name: told[name] for name in second} == second


@pytest.mark.parametrize("together", [nullcontext, in_one_trip])
def test_an_error_is_sqlalchemys_and_the_session_goes_on(app, owner, together):
    project_id, now = str(owner.create_project()["_id"]), clock.now()
    values = {"id": "a" * 24, "project_id": project_id, "status": "approved", "source": "manual"}
    values |= {"author_name": "Maya", "text": "Fine", "submitted_at": now, "created_at": now}
    with app.app_context():
        lock_for_writing()
        insert_values(db.session(), models.Testimonial, values)
        with (
            pytest.raises(IntegrityError, match="id"),
            together(db.session().connection()),
        ):
            insert_values(db.session(), models.Testimonial, values)
        db.session.rollback()
        assert db.session.get(models.Testimonial, "a" * 24) is None
