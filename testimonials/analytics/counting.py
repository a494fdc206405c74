"""What is seen and clicked: told by beacons, counted in memory, written each minute."""

import json
import re
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app, request
from sqlalchemy import delete, select, tuple_

from testimonials.analytics.models import (
    OTHER_WEBSITES,
    InsightDay,
    InsightFunnelDay,
    InsightTestimonialDay,
)
from testimonials.analytics.reports import write_day
from testimonials.auth.cookies import read_session_cookie
from testimonials.collection.models import CollectionForm
from testimonials.core import clock
from testimonials.core.db.engine import Base, insert_into
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.faults import FAULTS
from testimonials.core.http.blueprints import analytics
from testimonials.core.http.errors import NotFound
from testimonials.core.http.hosts import own_hosts
from testimonials.core.http.rate_limits import client_key
from testimonials.core.http.urls import own_origins
from testimonials.core.jobs import every_process
from testimonials.core.settings.current import current_settings
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# What is counted in memory, and written down once a minute.
#
# Anybody can send a beacon. So memory is bounded, each address is counted a few times a minute and
# fills only a part of it, and what names no testimonial or form is dropped when it is written. More
# websites of a day than a project may have share a row. A process that is killed loses what it has
# counted since the last time.

EXTENSION = "testimonials_insights"
# What is counted in each table.
NUMBERS: dict[type[Base], tuple[str, ...]] = {
    InsightDay: ("views", "clicks"),
    InsightTestimonialDay: ("seen", "read"),
    InsightFunnelDay: ("opened", "started"),
}
MAX_KEYS = 20_000
# What one address may send, and how many keys may be new by it, until the next writing.
MAX_BEACONS = 60
MAX_NEW_KEYS = 1000
# Of a project in one day.
MAX_WEBSITES = 50

# Project, day, kind (which says the table) and name.
Key = tuple[str, str, str, str]


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
        # By key and column.
        self.numbers: Counter[tuple[str, str, str, str, str]] = Counter()
        self.times: dict[Key, datetime] = {}
        self._senders: Counter[str] = Counter()
        self._new_keys: Counter[str] = Counter()

    def note(self, project_id: str, beacon: Beacon, sender: str) -> None:
        """Count a beacon, unless its sender has sent too many in this minute."""
        now = clock.now()
        day = write_day(now)
        with self._lock:
            if len(self._senders) > MAX_KEYS or self._senders[sender] >= MAX_BEACONS:
                return
            self._senders[sender] += 1
            for kind, name, column, number in _list(beacon):
                key = (project_id, day, kind, name)
                if number and self._has_room((*key, column), sender):
                    self.numbers[*key, column] += number
                    self.times[key] = now

    def _has_room(self, key: tuple[str, str, str, str, str], sender: str) -> bool:
        """Return whether a key may be counted; note who brought it."""
        if key not in self.numbers:
            if len(self.numbers) >= MAX_KEYS or self._new_keys[sender] >= MAX_NEW_KEYS:
                return False
            self._new_keys[sender] += 1
        return True

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


@every_process()
def write_insights() -> None:
    """Store what this process has counted since the last time."""
    counts = current_counts()
    taken = counts.take()
    if not taken.numbers:
        return
    try:
        with write():
            write_counts(taken)
    except Exception:
        counts.give_back(taken)
        raise


def write_counts(counts: Counts) -> None:
    """Add what was counted to the tables, for what exists of it."""
    projects = set(
        db.session.scalars(
            select(Project.id)
            .where(Project.id.in_({key[0] for key in counts.numbers}), Project.deleted_at.is_(None))
            .order_by(Project.id)
            # None of them is removed before this is written.
            .with_for_update(read=True, key_share=True)
        )
    )
    rows: dict[Key, dict[str, int]] = {}
    for (project_id, day, kind, name, column), number in counts.numbers.items():
        if project_id in projects:
            rows.setdefault((project_id, day, kind, name), {})[column] = number
    known = _find_known(rows)
    added: dict[type[Base], dict[Key, dict[str, Any]]] = {model: {} for model in NUMBERS}
    # In one order, so that two processes don't wait for each other.
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
    for model, listed in added.items():
        if listed:
            # Again in that order: websites may have become others.
            _add(model, [listed[key] for key in sorted(listed)])


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


def _find_known(rows: dict[Key, Any]) -> dict[str, set[str]]:
    """Return the testimonials and forms of each project, and its websites by day."""
    known: dict[str, set[str]] = {project_id: {"form "} for project_id, *_ in rows}
    ids = {name for _, _, kind, name in rows if kind == "testimonial"}
    names = {name for _, _, kind, name in rows if kind == "form" and name}
    days = {day for _, day, kind, _ in rows if kind == "widget"}
    one, form, row = Testimonial, CollectionForm, InsightDay
    for project_id, id in db.session.execute(
        select(one.project_id, one.id).where(one.id.in_(ids), one.is_visible)
    ):
        known.get(project_id, set()).add(f"testimonial {id}")
    for project_id, name in db.session.execute(
        select(form.project_id, form.name).where(form.project_id.in_(known), form.name.in_(names))
    ):
        known[project_id].add(f"form {name}")
    for project_id, day, website in db.session.execute(
        select(row.project_id, row.day, row.website).where(
            row.project_id.in_(known), row.day.in_(days), row.surface == "widget"
        )
    ):
        known[project_id].add(f"{day} {website}")
    return known


