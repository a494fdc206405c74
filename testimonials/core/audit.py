"""The record of events: their types, who acts and from where, writing, reading and cleaning it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

import click
from flask import g, has_request_context, request
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Index,
    Select,
    String,
    Text,
    and_,
    bindparam,
    false,
    func,
    insert,
    inspect,
    null,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.chain import chain
from testimonials.core.changed import note_changes, take_changes
from testimonials.core.db.engine import (
    Base,
    Timestamp,
    child_of,
    index_some,
    insert_values,
    present,
)
from testimonials.core.db.identifiers import first_identifier, new_identifier, whole_of
from testimonials.core.db.prepared import Prepared
from testimonials.core.extensions import db
from testimonials.core.http.rate_limits import find_network
from testimonials.core.late import Declared

# Types of events: each is declared once, in `events` of the package that it is about.

# A sentence with the names of the event's details as %(name)s, or a function that chooses one.
Sentence = str | Callable[[Mapping[str, Any]], str]


class EventType(str):
    """What happened: the subject, then what became of it. A name never changes its meaning.

    `webhook` is the name that receivers of webhooks know it by; without one it concerns the
    account's own people alone. Of what `is_counted`, the same by the same actor from the same
    network within an hour is one event with a count: guessing passwords can't fill the disk, an
    editor that saves by itself can't fill the page, and an import in many parts is one line.
    `is_guess`: only the number matters, not when each happened.
    """

    known: ClassVar[Declared["EventType"]] = Declared()
    sentence: Sentence
    webhook: str | None
    is_counted: bool
    is_guess: bool

    def __new__(
        cls,
        name: str,
        sentence: Sentence,
        *,
        webhook: str | None = None,
        is_counted: bool = False,
        is_guess: bool = False,
    ) -> "EventType":
        type = cls.known[name] = super().__new__(cls, name)
        type.sentence, type.webhook = sentence, webhook
        type.is_counted, type.is_guess = is_counted, is_guess
        return type


# Who acts in this request or command, and from where.
#
# Guards, and doors that sign somebody in, set it (`act_as`); events carry it.


class ActorKind(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOKEN = "token"  # noqa: S105 - no password
    OPERATOR = "operator"
    SYSTEM = "system"
    VISITOR = "visitor"


@dataclass(frozen=True)
class Actor:
    """Who acts. The name is, by kind: an account's id, the end of a key, a token's id, or a
    command."""

    kind: ActorKind
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def act_as(kind: ActorKind, name: str) -> None:
    g.actor = Actor(kind, name)


def current_actor() -> Actor:
    """Return who makes this request or runs this command; in a job, the service itself."""
    if has_request_context():
        actor: Actor = g.get("actor") or Actor(ActorKind.VISITOR)
        return actor
    if (context := click.get_current_context(silent=True)) is not None:
        return Actor(ActorKind.OPERATOR, context.command_path.partition(" ")[2])
    return Actor(ActorKind.SYSTEM)


def current_network() -> str | None:
    """Return the network that this request comes from: IPv4 as a /24, IPv6 as a /48."""
    return find_network(request.remote_addr or "", 24, 48) if has_request_context() else None


# Those of deleted testimonials of which only the entry is still needed.
IS_ENDED = "before IS NULL AND entry IS NOT NULL AND type <> ''"


class Event(Base):
    """One thing that happened, written in the transaction in which it happened.

    What changed a testimonial has what was there before, and with it the history of that
    testimonial, which can be undone. What changed many is a row for each of them, and one more for
    all together, of which people are told. Within an account a later commit has a greater id, so an
    id serves as a cursor.
    """

    __table_args__ = (
        Index("ix_event_account_id_id", "account_id", "id"),
        Index("ix_event_project_id_id", "project_id", "id"),
        Index("ix_event_testimonial_id", "testimonial_id"),
        index_some("ix_event_batch_id", "batch_id IS NOT NULL", "batch_id"),
        # For the sweep, which looks for what is old each minute.
        index_some("ix_event_with_network", "network IS NOT NULL", "id"),
        index_some("ix_event_no_history", "before IS NULL AND entry IS NULL", "id"),
        index_some("ix_event_ended", IS_ENDED, "id"),
        index_some("ix_event_reason", "reason IS NOT NULL", "project_id", "testimonial_id"),
        index_some("ix_event_entry", "entry IS NOT NULL", "project_id", "number"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    # The account whose record it is in. None: only in the operator's, as an account's deletion.
    account_id: Mapped[str | None] = child_of("account.id")
    # No foreign key: the event of a project's deletion outlives the project.
    project_id: Mapped[str | None]
    # Counts up within the project.
    number: Mapped[int | None] = mapped_column(BigInteger)
    # No foreign key: that it was deleted is told later. What was before goes with it, by a trigger.
    testimonial_id: Mapped[str | None]
    # Empty: it concerns nobody but the history, as with samples and what is held as spam.
    type: Mapped[str] = mapped_column(String(60))
    # What only changes of testimonials have: what was done, such as `edit`, and together with which
    # others.
    action: Mapped[str] = mapped_column(nullable=True)
    batch_id: Mapped[str | None]
    # Who did it (`Actor`): never an address, so that nothing is left of a person who leaves.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    # Who did it in the words of the history, which is the project's own.
    actor: Mapped[str] = mapped_column(String(254), nullable=True)
    # By a link in a mail, without signing in.
    is_by_mail: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # A /24 or /48, never the full address; None again after NETWORK_DAYS.
    network: Mapped[str | None]
    # How often it happened, or how many it changed: repeats within an hour are one event. 0: it is
    # told as one of many.
    times: Mapped[int] = mapped_column(default=1)
    # Why, of a closed list.
    reason: Mapped[str | None] = mapped_column(String(40))
    # Column of the testimonial to the value it had; times as milliseconds.
    before: Mapped[dict[str, Any]] = mapped_column(JSON(none_as_null=True), nullable=True)
    undone_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Names, addresses and numbers; never a secret or the words of a testimonial.
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    # Its entry in the project's public record, as canonical JSON, and the salt of the hash in it,
    # which goes with the testimonial by the same trigger. An entry goes with the project.
    entry: Mapped[str | None] = mapped_column(Text)
    salt: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the details with what has a column: what others are told."""
        told: dict[str, Any] = {"action": self.action, "testimonial": self.testimonial_id}
        told["reason"] = self.reason
        if self.is_of_many:
            told |= {"batch": self.batch_id, "count": self.times}
        return self.details | {name: value for name, value in told.items() if value is not None}

    @property
    def is_of_many(self) -> bool:
        """Tell whether it stands for all testimonials that were changed together."""
        return self.batch_id is not None and self.testimonial_id is None


