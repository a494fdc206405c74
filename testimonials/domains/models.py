"""The table of own host names."""

from datetime import datetime

from sqlalchemy import JSON, Boolean, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.urls import target_host
from testimonials.projects.models import Project

TXT_PREFIX = "_testimonials."


class CustomDomain(Base):
    """A host name that a project wants or has. `Project.own_host` is the one that its links use.

    Any number of projects may want a name; the one that its TXT record names holds it.
    """

    __tablename__ = "custom_domain"
    __table_args__ = (UniqueConstraint("host", "is_held"),)

    project_id: Mapped[str] = mapped_column(
        ForeignKey(Project.id, ondelete="CASCADE"), primary_key=True
    )
    host: Mapped[str] = mapped_column(String(253))
    # What the TXT record has to say. It is public.
    token: Mapped[str] = mapped_column(String(60))
    # True or None, so that the unique key holds for those who have the name alone.
    is_held: Mapped[bool | None] = mapped_column(Boolean)
    verified_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Since when the TXT record of a name that is held isn't there.
    missing_since: Mapped[datetime | None] = mapped_column(Timestamp)
    # Since when this service answers there, with a certificate that browsers take.
    serving_since: Mapped[datetime | None] = mapped_column(Timestamp)
    checked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    next_check_at: Mapped[datetime] = mapped_column(Timestamp, default=present, index=True)
    # Names and addresses that the host led to when it was last looked up.
    points_to: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    # Why it can't be opened, in a sentence.
    problem: Mapped[str] = mapped_column(String(300), default="", server_default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def records(self) -> list[dict[str, str]]:
        """What the name's zone needs."""
        return [
            {"type": "TXT", "name": f"{TXT_PREFIX}{self.host}", "value": self.token},
            {"type": "CNAME", "name": self.host, "value": target_host()},
        ]
