"""Sightings: the websites on which the widget was seen, and when.

A browser names the website it is on with each request for the widget's data. That request is the
hottest path, so it only looks into memory; the background work writes down what was noted there.
Anybody can invent a website's name, so each place where one is kept has a bound.
"""

import re
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta

from flask import Flask, current_app
from sqlalchemy import delete, select

from testimonials.core import clock
from testimonials.core.urls import app_url, base_url
from testimonials.extensions import db
from testimonials.projects.models import Project, WidgetSighting

EXTENSION = "testimonials_sightings"

ORIGIN_LENGTH = 300
MAX_NOTED = 1_000
# Of one project, in memory between two rounds of the background work and in the database.
MAX_ORIGINS = 20
KEPT = timedelta(days=90)
# In a full list, a website that was not seen for so long makes room for a new one.
UNSEEN = timedelta(days=1)

_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")

Noted = dict[str, dict[str, datetime]]


class Sightings:
    """What this process has seen since it was last written down."""

    def __init__(self) -> None:
        self._noted: Noted = {}
        self._count = 0
        self._lock = threading.Lock()

    def note(self, project_id: str, origin: str) -> None:
        """Note that the widget of a project was asked for with this Origin header.

        A pair that is there already costs two look-ups and takes no lock.
        """
        origins = self._noted.get(project_id)
        if origins is not None and (origin in origins or len(origins) >= MAX_ORIGINS):
            return
        if self._count >= MAX_NOTED or len(origin) > ORIGIN_LENGTH:
            return
        with self._lock:
            origins = self._noted.setdefault(project_id, {})
            is_full = self._count >= MAX_NOTED or len(origins) >= MAX_ORIGINS
            if origin not in origins and not is_full:
                origins[origin] = clock.now()
                self._count += 1

    def look(self, project_id: str) -> dict[str, datetime]:
        """Return what is noted of one project: Origin headers as they came, with their times."""
        with self._lock:
            return dict(self._noted.get(project_id, {}))

    def take(self) -> Noted:
        with self._lock:
            taken, self._noted, self._count = self._noted, {}, 0
        return taken


def init_sightings(app: Flask) -> Sightings:
    sightings = Sightings()
    app.extensions[EXTENSION] = sightings
    return sightings


def note_sighting(project_id: str, origin: str | None) -> None:
    if origin is not None:
        _sightings().note(project_id, origin)


def take_sightings() -> Noted:
    """Return what was noted since the last call, the websites' origins cleaned."""
    taken = {project_id: _clean(origins) for project_id, origins in _sightings().take().items()}
    return {project_id: origins for project_id, origins in taken.items() if origins}


def write_sightings(seen: Noted) -> None:
    """Write down what `take_sightings` gave, for the projects that are still there."""
    # The rows are locked in one order, so that two processes neither write the same new website
    # nor wait for each other. A project's own key is not changed by anybody who waits.
    live = db.session.scalars(
        select(Project.id)
        .where(Project.id.in_(seen))
        .order_by(Project.id)
        .with_for_update(key_share=True)
    ).all()
    kept: dict[str, list[WidgetSighting]] = {project_id: [] for project_id in live}
    for row in db.session.scalars(
        select(WidgetSighting).where(WidgetSighting.project_id.in_(live))
    ):
        kept[row.project_id].append(row)
    for project_id, rows in kept.items():
        _merge(project_id, rows, seen[project_id])
    db.session.flush()


def delete_old_sightings() -> int:
    """Forget the websites on which the widget was not seen for 90 days; return how many."""
    removed = db.session.scalars(
        delete(WidgetSighting)
        .where(WidgetSighting.seen_at <= clock.now() - KEPT)
        .returning(WidgetSighting.origin)
    ).all()
    return len(removed)


def find_newest_sighting(project_id: str) -> tuple[str, datetime] | None:
    """Return the origin on which the project's widget was seen last, and when; None for nowhere.

    What this process noted since the last round counts, so that who has just put the widget on
    a page finds it here at once.
    """
    row = db.session.execute(
        select(WidgetSighting.origin, WidgetSighting.seen_at)
        .where(
            WidgetSighting.project_id == project_id,
            WidgetSighting.seen_at > clock.now() - KEPT,
        )
        .order_by(WidgetSighting.seen_at.desc(), WidgetSighting.origin)
        .limit(1)
    ).one_or_none()
    found = list(_clean(_sightings().look(project_id)).items())
    if row is not None:
        found.append((row[0], row[1]))
    return max(found, key=lambda each: each[1], default=None)


def read_origin(header: str) -> str | None:
    """Return an Origin header back if it names a website: scheme, host and perhaps a port."""
    # Browsers write it in small letters, foreign hosts in ASCII. Nothing else is let through.
    return header if _ORIGIN.fullmatch(header) else None


def _clean(origins: dict[str, datetime]) -> dict[str, datetime]:
    own = {read_origin(url) for url in (base_url(), app_url())}
    found = {read_origin(header): time for header, time in origins.items()}
    return {
        origin: time for origin, time in found.items() if origin is not None and origin not in own
    }


def _merge(project_id: str, rows: list[WidgetSighting], seen: dict[str, datetime]) -> None:
    known = {row.origin: row for row in rows}
    for origin, time in _known_first(seen, known):
        if origin in known:
            known[origin].seen_at = max(known[origin].seen_at, time)
            continue
        if len(known) >= MAX_ORIGINS:
            oldest = min(known.values(), key=lambda row: row.seen_at)
            if oldest.seen_at > clock.now() - UNSEEN:
                continue
            db.session.delete(known.pop(oldest.origin))
        known[origin] = WidgetSighting(project_id=project_id, origin=origin, seen_at=time)
        db.session.add(known[origin])


def _known_first(
    seen: dict[str, datetime], known: dict[str, WidgetSighting]
) -> Iterable[tuple[str, datetime]]:
    # A website that is seen again must not make room for one that is new.
    return sorted(seen.items(), key=lambda each: each[0] not in known)


def _sightings() -> Sightings:
    found: Sightings = current_app.extensions[EXTENSION]
    return found
