"""Writing changes of many testimonials with their history, in a few statements.

SQLite lets in no other writer meanwhile, so twenty thousand must not be written row by row.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from sqlalchemy import bindparam, delete, insert, select, update

from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial, TestimonialChange, TestimonialTag

T = TypeVar("T")

# As many values as both databases take in one statement.
CHUNK = 10_000

_TESTIMONIALS: Any = Testimonial.__table__
_TAGS: Any = TestimonialTag.__table__
_CHANGES: Any = TestimonialChange.__table__


class Dated(Protocol):
    """A testimonial, or the row of a query, with the time of its last change."""

    id: Any
    updated_at: Any


class Facts(Dated, Protocol):
    """What decisions about a testimonial need to know of it: a model, or a row of `FACTS`."""

    status: Any
    is_pinned: Any
    held_for: Any
    reviewed_at: Any
    deleted_at: Any


FACTS = (
    Testimonial.id,
    Testimonial.status,
    Testimonial.is_pinned,
    Testimonial.held_for,
    Testimonial.reviewed_at,
    Testimonial.deleted_at,
    Testimonial.updated_at,
)


@dataclass(frozen=True)
class Change:
    """What one testimonial had before and has from now on: columns, and all its `tags`."""

    row: Dated
    before: dict[str, Any]
    after: dict[str, Any]


def write_changes(
    project: Project, changes: Sequence[Change], batch: str, actor: str, action: str
) -> None:
    """Set what is after and record what was before; `project` is locked.

    Models in the session aren't refreshed.
    """
    if not changes:
        return
    mark_changed(project)
    db.session.flush()
    now = clock.now()
    written = [_write_down(change, batch, actor, action, now) for change in changes]
    db.session.connection().execute(insert(_CHANGES), written)
    _write_columns(changes, now)
    _write_tags(project, changes)


def load_tags(ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the tags of those of the testimonials that have any, in alphabetical order."""
    found: dict[str, list[str]] = defaultdict(list)
    for part in in_chunks(ids):
        rows = db.session.execute(
            select(TestimonialTag.testimonial_id, TestimonialTag.name).where(
                TestimonialTag.testimonial_id.in_(part)
            )
        )
        for testimonial_id, name in rows:
            found[testimonial_id].append(name)
    return {key: sorted(names, key=str.casefold) for key, names in found.items()}


def in_chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Return the values in parts of which each fits into one statement."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def to_json(value: Any) -> Any:
    """Return the form in which the history keeps a value."""
    return clock.to_milliseconds(value) if isinstance(value, datetime) else value


def later_than(row: Dated, now: datetime) -> datetime:
    """Return the time of a change: now, and later than every change of the row before."""
    before: datetime = row.updated_at
    return max(now, before + clock.MILLISECOND)


def _write_down(
    change: Change, batch: str, actor: str, action: str, now: datetime
) -> dict[str, Any]:
    return {
        "id": new_identifier(),
        "testimonial_id": change.row.id,
        "batch_id": batch,
        "actor": actor,
        "action": action,
        "before": {name: to_json(value) for name, value in change.before.items()},
        "created_at": later_than(change.row, now),
    }


def _write_columns(changes: Iterable[Change], now: datetime) -> None:
    """Set the columns, those of rows that change the same ones together."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for change in changes:
        columns = {name: value for name, value in change.after.items() if name != "tags"}
        columns["updated_at"] = later_than(change.row, now)
        groups[tuple(columns)].append(columns | {"row_id": change.row.id})
    connection = db.session.connection()
    for names, values in groups.items():
        statement = (
            update(_TESTIMONIALS)
            .where(_TESTIMONIALS.c.id == bindparam("row_id"))
            .values({name: bindparam(name) for name in names})
        )
        connection.execute(statement, values)


def _write_tags(project: Project, changes: Iterable[Change]) -> None:
    removed, added = [], []
    for change in changes:
        if "tags" in change.after:
            before, after = set(change.before["tags"]), dict.fromkeys(change.after["tags"])
            key = {"row_id": change.row.id}
            removed += [key | {"tag": name} for name in before if name not in after]
            added += [
                {"testimonial_id": change.row.id, "name": name, "project_id": project.id}
                for name in after
                if name not in before
            ]
    connection = db.session.connection()
    if removed:
        connection.execute(
            delete(_TAGS).where(
                _TAGS.c.testimonial_id == bindparam("row_id"), _TAGS.c.name == bindparam("tag")
            ),
            removed,
        )
    if added:
        connection.execute(insert(_TAGS), added)
