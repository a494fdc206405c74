"""Importing lines into a project: planning, writing in batches, copying photos."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from urllib.parse import urljoin

from sqlalchemy import ColumnElement, Table, func, insert, select, update

from testimonials.core import clock, http_client
from testimonials.core.audit import Actor, record_changes
from testimonials.core.db.engine import Base, count_for_planner
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.i18n import current_language, gettext, gettext_noop, speaking, translate
from testimonials.core.images.uploads import AVATAR, Image, ImageBusy, ImageRefused, read_image
from testimonials.core.text import make_printable
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_changed
from testimonials.testimonials.events import TESTIMONIALS_IMPORTED
from testimonials.testimonials.models import Testimonial, TestimonialTag
from testimonials.testimonials.record import write_entry
from testimonials.testimonials.tags import find_spellings, spell
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.columns import ColumnMapping
from testimonials.transfer.tables.files import Line
from testimonials.transfer.tables.rows import (
    REPAIRS,
    NewTestimonial,
    Reading,
    RowRefused,
    make_key,
    read_row,
)
from testimonials.transfer.tables.values import find_order

AT_ONCE = 4
HEADERS = {"Accept": "image/*", "User-Agent": "testimonials"}

# The URL of each photo that wasn't copied, and the reason.
Problems = list[tuple[str, str]]


class PictureUnreachable(Exception):
    """A photo can't be fetched; the message says why."""


def is_website(address: str, port: int) -> bool:
    """Return whether an address is public and the port is 80 or 443."""
    return port in http_client.PORTS.values() and http_client.is_public(address)


