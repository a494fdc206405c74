"""What an owner is told of views, reads, clicks, forms, requests and ratings."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, case, func, literal_column, select, type_coerce

from testimonials.collection.models import MailedRequest
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.insights.models import InsightDay, InsightFunnelDay, InsightTestimonialDay
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

PERIODS = (7, 30, 90, 365)
# A website is quiet that showed the widget in the last 30 days, but not in the last 3.
QUIET_AFTER, QUIET_UNTIL = timedelta(days=3), timedelta(days=30)
_WEEK = 7 * 24 * 60 * 60 * 1000
# The first Monday after the epoch.
_MONDAY = 4 * 24 * 60 * 60 * 1000
_FROM_PAGE = "public_page"


def describe_insights(project: Project, days: int, *, top: int = 5) -> dict[str, Any]:
    """Return what happened in the last `days`, today included, in UTC; at most `top` of a kind."""
    first = _days_ago(days - 1)
    return {
        "period": {"days": days, "from": write_day(first), "to": write_day(clock.now())},
        **_count_views(project, days),
        "funnel": _count_funnel(project, first),
        "requests": _count_requests(project, first),
        "testimonials": list_testimonials(project, days, top),
        "websites": list_websites(project, days, top),
        "quiet": _list_quiet(project, top),
        "ratings": _count_ratings(project, first),
    }


def write_day(time: datetime) -> str:
    """Return a day as the tables have it."""
    return f"{time:%Y-%m-%d}"


def list_days(project: Project, days: int) -> list[dict[str, Any]]:
    """Return each day of the period with the views of widget and wall, and the clicks."""
    found: dict[str, dict[str, Any]] = {}
    for ago in range(days - 1, -1, -1):
        day = write_day(_days_ago(ago))
        found[day] = {"day": day, "widget": 0, "wall": 0, "clicks": 0}
    row = InsightDay
    query = (
        select(row.day, row.surface, func.sum(row.views), func.sum(row.clicks))
        .where(*_within(row, project, days))
        .group_by(row.day, row.surface)
    )
    for day, surface, views, clicks in db.session.execute(query):
        if day in found:
            found[day][surface] += int(views)
            found[day]["clicks"] += int(clicks)
    return list(found.values())


def list_testimonials(project: Project, days: int, top: int) -> list[dict[str, Any]]:
    """Return the testimonials that were read and seen most."""
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


def list_websites(project: Project, days: int, top: int) -> list[dict[str, Any]]:
    """Return the websites with the most views; the wall has none, and an empty name."""
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


def _count_funnel(project: Project, first: datetime) -> dict[str, int]:
    row = InsightFunnelDay
    page = select(func.sum(row.opened), func.sum(row.started)).where(
        row.project_id == project.id, row.day >= write_day(first)
    )
    opened, started = db.session.execute(page).one()
    # Of what came in these days; what is held as spam was never sent by anybody.
    is_approved = _is_shown()
    sent = select(func.count(), func.sum(case((is_approved, 1), else_=0))).where(
        Testimonial.project_id == project.id,
        Testimonial.submitted_at >= first,
        Testimonial.source == _FROM_PAGE,
        Testimonial.status != "spam",
    )
    count, approved = db.session.execute(sent).one()
    numbers = {"opened": opened, "started": started, "sent": count, "approved": approved}
    return {name: int(number or 0) for name, number in numbers.items()}


def _count_requests(project: Project, first: datetime) -> dict[str, int]:
    """Count the requests of these days, and what has come of them since."""
    row = MailedRequest
    query = select(func.count(row.sent_at), func.count(row.opened_at), func.count(row.answered_at))
    sent, opened, answered = db.session.execute(
        query.where(row.project_id == project.id, row.created_at >= first)
    ).one()
    return {"sent": sent, "opened": opened, "answered": answered}


def _list_quiet(project: Project, top: int) -> list[dict[str, Any]]:
    last = func.max(InsightDay.last_seen_at)
    query = (
        select(InsightDay.website, last)
        .where(
            InsightDay.project_id == project.id,
            InsightDay.day >= write_day(clock.now() - QUIET_UNTIL),
            InsightDay.surface == "widget",
        )
        .group_by(InsightDay.website)
        .having(last < clock.now() - QUIET_AFTER)
        .order_by(last.desc(), InsightDay.website)
        .limit(top)
    )
    return [
        {"website": website, "last_seen_at": time} for website, time in db.session.execute(query)
    ]


def _count_ratings(project: Project, first: datetime) -> dict[str, Any]:
    """Return the ratings of what is shown, by stars and by weeks that begin on Monday."""
    time = type_coerce(Testimonial.submitted_at, BigInteger)
    # Written out, since PostgreSQL takes no two parameters for equal when it groups.
    week = (time - literal_column(str(_MONDAY))) // literal_column(str(_WEEK))
    query = (
        select(week, Testimonial.rating, func.count())
        .where(
            Testimonial.project_id == project.id,
            Testimonial.submitted_at >= first,
            Testimonial.source != "demo",
            _is_shown(),
            Testimonial.rating.is_not(None),
        )
        .group_by(week, Testimonial.rating)
        .order_by(week)
    )
    rows: list[tuple[Any, ...]] = [tuple(row) for row in db.session.execute(query)]
    stars = [0] * 5
    for _, rating, count in rows:
        # Halves of a star are rounded up, as people do.
        stars[5 - min(5, max(1, int(rating + 0.5)))] += count
    weeks = []
    for number in sorted({int(row[0]) for row in rows}):
        monday = clock.from_milliseconds(number * _WEEK + _MONDAY)
        weeks.append({"from": write_day(monday), **_average([r for r in rows if r[0] == number])})
    return {**_average(rows), "stars": stars, "weeks": weeks}


def _average(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    count = sum(row[2] for row in rows)
    total = sum(row[1] * row[2] for row in rows)
    return {"average": int(total / count * 10 + 0.5) / 10 if count else 0, "count": count}


def _is_shown() -> ColumnElement[bool]:
    """Return what `Testimonial.is_visible` says of all but samples, from the index alone."""
    return (Testimonial.status == "approved") & Testimonial.deleted_at.is_(None)


def _within(
    row: type[InsightDay] | type[InsightTestimonialDay], project: Project, days: int
) -> tuple[ColumnElement[bool], ...]:
    return (row.project_id == project.id, row.day >= write_day(_days_ago(days - 1)))


def _days_ago(days: int) -> datetime:
    return (clock.now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
