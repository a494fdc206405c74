"""How long insights are kept."""

from datetime import timedelta

from sqlalchemy import delete, select, tuple_

from testimonials.core import clock
from testimonials.extensions import db
from testimonials.insights.models import InsightDay, InsightFunnelDay, InsightTestimonialDay
from testimonials.insights.services import write_day

# 25 months, so that a month can be compared with the same one of the two years before.
KEPT = timedelta(days=761)


def delete_old_insights(limit: int) -> int:
    """Delete rows of days more than 25 months ago, at most `limit`; return how many."""
    day = write_day(clock.now() - KEPT)
    count = 0
    for model in (InsightDay, InsightTestimonialDay, InsightFunnelDay):
        keys = model.__mapper__.primary_key
        old = select(*keys).where(model.day < day).limit(limit - count)
        removed = delete(model).where(tuple_(*keys).in_(old)).returning(model.day)
        count += len(db.session.scalars(removed).all())
    return count
