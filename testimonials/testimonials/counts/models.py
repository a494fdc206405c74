"""Counts, kept by triggers of the database (`migrations/schema.sql`): no code here writes them.

A count is the sum of its parts. SQLite, which has one writer at a time, keeps one part, 0. On
PostgreSQL each statement adds parts of its own, so that no transaction waits for another and many
statements in one don't get slower; the triggers put a project's together again and again.
"""

from sqlalchemy import BigInteger, Boolean, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base
from testimonials.core.text_rules import TAG_LENGTH


class TestimonialCount(Base):
    """How many testimonials of a project have all of these, and the sum of their ratings.

    No foreign key, which would make every writer lock the project: a trigger removes them.
    """

    __tablename__ = "testimonial_count"

    project_id: Mapped[str] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(primary_key=True)
    is_deleted: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    kind: Mapped[str] = mapped_column(String(10), primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    # Empty: it came by no form of its own.
    form_name: Mapped[str] = mapped_column(String(60), primary_key=True)
    # The rating in whole half stars, rounded down; 0 without a rating.
    halves: Mapped[int] = mapped_column(Integer, primary_key=True)
    has_photo: Mapped[bool] = mapped_column(Boolean, primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    # In billionths of a star, so that it is exact.
    rating_sum: Mapped[int] = mapped_column(BigInteger)


class TagCount(Base):
    """How many testimonials of a project have a tag: all, those outside the trash, those shown."""

    __tablename__ = "tag_count"

    project_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(TAG_LENGTH), primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    kept: Mapped[int] = mapped_column(BigInteger)
    visible: Mapped[int] = mapped_column(BigInteger)


class DayCount(Base):
    """What a project's testimonials of one day are: who sent them, and how they are rated."""

    __tablename__ = "day_count"

    project_id: Mapped[str] = mapped_column(primary_key=True)
    # On which they were said: days since the epoch, in UTC.
    day: Mapped[int] = mapped_column(Integer, primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    # By the collection page, without spam; those of them that are shown.
    sent: Mapped[int] = mapped_column(BigInteger)
    approved: Mapped[int] = mapped_column(BigInteger)
    # Shown ones that are no samples, by whole stars, halves rounded up.
    stars_1: Mapped[int] = mapped_column(BigInteger)
    stars_2: Mapped[int] = mapped_column(BigInteger)
    stars_3: Mapped[int] = mapped_column(BigInteger)
    stars_4: Mapped[int] = mapped_column(BigInteger)
    stars_5: Mapped[int] = mapped_column(BigInteger)
    # Of these, in billionths of a star.
    rating_sum: Mapped[int] = mapped_column(BigInteger)


class AnswerCount(Base):
    """How many testimonials of a project answer a question, those in the trash too."""

    __tablename__ = "answer_count"

    project_id: Mapped[str] = mapped_column(primary_key=True)
    question_id: Mapped[str] = mapped_column(primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
