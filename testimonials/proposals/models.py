"""Proposals."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.access.models import AccessToken
from testimonials.auth.models import Account
from testimonials.core.data.database import Base, Timestamp, present
from testimonials.core.data.identifiers import new_identifier
from testimonials.projects.models import Project


class Proposal(Base):
    """One change that an agent proposed: `kind` and `values`, waiting for a person.

    Nothing of it is public before it is accepted.
    """

    __tablename__ = "proposal"
    __table_args__ = (Index("ix_proposal_project_id_status_id", "project_id", "status", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = mapped_column(ForeignKey(Project.id, ondelete="CASCADE"))
    # One of `KINDS`.
    kind: Mapped[str] = mapped_column(String(40))
    # The testimonial that it is about, if it is about one. No foreign key: it may be gone.
    target_id: Mapped[str | None]
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    # What was there when it was made, of the same fields.
    before: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # Why, in the agent's words.
    reason: Mapped[str] = mapped_column(String(500), default="")
    # `waiting`, `accepted`, `declined`, or `withdrawn` by the agent.
    status: Mapped[str] = mapped_column(String(20), default="waiting")
    # Who proposed it, as in `Event`.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    token_id: Mapped[str | None] = mapped_column(
        ForeignKey(AccessToken.id, ondelete="SET NULL"), index=True
    )
    # What accepting it made, such as the id of a testimonial.
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # What the person who decided wrote to the agent.
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp)
    decided_by_id: Mapped[str | None] = mapped_column(
        ForeignKey(Account.id, ondelete="SET NULL"), index=True
    )
