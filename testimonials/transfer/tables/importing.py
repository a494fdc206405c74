"""Importing the lines of a file into a project: planned without writing, written in short batches.

What is there already, in whatever state, is not added again, so a file can be imported as often as
one likes, and an import that was interrupted can be repeated.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select

from testimonials.core import clock
from testimonials.core.data.database import Base, count_for_planner
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.terminal_text import make_printable
from testimonials.extensions import db, let_others_write
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial, TestimonialChange, TestimonialTag
from testimonials.testimonials.moderation.changes import in_chunks
from testimonials.testimonials.moderation.tag_names import find_spellings, spell
from testimonials.transfer.tables.dates import UNCLEAR, find_order
from testimonials.transfer.tables.headings import ColumnMapping
from testimonials.transfer.tables.rows import (
    NewTestimonial,
    ReadingOptions,
    RowRefused,
    make_key,
    read_row,
)
from testimonials.transfer.tables.table_files import Line, Table

# So many rows are written at once; SQLite lets in no other writer meanwhile.
BATCH_ROWS = 250
ROWS_AT_ONCE = 1000
# So many new rows make the database's own idea of how many there are worth renewing.
MANY_ROWS = 1000

SHOWN_LENGTH = 60
NEW, THERE, REFUSED = "new", "there", "refused"
IS_HERE = "It is here already."
IN_TRASH = "It is in the trash here, so it isn’t added again. Restore it there."

_TESTIMONIALS: Any = Testimonial.__table__


@dataclass(frozen=True)
class Outcome:
    """What happens to one line: it is `new`, `there` or `refused`, and why."""

    line: int
    state: str
    name: str
    text: str
    reason: str = ""
    testimonial: NewTestimonial | None = None


@dataclass(frozen=True)
class Plan:
    """What an import would do."""

    outcomes: list[Outcome]
    # Whether dates are refused until somebody says if the day or the month comes first.
    asks_for_order: bool = False

    @property
    def new(self) -> list[NewTestimonial]:
        """What would be added, the oldest first, so that the newest stands first in lists."""
        found = [each.testimonial for each in self.outcomes if each.testimonial is not None]
        now = clock.now()
        return sorted(found, key=lambda each: each.columns["submitted_at"] or now)

    def list_in(self, state: str) -> list[Outcome]:
        """Return the lines to which this happens."""
        return [each for each in self.outcomes if each.state == state]

    def count(self) -> dict[str, int]:
        """Return to how many lines what happens."""
        counts = Counter(each.state for each in self.outcomes)
        return {state: counts[state] for state in (NEW, THERE, REFUSED)}


def plan_import(project_id: str, table: Table, options: ReadingOptions) -> Plan:
    """Tell what would happen to each line; writes nothing."""
    dates = [cell for name in options.mapping.columns.get("submittedAt", ())
             for cell in table.column(name)]  # fmt: skip
    order = options.order or find_order(dates)
    options = ReadingOptions(options.mapping, order, options.status)
    present = find_present(project_id)
    outcomes = []
    for line in table.lines:
        outcome = _plan_line(line, options, present)
        outcomes.append(outcome)
        if outcome.testimonial is not None:
            present[outcome.testimonial.key] = f"It stands in line {line.number} too."
    return Plan(outcomes, any(each.reason.endswith(UNCLEAR) for each in outcomes))


def find_present(project_id: str) -> dict[str, str]:
    """Return the keys of what the project has, with the reason why each isn't added again."""
    query = select(
        Testimonial.author_name,
        Testimonial.text,
        Testimonial.original_text,
        Testimonial.import_key,
        Testimonial.deleted_at,
    ).where(Testimonial.project_id == project_id, Testimonial.status != "demo")
    present = {}
    for row in db.session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        reason = IS_HERE if row.deleted_at is None else IN_TRASH
        keys = {make_key(row.author_name, row.text), row.import_key}
        if row.original_text:
            keys.add(make_key(row.author_name, row.original_text))
        present.update(dict.fromkeys(filter(None, keys), reason))
    return present