def _choose_row(known: set[str], day: str, website: str) -> str:
    """Return the website whose row of this day counts a view; note that it has one."""
    if f"{day} {website}" in known:
        return website
    if sum(each.startswith(f"{day} ") for each in known) >= MAX_WEBSITES:
        return OTHER_WEBSITES
    known.add(f"{day} {website}")
    return website


def _describe(project_id: str, day: str, kind: str, name: str) -> tuple[type[Base], dict[str, Any]]:
    """Return the table of a row, and its key."""
    key = {"project_id": project_id, "day": day}
    if kind == "testimonial":
        return InsightTestimonialDay, key | {"testimonial_id": name}
    if kind == "form":
        return InsightFunnelDay, key | {"form": name}
    return InsightDay, key | {"surface": kind, "website": name}


def _add(model: type[Base], rows: list[dict[str, Any]]) -> None:
    """Add the numbers of rows to those that are there, by one statement for all."""
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


# Reading a beacon: which are counted, and what they may hold.

MAX_BYTES = 16 * 1024
# Of one page, in one beacon.
MAX_TESTIMONIALS, MAX_CLICKS = 200, 20

_PROGRAM = re.compile(
    r"bot|crawl|spider|slurp|headless|lighthouse|preview|facebookexternalhit|pingdom|monitor"
    r"|phantom|puppeteer|playwright|selenium|curl|wget|python|httpclient",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9._-]{1,255}")
_FORM = re.compile(r"[a-z0-9-]{0,60}")


def read_beacon(request: Request) -> Beacon | None:
    """Return what a beacon tells; None if it isn't counted.

    That is what a program sent, what its reader asks not to be told, the owner's own look, and a
    page on somebody's own machine.
    """
    headers = request.headers
    if headers.get("Sec-GPC") == "1" or headers.get("DNT") == "1" or read_session_cookie():
        return None
    if not request.user_agent.string or _PROGRAM.search(request.user_agent.string):
        return None
    website = read_website(headers.get("Origin", ""))
    sent = _read_body(request)
    surface = sent.get("surface")
    # The widget on our own pages is the editor's preview.
    surfaces = ("widget",) if website else ("wall", "form")
    if website is None or not isinstance(surface, str) or surface not in surfaces:
        return None
    form = sent.get("form", "")
    return Beacon(
        surface=surface,
        website=website,
        is_view=sent.get("view") is True,
        clicks=_read_clicks(sent.get("clicks")),
        seen=_read_ids(sent.get("seen")),
        read=_read_ids(sent.get("read")),
        form=form if isinstance(form, str) and _FORM.fullmatch(form) else "",
        is_opened=sent.get("opened") is True,
        is_started=sent.get("started") is True,
    )


def read_website(origin: str) -> str | None:
    """Return the host of an Origin header, empty for our own; None for one that isn't counted."""
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
    sent = None
    with suppress(*FAULTS):
        sent = json.loads(request.get_data(cache=False))
    return sent if isinstance(sent, dict) else {}


def _read_clicks(value: Any) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, 0), MAX_CLICKS) if is_number else 0


def _read_ids(value: Any) -> list[str]:
    listed = value[:MAX_TESTIMONIALS] if isinstance(value, list) else []
    ids = [each for each in listed if isinstance(each, str) and is_identifier(each)]
    return list(dict.fromkeys(ids))


# How long insights are kept.


def delete_old_insights(limit: int) -> int:
    """Delete rows of days more than `INSIGHT_DAYS` ago, at most `limit`; return how many."""
    day = write_day(clock.expired_until(current_settings().insight_days))
    count = 0
    for model in (InsightDay, InsightTestimonialDay, InsightFunnelDay):
        keys = model.__mapper__.primary_key
        old = select(*keys).where(model.day < day).limit(limit - count)
        removed = delete(model).where(tuple_(*keys).in_(old)).returning(model.day)
        count += len(db.session.scalars(removed).all())
    return count


# Where pages tell what was seen, read and clicked; open to every origin.


@analytics.post("/widget/<project_id>/seen")
def note_seen(project_id: str) -> Response:
    """Count what a page tells; the answer is the same whether it was counted or not."""
    if not is_identifier(project_id):
        raise NotFound("There is no such project.")
    if (beacon := read_beacon(request)) is not None:
        current_counts().note(project_id, beacon, client_key())
    answer = Response(status=204)
    answer.headers["Access-Control-Allow-Origin"] = "*"
    answer.headers["Cache-Control"] = "no-store"
    return answer
