"""Views, reads and forms that were counted some days ago."""

from datetime import timedelta

from flask import Flask

from testimonials.analytics.models import (
    OPENED,
    STARTED,
    InsightDay,
    InsightTestimonialDay,
    InsightVisit,
)
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db


def add_views(
    app: Flask, project: str, views: int, *, website: str = "", ago: int = 0, clicks: int = 0
) -> None:
    """Store the views of a day, those of the wall unless a website is named."""
    with app.app_context(), write():
        time = clock.now() - timedelta(days=ago)
        surface = "widget" if website else "wall"
        row = InsightDay(project_id=project, day=f"{time:%Y-%m-%d}", surface=surface)
        row.website, row.views, row.clicks, row.last_seen_at = website, views, clicks, time
        db.session.add(row)


def add_reads(app: Flask, project: str, testimonial: str, seen: int, read: int) -> None:
    """Store how often a testimonial was seen and read today."""
    with app.app_context(), write():
        row = InsightTestimonialDay(project_id=project, testimonial_id=testimonial)
        row.day, row.seen, row.read = f"{clock.now():%Y-%m-%d}", seen, read
        db.session.add(row)


def add_visits(app: Flask, project: str, opened: int, started: int, *, ago: int = 0) -> list[str]:
    """Store visits to the collection page, of which so many were begun; return their names."""
    day = f"{clock.now() - timedelta(days=ago):%Y-%m-%d}"
    visits = [f"{day}.{number:022}" for number in range(opened)]
    with app.app_context(), write():
        for place, visit in enumerate(visits):
            step = STARTED if place < started else OPENED
            db.session.add(InsightVisit(project_id=project, visit=visit, form="", step=step))
    return visits
