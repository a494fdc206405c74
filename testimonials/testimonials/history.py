"""Change testimonials, one or thousands, and record who did it and what was there before."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Actor, Event, Turn, record_changes
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
# A testimonial, and what to set of it.
Change = tuple[Testimonial, dict[str, Any]]

_COLUMNS = {column.name for column in Testimonial.__table__.columns}
# From as many on, rows that change alike are written at once: a third of the time.
MANY, MOST_ALIKE = 100, 50

# As many values as both databases take in one statement.
CHUNK = 10_000


def change_all(
    project: Project,
    changes: Iterable[Change],
    actor: str,
    action: str,
    part: "Part | None" = None,
    by: Actor | None = None,
) -> tuple[str, int]:
    """Set columns, or `tags`, of testimonials of the locked project, as one batch; record it.

    `by` is who acts, if it isn't the caller. Returns the batch, for undoing, and how many rows were
    changed. All are written in a few statements, since SQLite lets in no other writer meanwhile.
    More than some hundred are for `in_parts`, which gives each `part` its id.
    """
    part, changes = part or Part(new_identifier()), list(changes)
    if not changes:
        return part.id, 0
    alike = _group(changes) if len(changes) >= MANY else {}
    put = set_committed_value if alike else setattr
    time = max([clock.now(), *(row.updated_at + clock.MILLISECOND for row, _ in changes)])
    befores = []
    for row, values in changes:
        befores.append((row, {name: getattr(row, name) for name in values}))
        for name, value in (values | {"updated_at": time}).items():
            put(row, name, value)
    db.session.flush()
    for rows in alike.values():
        _write_alike(rows, time)
    mark_changed(project)
    _record(project, befores, part, actor, action, by)
    return part.id, len(changes)


def record_additions(project: Project | Turn, rows: Sequence[Testimonial], actor: str) -> None:
    """Begin the history of testimonials that were added to the project at once."""
    digests = find_digests(rows)
    entries = [
        {
            "testimonial_id": row.id,
            "type": str(TESTIMONIAL_CREATED),
            "before": {},
            "created_at": row.updated_at,
        }
        | write_entry(row, "received", hashes=digests[row.id])
        for row in rows
    ]
    record_changes(project, entries, action="add", actor=actor, batch_id=new_identifier())


# As many as people and programs are told: archives, which others make, may have any number.
MOST_TOLD = 200


def list_history(testimonial_id: str, *actions: str, most: int | None = None) -> Sequence[Event]:
    """Return what was done to a testimonial, or the `actions` of it, newest first."""
    wanted = [Event.testimonial_id == testimonial_id, IS_HISTORY]
    wanted += [Event.action.in_(actions)] if actions else []
    query = select(Event).where(*wanted).order_by(Event.created_at.desc(), Event.id.desc())
    return db.session.scalars(query.limit(most)).all()


def add_step(
    project: Project,
    row: Testimonial,
    action: str,
    actor: str,
    by: Actor | None = None,
    **values: Any,
) -> None:
    """Add to the history what changes nothing, so that what was done before can be undone still."""
    now = clock.now()
    step = {"testimonial_id": row.id, "type": "", "before": {}, "created_at": now, "undone_at": now}
    batch = new_identifier()
    record_changes(project, [step | values], by, action=action, actor=actor, batch_id=batch)


# What authors did about their words, and that they were told that somebody else changed them.
SENT, CORRECT, CONFIRM, OBJECT, TELL_AUTHOR = "sent", "correct", "confirm", "object", "tell-author"
OWN_WORDS = (SENT, CORRECT, CONFIRM)


def find_said(rows: Iterable[Testimonial]) -> dict[str, list[str]]:
    """Return by id what was done about the very words that a testimonial has now, newest first."""
    by_id = {row.id: row for row in rows}
    words = {id: describe_words(row) for id, row in by_id.items()}
    then, said = {id: dict(each) for id, each in words.items()}, {id: list[str]() for id in by_id}
    query = select(Event.testimonial_id, Event.action, Event.before)
    query = query.where(Event.testimonial_id.in_(by_id), IS_HISTORY).order_by(Event.id.desc())
    for id, action, before in db.session.execute(query):
        if then[id] == words[id] and action in (CORRECT, CONFIRM, OBJECT, TELL_AUTHOR):
            said[id].append(action)
        then[id] |= {WORDS[name]: old or "" for name, old in before.items() if name in WORDS}
    for id, row in by_id.items():
        is_as_sent = then[id] == words[id] and row.original_text in (None, row.text)
        said[id] += [SENT] if is_as_sent and row.source == "public_page" else []
    return said


def is_own(said: Sequence[str]) -> bool:
    """Tell whether words are their author's, by what was done about them."""
    return next((each in OWN_WORDS for each in said if each != TELL_AUTHOR), False)


