"""Counting views and clicks: beacons are counted in memory, and stored every minute."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from flask import Request, Response, request
from sqlalchemy import case, delete, func, select, tuple_

from testimonials.analytics.models import (
    OPENED,
    OTHER_WEBSITES,
    SENT,
    STARTED,
    InsightDay,
    InsightPathDay,
    InsightTestimonialDay,
    InsightVisit,
)
from testimonials.analytics.reports import write_day
from testimonials.collection.models import CollectionForm
from testimonials.collection.submission import is_counted, read_form_token
from testimonials.core import clock
from testimonials.core.db.engine import Base, insert_into
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, kept
from testimonials.core.faults import FAULTS
from testimonials.core.http.blueprints import analytics
from testimonials.core.http.errors import NotFound
from testimonials.core.http.rate_limits import client_key
from testimonials.core.http.urls import own_hosts, own_origins
from testimonials.core.jobs import every_process
from testimonials.core.settings.table import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# Anybody can send beacons. So memory is limited, an address is counted only a few times a minute
# and can fill only part of the memory, and unknown testimonials and forms are dropped before
# writing. Once a project has too many websites on a day, the others share a row. A process that is
# killed, or can't reach the database, loses what it hasn't written.

EXTENSION = "testimonials_insights"
# The counting columns of each table.
NUMBERS: dict[type[Base], tuple[str, ...]] = {
    InsightDay: ("views", "clicks"),
    InsightTestimonialDay: ("seen", "read"),
    InsightPathDay: ("opened", "started", "sent"),
}
MAX_KEYS = 20_000
# Limits per address between two writes of the counts.
MAX_BEACONS = 60
MAX_VISITS = 20
MAX_NEW_KEYS = 1000
# Daily limits per project.
MAX_WEBSITES = 50
MAX_VISITS_A_DAY = 10_000

# Visits older than this many days are replaced by sums.
VISIT_DAYS = 35

# Project, day, kind (which determines the table) and name.
Key = tuple[str, str, str, str]


@dataclass
class Beacon:
    """Numbers to add, by kind, name and column; or the step that a visit has reached."""

    numbers: Sequence[tuple[str, str, str, int]] = ()
    form: str = ""
    visit: str = ""
    step: int = 0


class Counts:
    """What this process has counted since the last round of background work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        # By key and column.
        self.numbers: Counter[tuple[str, str, str, str, str]] = Counter()
        self.times: dict[Key, datetime] = {}
        # Form and last step, by project and visit.
        self.visits: dict[tuple[str, str], tuple[str, int]] = {}
        self._visitors: Counter[str] = Counter()
        self._senders: Counter[str] = Counter()
        self._new_keys: Counter[str] = Counter()

    def note(self, project_id: str, beacon: Beacon, sender: str) -> None:
        """Count a beacon, unless its sender has sent too many."""
        now = clock.now()
        day = write_day(now)
        with self._lock:
            if len(self._senders) > MAX_KEYS or self._senders[sender] >= MAX_BEACONS:
                return
            self._senders[sender] += 1
            if beacon.visit:
                self._note_visit(project_id, beacon, sender)
            for kind, name, column, number in beacon.numbers:
                key = (project_id, day, kind, name)
                if number and self._has_room((*key, column), sender):
                    self.numbers[*key, column] += number
                    self.times[key] = now

    def _note_visit(self, project_id: str, beacon: Beacon, sender: str) -> None:
        key = (project_id, beacon.visit)
        if key not in self.visits:
            if len(self.visits) >= MAX_KEYS or self._visitors[sender] >= MAX_VISITS:
                return
            self._visitors[sender] += 1
        _, step = self.visits.get(key, ("", 0))
        self.visits[key] = beacon.form, max(step, beacon.step)

    def _has_room(self, key: tuple[str, str, str, str, str], sender: str) -> bool:
        """Return whether a key may be counted; a new one counts towards its sender's limit."""
        if key not in self.numbers:
            if len(self.numbers) >= MAX_KEYS or self._new_keys[sender] >= MAX_NEW_KEYS:
                return False
            self._new_keys[sender] += 1
        return True

    def take(self) -> "Counts":
        taken = Counts()
        with self._lock:
            taken.numbers, taken.times, taken.visits = self.numbers, self.times, self.visits
            self.clear()
        return taken


def current_counts() -> Counts:
    return kept(EXTENSION, Counts)


@every_process()
def write_insights() -> None:
    """Store what this process has counted since the last time."""
    taken = current_counts().take()
    if taken.numbers or taken.visits:
        with write():
            write_counts(taken)


