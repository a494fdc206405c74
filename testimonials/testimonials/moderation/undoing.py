"""Undoing a decision about one testimonial or many."""

from typing import Any

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import aliased, selectinload

from testimonials.core import clock
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.changes import change_all
from testimonials.testimonials.moderation.services import ActionRefused
from testimonials.testimonials.moderation.tags import find_spellings, spell

UNDO_SECONDS = 24 * 60 * 60
TIMES = (
    "reviewed_at",
    "deleted_at",
    "submitted_at",
    "replied_at",
    "email_verified_at",
    "consented_at",
    "consent_withdrawn_at",
)

undo_purpose = TokenPurpose("undo")


def make_undo_token(project: Project, batch: str) -> str:
    return undo_purpose.sign([project.id, batch])


def undo_batch(project: Project, token: str, actor: str) -> int:
    """Put back what a batch changed, where nothing has changed since; return how many.

    Raises `ActionRefused` for a token that is too old, used, or of another project.
    """
    project_id, batch = undo_purpose.find(token, 2, UNDO_SECONDS) or (None, "")
    if project_id != project.id:
        raise ActionRefused("This can’t be undone anymore. Changes can be undone for one day.")
    changes = _list_undoing(project, batch)
    if not changes:
        raise ActionRefused("It has been changed since, so there is nothing left to undo.")
    return change_all(project, changes, actor, "undo")[1]


def _list_undoing(project: Project, batch: str) -> list[tuple[Testimonial, dict[str, Any]]]:
    """Return what puts back each change of a batch after which nothing else was changed."""
    later = aliased(TestimonialChange)
    is_later = or_(
        later.created_at > TestimonialChange.created_at,
        and_(later.created_at == TestimonialChange.created_at, later.id > TestimonialChange.id),
    )
    rows = db.session.execute(
        select(Testimonial, TestimonialChange.before)
        .join(TestimonialChange, TestimonialChange.testimonial_id == Testimonial.id)
        .where(
            TestimonialChange.batch_id == batch,
            ~exists().where(later.testimonial_id == TestimonialChange.testimonial_id, is_later),
        )
        .options(selectinload(Testimonial.tag_rows))
    ).all()
    # The spelling of a removed tag may have changed since.
    known = find_spellings(project.id)
    changes = []
    for row, before in rows:
        values = _from_json(before)
        if "tags" in values:
            values["tags"] = spell(known, values["tags"])
        # Only the author can revoke a withdrawal.
        if "status" not in values or row.status != "withdrawn":
            changes.append((row, values))
    return changes


def _from_json(before: dict[str, Any]) -> dict[str, Any]:
    return {
        name: clock.from_milliseconds(value) if name in TIMES and value is not None else value
        for name, value in before.items()
    }
