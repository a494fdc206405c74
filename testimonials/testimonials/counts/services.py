"""Reading the counts; all that a project has is about a hundred rows, however many it counts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select

from testimonials.core.clock import to_milliseconds
from testimonials.extensions import db
from testimonials.testimonials.counts.models import (
    AnswerCount,
    DayCount,
    TagCount,
    TestimonialCount,
)

# Of a star, in which sums of ratings are kept.
BILLION = 1_000_000_000
# Milliseconds.
DAY = 24 * 60 * 60 * 1000


@dataclass(frozen=True)
class StateCount:
    """How many testimonials of a project are in a state, outside the trash or in it."""

    project_id: str
    status: str
    is_deleted: bool
    number: int


@dataclass(frozen=True)
class RatingCount:
    """How many approved testimonials or samples have a rating of so many whole half stars."""

    is_sample: bool
    halves: int
    number: int
    # In billionths.
    total: int
    photos: int

    @property
    def stars(self) -> int:
        """Stars from 1 to 5, halves rounded up as people do; 0 without a rating."""
        return (self.halves + 1) // 2 if self.halves >= 2 else 0


@dataclass(frozen=True)
class DayOf:
    """A project's testimonials that were said on one day since the epoch."""

    day: int
    sent: int
    approved: int
    # The sum of the ratings, in billionths.
    total: int
    # How many have one star, to five.
    stars: tuple[int, ...]


def count_states(project_ids: Collection[str] | None = None) -> list[StateCount]:
    """Count the testimonials of these projects, or of all."""
    of = TestimonialCount
    query = select(of.project_id, of.status, of.is_deleted, func.sum(of.number))
    if project_ids is not None:
        query = query.where(of.project_id.in_(project_ids))
    rows = db.session.execute(query.group_by(of.project_id, of.status, of.is_deleted))
    return [
        StateCount(project_id, status, is_deleted, int(number))
        for project_id, status, is_deleted, number in rows
        if number
    ]


def count_ratings(project_id: str) -> list[RatingCount]:
    """Count what a project shows, by rating."""
    of = TestimonialCount
    query = select(
        of.status, of.halves, of.has_photo, func.sum(of.number), func.sum(of.rating_sum)
    ).where(of.project_id == project_id, *is_shown())
    rows = db.session.execute(query.group_by(of.status, of.halves, of.has_photo)).all()
    return [
        RatingCount(
            status == "demo", halves, int(number), int(total), int(number) if has_photo else 0
        )
        for status, halves, has_photo, number, total in rows
        if number
    ]


def rate_counted(counts: Sequence[RatingCount]) -> tuple[float, int]:
    """Return the average of all ratings, to one decimal, and their number; samples don't count."""
    rated = [each for each in counts if each.stars and not each.is_sample]
    number, total = sum(each.number for each in rated), sum(each.total for each in rated)
    return average(total, number), number


def average(total: int, number: int) -> float:
    """Return the average of ratings whose sum is in billionths, to one decimal; 0 without any."""
    # Halves are rounded up, as people do.
    return (20 * total // BILLION + number) // (2 * number) / 10 if number else 0


def count_where(project_id: str, *conditions: ColumnElement[bool]) -> int:
    """Count a project's testimonials that meet conditions on `TestimonialCount`."""
    query = select(func.sum(TestimonialCount.number))
    query = query.where(TestimonialCount.project_id == project_id, *conditions)
    return int(db.session.scalar(query) or 0)


def count_forms(project_id: str) -> dict[str, int]:
    """Return how many testimonials came by each form, in the trash too."""
    of = TestimonialCount
    query = select(of.form_name, func.sum(of.number))
    query = query.where(of.project_id == project_id, of.form_name != "").group_by(of.form_name)
    return {name: int(number) for name, number in db.session.execute(query) if number}


def count_days(project_id: str, since: datetime) -> list[DayOf]:
    """Return the days of a project since a time that have anything, oldest first."""
    of = DayCount
    stars = (of.stars_1, of.stars_2, of.stars_3, of.stars_4, of.stars_5)
    values = [func.sum(each) for each in (of.sent, of.approved, of.rating_sum, *stars)]
    query = select(of.day, *values).where(
        of.project_id == project_id, of.day >= to_milliseconds(since) // DAY
    )
    rows = db.session.execute(query.group_by(of.day).order_by(of.day))
    listed = [
        DayOf(day, int(sent), int(approved), int(total), tuple(map(int, stars)))
        for day, sent, approved, total, *stars in rows
    ]
    return [each for each in listed if each.sent or each.approved or any(each.stars)]


def count_answered(project_id: str) -> dict[str, int]:
    """Return how many testimonials answer each question, by its id, in the trash too."""
    of = AnswerCount
    query = select(of.question_id, func.sum(of.number)).where(of.project_id == project_id)
    rows = db.session.execute(query.group_by(of.question_id))
    return {question: int(number) for question, number in rows if number}


def is_shown() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for those that everybody sees."""
    return TestimonialCount.status.in_(("approved", "demo")), ~TestimonialCount.is_deleted


def count_tags(project_id: str) -> dict[str, tuple[int, int]]:
    """Return how many testimonials have each tag of a project: outside the trash, and shown.

    Includes tags that only the trash has.
    """
    of = TagCount
    query = select(of.name, func.sum(of.number), func.sum(of.kept), func.sum(of.visible))
    rows = db.session.execute(query.where(of.project_id == project_id).group_by(of.name))
    return {name: (int(kept), int(shown)) for name, number, kept, shown in rows if number}
