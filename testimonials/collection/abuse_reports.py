"""Reports of abuse, and how long they are kept."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings


class AbuseReport(Base):
    """What somebody reported about a public page. Nothing is kept of who it was."""

    __tablename__ = "abuse_report"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = mapped_column(ForeignKey(Project.id, ondelete="CASCADE"), index=True)
    # No foreign key: the report outlives what it is about.
    testimonial_id: Mapped[str | None]
    # `collection`, `wall` or `testimonial`.
    page: Mapped[str] = mapped_column(String(20))
    # One of `operator.reports.services.REASONS`, and the reporter's own words.
    reason: Mapped[str] = mapped_column(String(20))
    words: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    # When an operator was done with it.
    settled_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)


def delete_old_reports(limit: int) -> int:
    """Delete reports settled longer than `REPORT_DAYS` ago, at most `limit`; return how many."""
    until = clock.expired_until(current_settings().report_days)
    old = select(AbuseReport.id).where(AbuseReport.settled_at <= until).limit(limit)
    removed = delete(AbuseReport).where(AbuseReport.id.in_(old)).returning(AbuseReport.id)
    return len(db.session.scalars(removed).all())
