"""Changing one or thousands of testimonials, and recording who did it and the earlier values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, select

from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Actor, Event, LockedProject, record_changes
from testimonials.core.db.identifiers import name_part, new_identifier
from testimonials.core.db.transactions import delete_rows, in_batches
from testimonials.core.extensions import db
from testimonials.core.jobs import enqueue_anew
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_changed
from testimonials.testimonials.events import REPLY_CHANGED, TESTIMONIAL_CREATED, name_change
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.record import (
    HASHED,
    WORDS,
    describe_words,
    find_digests,
    follow_change,
    write_entry,
)

T = TypeVar("T")
# A testimonial, and the values to set.
Change = tuple[Testimonial, dict[str, Any]]

# How many values both databases accept in one statement.
CHUNK = 10_000


def change_all(
    project: Project,
    changes: Iterable[Change],
    actor: str,
    action: str,
    part: "Part | None" = None,
    by: Actor | None = None,
) -> tuple[str, int]:
    """Set columns, or `tags`, of testimonials of the locked project, and record it as one batch.

    `by` is who acts, if not the caller. Returns the batch, for undoing, and how many rows changed.
    It takes few statements, since on SQLite no other writer gets in meanwhile. For more than a few
    hundred rows use `in_parts`, which makes each `part`.
    """
    part, changes = part or Part(new_identifier()), list(changes)
    if not changes:
        return part.id, 0
    time = max([clock.now(), *(row.updated_at + clock.MILLISECOND for row, _ in changes)])
    befores = []
    for row, values in changes:
        befores.append((row, {name: getattr(row, name) for name in values}))
        for name, value in (values | {"updated_at": time}).items():
            setattr(row, name, value)
    db.session.flush()
    mark_changed(project)
    _record(project, befores, part, actor, action, by)
    return part.id, len(changes)


def record_additions(
    project: Project | LockedProject, rows: Sequence[Testimonial], actor: str
) -> None:
    """Record testimonials that were just added to the project, as one batch."""
    digests = find_digests(rows)
    type = str(TESTIMONIAL_CREATED)
    entries = [
        {"testimonial_id": row.id, "type": type, "before": {}, "created_at": row.updated_at}
        | write_entry(row, "received", hashes=digests[row.id])
        for row in rows
    ]
    record_changes(project, entries, action="add", actor=actor, batch_id=new_identifier())


# The most changes that are shown; an imported archive may contain any number.
MOST_TOLD = 200


def list_history(testimonial_id: str, *actions: str, most: int | None = None) -> Sequence[Event]:
    """Return the changes to a testimonial, or those with these `actions`, newest first."""
    conditions = [Event.testimonial_id == testimonial_id, IS_HISTORY]
    conditions += [Event.action.in_(actions)] if actions else []
    query = select(Event).where(*conditions).order_by(Event.created_at.desc(), Event.id.desc())
    return db.session.scalars(query.limit(most)).all()


def add_step(
    project: Project,
    row: Testimonial,
    action: str,
    actor: str,
    by: Actor | None = None,
    **values: Any,
) -> None:
    """Add a step to the history that changes nothing, so earlier changes can still be undone."""
    now = clock.now()
    step = {"testimonial_id": row.id, "type": "", "before": {}, "created_at": now, "undone_at": now}
    batch = new_identifier()
    record_changes(project, [step | values], by, action=action, actor=actor, batch_id=batch)


# What authors did about their words, and that they were notified of somebody else's change.
SENT, CORRECT, CONFIRM, OBJECT, TELL_AUTHOR = "sent", "correct", "confirm", "object", "tell-author"
OWN_WORDS = (SENT, CORRECT, CONFIRM)


def find_word_actions(rows: Iterable[Testimonial]) -> dict[str, list[str]]:
    """Return what was done to the current words of testimonials, by id, newest first."""
    by_id = {row.id: row for row in rows}
    words = {id: describe_words(row) for id, row in by_id.items()}
    then = {id: dict(each) for id, each in words.items()}
    actions = {id: list[str]() for id in by_id}
    query = select(Event.testimonial_id, Event.action, Event.before)
    query = query.where(Event.testimonial_id.in_(by_id), IS_HISTORY).order_by(Event.id.desc())
    for id, action, before in db.session.execute(query):
        if then[id] == words[id] and action in (CORRECT, CONFIRM, OBJECT, TELL_AUTHOR):
            actions[id].append(action)
        then[id] |= {WORDS[name]: old or "" for name, old in before.items() if name in WORDS}
    for id, row in by_id.items():
        is_as_sent = then[id] == words[id] and row.original_text in (None, row.text)
        actions[id] += [SENT] if is_as_sent and row.source == "public_page" else []
    return actions


def are_own_words(actions: Sequence[str]) -> bool:
    """Return whether the words are their author's, given a result of `find_word_actions`."""
    return next((each in OWN_WORDS for each in actions if each != TELL_AUTHOR), False)


