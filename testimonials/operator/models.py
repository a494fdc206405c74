"""Reports of abuse."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.projects.models import Project


class AbuseReport(Base):
    """What somebody reported about a public page. Nothing is kept of who it was."""

    __tablename__ = "abuse_report"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = mapped_column(ForeignKey(Project.id, ondelete="CASCADE"), index=True)
    # No foreign key: the report outlives what it is about.
    testimonial_id: Mapped[str | None]
    # `collection`, `wall` or `testimonial`.
    page: Mapped[str] = mapped_column(String(20))
    # One of `reports.REASONS`, and the reporter's own words.
    reason: Mapped[str] = mapped_column(String(20))
    words: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    # When an operator was done with it.
    settled_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
