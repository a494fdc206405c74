"""How long insights are kept."""

from sqlalchemy import delete, select, tuple_

from testimonials.core import clock
from testimonials.extensions import db
from testimonials.insights.models import InsightDay, InsightFunnelDay, InsightTestimonialDay
from testimonials.insights.services import write_day
from testimonials.settings.current import current_settings


def delete_old_insights(limit: int) -> int:
    """Delete rows of days more than `INSIGHT_DAYS` ago, at most `limit`; return how many."""
    day = write_day(clock.expired_until(current_settings().insight_days))
    count = 0
    for model in (InsightDay, InsightTestimonialDay, InsightFunnelDay):
        keys = model.__mapper__.primary_key
        old = select(*keys).where(model.day < day).limit(limit - count)
        removed = delete(model).where(tuple_(*keys).in_(old)).returning(model.day)
        count += len(db.session.scalars(removed).all())
    return count
