"""Sightings: the websites on which the widget was seen, and when.

A browser sends the website's origin with each request for the widget's data. As that is the hottest
path, origins are noted in memory, and stored by background work. Anybody can invent origins, so
both the memory and the table are limited.
"""

import re
from datetime import datetime, timedelta
from typing import Any

from flask import current_app
from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.db.transactions import delete_rows, write
from testimonials.core.extensions import db
from testimonials.core.http.urls import own_origins
from testimonials.core.jobs import every_process
from testimonials.projects.models import Project, WidgetSighting
from testimonials.widget.cache import MAX_ORIGINS, SIGHTINGS, Noted, Sightings

KEPT = timedelta(days=90)
# In a full list, a new website replaces one that has not been seen for this long.
UNSEEN = timedelta(days=1)

# Browsers send origins in lower case and in ASCII.
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def note_sighting(project_id: str, origin: str | None) -> None:
    if origin is not None:
        _sightings().note(project_id, origin)


def take_sightings() -> Noted:
    """Return the origins of other websites that were noted since the last call."""
    taken = {project_id: _clean(origins) for project_id, origins in _sightings().take().items()}
    return {project_id: origins for project_id, origins in taken.items() if origins}


@every_process()
def write_sightings() -> None:
    """Store what was noted since the last time, for the projects that still exist."""
    if seen := take_sightings():
        with write():
            _store(seen)


def _store(seen: Noted) -> None:
    # Projects are locked in order, so that two processes neither insert the same website nor
    # deadlock.
    live = db.session.scalars(
        select(Project.id)
        .where(Project.id.in_(seen))
        .order_by(Project.id)
        .with_for_update(key_share=True)
    ).all()
    kept: dict[str, dict[str, WidgetSighting]] = {project_id: {} for project_id in live}
    for row in db.session.scalars(
        select(WidgetSighting).where(WidgetSighting.project_id.in_(live))
    ):
        kept[row.project_id][row.origin] = row
    for project_id, known in kept.items():
        _merge(project_id, known, seen[project_id])
    db.session.flush()


def delete_old_sightings() -> int:
    """Delete the websites on which the widget has not been seen for 90 days; return how many."""
    return delete_rows(WidgetSighting, WidgetSighting.seen_at <= clock.now() - KEPT)


def list_sightings(project_id: str) -> list[dict[str, Any]]:
    """Return the origins on which the project's widget was seen, and when, latest first.

    This includes what the process hasn't stored yet, so that owners who have just embedded the
    widget see that at once.
    """
    rows = db.session.execute(
        select(WidgetSighting.origin, WidgetSighting.seen_at).where(
            WidgetSighting.project_id == project_id, WidgetSighting.seen_at > clock.now() - KEPT
        )
    )
    times = {row.origin: row.seen_at for row in rows}
    for origin, time in _clean(_sightings().look(project_id)).items():
        times[origin] = max(time, times.get(origin, time))
    newest = sorted(times.items(), key=lambda each: (each[1], each[0]), reverse=True)
    return [{"origin": origin, "seen_at": time} for origin, time in newest]


def find_newest_sighting(project_id: str) -> tuple[str, datetime] | None:
    """Return the origin on which the project's widget was seen last, and when."""
    sightings = list_sightings(project_id)
    return (sightings[0]["origin"], sightings[0]["seen_at"]) if sightings else None


def _clean(origins: dict[str, datetime]) -> dict[str, datetime]:
    own = own_origins()
    return {
        origin: time
        for origin, time in origins.items()
        if _ORIGIN.fullmatch(origin) and origin not in own
    }


def _merge(project_id: str, known: dict[str, WidgetSighting], seen: dict[str, datetime]) -> None:
    # The known ones first, so that no new one replaces them.
    for origin, time in sorted(seen.items(), key=lambda each: each[0] not in known):
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


def _sightings() -> Sightings:
    return current_app.extensions[SIGHTINGS]  # type: ignore[no-any-return]
