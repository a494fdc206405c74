"""Undoing changes to testimonials: a given batch, or a person's own steps, newest first."""

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
    Change,
    Part,
    change_all,
    from_json,
    in_parts,
)
from testimonials.testimonials.models import Testimonial, TestimonialTag
from testimonials.testimonials.moderation import ActionRefused
from testimonials.testimonials.tags import find_spellings, spell

UNDO_SECONDS = 24 * 60 * 60
# Actions that can't be undone, or not in this way.
NO_STEPS = ("add", "import", "thank", "remove_recording", CONFIRM, OBJECT, TELL_AUTHOR)
# The `undone_at` of a change that can't be undone because of a later one.
PASSED_OVER = clock.EPOCH

undo_purpose = TokenPurpose("undo")


def make_undo_token(project: Project, batch: str) -> str:
    return undo_purpose.sign([project.id, batch])


@dataclass(frozen=True)
class Step:
    """A batch of changes: what was done to how many testimonials, and one of these as it was."""

    batch: str
    action: str
    count: int
    testimonial_id: str
    author_name: str
    # The testimonial's status before, if it changed.
    was: str


@dataclass(frozen=True)
class Undone:
    """A step that was undone for `count` of its testimonials; the `passed` ones were skipped."""

    step: Step
    count: int
    passed: Sequence[Step] = ()


def undo_batch(project: Project, token: str, actor: str) -> Undone:
    """Undo a batch in the locked project, except where something has changed since.

    Raises `ActionRefused` for a token that has expired, was used, or is of another project.
    """
    project_id, batch = undo_purpose.find(token, 2, UNDO_SECONDS) or (None, "")
    if project_id != project.id:
        raise ActionRefused(gettext_noop("This can no longer be undone."))
    step, ids = _find(project, batch)
    if step is None or not ids:
        raise ActionRefused(gettext_noop("There is nothing left to undo."))
    return Undone(step, _put_back(project, step, ids, actor))


def undo_last(project: Project, actor: str) -> Undone:
    """Undo the person's last change in the locked project that isn't undone yet.

    Changes to what has been changed again since are skipped for good. Raises `ActionRefused` if
    nothing is left.
    """
    passed: list[Step] = []
    for batch in list_steps(project.id, actor):
        step, ids = _find(project, batch)
        if step and ids:
            return Undone(step, _put_back(project, step, ids, actor), passed)
        _mark(PASSED_OVER, _is_of(project, batch))
        passed += [step] if step else []
    raise ActionRefused(gettext_noop("There is nothing left to undo."))


def list_steps(project_id: str, actor: str) -> Sequence[str]:
    """Return the batches that somebody can undo one after the other, newest first, at most 50."""
    change, last = Event, func.max(Event.created_at)
    since = clock.now() - timedelta(seconds=UNDO_SECONDS)
    batch = func.substr(change.batch_id, 1, ID_LENGTH)
    is_open = (IS_HISTORY, change.undone_at.is_(None), change.action.not_in(NO_STEPS))
    query = select(batch).where(change.project_id == project_id, change.actor == actor, *is_open)
    # Ids are found by the index, but those of an imported history may be new.
    is_recent = (change.id >= first_identifier(since), change.created_at > since)
    query = query.where(*is_recent).group_by(batch)
    return db.session.scalars(query.order_by(last.desc(), batch.desc()).limit(50)).all()


def _is_of(project: Project, batch: str) -> ColumnElement[bool]:
    """Return the condition for the changes of a batch, in all its parts.

    Other projects may have the same batches, since archives contain them.
    """
    # Keeps the database from using the index on projects, which has all of the project's history.
    is_own = func.coalesce(Event.project_id, "") == project.id
    return and_(Event.batch_id >= batch, Event.batch_id < end_of_parts(batch), is_own)


def _put_back(project: Project, step: Step, ids: Sequence[str], actor: str) -> int:
    """Undo a step; changes to what was changed since are skipped for good."""

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
    marked = update(Event).where(*conditions).values(undone_at=time)
    db.session.execute(marked.execution_options(synchronize_session=False))


def _find(project: Project, batch: str) -> tuple[Step | None, Sequence[str]]:
    """Return a batch, if its testimonials exist, and the ids for which it can be undone."""
    row, change = Testimonial, Event
    columns = (row.id, row.author_name, row.status, change.action, change.before)
    changes = db.session.execute(_of_batch(project, batch, *columns)).all()
    if not changes:
        return None, ()
    first = changes[0]
    was = first.before.get("status", "")
    # Those that aren't undone yet, with which an interrupted undo continues.
    count = sum(each.undone_at is None for each in changes) or len(changes)
    step = Step(batch, first.action, count, first.id, first.author_name, was)
    return step, [each.id for each in changes if _can_undo(each, each.status)]


def _read(project: Project, batch: str, ids: Sequence[str]) -> list[Change]:
    """Return the changes that undo those of a batch that can be undone."""
    query = _of_batch(project, batch, Testimonial, Event.before)
    rows = db.session.execute(query.where(Event.testimonial_id.in_(ids))).all()
    known: dict[str, str] = {}
    if any("tags" in each.before for each in rows):
        # A removed tag may now have another spelling.
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
    """Return a query for the changes of a batch, each with whether there is a later change."""
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
    """Return whether a change from `_of_batch` to a testimonial with this status can be undone."""
    # Only the author can revoke a withdrawal, unless the owner set it aside as withdrawn.
    is_theirs = "status" in change.before and status == "withdrawn" and change.reason is None
    return change.undone_at is None and not (change.was_changed or is_theirs)


def _load_tags(rows: Sequence[Testimonial], ids: Sequence[str]) -> None:
    query = select(TestimonialTag).where(TestimonialTag.testimonial_id.in_(ids))
    tags = defaultdict(list)
    for tag in db.session.scalars(query):
        tags[tag.testimonial_id].append(tag)
    for row in rows:
        set_committed_value(row, "tag_rows", tags[row.id])