def in_batches(found: Sequence[NewTestimonial]) -> Iterator[tuple[Sequence[NewTestimonial], int]]:
    """Return what is to be added in parts for one transaction each,
    and how many come after each."""
    for start in range(0, len(found), BATCH_ROWS):
        if start:
            let_others_write()
        part = found[start : start + BATCH_ROWS]
        yield part, len(found) - start - len(part)


def write_batch(
    project: Project, found: Sequence[NewTestimonial], remaining: int, batch_id: str, actor: str
) -> int:
    """Add testimonials to the locked project; return how many, without those that came meanwhile.

    `remaining` is how many are still to come: they leave room before the present, so that none is
    stored with a time in the future. The changes of all parts share `batch_id`.
    """
    keys = [each.key for each in found]
    taken: set[str | None] = set()
    for part in in_chunks(keys):
        column = Testimonial.import_key
        query = select(column).where(Testimonial.project_id == project.id, column.in_(part))
        taken |= set(db.session.scalars(query))
    found = [each for each in found if each.key not in taken]
    if not found:
        return 0
    mark_changed(project)
    spellings = find_spellings(project.id)
    rows, changes, tags = [], [], []
    now = clock.now()
    for place, each in enumerate(found):
        before_now = remaining + len(found) - 1 - place
        created_at = _next_time(project, now - before_now * clock.MILLISECOND)
        row = _make_row(project, each, created_at, now)
        rows.append(row)
        changes.append(_make_change(row, batch_id, actor))
        for name in spell(spellings, each.tags):
            tags.append({"testimonial_id": row["id"], "name": name, "project_id": project.id})
    db.session.flush()
    connection = db.session.connection()
    connection.execute(insert(_TESTIMONIALS), rows)
    connection.execute(insert(TestimonialChange), changes)
    if tags:
        connection.execute(insert(TestimonialTag), tags)
    return len(rows)


def finish_import(count: int) -> None:
    """Prepare the database for work with the `count` testimonials that were added."""
    if count >= MANY_ROWS:
        count_for_planner(db.session.connection(), Base.metadata.sorted_tables)


def _plan_line(line: Line, options: ReadingOptions, present: dict[str, str]) -> Outcome:
    mapping: ColumnMapping = options.mapping
    name, text = (mapping.pick(line.cells, field) for field in ("authorName", "text"))
    if line.problem:
        return Outcome(line.number, REFUSED, name, text, line.problem)
    try:
        found = read_row(line.cells, options)
    except RowRefused as error:
        return Outcome(line.number, REFUSED, name, text, str(error))
    if reason := present.get(found.key):
        return Outcome(line.number, THERE, name, text, reason)
    columns = found.columns
    return Outcome(line.number, NEW, columns["author_name"], columns["text"], "", found)


def _next_time(project: Project, wanted: datetime) -> datetime:
    """Return the time of the project's next testimonial: the wanted one, later than all before."""
    if project.last_testimonial_at is not None:
        wanted = max(wanted, project.last_testimonial_at + clock.MILLISECOND)
    project.last_testimonial_at = wanted
    return wanted


def _make_row(
    project: Project, each: NewTestimonial, created_at: datetime, now: datetime
) -> dict[str, Any]:
    columns = each.columns
    return {
        "avatar_id": None,
        **columns,
        "id": new_identifier(),
        "project_id": project.id,
        "source": "import",
        "import_key": each.key,
        "submitted_at": columns["submitted_at"] or now,
        "reviewed_at": None if columns["status"] == "pending" else now,
        "created_at": created_at,
        "updated_at": created_at,
    }


def _make_change(row: dict[str, Any], batch_id: str, actor: str) -> dict[str, Any]:
    return {
        "id": new_identifier(),
        "testimonial_id": row["id"],
        "batch_id": batch_id,
        "actor": actor,
        "action": "import",
        "before": {},
        "created_at": row["created_at"],
    }


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return what is told of a line."""
    return {
        "line": outcome.line,
        "state": outcome.state,
        "name": make_printable(outcome.name, SHOWN_LENGTH),
        "text": make_printable(outcome.text, SHOWN_LENGTH),
        "reason": make_printable(outcome.reason),
    }