# What programs are told of: each testimonial, without the rows that stand for many.
IS_SINGLE = and_(Event.type != "", or_(Event.batch_id.is_(None), Event.testimonial_id.is_not(None)))
# What people are told of: one row for what was done together.
IS_TOLD = and_(Event.type != "", Event.times > 0)
# Of what the history of a testimonial consists.
IS_HISTORY = Event.before.is_not(null())


# Recording events: a door records what happened right before it commits.

COUNTED_WITHIN = timedelta(hours=1)
# After this many networks within the hour, the same events are counted without a network.
MOST_NETWORKS = 20
# By which an event is the same as another.
_SAME = ("account_id", "project_id", "type", "actor_kind", "actor_name")
_OPTIONAL = ["testimonial_id", "action", "batch_id", "actor", "reason", "before", "undone_at"]
_OPTIONAL += ["entry", "salt"]
LOCK_PROJECT = Prepared(text("SELECT 1 FROM project WHERE id = :id FOR NO KEY UPDATE"))
# Any number, the same in every process.
LOCK_RECORD = Prepared(text("SELECT pg_advisory_xact_lock(7264552, hashtext(:account))"))


class Owned(Protocol):
    """A project: its id, and the account that it belongs to."""

    @property
    def id(self) -> Any: ...
    @property
    def account_id(self) -> Any: ...


class Turn(NamedTuple):
    """A locked project whose next number was taken when it was looked up, for one event."""

    id: str
    account_id: str
    number: int
    # The greatest id in the account's record then; on PostgreSQL others may have written since.
    newest: str | None
    # The newest entry of its public record then.
    entry: str | None
    # Of the testimonial that it is about.
    time: datetime


class Place(NamedTuple):
    """Where something happened that may concern one project or all of an account."""

    account_id: str | None
    id: str | None


