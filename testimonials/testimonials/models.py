"""Testimonials, their tags, recordings and counts, and the public record."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Computed,
    Double,
    Index,
    Integer,
    String,
    Text,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from testimonials.core.db.engine import Base, Timestamp, child_of, index_some, present
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.urls import image_url
from testimonials.core.text import TAG_LENGTH
from testimonials.projects.models import Project
from testimonials.testimonials.samples import find_face


def _of_recording(name: str, default: Any) -> Any:
    """Return a property of a testimonial that reads and sets an attribute of its recording."""

    def read(row: "Testimonial") -> Any:
        return getattr(row.recording, name) if row.is_recorded and row.recording else default

    def write(row: "Testimonial", value: Any) -> None:
        if row.recording is not None:
            setattr(row.recording, name, value)

    return property(read, write)


_PINNED = ("project_id", "is_visible", "is_pinned")
# What the inbox filters by, so that finding few matches among many rows needs only the index.
_FILTERED = ("deleted_at", "source", "kind", "form_name", "rating")
# What people may not have been notified of yet; what was released from spam is known already.
UNTOLD = "status = 'pending' AND source = 'public_page' AND held_for IS NULL AND deleted_at IS NULL"
# Not sent during a counted visit: imported, added by hand, or sent by a visitor who isn't counted.
UNVISITED = "visit IS NULL AND deleted_at IS NULL AND status NOT IN ('demo', 'spam')"
VISITED = "visit IS NOT NULL"
# These count once they have been decided, or have waited too long.
WAITING = "status = 'pending' AND deleted_at IS NULL AND NOT is_overdue"
# Reasons for setting a testimonial aside, which takes its rating out of the numbers.
REASONS = ("spam", "abusive", "off_topic", "not_customer", "same_person", "withdrawn")
# What the inbox's tab of set-aside testimonials reads.
TAKEN_OUT = "set_aside IS NOT NULL OR status = 'withdrawn'"
# Only `genuine` testimonials count. A visitor's does, even in the trash, once somebody has decided
# about it or it has waited for OVERDUE_DAYS.
STANDING = (
    "CASE WHEN status = 'demo' OR source = 'demo' THEN 'sample' "
    "WHEN set_aside IS NOT NULL THEN set_aside "
    "WHEN status = 'withdrawn' THEN 'withdrawn' WHEN status = 'spam' THEN 'held' "
    "WHEN deleted_at IS NOT NULL AND source <> 'public_page' THEN 'removed' "
    "WHEN status = 'pending' AND deleted_at IS NULL AND NOT is_overdue THEN 'waiting' "
    "ELSE 'genuine' END"
)
OVERDUE_DAYS = 14


def _index_unique(column: str) -> Index:
    name = f"uq_testimonial_project_id_{column}"
    return index_some(name, f"{column} IS NOT NULL", "project_id", column)


_HAS_TEXT, _HAS_FORM = "text_fingerprint IS NOT NULL", "form_name IS NOT NULL"


class Testimonial(Base):
    """One testimonial (spec, "Testimonial").

    The database computes `is_visible`, so that indexes on it serve the API's list and the widget in
    order, however the query is written.
    """

    __table_args__ = (
        Index("ix_testimonial_inbox", "project_id", "status", "created_at", "id", *_FILTERED),
        Index("ix_testimonial_by_time", "project_id", "created_at", "id", "status", *_FILTERED),
        index_some("ix_testimonial_form", _HAS_FORM, "project_id", "form_name", "created_at", "id"),
        index_some("ix_testimonial_untold", UNTOLD, "project_id", "returned_at", "created_at"),
        # The text comes first, or PostgreSQL would use this index for other queries of the project.
        index_some(
            "ix_testimonial_words", _HAS_TEXT, "text_fingerprint", "project_id", "created_at"
        ),
        index_some("ix_testimonial_waiting", WAITING, "created_at"),
        index_some("ix_testimonial_avatar_id", "avatar_id IS NOT NULL", "avatar_id"),
        index_some("ix_testimonial_import_id", "import_id IS NOT NULL", "import_id"),
        Index("ix_testimonial_visible_by_time", "project_id", "is_visible", "created_at", "id"),
        Index("ix_testimonial_visible_pinned_first", *_PINNED, "submitted_at", "id"),
        Index("ix_testimonial_visible_best_first", *_PINNED, "rank", "submitted_at", "id"),
        index_some("ix_testimonial_unvisited", UNVISITED, "project_id", "created_at", "source"),
        index_some(
            "ix_testimonial_visited", VISITED, "project_id", "visit", "status", "deleted_at"
        ),
        index_some("ix_testimonial_taken_out", TAKEN_OUT, "project_id", "created_at", "id"),
        index_some(
            "ix_testimonial_trash", "deleted_at IS NOT NULL", "project_id", "created_at", "id"
        ),
        *map(_index_unique, ("import_key", "external_id", "purchase_reference")),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    status: Mapped[str]
    source: Mapped[str]
    # `written`, `video` or `voice`; the last two have a recording.
    kind: Mapped[str] = mapped_column(String(10), default="written", server_default="written")
    author_name: Mapped[str] = mapped_column(String(120))
    author_email: Mapped[str | None] = mapped_column(String(254))
    author_role: Mapped[str] = mapped_column(String(120), default="")
    author_company: Mapped[str | None] = mapped_column(String(120))
    # The URL of a picture on another site.
    author_avatar: Mapped[str | None] = mapped_column(String(500))
    # An uploaded picture. Not a foreign key: pictures are deleted once nothing uses them.
    avatar_id: Mapped[str | None]
    twitter: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    text: Mapped[str] = mapped_column(Text)
    rating: Mapped[float | None] = mapped_column(Double)
    is_pinned: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    submitted_at: Mapped[datetime] = mapped_column(Timestamp)
    reviewed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # The sentence that the author agreed to on the collection page, its language, and when.
    consent_text: Mapped[str | None] = mapped_column(Text)
    consent_language: Mapped[str | None] = mapped_column(String(35))
    consented_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # So that a submission that arrives more than once is one row.
    submission_key: Mapped[str | None] = mapped_column(String(64), unique=True)
    # So that a testimonial whose file is imported more than once is one row.
    import_key: Mapped[str | None] = mapped_column(String(64))
    # The counted visit during which it was sent (`collection/submission.py`).
    visit: Mapped[str | None] = mapped_column(String(40))
    # The API caller's own id for it.
    external_id: Mapped[str | None] = mapped_column(String(120))
    # Why it was held as spam: reasons separated by commas. They stay when it is released, so that
    # it isn't reported as new.
    held_for: Mapped[str | None]
    # The same for equal texts; only of what visitors sent.
    text_fingerprint: Mapped[str | None] = mapped_column(String(32))
    # When the author opened a link that was emailed to their address.
    email_verified_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # When the author withdrew their consent (status `withdrawn`).
    consent_withdrawn_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # When the author last put it back into the queue, by a correction or a new consent.
    returned_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # The text as it was sent, once somebody has edited it.
    original_text: Mapped[str | None] = mapped_column(Text)
    # Answers to the owner's own questions as they were asked, each with `id`, `question`, `kind`,
    # `answer` and `isPublic`.
    answers: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    # The name of the form from which it was sent. None: the project's own page.
    form_name: Mapped[str | None] = mapped_column(String(60))
    # Whether the author works here or is related, as they said or as their address shows.
    is_insider: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # The language from which the owner or their agent translated the text.
    translated_from: Mapped[str | None] = mapped_column(String(35))
    # One of REASONS.
    set_aside: Mapped[str | None] = mapped_column(String(20))
    # Whether it has waited for OVERDUE_DAYS without a decision.
    is_overdue: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # Whether the author was promised a thank-you, no matter what they wrote.
    is_rewarded: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # The shop's own reference for the purchase, and when its link proved that the author made it.
    purchase_reference: Mapped[str | None] = mapped_column(String(120))
    purchase_verified_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whether the author allows the public record to show their earlier words.
    shows_earlier: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # The import that added it. Not a foreign key: the testimonial outlives the import.
    import_id: Mapped[str | None]
    # The ranges of the text that the owner highlighted: [start, end] in code points, sorted.
    highlights: Mapped[list[list[int]] | None] = mapped_column(JSON(none_as_null=True))
    # The owner's public reply.
    reply: Mapped[str | None] = mapped_column(Text)
    replied_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # When it was moved to the trash, where it is deleted after TRASH_DAYS.
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    is_visible: Mapped[bool] = mapped_column(
        Boolean, Computed("status IN ('approved', 'demo') AND deleted_at IS NULL", persisted=True)
    )

    standing: Mapped[str] = mapped_column(String(20), Computed(STANDING), nullable=True)
    # The rating, or 0, for sorting by rating.
    rank: Mapped[float] = mapped_column(Double, Computed("coalesce(rating, 0)"))

    # The database deletes them with the testimonial.
    tag_rows: Mapped[list["TestimonialTag"]] = relationship(
        cascade="all, delete-orphan", passive_deletes=True
    )
    recording: Mapped["Recording | None"] = relationship(
        back_populates="testimonial", cascade="all, delete-orphan", passive_deletes=True
    )

    project: Mapped[Project] = relationship()

    @property
    def all_answers(self) -> list[dict[str, Any]] | None:
        return self.read_answers(self.project) if self.answers else None

    def read_answers(self, project: Project) -> list[dict[str, Any]]:
        """Return the answers, each with `isPublic` as the project's questions are now."""
        hidden = project.private_questions
        return [
            answer | {"isPublic": answer["isPublic"] and answer["id"] not in hidden}
            for answer in self.answers or ()
        ]

    @property
    def tags(self) -> list[str]:
        return sorted((tag.name for tag in self.tag_rows), key=str.casefold)

    @tags.setter
    def tags(self, names: list[str]) -> None:
        kept = {tag.name: tag for tag in self.tag_rows}
        self.tag_rows = [
            kept.get(name) or TestimonialTag(name=name, project_id=self.project_id)
            for name in names
        ]

    transcript = _of_recording("transcript", None)
    captions = _of_recording("captions", None)
    # Whether the transcript is also the card's text.
    shows_transcript = _of_recording("shows_transcript", default=False)

    @property
    def is_recorded(self) -> bool:
        return self.kind != "written"

    @property
    def spoken_kind(self) -> str | None:
        return self.kind if self.is_recorded else None

    @property
    def highlighted_words(self) -> str:
        return "\n".join(self.text[start:end] for start, end in self.highlights or ())

    @property
    def held_reasons(self) -> list[str] | None:
        return self.held_for.split(",") if self.held_for else None

    @property
    def public_reply(self) -> dict[str, Any] | None:
        return {"text": self.reply, "replied_at": self.replied_at} if self.reply else None

    @property
    def is_verified_customer(self) -> bool:
        """Whether a link signed by the owner's shop proved a purchase."""
        return self.purchase_verified_at is not None

    @property
    def avatar_url(self) -> str | None:
        own = image_url(self.avatar_id) or self.author_avatar
        is_drawn = own is None and self.status == "demo"
        return find_face(self.author_name, self.author_role) if is_drawn else own


