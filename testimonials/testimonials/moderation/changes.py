"""Change testimonials, and record who did it and what was there before."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, insert, literal, select, update

from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.events import name_change, record_changes
from testimonials.testimonials.models import Testimonial, TestimonialChange

T = TypeVar("T")

# As many values as both databases take in one statement.
CHUNK = 10_000


def change_all(
    project: Project, changes: Iterable[tuple[Testimonial, dict[str, Any]]], actor: str, action: str
) -> tuple[str, int]:
    """Set columns, or `tags`, of testimonials of the locked project, as one batch; record it.

    Returns the batch, for undoing, and how many rows were changed. The session writes all of them
    in a few statements, since SQLite lets in no other writer meanwhile.
    """
    batch = new_identifier()
    records, told = [], []
    for row, values in changes:
        records.append(record := _change(row, values, batch, actor, action))
        told.append((name_change(row, record["before"]), row.id))
    if records:
        mark_changed(project)
    db.session.flush()
    if records:
        # Without models, which would take half of the time for twenty thousand rows.
        db.session.execute(insert(TestimonialChange), records)
        record_changes(project, batch, action, told)
    return batch, len(records)


def delete_matching(
    project: Project, actor: str, *conditions: ColumnElement[bool]
) -> tuple[str, int]:
    """Move what matches, in the locked project, to the trash as one batch; record it.

    Without models, which would take most of the time for twenty thousand rows.
    """
    batch, now, row = new_identifier(), clock.now(), Testimonial
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
        records = [_record(each, before, batch, actor, "delete") for each in found]
        db.session.execute(insert(TestimonialChange), records)
        mark_changed(project)
        told = [(name_change(each, before), each.id) for each in found]
        record_changes(project, batch, "delete", told)
    return batch, len(found)


def change_testimonial(
    row: Testimonial, values: dict[str, Any], batch: str, actor: str, action: str
) -> dict[str, Any]:
    """Set columns of a testimonial, or its `tags`, and record what they were; return that."""
    record = _change(row, values, batch, actor, action)
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
    row: Testimonial, values: dict[str, Any], batch: str, actor: str, action: str
) -> dict[str, Any]:
    """Set columns, or `tags`, and return the record of what they were."""
    # Later than any earlier change.
    row.updated_at = max(clock.now(), row.updated_at + clock.MILLISECOND)
    before = {name: getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    return _record(row, before, batch, actor, action)


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