def record(
    type: EventType,
    subject: Owned | Place | str | None,
    actor: Actor | None = None,
    /,
    *,
    testimonial: str | None = None,
    action: str | None = None,
    entry: Any = None,
    **details: Any,
) -> None:
    """Record what happened to a project, or to an account of which this is the id.

    None is the operator's record. The details are JSON values, none of them a secret or the words
    of a testimonial. Who acts is the caller unless there is an `actor`, who has no network. The
    caller commits soon. `entry` has that of the project's public record, and its `salt`. Flushes
    the session first, because nothing else may be locked after the record.
    """
    place = Place(subject, None) if subject is None or isinstance(subject, str) else subject
    # What is counted may write no row, and so no numbers.
    waiting = {} if type.is_counted else _take_waiting(place)
    values = _begin(place, actor) | {"type": str(type)}
    same = _find_same(values) if type.is_counted else (None, values["network"])
    earlier, values["network"] = same
    told = take_changes(place.id, earlier.details if earlier else details)
    if earlier is not None:
        earlier.details = told
        _count(earlier, 1, is_told=not type.is_guess)
        return
    values |= {"testimonial_id": testimonial, "action": action, "details": told} | (entry or {})
    _insert(place, values, [{}], waiting)


def record_changes(
    project: Owned,
    rows: Sequence[dict[str, Any]],
    by: Actor | None = None,
    /,
    *,
    is_of_many: bool = False,
    **values: Any,
) -> None:
    """Record changes of testimonials that were made at once; see `record`.

    Each row has `testimonial_id`, `type`, `before` and `created_at`; what all have is in `values`,
    such as `action` and `batch_id`. Those of a type are told as one event if they are several, or
    with `is_of_many` the rest is, or was, changed by other calls (`name_part`).
    """
    waiting = _take_waiting(project)
    common = _begin(project, by) | values
    counts = Counter(str(row["type"]) for row in rows)
    alone = {type for type, count in counts.items() if type and count == 1 and not is_of_many}
    among, batch = {"network": None, "times": 0}, whole_of(values["batch_id"])
    made = [row if row["type"] in alone else row | among for row in rows]
    for name in counts.keys() - alone - {""}:
        summary = {"type": name, "batch_id": batch, "actor": None}
        if (earlier := _find_summary(common | summary, batch != values["batch_id"])) is None:
            made.append(summary | {"times": counts[name]})
        else:
            _count(earlier, counts[name])
    _insert(project, common, made, waiting)


def add_history(project: Owned, rows: Sequence[dict[str, Any]]) -> None:
    """Add changes from elsewhere, with their ids, times and batches; nobody is told of them."""
    if not rows:
        return
    taken = {"count": len(rows), "of_project": project.id, "of_account": project.account_id}
    newest, *_ = _take_numbers(()).one(db.session().connection(), taken) or (0,)
    values = {"account_id": project.account_id, "project_id": project.id, "type": "", "times": 0}
    values |= {"actor_kind": str(ActorKind.SYSTEM), "details": {}}
    first = newest - len(rows) + 1
    numbered = [values | row | {"number": first + at} for at, row in enumerate(rows)]
    db.session.connection().execute(insert(Event), numbered)


def _begin(place: Owned | Place, actor: Actor | None) -> dict[str, Any]:
    """Lock the record; return what all rows have that are written now."""
    network = current_network() if actor is None else None
    actor = actor or current_actor()
    db.session.flush()
    connection = db.session().connection()
    if connection.dialect.name == "postgresql":
        # One writer of a record at a time, as SQLite has anyway: its ids rise in the order of
        # commits, so nothing is missed by reading on from one. The project first, whose numbers are
        # taken: whoever has locked it may wait for the record.
        if place.id and not isinstance(place, Turn):
            LOCK_PROJECT.one(connection, {"id": place.id})
        LOCK_RECORD.run(connection, {"account": place.account_id or ""})
    return {
        "account_id": place.account_id,
        "project_id": place.id,
        "actor_kind": str(actor.kind),
        "actor_name": actor.name,
        "network": network,
    }


def _insert(
    place: Owned | Place,
    common: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    waiting: dict[str, Any],
) -> None:
    """Write rows, what is `common` to all of them, and what waited to be written of the project.

    They get the next numbers of the project, and ids greater than all in the record, even if a
    clock was set back.
    """
    connection = db.session().connection()
    found = None
    if isinstance(place, Turn):
        is_alone = connection.dialect.name == "sqlite"
        newest = (place.newest, place.entry) if is_alone else _find_last(place.account_id, place.id)
        found = place.number, *newest
    elif place.id:
        taken = {"count": len(rows), "of_project": place.id, "of_account": place.account_id}
        found = _take_numbers(tuple(waiting)).one(connection, taken | waiting)
    number, last, entry = found or (None, *_find_last(place.account_id))
    first, start = _follow(last), number - len(rows) + 1 if number else None
    usual = dict.fromkeys(_OPTIONAL) | {"times": 1, "is_by_mail": False, "details": {}}
    usual |= {"created_at": clock.now()} | common
    numbered = [
        usual | row | {"id": f"{first + at:024x}", "number": start + at if start else None}
        for at, row in enumerate(rows)
    ]
    chain(entry, numbered)
    if len(numbered) == 1:
        insert_values(db.session(), Event, numbered[0])
    else:
        connection.execute(insert(Event), numbered)


