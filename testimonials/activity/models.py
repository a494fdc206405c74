"""Events."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present

_HAS_NETWORK = text("network IS NOT NULL")


class Event(Base):
    """One thing that happened, written in the transaction in which it happened.

    Within an account a later commit has a greater id, so an id serves as a cursor.
    """

    __tablename__ = "event"
    __table_args__ = (
        Index("ix_event_account_id_id", "account_id", "id"),
        Index("ix_event_project_id_id", "project_id", "id"),
        # For the sweep, which looks for old events with a network each minute.
        Index(
            "ix_event_with_network",
            "id",
            sqlite_where=_HAS_NETWORK,
            postgresql_where=_HAS_NETWORK,
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    # The account whose record it is in. None: only in the operator's, as an account's deletion.
    account_id: Mapped[str | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    # No foreign key: the event of a project's deletion outlives the project.
    project_id: Mapped[str | None]
    type: Mapped[str] = mapped_column(String(60))
    # Who did it (`Actor`): never an address, so that nothing is left of a person who leaves.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    # A /24 or /48, never the full address; None again after NETWORK_DAYS.
    network: Mapped[str | None]
    # How often it happened: repeats within an hour are one event.
    times: Mapped[int] = mapped_column(default=1)
    # Names, addresses and numbers; never a secret or the words of a testimonial.
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
