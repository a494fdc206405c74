"""Change testimonials, and record who did it and what was there before."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, insert, literal, select, update
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_changed
from testimonials.testimonials.batches import Part
from testimonials.testimonials.events import name_change, record_changes
from testimonials.testimonials.models import Testimonial, TestimonialChange

T = TypeVar("T")
# A testimonial, and what to set of it.
Change = tuple[Testimonial, dict[str, Any]]

_COLUMNS = {column.name for column in Testimonial.__table__.columns}
# From as many on, rows that change alike are written at once: a third of the time.
MANY, MOST_ALIKE = 100, 50

# As many values as both databases take in one statement.
CHUNK = 10_000


def change_all(
    project: Project,
    changes: Iterable[tuple[Testimonial, dict[str, Any]]],
    actor: str,
    action: str,
    part: Part | None = None,
) -> tuple[str, int]:
    """Set columns, or `tags`, of testimonials of the locked project, as one batch; record it.

    Returns the batch, for undoing, and how many rows were changed. All are written in a few
    statements, since SQLite lets in no other writer meanwhile. More than some hundred are for
    `in_parts`, which gives each `part` its id.
    """
    part, changes = part or Part(new_identifier(), is_one_of_many=False), list(changes)
    alike = _group(changes) if len(changes) >= MANY else {}
    put = set_committed_value if alike else setattr
    time = max([clock.now(), *(row.updated_at + clock.MILLISECOND for row, _ in changes)])
    records, told = [], []
    for row, values in changes:
        records.append(record := _change(row, values, part.id, actor, action, time, put))
        told.append((name_change(row, record["before"]), row.id))
    if records:
        mark_changed(project)
    db.session.flush()
    for rows in alike.values():
        _write_alike(rows, time)
    if records:
        # Without models, which would take half of the time for twenty thousand rows.
        db.session.execute(insert(TestimonialChange), records)
        record_changes(project, part, action, told)
    return part.id, len(records)


def delete_matching(
    project: Project, actor: str, part: Part, *conditions: ColumnElement[bool]
) -> int:
    """Move what matches, in the locked project, to the trash as a part; record it.

    Without models, which would take most of the time for twenty thousand rows.
    """
    now, row = clock.now(), Testimonial
    columns = (row.id, row.project_id, row.status, row.held_for, row.updated_at)
    gone = literal(now, row.deleted_at.type).label("deleted_at")
    conditions = (*conditions, row.deleted_at.is_(None))
    query = select(*columns, gone).where(*conditions)
    found: Sequence[Any] = db.session.execute(query).all()
    if found:
        latest = max(now, max(each.updated_at for each in found) + clock.MILLISECOND)
        db.session.execute(
            update(row)
            .where(*conditions)
            .values(deleted_at=now, updated_at=latest)
            .execution_options(synchronize_session=False)
        )
        before = {"deleted_at": None}
        records = [_record(each, before, part.id, actor, "delete") for each in found]
        db.session.execute(insert(TestimonialChange), records)
        mark_changed(project)
        told = [(name_change(each, before), each.id) for each in found]
        record_changes(project, part, "delete", told)
    return len(found)


def change_testimonial(
    row: Testimonial, values: dict[str, Any], batch: str, actor: str, action: str
) -> dict[str, Any]:
    """Set columns of a testimonial, or its `tags`, and record what they were; return that."""
    # Later than any earlier change.
    time = max(clock.now(), row.updated_at + clock.MILLISECOND)
    record = _change(row, values, batch, actor, action, time, setattr)
    db.session.add(TestimonialChange(**record))
    before: dict[str, Any] = record["before"]
    return before


def record_addition(row: Testimonial, actor: str) -> None:
    """Begin the history of a testimonial."""
    record = _record(row, {}, new_identifier(), actor, "add")
    db.session.connection().execute(insert(TestimonialChange), record)


def record_additions(rows: Sequence[Testimonial], actor: str) -> str:
    """Begin the history of testimonials that were added at once; return their batch."""
    batch = new_identifier()
    records = [_record(row, {}, batch, actor, "add") for row in rows]
    db.session.execute(insert(TestimonialChange), records)
    return batch


def _change(
    row: Testimonial,
    values: dict[str, Any],
    batch: str,
    actor: str,
    action: str,
    time: datetime,
    put: Callable[[Any, str, Any], None],
) -> dict[str, Any]:
    """Set columns, or `tags`, by `put`, and return the record of what they were."""
    before = {name: getattr(row, name) for name in values}
    for name, value in (values | {"updated_at": time}).items():
        put(row, name, value)
    return _record(row, before, batch, actor, action)


def _group(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """Return changes by what they set; nothing if the session has to write them one by one.

    That is where most differ, or set more than columns.
    """
    alike: dict[str, list[Change]] = defaultdict(list)
    for row, values in changes:
        alike[repr(sorted(values.items()))].append((row, values))
    is_plain = all(_COLUMNS.issuperset(values) for _, values in changes)
    return alike if is_plain and len(alike) <= MOST_ALIKE else {}


def _write_alike(changes: Sequence[Change], time: datetime) -> None:
    """Write the same columns of many rows, which their models have already."""
    values = changes[0][1] | {"updated_at": time}
    for ids in in_chunks([row.id for row, _ in changes]):
        db.session.execute(
            update(Testimonial)
            .where(Testimonial.id.in_(ids))
            .values(values)
            .execution_options(synchronize_session=False)
        )


def _record(
    row: Testimonial, before: dict[str, Any], batch: str, actor: str, action: str
) -> dict[str, Any]:
    return {
        "testimonial_id": row.id,
        "project_id": row.project_id,
        "batch_id": batch,
        "actor": actor,
        "action": action,
        "before": {name: to_json(value) for name, value in before.items()},
        "created_at": row.updated_at,
    }


def in_chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in parts, each of which fits into one statement."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def to_json(value: Any) -> Any:
    """Return a value as the history stores it."""
    return clock.to_milliseconds(value) if isinstance(value, datetime) else value