def _take_waiting(place: Owned | Place) -> dict[str, Any]:
    """Return the columns that were set of a project and wait to be written, so that no flush does.

    `_insert` writes them with its numbers: almost every event raises the feed version or the time
    of the newest testimonial, and a flush takes a statement more and four times as long.
    """
    state: Any = inspect(place, raiseerr=False)
    if state is None or not state.persistent:
        return {}
    note_changes(state)
    waiting = {f"new_{name}": state.dict[name] for name in state.committed_state}
    # What a flush does with what it has written; what is taken back is read again.
    session = db.session()
    state._commit_all(state.dict, session.identity_map)
    session._register_altered([state])
    return waiting


@cache
def _take_numbers(parameters: Sequence[str]) -> Prepared:
    """Return the UPDATE that takes a project's next numbers and sets columns; built once for each.

    Nobody else writes to the record now, so the next number and id are known.
    """
    project = Base.metadata.tables["project"]
    return Prepared(
        update(project)
        .where(project.c.id == bindparam("of_project"))
        .values(
            {"event_number": project.c.event_number + bindparam("count")}
            | {name.removeprefix("new_"): bindparam(name) for name in parameters}
        )
        .returning(
            project.c.event_number, *_select_last(Event.account_id == bindparam("of_account"))
        )
    )


def find_newest_entry(project_id: Any) -> Select[str | None]:
    query = select(Event.entry).where(Event.project_id == project_id, Event.entry.is_not(None))
    return query.order_by(Event.number.desc()).limit(1)


def _find_last(account_id: str | None, project_id: str | None = None) -> Any:
    """Return the greatest id in a record, and the newest entry of a project."""
    find = _plan_find_last(account_id is None)
    return find.one(db.session().connection(), {"of_account": account_id, "of_project": project_id})


@cache
def _plan_find_last(is_of_operator: bool) -> Prepared:
    account: Any = None if is_of_operator else bindparam("of_account")
    return Prepared(select(*_select_last(Event.account_id == account)))


def _select_last(is_of_account: Any) -> tuple[Any, Any]:
    newest = select(func.max(Event.id)).where(is_of_account).scalar_subquery()
    return newest, find_newest_entry(bindparam("of_project")).scalar_subquery()


def _follow(last: str | None) -> int:
    return max(int(new_identifier(), 16), int(last or "0", 16) + 1)


def _count(event: Event, times: int, *, is_told: bool = True) -> None:
    """Count an event again, under the newest id, so that who reads on from one sees it."""
    event.times += times
    if is_told:
        event.id = f"{_follow(_find_last(event.account_id)[0]):024x}"
    db.session.flush()


def _find_summary(values: dict[str, Any], is_later_part: bool) -> Event | None:
    """Return the event of the earlier parts of a batch, or of the last hour."""
    if EventType.known[values["type"]].is_counted:
        return _find_same(values)[0]
    if not is_later_part:
        return None
    same = {"batch_id": values["batch_id"], "type": values["type"], "testimonial_id": None}
    return db.session.scalars(select(Event).filter_by(**same)).one_or_none()


def _find_same(values: dict[str, Any]) -> tuple[Event | None, str | None]:
    """Return the last hour's event with these values, and the network to count it under."""
    since, network = clock.now() - COUNTED_WITHIN, values["network"]
    recent = db.session.scalars(
        select(Event)
        .filter_by(**{name: values[name] for name in _SAME})
        .where(Event.id > first_identifier(since), Event.created_at > since, Event.times > 0)
        .order_by(Event.id.desc())
        .limit(MOST_NETWORKS + 1)
    ).all()
    by_network = {each.network: each for each in reversed(recent)}
    if len(recent) >= MOST_NETWORKS and network not in by_network:
        network = None
    return by_network.get(network), network
