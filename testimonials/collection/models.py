"""Forms, requests, unsubscribed addresses, share pictures and abuse reports."""

import hashlib
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    and_,
)
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import Account
from testimonials.core.changed import Settings
from testimonials.core.db.engine import Base, Timestamp, child_of, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial


class CollectionForm(Base):
    """An additional form of a project, with its own URL, texts, questions and tag."""

    __table_args__ = (
        Index("uq_collection_form_project_id_name", "project_id", "name", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    # Part of its URL, ``/<slug>/f/<name>``.
    name: Mapped[str] = mapped_column(String(60))
    # The owner's name for it.
    title: Mapped[str] = mapped_column(String(80))
    # Only what differs from the project's page: headline, description, prompts, questions, tag.
    design: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    is_open: Mapped[bool] = mapped_column(Boolean, default=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    SETTINGS: ClassVar[Settings] = dict.fromkeys(("name", "title", "is_open", "design"))


class RequestBatch(Base):
    """Requests sent together: the owner's words, and when to send a reminder."""

    __tablename__ = "invitation_batch"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id, index=True)
    # The sender's email address.
    actor: Mapped[str] = mapped_column(String(254))
    subject: Mapped[str] = mapped_column(String(160))
    message: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(String(35))
    # The form that the link opens. None: the project's own page.
    form_name: Mapped[str | None] = mapped_column(String(60))
    remind_after_days: Mapped[int | None]
    # How many people were asked; they count towards the daily limit even after they are deleted.
    size: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


REQUEST_STATES = (
    "waiting", "printed", "sent", "opened", "started", "answered", "declined", "failed",
    "unsubscribed",
)  # fmt: skip


class MailedRequest(Base):
    """A request for a testimonial, emailed to one person, and its progress."""

    __tablename__ = "invitation"
    __table_args__ = (
        Index("uq_invitation_project_id_email", "project_id", "email", unique=True),
        Index("ix_invitation_project_id_created_at", "project_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    batch_id: Mapped[str] = child_of(RequestBatch.id, index=True)
    email: Mapped[str] = mapped_column(String(254))
    email_hash: Mapped[str] = mapped_column(index=True)
    name: Mapped[str] = mapped_column(String(120), default="")
    company: Mapped[str | None] = mapped_column(String(120))
    # The shop's own reference for a purchase, which the link in the email proves.
    purchase_reference: Mapped[str | None] = mapped_column(String(120))
    # When the first email or the reminder is due, if any.
    next_mail_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    # Indexed for counting recent emails, since their rate is limited.
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    reminded_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    # The newest email in the outbox. Not a foreign key: the outbox deletes old emails itself.
    mail_id: Mapped[str | None]
    opened_at: Mapped[datetime | None] = mapped_column(Timestamp)
    started_at: Mapped[datetime | None] = mapped_column(Timestamp)
    answered_at: Mapped[datetime | None] = mapped_column(Timestamp)
    declined_at: Mapped[datetime | None] = mapped_column(Timestamp)
    testimonial_id: Mapped[str | None] = mapped_column(
        ForeignKey(Testimonial.id, ondelete="SET NULL"), index=True
    )
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def hash_email(account_id: str, email: str) -> str:
    """Return the hash of an address, different for each account."""
    return hashlib.sha256(f"{account_id}:{email}".encode("utf-8", "surrogatepass")).hexdigest()


class UnsubscribedAddress(Base):
    """An address that has unsubscribed from one account; only its hash is kept."""

    account_id: Mapped[str] = child_of(Account.id, primary_key=True)
    email_hash: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


def is_unsubscribed(account_id: Any) -> ColumnElement[bool]:
    """Return the condition for joining an account's requests with unsubscribed addresses."""
    of = UnsubscribedAddress
    return and_(of.account_id == account_id, of.email_hash == MailedRequest.email_hash)


class TestimonialPicture(Base):
    """A picture drawn of a testimonial, in one look and size."""

    __table_args__ = (
        Index("ix_testimonial_picture_project_id_created_at", "project_id", "created_at"),
    )

    testimonial_id: Mapped[str] = child_of(Testimonial.id, primary_key=True)
    look: Mapped[str] = mapped_column(String(20), primary_key=True)
    size: Mapped[str] = mapped_column(String(20), primary_key=True)
    project_id: Mapped[str] = child_of(Project.id)
    # A hash of everything drawn in it.
    fingerprint: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class SharePicture(Base):
    """The picture for links to a collection page."""

    project_id: Mapped[str] = child_of(Project.id, primary_key=True)
    # A hash of everything drawn in it.
    fingerprint: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


class AbuseReport(Base):
    """An anonymous report about a public page."""

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id, index=True)
    # Not a foreign key: the report outlives the testimonial.
    testimonial_id: Mapped[str | None]
    # `collection`, `wall` or `testimonial`.
    page: Mapped[str] = mapped_column(String(20))
    # One of `abuse.REASONS`.
    reason: Mapped[str] = mapped_column(String(20))
    words: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    settled_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
