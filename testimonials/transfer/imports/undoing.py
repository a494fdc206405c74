"""Undoing an import: what it added goes to the trash, in parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, func, select

from testimonials.core import clock
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.changes import delete_matching
from testimonials.testimonials.moderation.parts import GoOn, Part, in_parts
from testimonials.transfer.imports.drafts import DRAFT, RUNNING, STOPPED, UNDONE, find_import
from testimonials.transfer.models import TableImport

# After these it is as it was imported.
UNCHANGED = ("import", "delete", "restore", "undo")
# How many of those that stay are named.
MOST_NAMED = 100


class NothingToUndo(ServiceError):
    """The import was undone already, or has added nothing that is still there."""

    status = 409
    code = "NOTHING_TO_UNDO"
    meaning = "The import has added nothing that is still there to be removed."
    remedy = "Nothing to do."
    default_message = gettext_noop(
        "There is nothing to undo: nothing that this import added is here unchanged."
    )


@dataclass(frozen=True)
class Undone:
    """What undoing did: the batch for taking it back, how many it removed, and what it kept."""

    batch: str
    removed: int
    kept: int


def undo_import(
    project: Project, row: TableImport, actor: str, go_on: GoOn, *, also_changed: bool = False
) -> Undone:
    """Move what an import of the locked project added to the trash; it is over if it still ran.

    What somebody has changed since stays unless `also_changed`. It is undone with the last part
    (`in_parts`): until then it can be undone further. Raises `NothingToUndo`.
    """
    import_id = row.id
    wanted = _of(row) if also_changed else (*_of(row), ~_is_changed())
    ids = db.session.scalars(select(Testimonial.id).where(*wanted)).all()
    if not ids or row.state == DRAFT:
        raise NothingToUndo
    here = count_here(row)

    def work(project: Project, some: Sequence[str], part: Part) -> int:
        row = find_import(project.id, import_id, for_update=True)
        removed = delete_matching(project, actor, part, *wanted, Testimonial.id.in_(some))
        row.outcome = row.outcome | {"removed": row.outcome.get("removed", 0) + removed}
        if row.state == RUNNING:
            row.state, row.leased_until = STOPPED, None
        if ids[-1] in some:
            row.state, row.undone_at, row.content, row.problem = UNDONE, clock.now(), None, None
        db.session.flush()
        return removed

    batch, removed = in_parts(project, ids, go_on, work)
    return Undone(batch, removed, here - removed)


def list_changed(row: TableImport) -> Sequence[Testimonial]:
    """Return what an import added and somebody has changed since, at most 100."""
    return _list(row, _is_changed())


def list_here(row: TableImport) -> Sequence[Testimonial]:
    """Return what of an import is in the project and not in its trash, at most 100."""
    return _list(row)


def count_here(row: TableImport) -> int:
    return db.session.scalar(select(func.count()).where(*_of(row))) or 0


def _list(row: TableImport, *conditions: Any) -> Sequence[Testimonial]:
    return db.session.scalars(
        select(Testimonial)
        .where(*_of(row), *conditions)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(MOST_NAMED)
    ).all()


def _of(row: TableImport) -> tuple[Any, ...]:
    return Testimonial.import_id == row.id, Testimonial.deleted_at.is_(None)


def _is_changed() -> Any:
    return exists().where(
        TestimonialChange.testimonial_id == Testimonial.id,
        TestimonialChange.action.not_in(UNCHANGED),
    )
