"""Background jobs as rows: which process does one now, and how its last run ended."""

from datetime import datetime

from sqlalchemy import Text
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.database import Base, Timestamp


class BackgroundJob(Base):
    """One job of the background work, shared by all processes on the database."""

    __tablename__ = "background_job"

    name: Mapped[str] = mapped_column(primary_key=True)
    # A process that died leaves its lease behind; it ends by itself.
    leased_until: Mapped[datetime | None] = mapped_column(Timestamp)
    leased_by: Mapped[str | None]
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    failed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    error: Mapped[str | None] = mapped_column(Text)