def write_counts(counts: Counts) -> None:
    """Add counts to the tables, for those projects, testimonials and forms that exist."""
    ids = {key[0] for key in (*counts.numbers, *counts.visits)}
    # Locked, so that none of them is deleted before this is written.
    query = (
        select(Project.id)
        .where(Project.id.in_(ids), Project.deleted_at.is_(None))
        .order_by(Project.id)
        .with_for_update(read=True, key_share=True)
    )
    projects = set(db.session.scalars(query))
    rows: dict[Key, dict[str, int]] = {}
    for (project_id, day, kind, name, column), number in counts.numbers.items():
        if project_id in projects:
            rows.setdefault((project_id, day, kind, name), {})[column] = number
    known = _find_known(rows)
    added: dict[type[Base], dict[Key, dict[str, Any]]] = {model: {} for model in NUMBERS}
    # In order, so that processes can't deadlock.
    for key, numbers in sorted(rows.items()):
        project_id, day, kind, name = key
        if kind == "widget":
            name = _choose_row(known[project_id], day, name)
        elif kind != "wall" and f"{kind} {name}" not in known[project_id]:
            continue
        model, values = _describe(project_id, day, kind, name)
        if model is InsightDay:
            values["last_seen_at"] = counts.times[key]
        row = added[model].setdefault((project_id, day, kind, name), values)
        for column in NUMBERS[model]:
            row[column] = row.get(column, 0) + numbers.get(column, 0)
    for model, table_rows in added.items():
        if table_rows:
            # Sorted again, since some names of websites were replaced.
            _add(model, [table_rows[key] for key in sorted(table_rows)])
    if visits := {key: value for key, value in counts.visits.items() if key[0] in projects}:
        _write_visits(visits)


def _write_visits(visits: dict[tuple[str, str], tuple[str, int]]) -> None:
    """Store the steps of visits, unless a later step is stored already."""
    model = CollectionForm
    query = select(model.project_id, model.name).where(
        model.project_id.in_({project_id for project_id, _ in visits}),
        model.name.in_({form for form, _ in visits.values()}),
    )
    known = {tuple(row) for row in db.session.execute(query)}
    refused = _find_refused(visits)
    rows = [
        {"project_id": project_id, "visit": visit, "form": form, "step": step}
        for (project_id, visit), (form, step) in sorted(visits.items())
        if (not form or (project_id, form) in known) and (project_id, visit) not in refused
    ]
    if rows:
        table, insert = InsightVisit.__table__, insert_into(db.session(), InsightVisit)
        is_further = insert.excluded.step > table.c.step
        step = case((is_further, insert.excluded.step), else_=table.c.step)
        keys = ["project_id", "visit"]
        db.session.connection().execute(
            insert.on_conflict_do_update(index_elements=keys, set_={"step": step}), rows
        )


