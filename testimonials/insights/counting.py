"""What is counted in memory, and written down once a minute.

Anybody can send a beacon. So memory is bounded, each address is counted a few times a minute, and
what names no testimonial, or one website more than a project may have, is dropped when it is
written. A process that is killed loses what it has counted since the last time.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from flask import Flask, current_app
from sqlalchemy import select

from testimonials.core import clock
from testimonials.core.data.database import Base, insert_into
from testimonials.extensions import db
from testimonials.insights.models import InsightDay, InsightFunnelDay, InsightTestimonialDay
from testimonials.insights.services import write_day
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

EXTENSION = "testimonials_insights"
MAX_KEYS = 20_000
MAX_BEACONS = 60
# Of a project in one day: more than these share no row, and aren't counted.
MAX_WEBSITES = 50


@dataclass
class Beacon:
    """What one page tells: that it was seen, which testimonials were, and what was done."""

    surface: str
    website: str = ""
    is_view: bool = False
    clicks: int = 0
    seen: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    form: str = ""
    is_opened: bool = False
    is_started: bool = False


class Counts:
    """What this process has counted since the last round of background work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        # (project, day, kind, name, column) to a number, where the kind is one of the tables'.
        self.numbers: Counter[tuple[str, str, str, str, str]] = Counter()
        self.times: dict[tuple[str, str, str, str], datetime] = {}
        self._senders: Counter[str] = Counter()

    def note(self, project_id: str, beacon: Beacon, sender: str) -> None:
        """Count a beacon, unless its sender has sent too many in this minute."""
        now = clock.now()
        found = [(kind, name, column, n) for kind, name, column, n in _list(beacon) if n]
        with self._lock:
            is_full = len(self.numbers) + len(found) > MAX_KEYS or len(self._senders) > MAX_KEYS
            if is_full or self._senders[sender] >= MAX_BEACONS:
                return
            self._senders[sender] += 1
            for kind, name, column, number in found:
                key = (project_id, write_day(now), kind, name)
                self.numbers[*key, column] += number
                self.times[key] = now

    def take(self) -> "Counts":
        """Return what was counted, and begin anew."""
        taken = Counts()
        with self._lock:
            taken.numbers, taken.times = self.numbers, self.times
            self.clear()
        return taken

    def give_back(self, taken: "Counts") -> None:
        """Count once more what could not be written, as far as there is room."""
        with self._lock:
            if len(self.numbers) + len(taken.numbers) <= MAX_KEYS:
                self.numbers.update(taken.numbers)
                self.times = taken.times | self.times


def init_insights(app: Flask) -> None:
    """Attach the counts of this process to `app`."""
    app.extensions[EXTENSION] = Counts()


def current_counts() -> Counts:
    counts: Counts = current_app.extensions[EXTENSION]
    return counts


def write_counts(counts: Counts) -> None:
    """Add what was counted to the tables, for the projects and testimonials that exist."""
    # In one order, so that two processes don't wait for each other.
    projects = db.session.scalars(
        select(Project.id)
        .where(Project.id.in_({key[0] for key in counts.numbers}), Project.deleted_at.is_(None))
        .order_by(Project.id)
        .with_for_update(key_share=True)
    ).all()
    rows: dict[tuple[str, str, str, str], dict[str, int]] = {}
    for (project_id, day, kind, name, column), number in sorted(counts.numbers.items()):
        if project_id in projects:
            rows.setdefault((project_id, day, kind, name), {})[column] = number
    known = _find_known(rows)
    for (project_id, day, kind, name), numbers in rows.items():
        if kind == "testimonial" and name not in known[project_id]:
            continue
        if kind == "widget" and not _has_room(known[project_id], day, name):
            continue
        key: dict[str, Any] = {"project_id": project_id, "day": day}
        if kind == "testimonial":
            _add(InsightTestimonialDay, key | {"testimonial_id": name}, numbers)
        elif kind == "form":
            _add(InsightFunnelDay, key | {"form": name}, numbers)
        else:
            time = counts.times[project_id, day, kind, name]
            _add(InsightDay, key | {"surface": kind, "website": name}, numbers, time)


def _list(beacon: Beacon) -> list[tuple[str, str, str, int]]:
    if beacon.surface == "form":
        return [
            ("form", beacon.form, "opened", int(beacon.is_opened)),
            ("form", beacon.form, "started", int(beacon.is_started)),
        ]
    return [
        (beacon.surface, beacon.website, "views", int(beacon.is_view)),
        (beacon.surface, beacon.website, "clicks", beacon.clicks),
        *(("testimonial", each, "seen", 1) for each in beacon.seen),
        *(("testimonial", each, "read", 1) for each in beacon.read),
    ]


def _find_known(rows: dict[tuple[str, str, str, str], Any]) -> dict[str, set[str]]:
    """Return the testimonials of each project that rows are about, and its websites by day."""
    known: dict[str, set[str]] = {project_id: set() for project_id, *_ in rows}
    ids = {name for _, _, kind, name in rows if kind == "testimonial"}
    days = {day for _, day, kind, _ in rows if kind == "widget"}
    one, row = Testimonial, InsightDay
    for project_id, id in db.session.execute(
        select(one.project_id, one.id).where(one.id.in_(ids), one.is_visible)
    ):
        known.get(project_id, set()).add(id)
    for project_id, day, website in db.session.execute(
        select(row.project_id, row.day, row.website).where(
            row.project_id.in_(known), row.day.in_(days), row.surface == "widget"
        )
    ):
        known[project_id].add(f"{day} {website}")
    return known


def _has_room(known: set[str], day: str, website: str) -> bool:
    """Return whether a website may have a row of this day; note that it does."""
    if f"{day} {website}" not in known:
        if sum(each.startswith(f"{day} ") for each in known) >= MAX_WEBSITES:
            return False
        known.add(f"{day} {website}")
    return True


def _add(
    model: type[Base], key: dict[str, str], numbers: dict[str, int], time: datetime | None = None
) -> None:
    table = model.__table__
    counted = [
        column.name
        for column in table.columns
        if column.name in ("views", "clicks", "seen", "read", "opened", "started")
    ]
    values: dict[str, Any] = dict.fromkeys(counted, 0) | numbers
    changes: dict[str, Any] = {name: table.c[name] + number for name, number in numbers.items()}
    if time is not None:
        values["last_seen_at"] = changes["last_seen_at"] = time
    insert = insert_into(db.session(), model, **key, **values)
    db.session.execute(insert.on_conflict_do_update(index_elements=[*key], set_=changes))
