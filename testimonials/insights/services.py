"""What an owner is told of views, reads, clicks, forms, requests and ratings."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, func, select

from testimonials.collection.models import MailedRequest
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.insights.models import (
    OTHER_WEBSITES,
    InsightDay,
    InsightFunnelDay,
    InsightTestimonialDay,
)
from testimonials.projects.models import Project
from testimonials.testimonials.counts.services import DayOf, average, count_days

PERIODS = (7, 30, 90, 365)
USUAL_PERIOD = 30
# A website is quiet that showed the widget in the last 30 days, but not in the last 3.
QUIET_AFTER, QUIET_UNTIL = timedelta(days=3), timedelta(days=30)
# The first Monday after the epoch is the fifth day.
_MONDAY = 4


def describe_insights(project: Project, days: int, *, top: int = 5) -> dict[str, Any]:
    """Return what happened in the last `days`, today included, in UTC; at most `top` of a kind."""
    first = _days_ago(days - 1)
    counted = count_days(project.id, first)
    return {
        "period": {"days": days, "from": write_day(first), "to": write_day(clock.now())},
        **_count_views(project, days),
        "funnel": _count_funnel(project, first, counted),
        "requests": _count_requests(project, first),
        "testimonials": list_testimonials(project, days, top),
        "websites": list_websites(project, days, top),
        "quiet": _list_quiet(project, top),
        "ratings": _describe_ratings(counted),
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


def _count_funnel(project: Project, first: datetime, counted: list[DayOf]) -> dict[str, int]:
    row = InsightFunnelDay
    page = select(func.sum(row.opened), func.sum(row.started)).where(
        row.project_id == project.id, row.day >= write_day(first)
    )
    opened, started = db.session.execute(page).one()
    return {
        "opened": int(opened or 0),
        "started": int(started or 0),
        "sent": sum(each.sent for each in counted),
        "approved": sum(each.approved for each in counted),
    }


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
            InsightDay.website != OTHER_WEBSITES,
        )
        .group_by(InsightDay.website)
        .having(last < clock.now() - QUIET_AFTER)
        .order_by(last.desc(), InsightDay.website)
        .limit(top)
    )
    return [
        {"website": website, "last_seen_at": time} for website, time in db.session.execute(query)
    ]


def _describe_ratings(counted: list[DayOf]) -> dict[str, Any]:
    """Return the ratings of what is shown, by stars and by weeks that begin on Monday."""
    rated = [each for each in counted if any(each.stars)]
    weeks = []
    for week, listed in groupby(rated, key=lambda each: (each.day - _MONDAY) // 7):
        monday = clock.EPOCH + timedelta(days=7 * week + _MONDAY)
        weeks.append({"from": write_day(monday), **_average(list(listed))})
    stars = [sum(each.stars[number] for each in rated) for number in reversed(range(5))]
    return {**_average(rated), "stars": stars, "weeks": weeks}


def _average(rated: Sequence[DayOf]) -> dict[str, Any]:
    count = sum(sum(each.stars) for each in rated)
    return {"average": average(sum(each.total for each in rated), count), "count": count}


def _within(
    row: type[InsightDay] | type[InsightTestimonialDay], project: Project, days: int
) -> tuple[ColumnElement[bool], ...]:
    return (row.project_id == project.id, row.day >= write_day(_days_ago(days - 1)))


def _days_ago(days: int) -> datetime:
    return (clock.now() - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
