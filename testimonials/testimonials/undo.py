"""Undoing what was done to one testimonial or many: a named batch, or one's own steps backwards."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, null, or_, select, update
from sqlalchemy.orm import aliased
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event
from testimonials.core.db.identifiers import ID_LENGTH, end_of_parts, first_identifier
from testimonials.core.extensions import db
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.projects.models import Project
from testimonials.testimonials.history import (
    CONFIRM,
    OBJECT,
    TELL_AUTHOR,
    Part,
    change_all,
    from_json,
    in_parts,
)
from testimonials.testimonials.models import Testimonial, TestimonialTag
from testimonials.testimonials.moderation import ActionRefused
from testimonials.testimonials.tags import find_spellings, spell

UNDO_SECONDS = 24 * 60 * 60
UNDO_STEPS = 50
# They can't be undone, or have a way of their own.
NO_STEPS = ("add", "import", "thank", "remove_recording", CONFIRM, OBJECT, TELL_AUTHOR)
# When a change was "undone" that was passed over, since something else was changed after it.
PASSED_OVER = clock.EPOCH

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
        raise ActionRefused(
            gettext_noop("This can’t be undone anymore. Changes can be undone for one day.")
        )
    step, ids = _find(project, batch)
    if step is None or not ids:
        raise ActionRefused(
            gettext_noop("It has been changed since, so there is nothing left to undo.")
        )
    return Undone(step, _put_back(project, step, ids, actor))


def undo_last(project: Project, actor: str) -> Undone:
    """Put back the person's last change in the locked project that isn't undone yet.

    What was changed since by somebody else is passed over, for good. Raises `ActionRefused` if
    nothing is left.
    """
    passed: list[Step] = []
    for batch in list_steps(project.id, actor):
        step, ids = _find(project, batch)
        if step and ids:
            return Undone(step, _put_back(project, step, ids, actor), passed)
        _mark(PASSED_OVER, _is_of(project, batch))
        passed += [step] if step else []
    raise ActionRefused(
        gettext_noop("You have nothing left to undo here. Changes can be undone for one day.")
    )


def list_steps(project_id: str, actor: str) -> Sequence[str]:
    """Return the batches that somebody can undo one after another, the newest first."""
    change, last = Event, func.max(Event.created_at)
    since = first_identifier(clock.now() - timedelta(seconds=UNDO_SECONDS))
    batch = func.substr(change.batch_id, 1, ID_LENGTH)
    return db.session.scalars(
        select(batch)
        .where(
            change.project_id == project_id,
            IS_HISTORY,
            change.actor == actor,
            change.undone_at.is_(None),
            change.action.not_in(NO_STEPS),
            change.id >= since,
        )
        .group_by(batch)
        .order_by(last.desc(), batch.desc())
        .limit(UNDO_STEPS)
    ).all()


def _is_of(project: Project, batch: str) -> ColumnElement[bool]:
    """Return the condition for the changes of a batch, in all its parts.

    An archive names the batches of its changes, so others may have the same in theirs.
    """
    of = Event.batch_id
    # Not found by the index of projects, in which all of its history is.
    is_own = func.coalesce(Event.project_id, "") == project.id
    return and_(of >= batch, of < end_of_parts(batch), is_own)


def _put_back(project: Project, step: Step, ids: Sequence[str], actor: str) -> int:
    """Put back changes of a step; those that were changed since are passed over, for good."""

    def work(some: Sequence[str], part: Part) -> int:
        changes = _read(project, step.batch, some)
        _, count = change_all(project, changes, actor, "undo", part)
        done = Event.testimonial_id.in_([row.id for row, _ in changes])
        _mark(clock.now(), _is_of(project, step.batch), done)
        _mark(clock.now(), Event.batch_id == part.id)
        return count

    _, count = in_parts(ids, work)
    if count < step.count:
        _mark(PASSED_OVER, _is_of(project, step.batch), Event.undone_at.is_(None))
    return count


def _mark(time: datetime, *conditions: ColumnElement[bool]) -> None:
    db.session.execute(
        update(Event)
        .where(*conditions)
        .values(undone_at=time)
        .execution_options(synchronize_session=False)
    )


def _find(project: Project, batch: str) -> tuple[Step | None, Sequence[str]]:
    """Return a batch, and the ids of the testimonials of which it can be put back.

    None for one whose testimonials are gone.
    """
    row, change = Testimonial, Event
    columns = (row.id, row.author_name, row.status, change.action, change.before)
    found = db.session.execute(_of_batch(project, batch, *columns)).all()
    if not found:
        return None, ()
    first = found[0]
    was = first.before.get("status", "")
    # Those that aren't undone: an undoing that was interrupted goes on with them.
    count = sum(each.undone_at is None for each in found) or len(found)
    step = Step(batch, first.action, count, first.id, first.author_name, was)
    return step, [each.id for each in found if _can_undo(each, each.status)]


def _read(project: Project, batch: str, ids: Sequence[str]) -> Changes:
    """Return what puts back each change of a batch after which nothing else was changed."""
    query = _of_batch(project, batch, Testimonial, Event.before)
    rows = db.session.execute(query.where(Event.testimonial_id.in_(ids))).all()
    known: dict[str, str] = {}
    if any("tags" in each.before for each in rows):
        # The spelling of a removed tag may have changed since.
        known = find_spellings(project.id)
        _load_tags([each[0] for each in rows], ids)
    changes = []
    for each in rows:
        values = {name: from_json(name, old) for name, old in each.before.items()}
        if "tags" in values:
            values["tags"] = spell(known, values["tags"])
        if _can_undo(each, each[0].status):
            changes.append((each[0], values))
    return changes


def _of_batch(project: Project, batch: str, *columns: Any) -> Select[Any]:
    """Return a query for the changes of a batch, and whether something else was changed since."""
    change, later = Event, aliased(Event)
    is_later = or_(
        later.created_at > change.created_at,
        and_(later.created_at == change.created_at, later.id > change.id),
    )
    still_stands = or_(later.undone_at.is_(None), later.undone_at == PASSED_OVER)
    was_changed = exists().where(
        later.testimonial_id == change.testimonial_id,
        later.before.is_not(null()),
        is_later,
        still_stands,
    )
    query = select(*columns, change.undone_at, change.reason, was_changed.label("was_changed"))
    return query.join(change, change.testimonial_id == Testimonial.id).where(_is_of(project, batch))


def _can_undo(change: Any, status: str) -> bool:
    """Tell whether a change (of `_of_batch`) can be put back, for a testimonial with a status."""
    # Only the author can revoke a withdrawal, unless it was set aside as one.
    is_theirs = "status" in change.before and status == "withdrawn" and change.reason is None
    return change.undone_at is None and not (change.was_changed or is_theirs)


def _load_tags(rows: Sequence[Testimonial], ids: Sequence[str]) -> None:
    query = select(TestimonialTag).where(TestimonialTag.testimonial_id.in_(ids))
    tags = defaultdict(list)
    for tag in db.session.scalars(query):
        tags[tag.testimonial_id].append(tag)
    for row in rows:
        set_committed_value(row, "tag_rows", tags[row.id])
