"""Moderation: deciding, pinning, editing, the trash, and undoing any of it.

Every change is recorded with who made it and what was there before (TestimonialChange).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, delete, exists, or_, select
from sqlalchemy.orm import aliased, selectinload

from testimonials.core import clock
from testimonials.core.errors import NotFound, ServiceError
from testimonials.core.identifiers import is_identifier, new_identifier
from testimonials.core.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.services import next_time
from testimonials.testimonials.tag_names import find_spellings, spell

TRASH_DAYS = timedelta(days=30)
UNDO_SECONDS = 24 * 60 * 60
TIMES = (
    "reviewed_at",
    "deleted_at",
    "submitted_at",
    "email_verified_at",
    "consented_at",
    "consent_withdrawn_at",
)

undo_purpose = TokenPurpose("undo")


class ActionRefused(ServiceError):
    """The testimonial is not in a state in which this can be done."""

    status = 409
    code = "ACTION_REFUSED"


@dataclass(frozen=True)
class Action:
    """One thing that can be done: in which states, what it sets, and what it is called after."""

    can: Callable[[Testimonial], bool]
    values: Callable[[Testimonial, datetime], dict[str, Any]]
    done: str


def _decide(status: str, *sources: str) -> Action:
    return Action(
        lambda row: row.deleted_at is None and row.status in sources,
        lambda _row, now: {"status": status, "reviewed_at": now},
        status.capitalize(),
    )


ACTIONS = {
    "approve": _decide("approved", "pending", "rejected"),
    "reject": _decide("rejected", "pending", "approved"),
    "pin": Action(
        lambda row: row.deleted_at is None and row.status == "approved" and not row.is_pinned,
        lambda _row, _now: {"is_pinned": True},
        "Pinned",
    ),
    "unpin": Action(
        lambda row: row.deleted_at is None and row.is_pinned,
        lambda _row, _now: {"is_pinned": False},
        "Unpinned",
    ),
    "delete": Action(
        lambda row: row.deleted_at is None,
        lambda _row, now: {"deleted_at": now},
        "Deleted",
    ),
    "restore": Action(
        lambda row: row.deleted_at is not None,
        lambda _row, _now: {"deleted_at": None},
        "Restored",
    ),
}


def apply_action(
    project: Project, rows: Sequence[Testimonial], name: str, actor: str
) -> tuple[str, int]:
    """Do `name` (a key of ACTIONS) to each of the rows that it can be done to.

    `project` is locked, `actor` is an e-mail address. Gives the batch, for undoing, and how many
    were changed; the others were in no state for it, decided by somebody else meanwhile perhaps.
    """
    action, now, batch = ACTIONS[name], clock.now(), new_identifier()
    changed = [row for row in rows if action.can(row)]
    for row in changed:
        change_testimonial(row, action.values(row, now), batch, actor, name)
    if changed:
        mark_changed(project)
        db.session.flush()
    return batch, len(changed)


def edit_testimonial(
    project: Project, row: Testimonial, values: dict[str, Any], actor: str
) -> str | None:
    """Change columns of one testimonial; the first words are kept. Gives the batch, None if equal.

    Raises `ActionRefused` for a sample and for what its author has withdrawn: both can only be
    deleted or kept.
    """
    if row.status == "demo":
        raise ActionRefused("A sample can’t be edited. Delete it, or keep it as it is.")
    if row.status == "withdrawn":
        raise ActionRefused("Its author has withdrawn it, so it can only be deleted.")
    changes = {name: value for name, value in values.items() if getattr(row, name) != value}
    if not changes:
        return None
    if "text" in changes and row.original_text is None:
        changes["original_text"] = row.text
    if "author_email" in changes and row.email_verified_at is not None:
        # Only the address that the author had given was proven to be theirs.
        changes["email_verified_at"] = None
    batch = new_identifier()
    change_testimonial(row, changes, batch, actor, "edit")
    mark_changed(project)
    db.session.flush()
    return batch


def add_testimonial(project: Project, values: dict[str, Any], actor: str) -> Testimonial:
    """Add an approved testimonial by hand, from columns; `project` is locked."""
    time = next_time(project)
    row = Testimonial(
        project_id=project.id,
        status="approved",
        source="manual",
        created_at=time,
        updated_at=time,
        reviewed_at=time,
        **({"submitted_at": time} | values),
    )
    db.session.add(row)
    db.session.flush()
    _record(row, {}, new_identifier(), actor, "add")
    mark_changed(project)
    db.session.flush()
    return row


def change_testimonial(
    row: Testimonial, values: dict[str, Any], batch: str, actor: str, action: str
) -> None:
    """Set columns of a testimonial, or its tags, and record what they were."""
    _record(row, {name: getattr(row, name) for name in values}, batch, actor, action)
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = max(clock.now(), row.updated_at + clock.MILLISECOND)


def make_undo_token(project: Project, batch: str) -> str:
    """Give the token with which a batch can be undone for a day."""
    return undo_purpose.sign([project.id, batch])


def undo_batch(project: Project, token: str, actor: str) -> int:
    """Put back what a batch changed, where nothing was changed since; give how many.

    Raises `ActionRefused` for a token that is too old, of another project, or used.
    """
    try:
        (project_id, batch), _ = undo_purpose.read(token, UNDO_SECONDS)
    except (TokenInvalid, TokenExpired, TypeError, ValueError):
        raise ActionRefused("This is too long ago to be undone here.") from None
    if project_id != project.id:
        raise ActionRefused("This belongs to another project.")
    undo, count, known = new_identifier(), 0, find_spellings(project.id)
    for change, row in _list_undoable(batch):
        if row.status == "withdrawn" and "status" in change.before:
            # Whatever it was before, only its author can take a withdrawal back.
            continue
        values = _from_json(change.before)
        if "tags" in values:
            # Somebody may have begun to spell a tag in another way since it was taken off.
            values["tags"] = spell(known, values["tags"])
        change_testimonial(row, values, undo, actor, "undo")
        count += 1
    if not count:
        raise ActionRefused("It was changed again since, so there is nothing left to undo.")
    mark_changed(project)
    db.session.flush()
    return count


def list_history(row: Testimonial) -> Sequence[TestimonialChange]:
    """Give the changes of a testimonial, newest first."""
    return db.session.scalars(
        select(TestimonialChange)
        .where(TestimonialChange.testimonial_id == row.id)
        .order_by(TestimonialChange.created_at.desc(), TestimonialChange.id.desc())
    ).all()


def find_testimonial(project: Project, testimonial_id: str) -> Testimonial:
    """Give the project's testimonial with this id; raise `NotFound`."""
    row = None
    if is_identifier(testimonial_id):
        row = db.session.scalars(
            select(Testimonial).where(
                Testimonial.id == testimonial_id, Testimonial.project_id == project.id
            )
        ).one_or_none()
    if row is None:
        raise NotFound("There is no such testimonial in this project.")
    return row