def copy_photos(
    urls: Sequence[str], is_allowed: http_client.Check = is_website
) -> tuple[dict[str, Image], Problems]:
    """Return copies of the photos at these URLs, and the problems with the others."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        downloads = {
            url: pool.submit(fetch_picture, url, is_allowed) for url in dict.fromkeys(urls)
        }
    photos, problems = {}, []
    for url, download in downloads.items():
        try:
            photos[url] = read_image(io.BytesIO(download.result()), AVATAR)
            photos[url].id = new_identifier()
        except (PictureUnreachable, ImageRefused, ImageBusy) as error:
            problems.append((url, str(error)))
    return photos, problems


def fetch_picture(
    url: str, is_allowed: http_client.Check = is_website, seconds: float = 10.0
) -> bytes:
    """Return the content at a URL after at most three redirects; raise `PictureUnreachable`."""
    for _ in range(4):
        try:
            answer = http_client.ask(
                url, seconds, AVATAR.max_bytes + 1, is_allowed, headers=HEADERS
            )
            location = answer.headers["Location"] if 300 <= answer.status < 400 else None
            if not location:
                return _read(answer)
            url = urljoin(url, location)
        except (http_client.AddressRefused, http_client.UrlRefused, OSError, ValueError):
            break
    raise PictureUnreachable("It can’t be fetched from the public internet.")


def _read(answer: http_client.Answer) -> bytes:
    if answer.status != 200:
        raise PictureUnreachable(f"Its server answered {answer.status}.")
    if len(answer.content) > AVATAR.max_bytes:
        raise PictureUnreachable("It is too large.")
    if not answer.is_complete:
        raise PictureUnreachable("It took too long.")
    return answer.content


# How many rows a transaction writes; on SQLite, nobody else can write meanwhile.
BATCH_ROWS = 250
ROWS_AT_ONCE = 1000
# With fewer new rows, the counts of the query planner are still good enough.
MANY_ROWS = 1000

SHOWN_LENGTH = 60
NEW, THERE, REFUSED = "new", "there", "refused"
IS_HERE = gettext_noop("The project already has it.")
IN_TRASH = gettext_noop("It is in the project’s trash. Restore it there.")


@dataclass(frozen=True)
class Outcome:
    """The result of a line: `new`, `there` or `refused`."""

    line: int
    state: str
    cells: Mapping[str, str]
    problem: str = ""
    testimonial: NewTestimonial | None = None
    # The repairs with which a refused line could be imported.
    repairs: frozenset[str] = frozenset()

    def describe(self, mapping: ColumnMapping) -> dict[str, Any]:
        """Return the outcome, with texts that are safe to print."""
        name, text = (mapping.pick(self.cells, field) for field in ("authorName", "text"))
        described = {
            "line": self.line,
            "state": self.state,
            "name": make_printable(name, SHOWN_LENGTH),
            "text": make_printable(text, SHOWN_LENGTH),
            "reason": make_printable(self.problem),
        }
        if self.testimonial is None:
            return described
        row = self.testimonial.columns
        return described | {
            "status": row["status"],
            "rating": row["rating"],
            "submittedAt": row["submitted_at"] and clock.iso(row["submitted_at"]),
            "isShortened": row["original_text"] is not None,
        }


@dataclass(frozen=True)
class Plan:
    outcomes: list[Outcome]
    # The order of dates such as 03/04/2026: `dmy` or `mdy`, if it is known.
    order: str | None = None
    # Such a date, if a person has to say what the order is.
    unclear_date: str = ""

    @property
    def new(self) -> list[NewTestimonial]:
        """The testimonials to add, oldest first, so that the newest come first in lists."""
        new = [each.testimonial for each in self.outcomes if each.testimonial is not None]
        now = clock.now()
        return sorted(new, key=lambda each: each.columns["submitted_at"] or now)

    def list_in(self, state: str) -> list[Outcome]:
        return [each for each in self.outcomes if each.state == state]

    def count_repairs(self) -> dict[str, int]:
        """Return how many refused lines each repair would help."""
        counts = Counter(repair for each in self.outcomes for repair in each.repairs)
        return {repair: counts[repair] for repair in REPAIRS if counts[repair]}

    def count(self) -> dict[str, int]:
        counts = Counter(each.state for each in self.outcomes)
        return {state: counts[state] for state in (NEW, THERE, REFUSED)}


def plan_import(project_id: str, reading: Reading) -> Plan:
    """Return the outcome of each line, without writing anything."""
    lines = reading.table.lines
    dates = (reading.mapping.pick(line.cells, "submittedAt") for line in lines)
    reading = replace(reading, order=reading.order or find_order(dates))
    present = find_present(project_id)
    outcomes = []
    # So that the language is determined once, not for each message.
    with speaking(current_language().code):
        for line in lines:
            outcome = _plan_line(line, reading, present)
            outcomes.append(outcome)
            if outcome.testimonial is not None:
                reason = gettext("Line %(number)s has it too.", number=line.number)
                present[outcome.testimonial.key] = reason
        unclear = next((each for each in outcomes if each.problem.endswith(reading.unclear)), None)
    # The problem quotes the date.
    date = unclear.problem.partition("“")[2].partition("”")[0] if unclear else ""
    return Plan(outcomes, reading.order, date)


def find_present(project_id: str) -> dict[str, str]:
    """Return the keys of the project's testimonials, each with why it isn't added again."""
    query = select(
        Testimonial.author_name,
        Testimonial.text,
        Testimonial.original_text,
        Testimonial.import_key,
        Testimonial.deleted_at,
    ).where(
        Testimonial.project_id == project_id, Testimonial.status != "demo", ~_is_undone(project_id)
    )
    present = {}
    is_here, in_trash = translate(IS_HERE), translate(IN_TRASH)
    for row in db.session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        reason = is_here if row.deleted_at is None else in_trash
        keys = {make_key(row.author_name, row.text), row.import_key}
        if row.original_text:
            keys.add(make_key(row.author_name, row.original_text))
        present.update(dict.fromkeys(filter(None, keys), reason))
    return present


def write_batch(
    project: Project,
    batch: Sequence[NewTestimonial],
    remaining: int,
    actor: str,
    import_id: str,
    by: Actor,
) -> int:
    """Add testimonials to the locked project, except those added in the meantime; return how many.

    They are created before the `remaining` ones, which are newer.
    """
    new = _leave_out_taken(project, batch)
    if not new:
        return 0
    mark_changed(project)
    spellings = find_spellings(project.id)
    now = clock.now()
    rows = [
        _make_row(project, each, now, remaining + len(new) - 1 - place) | {"import_id": import_id}
        for place, each in enumerate(new)
    ]
    change = {"type": str(TESTIMONIALS_IMPORTED), "before": {}}
    changes = [
        change
        | {"testimonial_id": row["id"], "created_at": row["created_at"]}
        | write_entry(Testimonial(**row), "received", hashes={})
        for row in rows
    ]
    tags = [
        {"testimonial_id": row["id"], "name": name, "project_id": project.id}
        for row, each in zip(rows, new, strict=True)
        for name in spell(spellings, each.tags)
    ]
    db.session.flush()
    connection, table = db.session.connection(), cast(Table, Testimonial.__table__)
    connection.execute(insert(table), rows)
    if tags:
        connection.execute(insert(TestimonialTag), tags)
    values = {"action": "import", "actor": actor, "batch_id": new_identifier()}
    record_changes(project, changes, by, is_of_many=True, **values)
    return len(rows)


def _leave_out_taken(project: Project, batch: Sequence[NewTestimonial]) -> list[NewTestimonial]:
    is_same = (
        Testimonial.project_id == project.id,
        Testimonial.import_key.in_([each.key for each in batch]),
    )
    # Those of an undone import, which are in the trash, give up their keys.
    db.session.execute(
        update(Testimonial).where(*is_same, _is_undone(project.id)).values(import_key=None)
    )
    taken = set(db.session.scalars(select(Testimonial.import_key).where(*is_same)))
    return [each for each in batch if each.key not in taken]


def _is_undone(project_id: str) -> ColumnElement[bool]:
    undone = select(TableImport.id).where(
        TableImport.project_id == project_id, TableImport.undone_at.is_not(None)
    )
    return Testimonial.deleted_at.is_not(None) & func.coalesce(Testimonial.import_id, "").in_(
        undone
    )


def finish_import(count: int) -> None:
    """Refresh the query planner's counts if many testimonials were added."""
    if count >= MANY_ROWS:
        count_for_planner(db.session.connection(), Base.metadata.sorted_tables)


def _plan_line(line: Line, reading: Reading, present: dict[str, str]) -> Outcome:
    if line.problem:
        return Outcome(line.number, REFUSED, line.cells, line.problem)
    try:
        testimonial = read_row(line.cells, reading)
    except RowRefused as error:
        if reason := present.get(error.key):
            return Outcome(line.number, THERE, line.cells, reason)
        return Outcome(line.number, REFUSED, line.cells, str(error), repairs=error.repairs)
    if reason := present.get(testimonial.key):
        return Outcome(line.number, THERE, line.cells, reason)
    return Outcome(line.number, NEW, line.cells, testimonial=testimonial)


def _make_row(
    project: Project, each: NewTestimonial, now: datetime, milliseconds_ago: int
) -> dict[str, Any]:
    created_at = now - milliseconds_ago * clock.MILLISECOND
    if project.last_testimonial_at is not None:
        created_at = max(created_at, project.last_testimonial_at + clock.MILLISECOND)
    project.last_testimonial_at = created_at
    return each.columns | {
        "id": new_identifier(),
        "project_id": project.id,
        "source": "import",
        "import_key": each.key,
        "submitted_at": each.columns["submitted_at"] or now,
        "reviewed_at": None if each.columns["status"] == "pending" else now,
        "created_at": created_at,
        "updated_at": created_at,
    }