def _record(
    project: Project,
    befores: Sequence[tuple[Any, dict[str, Any]]],
    part: "Part",
    actor: str,
    action: str,
    by: Actor | None = None,
) -> None:
    """Record changes, given each row's earlier values, with the reason for setting it aside."""
    entries, reasons = [], set()
    hashed = [row for row, before in befores if not HASHED.isdisjoint(before)]
    digests = find_digests(hashed) if hashed else {}
    for row, before in befores:
        type = name_change(row, before)
        reason = row.set_aside if "set_aside" in before else None
        reasons.add(reason)
        entries.append(
            {
                "testimonial_id": row.id,
                "type": str(REPLY_CHANGED if type and action == "reply" else type or ""),
                "before": {name: to_json(value) for name, value in before.items()},
                "created_at": row.updated_at,
                "reason": reason,
            }
            | follow_change(row, before, digests.get(row.id, {}))
        )
    values = {"action": action, "actor": actor, "batch_id": part.id}
    # The batch has a reason if all its rows have the same one.
    reason = reasons.pop() if len(reasons) == 1 else None
    is_of_many = part.is_one_of_many
    record_changes(project, entries, by, is_of_many=is_of_many, reason=reason, **values)
    changed = [row.id for row, before in befores if by is None and _concerns_author(row, before)]
    enqueue_anew(MAIL_CHANGED, changed, clock.now() + SETTLES)


# The email to authors whose words somebody else changed, once these haven't changed for a while.
MAIL_CHANGED, SETTLES = "mail.author-changed", timedelta(minutes=5)


def _concerns_author(row: Any, before: dict[str, Any]) -> bool:
    is_theirs = not WORDS.keys().isdisjoint(before) and row.source == "public_page"
    return is_theirs and row.author_email is not None


def in_chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def to_json(value: Any) -> Any:
    return clock.to_milliseconds(value) if isinstance(value, datetime) else value


def from_json(name: str, value: Any) -> Any:
    is_time = name.endswith("_at") and isinstance(value, int)
    return clock.from_milliseconds(value) if is_time else value


# Thousands of rows are changed in parts, so that others can write in between. Each part is a
# transaction and a batch of the history, whose id begins with that of the first part (`name_part`).
# The parts are one event and are undone together. If the process dies half-way, the committed parts
# are complete and can be undone.

# Changing this many takes about a tenth of a second.
ROWS = 250


@dataclass(frozen=True)
class Part:
    """A part of a change, perhaps its only one."""

    id: str
    is_one_of_many: bool = False


def in_parts(ids: Sequence[str], work: Callable[[Sequence[str], Part], int]) -> tuple[str, int]:
    """Call `work`, which returns how many rows it changed, for the ids in parts.

    Call this within `write`, whose project stays locked; the last part isn't committed. Returns the
    batch, and how many rows changed.
    """
    batch, count = new_identifier(), 0
    for number, chunk in enumerate(in_batches(ids, ROWS)):
        count += work(chunk, Part(name_part(batch, number), len(ids) > ROWS))
    return batch, count


def remove_some(of_projects: ColumnElement[bool]) -> bool:
    """Permanently delete some testimonials of projects; return whether there may be more.

    So others can write before a project is deleted with the rest.
    """
    projects = select(Project.id).where(of_projects)
    ids = select(Testimonial.id).where(Testimonial.project_id.in_(projects)).limit(ROWS)
    return delete_rows(Testimonial, Testimonial.id.in_(ids)) == ROWS
