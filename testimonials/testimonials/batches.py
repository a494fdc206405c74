"""Changing thousands of testimonials in parts, so that others can write in between.

Each part is a transaction of its own, and in the history a batch of its own, whose id begins with
that of the first (`name_part`). They are undone together and are one event. Whatever is committed
is complete, so an end half-way leaves the rest as it was, and what was done can be undone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, select

from testimonials.core.db.identifiers import end_of_parts, name_part, new_identifier
from testimonials.core.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange

# About a tenth of a second.
ROWS = 250

# Commits what was done, lets others write, and returns the project locked anew. It is a door's, as
# only doors commit; it raises what the door does for who may no longer go on.
GoOn = Callable[[], Project]


@dataclass(frozen=True)
class Part:
    """One of the parts of a change; `is_one_of_many` unless it is the only one."""

    id: str
    is_one_of_many: bool


def in_parts(
    project: Project,
    ids: Sequence[str],
    go_on: GoOn,
    work: Callable[[Project, Sequence[str], Part], int],
) -> tuple[str, int]:
    """Do `work`, which returns how many it changed, for some of the ids after others.

    `project` is locked. Returns the batch, and how many were changed; the last part is not
    committed.
    """
    batch, count = new_identifier(), 0
    for number, start in enumerate(range(0, len(ids), ROWS)):
        if number:
            project = go_on()
        part = Part(name_part(batch, number), len(ids) > ROWS)
        count += work(project, ids[start : start + ROWS], part)
    return batch, count


def is_of(batch: str) -> ColumnElement[bool]:
    """Return the condition for the changes of a batch, in all its parts."""
    of = TestimonialChange.batch_id
    return and_(of >= batch, of < end_of_parts(batch))


def remove_some(*conditions: ColumnElement[bool]) -> bool:
    """Remove testimonials for good, as many as in a part; return whether there may be more."""
    some = select(Testimonial.id).where(*conditions).limit(ROWS)
    removed = db.session.scalars(
        delete(Testimonial).where(Testimonial.id.in_(some)).returning(Testimonial.id)
    ).all()
    return len(removed) == ROWS


def of_projects(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition for the testimonials of projects."""
    return Testimonial.project_id.in_(select(Project.id).where(*conditions))