def empty_trash() -> int:
    """Remove for good what has lain in the trash for 30 days; give how many."""
    removed = db.session.scalars(
        delete(Testimonial)
        .where(Testimonial.deleted_at <= clock.now() - TRASH_DAYS)
        .returning(Testimonial.id)
    ).all()
    return len(removed)


def _record(row: Testimonial, before: dict[str, Any], batch: str, actor: str, action: str) -> None:
    db.session.add(
        TestimonialChange(
            testimonial_id=row.id,
            batch_id=batch,
            actor=actor,
            action=action,
            before={name: _to_json(value) for name, value in before.items()},
        )
    )


def _list_undoable(batch: str) -> Sequence[tuple[TestimonialChange, Testimonial]]:
    """Give the changes of a batch after which nothing else was changed, with their rows."""
    later = aliased(TestimonialChange)
    is_later = or_(
        later.created_at > TestimonialChange.created_at,
        and_(later.created_at == TestimonialChange.created_at, later.id > TestimonialChange.id),
    )
    found = db.session.execute(
        select(TestimonialChange, Testimonial)
        .join(Testimonial, Testimonial.id == TestimonialChange.testimonial_id)
        .where(
            TestimonialChange.batch_id == batch,
            ~exists().where(later.testimonial_id == Testimonial.id, is_later),
        )
        .options(selectinload(Testimonial.tag_rows))
    )
    return [(change, row) for change, row in found]


def _to_json(value: Any) -> Any:
    return clock.to_milliseconds(value) if isinstance(value, datetime) else value


def _from_json(before: dict[str, Any]) -> dict[str, Any]:
    return {
        name: clock.from_milliseconds(value) if name in TIMES and value is not None else value
        for name, value in before.items()
    }
