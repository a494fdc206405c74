"""Views, clicks, conversion and ratings of a period."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, ClassVar

from marshmallow import fields
from sqlalchemy import ColumnElement, case, func, select, text, union_all

from testimonials.analytics.models import (
    OTHER_WEBSITES,
    SENT,
    STARTED,
    InsightDay,
    InsightPathDay,
    InsightTestimonialDay,
    InsightVisit,
)
from testimonials.auth.tokens import Scope
from testimonials.collection.models import MailedRequest
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import analytics
from testimonials.core.http.fields import (
    List,
    Number,
    RuleField,
    StrictSchema,
    String,
    Time,
    WholeSchema,
)
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.counts import DayNumbers, average, count_days
from testimonials.testimonials.models import UNVISITED, VISITED, Testimonial

PERIODS = (7, 30, 90, 365)
USUAL_PERIOD = 30
# The epoch was a Thursday, so the first Monday is day 4, counting from 0.
_MONDAY = 4


def describe_insights(project: Project, days: int, *, top: int = 5) -> dict[str, Any]:
    """Return the insights of the last `days` in UTC, including today; lists have at most `top`."""
    first = _days_ago(days - 1)
    return {
        "period": {"days": days, "from": write_day(first), "to": write_day(clock.now())},
        **_count_views(project, days),
        "funnel": _count_path(project, first),
        "requests": _count_requests(project, first),
        "testimonials": list_testimonials(project, days, top),
        "websites": list_websites(project, days, top),
        "quiet": _list_quiet(project, top),
        "ratings": _describe_ratings(count_days(project.id, first)),
    }


def count_visitors(project: Project, days: int) -> tuple[int, int]:
    """Return how many opened the page in the last `days`, and how many wrote a testimonial."""
    path = _count_path(project, _days_ago(days - 1))
    return path["opened"], path["sent"]


def write_day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def list_days(project: Project, days: int) -> list[dict[str, Any]]:
    """Return each day of the period with its views of the widget and the wall, and its clicks."""
    names = [write_day(_days_ago(ago)) for ago in range(days - 1, -1, -1)]
    listed: dict[str, dict[str, Any]] = {
        day: {"day": day, "widget": 0, "wall": 0, "clicks": 0} for day in names
    }
    row = InsightDay
    query = (
        select(row.day, row.surface, func.sum(row.views), func.sum(row.clicks))
        .where(*_within(row, project, days))
        .group_by(row.day, row.surface)
    )
    for day, surface, views, clicks in db.session.execute(query):
        if day in listed:
            listed[day][surface] += int(views)
            listed[day]["clicks"] += int(clicks)
    return list(listed.values())


def list_testimonials(project: Project, days: int, top: int) -> list[dict[str, Any]]:
    """Return the testimonials that were read most often, then those that were seen most often."""
    row = InsightTestimonialDay
    seen, read = func.sum(row.seen), func.sum(row.read)
    query = (
        select(row.testimonial_id, seen, read)
        .where(*_within(row, project, days))
        .group_by(row.testimonial_id)
        .order_by(read.desc(), seen.desc(), row.testimonial_id)
        .limit(top)
    )
    return [
        {"id": id, "seen": int(seen), "read": int(read)}
        for id, seen, read in db.session.execute(query)
    ]


def count_read(project: Project, days: int) -> int:
    row = InsightTestimonialDay
    query = select(func.sum(row.read)).where(*_within(row, project, days))
    return int(db.session.scalar(query) or 0)


def list_websites(project: Project, days: int, top: int) -> list[dict[str, Any]]:
    """Return the websites with the most views; the wall has an empty name."""
    row = InsightDay
    views = func.sum(row.views)
    query = (
        select(row.website, views, func.sum(row.clicks), func.max(row.last_seen_at))
        .where(*_within(row, project, days))
        .group_by(row.website)
        .order_by(views.desc(), row.website)
        .limit(top)
    )
    return [
        {"website": website, "views": int(views), "clicks": int(clicks), "last_seen_at": time}
        for website, views, clicks, time in db.session.execute(query)
    ]


def _count_views(project: Project, days: int) -> dict[str, Any]:
    listed = list_days(project, days)
    before = select(func.sum(InsightDay.views)).where(
        InsightDay.project_id == project.id,
        InsightDay.day >= write_day(_days_ago(2 * days - 1)),
        InsightDay.day < write_day(_days_ago(days - 1)),
    )
    widget = sum(each["widget"] for each in listed)
    wall = sum(each["wall"] for each in listed)
    return {
        "views": {
            "widget": widget,
            "wall": wall,
            "total": widget + wall,
            "previous": int(db.session.scalar(before) or 0),
        },
        "clicks": sum(each["clicks"] for each in listed),
        "days": listed,
    }


def _count_path(project: Project, first: datetime) -> dict[str, int]:
    """Count visits since `first` by step reached, and those whose testimonial is approved."""
    # Older visits may have been deleted.
    day = write_day(max(first, clock.expired_until(current_settings().insight_days)))
    row, total = InsightVisit, InsightPathDay
    visits = select(
        func.count().label("opened"),
        func.count(case((row.step >= STARTED, 1))).label("started"),
        func.count(case((row.step >= SENT, 1))).label("sent"),
    ).where(row.project_id == project.id, row.visit >= day)
    sums = select(total.opened, total.started, total.sent).where(
        total.project_id == project.id, total.day >= day
    )
    approved = select(func.count(Testimonial.visit.distinct())).where(
        Testimonial.project_id == project.id,
        text(VISITED),
        Testimonial.visit >= day,
        Testimonial.status == "approved",
        Testimonial.deleted_at.is_(None),
    )
    counts = union_all(visits, sums).subquery().c
    steps = ("opened", "started", "sent")
    query = select(*(func.sum(counts[step]) for step in steps), approved.scalar_subquery())
    row_counts = map(int, db.session.execute(query).one())
    return dict(zip((*steps, "approved"), row_counts, strict=True))


def count_unvisited(project: Project, days: int) -> int:
    """Count at most 1,000 testimonials of the period that came without a visit."""
    first = Testimonial.created_at >= _days_ago(days - 1)
    unvisited = select(Testimonial.id).where(
        Testimonial.project_id == project.id, text(UNVISITED), first
    )
    query = select(func.count()).select_from(unvisited.limit(1000).subquery())
    return db.session.scalar(query) or 0


def find_first_visit(project: Project) -> str | None:
    """Return the day of the first visit, as YYYY-MM-DD."""
    row, total = InsightVisit, InsightPathDay
    first = func.substr(func.min(row.visit), 1, 10).label("day")
    days = union_all(
        select(first).where(row.project_id == project.id),
        select(func.min(total.day)).where(total.project_id == project.id),
    ).subquery()
    day: str | None = db.session.scalar(select(func.min(days.c.day)))
    return day


def _count_requests(project: Project, first: datetime) -> dict[str, int]:
    """Count the requests since `first`, and those that were opened and answered."""
    row = MailedRequest
    query = select(func.count(row.sent_at), func.count(row.opened_at), func.count(row.answered_at))
    sent, opened, answered = db.session.execute(
        query.where(row.project_id == project.id, row.created_at >= first)
    ).one()
    return {"sent": sent, "opened": opened, "answered": answered}


def _list_quiet(project: Project, top: int) -> list[dict[str, Any]]:
    """Return websites that showed the widget in the last 30 days, but not in the last 3."""
    last = func.max(InsightDay.last_seen_at)
    query = (
        select(InsightDay.website, last)
        .where(
            InsightDay.project_id == project.id,
            InsightDay.day >= write_day(clock.now() - timedelta(days=30)),
            InsightDay.surface == "widget",
            InsightDay.website != OTHER_WEBSITES,
        )
        .group_by(InsightDay.website)
        .having(last < clock.now() - timedelta(days=3))
        .order_by(last.desc(), InsightDay.website)
        .limit(top)
    )
    return [
        {"website": website, "last_seen_at": time} for website, time in db.session.execute(query)
    ]


def _describe_ratings(days: list[DayNumbers]) -> dict[str, Any]:
    """Return the genuine ratings, by stars and by weeks that begin on Monday."""
    rated = [each for each in days if any(each.stars)]
    weeks = []
    for week, in_week in groupby(rated, key=lambda each: (each.day - _MONDAY) // 7):
        monday = clock.EPOCH + timedelta(days=7 * week + _MONDAY)
        weeks.append({"from": write_day(monday), **_average(list(in_week))})
    stars = [sum(each.stars[number] for each in rated) for number in reversed(range(5))]
    return {**_average(rated), "stars": stars, "weeks": weeks}


def _average(rated: Sequence[DayNumbers]) -> dict[str, Any]:
    count = sum(sum(each.stars) for each in rated)
    return {"average": average(sum(each.total for each in rated), count) or None, "count": count}


def _within(
    row: type[InsightDay] | type[InsightTestimonialDay], project: Project, days: int
) -> tuple[ColumnElement[bool], ...]:
    return (row.project_id == project.id, row.day >= write_day(_days_ago(days - 1)))


def _days_ago(days: int) -> datetime:
    return (clock.now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)


# The schemas of the API and the command.

# How many testimonials, and how many websites, a list may have.
MOST_LISTED = 200


class Days(RuleField, fields.Integer):
    """A query parameter: one of `PERIODS`."""

    rule = f"Must be one of: {', '.join(map(str, PERIODS))}."
    about: ClassVar[Mapping[str, Any]] = {"enum": list(PERIODS)}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value not in map(str, PERIODS):
            raise self.make_error("invalid")
        return int(value)


class InsightsQuerySchema(StrictSchema):
    days = Days(load_default=USUAL_PERIOD)


class Date(fields.String):
    def __init__(self, **options: Any) -> None:
        super().__init__(metadata={"format": "date"}, **options)


class PeriodSchema(WholeSchema):
    """The days that the figures cover; the last one is today."""

    days = Number()
    first = Date(data_key="from", attribute="from")
    to = Date()


class ViewsSchema(WholeSchema):
    """Views of the widget and of the wall."""

    widget = Number()
    wall = Number()
    total = Number()
    previous = Number(description="Views in the preceding period.")


class DaySchema(WholeSchema):
    """Views and clicks of one day."""

    day = Date()
    widget = Number(description="Views of the widget.")
    wall = Number(description="Views of the wall.")
    clicks = Number(description="Clicks on the button, in widget and wall.")


class FunnelSchema(WholeSchema):
    """How far visitors to the collection page got in the period."""

    opened = Number()
    started = Number()
    sent = Number(description="Includes testimonials deleted since, but not spam.")
    approved = Number(description="Testimonials of these visits that are approved now.")


class RequestCountsSchema(WholeSchema):
    """Requests by email in the period, and those opened and answered since."""

    sent = Number()
    opened = Number()
    answered = Number()


class ReadSchema(WholeSchema):
    """How often a testimonial was seen and read."""

    testimonialId = String(attribute="id")
    seen = Number(description="How often half of it was on a screen.")
    read = Number(description="How often it was shown for 5 seconds, expanded or played.")


class ViewedWebsiteSchema(WholeSchema):
    """A website that showed the widget."""

    website = String(description="Its host. Empty: the wall. `*`: websites beyond 50 in a day.")
    views = Number()
    clicks = Number()
    lastSeenAt = Time(attribute="last_seen_at")


class QuietWebsiteSchema(WholeSchema):
    """A website that showed the widget in the last 30 days, but not in the last 3."""

    website = String()
    lastSeenAt = Time(attribute="last_seen_at")


class WeekSchema(WholeSchema):
    """The ratings of one week."""

    first = Date(data_key="from", attribute="from")
    average = fields.Float()
    count = Number()


class RatingsSchema(WholeSchema):
    """The genuine ratings, by the dates of their testimonials."""

    average = fields.Float(
        allow_none=True, metadata={"description": "To one decimal; null: there are no ratings."}
    )
    count = Number()
    stars = List(fields.Integer(), description="How many ratings have 5, 4, 3, 2 and 1 stars.")
    weeks = List(fields.Nested(WeekSchema), description="Weeks with ratings, beginning on Monday.")


class InsightsSchema(WholeSchema):
    """The insights of a period, in days of UTC."""

    period = fields.Nested(PeriodSchema)
    views = fields.Nested(ViewsSchema)
    clicks = Number()
    days = List(fields.Nested(DaySchema))
    funnel = fields.Nested(FunnelSchema)
    requests = fields.Nested(RequestCountsSchema)
    testimonials = List(
        fields.Nested(ReadSchema), description=f"Those read most often, at most {MOST_LISTED}."
    )
    websites = List(
        fields.Nested(ViewedWebsiteSchema), description=f"Most views first, at most {MOST_LISTED}."
    )
    quiet = List(fields.Nested(QuietWebsiteSchema))
    ratings = fields.Nested(RatingsSchema)


@analytics.resource(
    "GET /v1/projects/<project_id>/insights",
    scope=Scope.READ,
    query=InsightsQuerySchema,
    data=InsightsSchema,
)
def get_insights(project: Project, query: dict[str, Any]) -> dict[str, Any]:
    """Read the insights.

    Views of widget and wall by day, the testimonials that were read most, websites, the funnel from
    opening the collection page to approval, and ratings over time; for the last ``days``, including
    today. Views are counted rather than people, and up to a minute late.
    """
    return describe_insights(project, query["days"], top=MOST_LISTED)