def _record(
    project: Project,
    befores: Sequence[tuple[Any, dict[str, Any]]],
    part: "Part",
    actor: str,
    action: str,
    by: Actor | None = None,
) -> None:
    """Record changes, named by what each of the rows was before; why, if they were set aside."""
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
    # One for all, where they have the same.
    reason = reasons.pop() if len(reasons) == 1 else None
    is_of_many = part.is_one_of_many
    record_changes(project, entries, by, is_of_many=is_of_many, reason=reason, **values)
    changed = [row.id for row, before in befores if by is None and _concerns_author(row, before)]
    enqueue_anew(MAIL_CHANGED, changed, clock.now() + SETTLES)


# The mail to an author whose words somebody else changed, once these have stayed for as long.
MAIL_CHANGED, SETTLES = "mail.author-changed", timedelta(minutes=5)


def _concerns_author(row: Any, before: dict[str, Any]) -> bool:
    is_theirs = not WORDS.keys().isdisjoint(before) and row.source == "public_page"
    return is_theirs and row.author_email is not None


def _group(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """Return changes by what they set; nothing if the session has to write them one by one.

    That is where most differ, or set more than columns.
    """
    alike: dict[str, list[Change]] = defaultdict(list)
    for row, values in changes:
        alike[repr(sorted(values.items()))].append((row, values))
    is_plain = all(_COLUMNS.issuperset(values) for _, values in changes)
    return alike if is_plain and len(alike) <= MOST_ALIKE else {}


def _write_alike(changes: Sequence[Change], time: datetime) -> None:
    """Write the same columns of many rows, which their models have already."""
    values = changes[0][1] | {"updated_at": time}
    for ids in in_chunks([row.id for row, _ in changes]):
        db.session.execute(
            update(Testimonial)
            .where(Testimonial.id.in_(ids))
            .values(values)
            .execution_options(synchronize_session=False)
        )


def in_chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in parts, each of which fits into one statement."""
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def to_json(value: Any) -> Any:
    return clock.to_milliseconds(value) if isinstance(value, datetime) else value


def from_json(name: str, value: Any) -> Any:
    is_time = name.endswith("_at") and isinstance(value, int)
    return clock.from_milliseconds(value) if is_time else value


# Changing thousands in parts, so that others can write in between.
#
# Each part is a transaction of its own, and in the history a batch of its own, whose id begins with
# that of the first (`name_part`). They are undone together and are one event. Whatever is committed
# is complete, so an end half-way leaves the rest as it was, and what was done can be undone.

# About a tenth of a second.
ROWS = 250


@dataclass(frozen=True)
class Part:
    """One of the parts of a change; `is_one_of_many` unless it is the only one."""

    id: str
    is_one_of_many: bool = False


def in_parts(ids: Sequence[str], work: Callable[[Sequence[str], Part], int]) -> tuple[str, int]:
    """Do `work`, which returns how many it changed, for some of the ids after others.

    Within `write`, whose project stays locked. Returns the batch, and how many were changed; the
    last part is not committed.
    """
    batch, count = new_identifier(), 0
    for number, some in enumerate(in_batches(ids, ROWS)):
        count += work(some, Part(name_part(batch, number), len(ids) > ROWS))
    return batch, count


def remove_some(of_projects: ColumnElement[bool]) -> bool:
    """Remove testimonials of projects for good, as many as in a part; return whether more may be.

    So that others can write before the project goes with the rest.
    """
    of = Testimonial.project_id.in_(select(Project.id).where(of_projects))
    some = select(Testimonial.id).where(of).limit(ROWS)
    return delete_rows(Testimonial, Testimonial.id.in_(some)) == ROWS
