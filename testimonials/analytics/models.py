"""Views, reads, clicks and visits by day, without addresses or visitors."""

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.db.engine import Base, Timestamp, child_of
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# Stands for the websites beyond a project's daily limit.
OTHER_WEBSITES = "*"
# The steps of a visit.
OPENED, STARTED, SENT = 1, 2, 3


class InsightDay(Base):
    """Views and clicks of a project's widget on a website, or of its wall, on a day."""

    __table_args__ = (Index("ix_insight_day_day", "day"),)

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    # In UTC, as YYYY-MM-DD.
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    # widget or wall.
    surface: Mapped[str] = mapped_column(String(10), primary_key=True)
    # The host that shows the widget; empty for the wall.
    website: Mapped[str] = mapped_column(String(260), primary_key=True)
    views: Mapped[int] = mapped_column(default=0)
    clicks: Mapped[int] = mapped_column(default=0)
    last_seen_at: Mapped[datetime] = mapped_column(Timestamp)


class InsightTestimonialDay(Base):
    """How often a testimonial was seen and read on a day."""

    __table_args__ = (
        Index("ix_insight_testimonial_day_day", "day"),
        Index("ix_insight_testimonial_day_testimonial_id", "testimonial_id"),
    )

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    testimonial_id: Mapped[str] = child_of(Testimonial.id, primary_key=True)
    seen: Mapped[int] = mapped_column(default=0)
    read: Mapped[int] = mapped_column(default=0)


class InsightVisit(Base):
    """A visit to a collection page. After 35 days only its day's sum remains.

    A trigger sets the step SENT in the transaction that stores the testimonial.
    """

    __table_args__ = (Index("ix_insight_visit_visit", "visit"),)

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    # The day on which the page was opened and a random number, as in `Testimonial.visit`.
    visit: Mapped[str] = mapped_column(String(40), primary_key=True)
    # The form's name; empty for the project's own page.
    form: Mapped[str] = mapped_column(String(60))
    # The furthest of OPENED, STARTED and SENT.
    step: Mapped[int]


class InsightPathDay(Base):
    """The sums of a day's visits by step, after their rows were deleted."""

    __table_args__ = (Index("ix_insight_path_day_day", "day"),)

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    form: Mapped[str] = mapped_column(String(60), primary_key=True)
    opened: Mapped[int] = mapped_column(default=0)
    started: Mapped[int] = mapped_column(default=0)
    sent: Mapped[int] = mapped_column(default=0)