class TestimonialTag(Base):
    __table_args__ = (
        Index("ix_testimonial_tag_project_id_name", "project_id", "name", "testimonial_id"),
    )

    testimonial_id: Mapped[str] = child_of(Testimonial.id, primary_key=True)
    name: Mapped[str] = mapped_column(String(TAG_LENGTH), primary_key=True)
    project_id: Mapped[str] = child_of(Project.id)


class Recording(Base):
    """A video or voice recording; its file is in the instance folder.

    It has no testimonial until its form is sent.
    """

    __table_args__ = (Index("ix_recording_project_id_created_at", "project_id", "created_at"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_identifier)
    project_id: Mapped[str] = child_of(Project.id)
    testimonial_id: Mapped[str | None] = child_of(Testimonial.id, unique=True)
    # `video` or `voice`.
    kind: Mapped[str] = mapped_column(String(10))
    # `uploading` or `ready`.
    state: Mapped[str] = mapped_column(String(10), default="uploading")
    # In bytes.
    size: Mapped[int] = mapped_column(BigInteger)
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    media_type: Mapped[str | None] = mapped_column(String(60))
    codecs: Mapped[str | None] = mapped_column(String(80))
    seconds: Mapped[float | None] = mapped_column(Double)
    width: Mapped[int | None]
    height: Mapped[int | None]
    # SHA-256 of the file.
    digest: Mapped[str | None] = mapped_column(String(64))
    # An uploaded picture; like `avatar_id`, not a foreign key.
    poster_id: Mapped[str | None] = mapped_column(index=True)
    transcript: Mapped[str] = mapped_column(Text, default="")
    shows_transcript: Mapped[bool] = mapped_column(Boolean, default=False)
    # WebVTT.
    captions: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    testimonial: Mapped[Testimonial | None] = relationship(back_populates="recording")


# Counts, which only the database's triggers write (`migrations/schema.sql`). A count is the sum of
# its parts. SQLite, which has one writer at a time, keeps one part, 0. On PostgreSQL each statement
# adds parts of its own, so that no transaction waits for another and long transactions don't slow
# down; from time to time the triggers merge the parts of a project.


class TestimonialCount(Base):
    """How many testimonials of a project have all of these values, and the sum of their ratings.

    A trigger removes the rows, since a foreign key would make every writer lock the project.
    """

    project_id: Mapped[str] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(primary_key=True)
    is_deleted: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    kind: Mapped[str] = mapped_column(String(10), primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    # Empty for the project's own page.
    form_name: Mapped[str] = mapped_column(String(60), primary_key=True)
    # The rating in half stars, rounded down; 0 without a rating.
    halves: Mapped[int] = mapped_column(Integer, primary_key=True)
    has_photo: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    standing: Mapped[str] = mapped_column(String(20), primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    # In billionths of a star, so that it is exact.
    rating_sum: Mapped[int] = mapped_column(BigInteger)


class TagCount(Base):
    """How many testimonials of a project have a tag: all, outside the trash, and public."""

    project_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(TAG_LENGTH), primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    kept: Mapped[int] = mapped_column(BigInteger)
    visible: Mapped[int] = mapped_column(BigInteger)


class DayCount(Base):
    """A project's testimonials of one day, by `submitted_at`."""

    project_id: Mapped[str] = mapped_column(primary_key=True)
    # Days since the epoch, in UTC.
    day: Mapped[int] = mapped_column(Integer, primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    # Those from the collection page, without spam, and how many of them are shown.
    sent: Mapped[int] = mapped_column(BigInteger)
    approved: Mapped[int] = mapped_column(BigInteger)
    # Genuine ones by whole stars, with halves rounded up.
    stars_1: Mapped[int] = mapped_column(BigInteger)
    stars_2: Mapped[int] = mapped_column(BigInteger)
    stars_3: Mapped[int] = mapped_column(BigInteger)
    stars_4: Mapped[int] = mapped_column(BigInteger)
    stars_5: Mapped[int] = mapped_column(BigInteger)
    # The sum of their ratings, in billionths of a star.
    rating_sum: Mapped[int] = mapped_column(BigInteger)


class AnswerCount(Base):
    """How many testimonials of a project answer a question, including those in the trash."""

    project_id: Mapped[str] = mapped_column(primary_key=True)
    question_id: Mapped[str] = mapped_column(primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)


class KeptRating(Base):
    """Visitors' genuine ratings that were permanently deleted without a reason, and still count.

    A trigger writes the rows.
    """

    project_id: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[int] = mapped_column(Integer, primary_key=True)
    rating: Mapped[float] = mapped_column(Double, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)


# The entries of the public record are stored with the events (`core.audit`).


class SigningKey(Base):
    """A key that signs the heads of public records; a retired key still verifies."""

    # The first characters of the hash of the public key.
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    public_key: Mapped[str] = mapped_column(String(64))
    # Encrypted with a key derived from the secret key.
    private_key: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
    retired_at: Mapped[datetime | None] = mapped_column(Timestamp)


class RecordHead(Base):
    """The newest signed head of a project's public record; it outlives the project."""

    project_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str] = mapped_column(String(64))
    time: Mapped[datetime] = mapped_column(Timestamp)
    key_id: Mapped[str] = mapped_column(String(16))
    signature: Mapped[str] = mapped_column(String(128))
