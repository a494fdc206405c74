"""Undoing what was done to one testimonial or many: a named batch, or one's own steps backwards."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.orm import aliased
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange, TestimonialTag
from testimonials.testimonials.moderation.changes import change_all
from testimonials.testimonials.moderation.services import ActionRefused
from testimonials.testimonials.moderation.tags import find_spellings, spell

UNDO_SECONDS = 24 * 60 * 60
UNDO_STEPS = 50
# They can't be undone, or have a way of their own.
NO_STEPS = ("add", "import", "thank", "remove_recording")
# When a change was "undone" that was passed over, since something else was changed after it.
PASSED_OVER = clock.EPOCH
TIMES = (
    "reviewed_at",
    "deleted_at",
    "submitted_at",
    "replied_at",
    "email_verified_at",
    "consented_at",
    "consent_withdrawn_at",
)

# Testimonials with the values that they had.
Changes = list[tuple[Testimonial, dict[str, Any]]]

undo_purpose = TokenPurpose("undo")


def make_undo_token(project: Project, batch: str) -> str:
    return undo_purpose.sign([project.id, batch])


@dataclass(frozen=True)
class Step:
    """A batch of changes: what was done, to how many, and one of the testimonials as it was."""

    batch: str
    action: str
    count: int
    testimonial_id: str
    author_name: str
    # The testimonial's status before, if that was changed.
    was: str


@dataclass(frozen=True)
class Undone:
    """A step that was taken back, for `count` of its testimonials; `passed` were not undone."""

    step: Step
    count: int
    passed: Sequence[Step] = ()


def undo_batch(project: Project, token: str, actor: str) -> Undone:
    """Put back what a batch changed, where nothing has changed since; `project` is locked.

    Raises `ActionRefused` for a token that is too old, used, or of another project.
    """
    project_id, batch = undo_purpose.find(token, 2, UNDO_SECONDS) or (None, "")
    if project_id != project.id:
        raise ActionRefused("This can’t be undone anymore. Changes can be undone for one day.")
    step, changes = _read(project, batch)
    if step is None or not changes:
        raise ActionRefused("It has been changed since, so there is nothing left to undo.")
    return Undone(step, _put_back(project, step, changes, actor))


def undo_last(project: Project, actor: str) -> Undone:
    """Put back the person's last change in the locked project that isn't undone yet.

    What was changed since by somebody else is passed over, for good. Raises `ActionRefused` if
    nothing is left.
    """
    passed: list[Step] = []
    for batch in list_steps(project.id, actor):
        step, changes = _read(project, batch)
        if step and changes:
            return Undone(step, _put_back(project, step, changes, actor), passed)
        _mark([batch], PASSED_OVER)
        passed += [step] if step else []
    raise ActionRefused("You have nothing left to undo here. Changes can be undone for one day.")


def find_last_step(project: Project, actor: str) -> Step | None:
    """Return what `undo_last` would undo first."""
    batches = list_steps(project.id, actor)
    return _read(project, batches[0])[0] if batches else None


def list_steps(project_id: str, actor: str) -> Sequence[str]:
    """Return the batches that somebody can undo one after another, the newest first."""
    change, last = TestimonialChange, func.max(TestimonialChange.created_at)
    return db.session.scalars(
        select(change.batch_id)
        .where(
            change.project_id == project_id,
            change.actor == actor,
            change.undone_at.is_(None),
            change.action.not_in(NO_STEPS),
            change.created_at > clock.now() - timedelta(seconds=UNDO_SECONDS),
        )
        .group_by(change.batch_id)
        .order_by(last.desc(), change.batch_id.desc())
        .limit(UNDO_STEPS)
    ).all()


def _put_back(project: Project, step: Step, changes: Changes, actor: str) -> int:
    undoing, count = change_all(project, changes, actor, "undo")
    _mark([step.batch, undoing], clock.now())
    if count < step.count:
        change = aliased(TestimonialChange)
        was_undone = exists().where(
            change.batch_id == undoing, change.testimonial_id == TestimonialChange.testimonial_id
        )
        _mark([step.batch], PASSED_OVER, ~was_undone)
    return count


def _mark(batches: Sequence[str], time: datetime, *conditions: ColumnElement[bool]) -> None:
    db.session.execute(
        update(TestimonialChange)
        .where(TestimonialChange.batch_id.in_(batches), *conditions)
        .values(undone_at=time)
        .execution_options(synchronize_session=False)
    )


def _read(project: Project, batch: str) -> tuple[Step | None, Changes]:
    """Return a batch, and what puts back each of its changes after which nothing else was changed.

    None for one whose testimonials are gone.
    """
    later = aliased(TestimonialChange)
    is_later = or_(
        later.created_at > TestimonialChange.created_at,
        and_(later.created_at == TestimonialChange.created_at, later.id > TestimonialChange.id),
    )
    still_stands = or_(later.undone_at.is_(None), later.undone_at == PASSED_OVER)
    was_changed_since = exists().where(
        later.testimonial_id == TestimonialChange.testimonial_id, is_later, still_stands
    )
    change = TestimonialChange
    rows = db.session.execute(
        select(Testimonial, change.action, change.before, change.undone_at, was_changed_since)
        .join(change, change.testimonial_id == Testimonial.id)
        .where(change.batch_id == batch)
    ).all()
    known: dict[str, str] = {}
    if any("tags" in each.before for each in rows):
        # The spelling of a removed tag may have changed since.
        known = find_spellings(project.id)
        _load_tags([each[0] for each in rows], batch)
    changes = []
    for row, _, before, undone_at, is_changed in rows:
        values = _from_json(before)
        if "tags" in values:
            values["tags"] = spell(known, values["tags"])
        # Only the author can revoke a withdrawal.
        is_theirs = "status" in values and row.status == "withdrawn"
        if undone_at is None and not (is_changed or is_theirs):
            changes.append((row, values))
    return _describe(batch, rows), changes


def _load_tags(rows: Sequence[Testimonial], batch: str) -> None:
    """Load the tags of testimonials of a batch in one statement."""
    changed = select(TestimonialChange.testimonial_id).where(TestimonialChange.batch_id == batch)
    query = select(TestimonialTag).where(TestimonialTag.testimonial_id.in_(changed))
    tags = defaultdict(list)
    for tag in db.session.scalars(query):
        tags[tag.testimonial_id].append(tag)
    for row in rows:
        set_committed_value(row, "tag_rows", tags[row.id])


def _describe(batch: str, rows: Sequence[Any]) -> Step | None:
    if not rows:
        return None
    row, action, before = rows[0][:3]
    was = before.get("status", "")
    return Step(batch, action, len(rows), row.id, row.author_name, was)


def _from_json(before: dict[str, Any]) -> dict[str, Any]:
    return {
        name: clock.from_milliseconds(value) if name in TIMES and value is not None else value
        for name, value in before.items()
    }