def _find_refused(visits: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the new visits of days with so many (by bots) that no more are stored."""
    row, day = InsightVisit, func.substr(InsightVisit.visit, 1, 10)
    query = select(row.project_id, day).where(
        row.project_id.in_({project_id for project_id, _ in visits}),
        row.visit >= min(visit for _, visit in visits)[:10],
    )
    full = query.group_by(row.project_id, day).having(func.count() >= MAX_VISITS_A_DAY)
    days = {(each[0], each[1]) for each in db.session.execute(full)}
    refused = {
        (project_id, visit) for project_id, visit in visits if (project_id, visit[:10]) in days
    }
    if refused:
        stored = select(row.project_id, row.visit).where(row.visit.in_({key[1] for key in refused}))
        refused -= {(each[0], each[1]) for each in db.session.execute(stored)}
    return refused


def _find_known(rows: dict[Key, Any]) -> dict[str, set[str]]:
    """Return the existing testimonials of each project, and its stored websites by day."""
    known: dict[str, set[str]] = {project_id: set() for project_id, *_ in rows}
    ids = {name for _, _, kind, name in rows if kind == "testimonial"}
    days = {day for _, day, kind, _ in rows if kind == "widget"}
    of, row = Testimonial, InsightDay
    for project_id, id in db.session.execute(
        select(of.project_id, of.id).where(of.id.in_(ids), of.is_visible)
    ):
        known.get(project_id, set()).add(f"testimonial {id}")
    for project_id, day, website in db.session.execute(
        select(row.project_id, row.day, row.website).where(
            row.project_id.in_(known), row.day.in_(days), row.surface == "widget"
        )
    ):
        known[project_id].add(f"{day} {website}")
    return known


def _choose_row(known: set[str], day: str, website: str) -> str:
    """Return the website in whose row a view is counted, and add it to `known`."""
    if f"{day} {website}" in known:
        return website
    if sum(each.startswith(f"{day} ") for each in known) >= MAX_WEBSITES:
        return OTHER_WEBSITES
    known.add(f"{day} {website}")
    return website


def _describe(project_id: str, day: str, kind: str, name: str) -> tuple[type[Base], dict[str, Any]]:
    """Return the table of a row, and its primary key."""
    key = {"project_id": project_id, "day": day}
    if kind == "testimonial":
        return InsightTestimonialDay, key | {"testimonial_id": name}
    return InsightDay, key | {"surface": kind, "website": name}


def _add(model: type[Base], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or add their numbers to existing ones."""
    table = model.__table__
    insert = insert_into(db.session(), model)
    changes: dict[str, Any] = {
        name: table.c[name] + insert.excluded[name] for name in NUMBERS[model]
    }
    if model is InsightDay:
        changes["last_seen_at"] = insert.excluded.last_seen_at
    keys = [column.name for column in model.__mapper__.primary_key]
    db.session.connection().execute(
        insert.on_conflict_do_update(index_elements=keys, set_=changes), rows
    )


# Reading beacons.

MAX_BYTES = 16 * 1024
MAX_TESTIMONIALS, MAX_CLICKS = 200, 20

_HOST = re.compile(r"[a-z0-9._-]{1,255}")
_FORM = re.compile(r"[a-z0-9-]{0,60}")


def read_beacon(request: Request, project_id: str) -> Beacon | None:
    """Return a beacon; None if it isn't counted, such as on a developer's machine."""
    if not is_counted(request):
        return None
    website = read_website(request.headers.get("Origin", ""))
    body = _read_body(request)
    surface = body.get("surface")
    # On our own pages, the widget is only the editor's preview.
    surfaces = ("widget",) if website else ("wall", "form")
    if website is None or not isinstance(surface, str) or surface not in surfaces:
        return None
    if surface == "form":
        return _read_visit(body, project_id)
    clicks = body.get("clicks")
    clicks = clicks if isinstance(clicks, int) and not isinstance(clicks, bool) else 0
    return Beacon(
        [
            (surface, website, "views", int(body.get("view") is True)),
            (surface, website, "clicks", min(max(clicks, 0), MAX_CLICKS)),
            *(("testimonial", each, "seen", 1) for each in _read_ids(body.get("seen"))),
            *(("testimonial", each, "read", 1) for each in _read_ids(body.get("read"))),
        ]
    )


def _read_visit(body: dict[str, Any], project_id: str) -> Beacon | None:
    """Return the step of a visit; the form's token proves that the visit has happened."""
    form, text = body.get("form", ""), body.get("visit")
    token = read_form_token(text, project_id) if isinstance(text, str) else None
    is_form = isinstance(form, str) and _FORM.fullmatch(form)
    if token is None or token.visit is None or not is_form:
        return None
    step = STARTED if body.get("started") is True else OPENED
    return Beacon(form=form, visit=token.visit, step=step)


def read_website(origin: str) -> str | None:
    """Return the host in an Origin header, empty for our own; None if it isn't counted."""
    try:
        parts = urlsplit(origin)
        host = parts.hostname or ""
    except ValueError:
        return None
    if origin in own_origins() or own_hosts().find(host) is not None:
        return ""
    is_here = host.startswith("127.") or host.endswith((".localhost", ".local", ".test"))
    if parts.scheme not in ("http", "https") or is_here or host == "localhost":
        return None
    return host if _HOST.fullmatch(host) else None


def _read_body(request: Request) -> dict[str, Any]:
    length = request.content_length
    if length is None or length > MAX_BYTES:
        return {}
    body = None
    with suppress(*FAULTS):
        body = json.loads(request.get_data(cache=False))
    return body if isinstance(body, dict) else {}


def _read_ids(value: Any) -> list[str]:
    values = value[:MAX_TESTIMONIALS] if isinstance(value, list) else []
    ids = [each for each in values if isinstance(each, str) and is_identifier(each)]
    return list(dict.fromkeys(ids))


def delete_old_insights(limit: int) -> int:
    """Delete at most `limit` rows that are older than `INSIGHT_DAYS`; return how many."""
    _add_up_visits(limit)
    day = write_day(clock.expired_until(current_settings().insight_days))
    count = 0
    for model in (InsightDay, InsightTestimonialDay, InsightPathDay):
        keys = model.__mapper__.primary_key
        old = select(*keys).where(model.day < day).limit(limit - count)
        removed = delete(model).where(tuple_(*keys).in_(old)).returning(model.day)
        count += len(db.session.scalars(removed).all())
    return count


def _add_up_visits(limit: int) -> None:
    """Add visits older than `VISIT_DAYS` to the sums of their days, and delete them."""
    row, until = InsightVisit, write_day(clock.expired_until(VISIT_DAYS))
    old = select(row.project_id, row.visit).where(row.visit < until).order_by(row.visit)
    deleted = db.session.execute(
        delete(row)
        .where(tuple_(row.project_id, row.visit).in_(old.limit(limit)))
        .returning(row.project_id, row.visit, row.form, row.step)
    )
    sums: dict[tuple[str, str, str], Counter[str]] = {}
    for project_id, visit, form, step in deleted:
        steps = sums.setdefault((project_id, visit[:10], form), Counter())
        steps.update(opened=1, started=step >= STARTED, sent=step >= SENT)
    keys = ("project_id", "day", "form")
    if rows := [dict(zip(keys, key, strict=True)) | steps for key, steps in sorted(sums.items())]:
        _add(InsightPathDay, rows)


@analytics.post("/widget/<project_id>/seen")
def note_seen(project_id: str) -> Response:
    """Count a beacon from any origin; the answer doesn't tell whether it was counted."""
    if not is_identifier(project_id):
        raise NotFound("There is no such project.")
    if (beacon := read_beacon(request, project_id)) is not None:
        current_counts().note(project_id, beacon, client_key())
    answer = Response(status=204)
    answer.headers["Access-Control-Allow-Origin"] = "*"
    answer.headers["Cache-Control"] = "no-store"
    return answer
