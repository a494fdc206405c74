"""The record of events: their types, the actors, and recording them."""

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

# A sentence with details of the event as %(name)s, or a function that chooses one.
Sentence = str | Callable[[Mapping[str, Any]], str]


class EventType(str):
    """A type of event, declared once, in `events` of its package; its meaning never changes.

    `webhook` is its name in webhooks; without one, only the account's own people see it. With
    `is_counted`, repetitions by the same actor from the same network within an hour are one event
    with a count. With `is_guess`, only the count matters, not the time of each.
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


class OperatorEventType(EventType):
    """One that only the operator of the service reads, in English."""


class ActorKind(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOKEN = "token"  # noqa: S105 - no password
    OPERATOR = "operator"
    SYSTEM = "system"
    VISITOR = "visitor"


@dataclass(frozen=True)
class Actor:
    """Who acts in a request or command; whatever authenticates somebody sets it (`act_as`)."""

    kind: ActorKind
    # An account's id, the end of a key, a token's id or a command.
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
    """Return the network of this request: IPv4 as a /24, IPv6 as a /48."""
    return find_network(request.remote_addr or "", 24, 48) if has_request_context() else None


# The rows of deleted testimonials, needed only for their entry.
IS_ENDED = "before IS NULL AND entry IS NOT NULL AND type <> ''"


class Event(Base):
    """Something that happened, written in the same transaction.

    A change of a testimonial stores the previous values, which make up its history and can be
    restored. A change of many testimonials has a row for each, and one for all of them, which is
    the one that people see. Within an account, later commits have greater ids, so ids serve as
    cursors.
    """

    __table_args__ = (
        Index("ix_event_account_id_id", "account_id", "id"),
        Index("ix_event_project_id_id", "project_id", "id"),
        Index("ix_event_testimonial_id", "testimonial_id"),
        index_some("ix_event_batch_id", "batch_id IS NOT NULL", "batch_id"),
        # For the sweep, which looks for old rows each minute.
        index_some("ix_event_with_network", "network IS NOT NULL", "id"),
        index_some("ix_event_no_history", "before IS NULL AND entry IS NULL", "id"),
        index_some("ix_event_ended", IS_ENDED, "id"),
        index_some("ix_event_reason", "reason IS NOT NULL", "project_id", "testimonial_id"),
        index_some("ix_event_entry", "entry IS NOT NULL", "project_id", "number"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    # None: only the operator sees it.
    account_id: Mapped[str | None] = child_of("account.id")
    # Not a foreign key: the event of a project's deletion outlives the project.
    project_id: Mapped[str | None]
    # Counts up within the project.
    number: Mapped[int | None] = mapped_column(BigInteger)
    # Not a foreign key: webhooks report a deletion later. A trigger then empties `before`.
    testimonial_id: Mapped[str | None]
    # Empty if it is only part of the history, as for samples and suspected spam.
    type: Mapped[str] = mapped_column(String(60))
    # Only for changes of testimonials: what was done, such as `edit`, and the id shared by all
    # changes made at once.
    action: Mapped[str] = mapped_column(nullable=True)
    batch_id: Mapped[str | None]
    # The `Actor`, never with an email address, so that nothing remains of somebody who leaves.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    # The actor as the project's history names it.
    actor: Mapped[str] = mapped_column(String(254), nullable=True)
    # Done through a link in an email, without signing in.
    is_by_mail: Mapped[bool] = mapped_column(Boolean, default=False, server_default=false())
    # A /24 or /48, never the full address; None after NETWORK_DAYS.
    network: Mapped[str | None]
    # How often it happened within an hour, or how many testimonials changed. 0: the row of the
    # whole batch counts this one.
    times: Mapped[int] = mapped_column(default=1)
    reason: Mapped[str | None] = mapped_column(String(40))
    # The old values of the testimonial by column; times are milliseconds.
    before: Mapped[dict[str, Any]] = mapped_column(JSON(none_as_null=True), nullable=True)
    undone_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Names, addresses and numbers; never a secret or a testimonial's text.
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    # Its entry in the project's public record, as canonical JSON, and the salt of the hash in it.
    # The trigger empties the salt too; the entry is deleted with the project.
    entry: Mapped[str | None] = mapped_column(Text)
    salt: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)

    @property
    def facts(self) -> dict[str, Any]:
        """The details, including those with columns of their own."""
        facts: dict[str, Any] = {"action": self.action, "testimonial": self.testimonial_id}
        facts["reason"] = self.reason
        if self.is_of_many:
            facts |= {"batch": self.batch_id, "count": self.times}
        return self.details | {name: value for name, value in facts.items() if value is not None}

    @property
    def is_of_many(self) -> bool:
        """Whether it stands for all testimonials that were changed together."""
        return self.batch_id is not None and self.testimonial_id is None


# Programs read the rows of single testimonials, without those that stand for many.
IS_SINGLE = and_(Event.type != "", or_(Event.batch_id.is_(None), Event.testimonial_id.is_not(None)))
# People read one row for what was changed together.
IS_TOLD = and_(Event.type != "", Event.times > 0)
# The rows that make up the history of testimonials.
IS_HISTORY = Event.before.is_not(null())

COUNTED_WITHIN = timedelta(hours=1)
# After events from this many networks within the hour, the same event is counted without a network.
MAX_NETWORKS = 20
# The columns that two events must share to be counted as one.
_SAME = ("account_id", "project_id", "type", "actor_kind", "actor_name")
_OPTIONAL = ["testimonial_id", "action", "batch_id", "actor", "reason", "before", "undone_at"]
_OPTIONAL += ["entry", "salt"]
LOCK_PROJECT = Prepared(text("SELECT 1 FROM project WHERE id = :id FOR NO KEY UPDATE"))
# The number is arbitrary, but the same in every process.
LOCK_RECORD = Prepared(text("SELECT pg_advisory_xact_lock(7264552, hashtext(:account))"))


class Owned(Protocol):
    """A project, or anything else that has these ids."""

    @property
    def id(self) -> Any: ...
    @property
    def account_id(self) -> Any: ...


class LockedProject(NamedTuple):
    """A locked project, with an event number reserved in the same statement."""

    id: str
    account_id: str
    number: int
    # The greatest id in the account's record at that time; on PostgreSQL there may be newer ones.
    newest: str | None
    # The newest entry of the project's public record.
    entry: str | None
    # The time of the testimonial to add.
    time: datetime


class Place(NamedTuple):
    """A project or, without an `id`, all projects of an account."""

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
    """Record an event of a project, or of the account with this id, or (None) of the operator.

    The details are JSON values, never secrets or a testimonial's text. The actor is by default
    `current_actor`; any other has no network. `entry` is the entry of the public record with its
    `salt`. Flushes the session first, because the record must be locked last; the caller should
    commit soon.
    """
    place = Place(subject, None) if subject is None or isinstance(subject, str) else subject
    # Counting may write no new row, and so no columns of the project.
    waiting = {} if type.is_counted else _take_waiting(place)
    values = _begin(place, actor) | {"type": str(type)}
    earlier = None
    if type.is_counted:
        earlier, values["network"] = _find_same(values)
    details = take_changes(place.id, earlier.details if earlier else details)
    if earlier is not None:
        earlier.details = details
        _count(earlier, 1, is_told=not type.is_guess)
        return
    values |= {"testimonial_id": testimonial, "action": action, "details": details} | (entry or {})
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
    """Record changes made to testimonials at once, as `record` does.

    Each row has `testimonial_id`, `type`, `before` and `created_at`; `values` are common to all,
    such as `action` and `batch_id`. Several changes of a type get one event for all. With
    `is_of_many`, further parts of the batch are recorded by other calls (`name_part`).
    """
    waiting = _take_waiting(project)
    common = _begin(project, by) | values
    counts = Counter(str(row["type"]) for row in rows)
    alone = {type for type, count in counts.items() if type and count == 1 and not is_of_many}
    among, batch = {"network": None, "times": 0}, whole_of(values["batch_id"])
    events = [row if row["type"] in alone else row | among for row in rows]
    for name in counts.keys() - alone - {""}:
        summary = {"type": name, "batch_id": batch, "actor": None}
        if (earlier := _find_summary(common | summary, batch != values["batch_id"])) is None:
            events.append(summary | {"times": counts[name]})
        else:
            _count(earlier, counts[name])
    _insert(project, common, events, waiting)


def add_history(project: Owned, rows: Sequence[dict[str, Any]]) -> None:
    """Add an archive's changes to the history, with their ids, times and batches."""
    if not rows:
        return
    parameters = {"count": len(rows), "of_project": project.id, "of_account": project.account_id}
    newest, *_ = _take_numbers(()).one(db.session().connection(), parameters) or (0,)
    values = {"account_id": project.account_id, "project_id": project.id, "type": "", "times": 0}
    values |= {"actor_kind": str(ActorKind.SYSTEM), "details": {}}
    first = newest - len(rows) + 1
    numbered = [values | row | {"number": first + at} for at, row in enumerate(rows)]
    db.session.connection().execute(insert(Event), numbered)


def _begin(place: Owned | Place, actor: Actor | None) -> dict[str, Any]:
    """Lock the record; return the values common to all new rows."""
    network = current_network() if actor is None else None
    actor = actor or current_actor()
    db.session.flush()
    connection = db.session().connection()
    if connection.dialect.name == "postgresql":
        # With one writer at a time, as on SQLite, ids increase in the order of commits, so readers
        # who continue from an id miss nothing. The project is locked first, since a process that
        # has locked it may wait for the record.
        if place.id and not isinstance(place, LockedProject):
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
    """Write rows with their `common` values, and the `waiting` columns of the project.

    They get the project's next numbers, and ids greater than any in the record even if a clock was
    set back.
    """
    connection = db.session().connection()
    reserved = None
    if isinstance(place, LockedProject):
        is_alone = connection.dialect.name == "sqlite"
        newest = (place.newest, place.entry) if is_alone else _find_last(place.account_id, place.id)
        reserved = place.number, *newest
    elif place.id:
        ids = {"count": len(rows), "of_project": place.id, "of_account": place.account_id}
        reserved = _take_numbers(tuple(waiting)).one(connection, ids | waiting)
    number, last, entry = reserved or (None, *_find_last(place.account_id))
    first, start = _follow(last), number - len(rows) + 1 if number else None
    defaults = dict.fromkeys(_OPTIONAL) | {"times": 1, "is_by_mail": False, "details": {}}
    defaults |= {"created_at": clock.now()} | common
    numbered = [
        defaults | row | {"id": f"{first + at:024x}", "number": start + at if start else None}
        for at, row in enumerate(rows)
    ]
    chain(entry, numbered)
    if len(numbered) == 1:
        insert_values(db.session(), Event, numbered[0])
    else:
        connection.execute(insert(Event), numbered)


def _take_waiting(place: Owned | Place) -> dict[str, Any]:
    """Take the changed columns of a project out of the session, so that no flush writes them.

    `_insert` writes them with the number: almost every event changes the feed version or the time
    of the newest testimonial, and a flush would need one more statement and four times as long.
    """
    state: Any = inspect(place, raiseerr=False)
    if state is None or not state.persistent:
        return {}
    note_changes(state)
    waiting = {f"new_{name}": state.dict[name] for name in state.committed_state}
    # As after a flush: the columns count as written, and a rollback expires them.
    session = db.session()
    state._commit_all(state.dict, session.identity_map)
    session._register_altered([state])
    return waiting


@cache
def _take_numbers(parameters: Sequence[str]) -> Prepared:
    """Return the UPDATE that reserves a project's next numbers and sets the given columns."""
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
    find = _prepare_find_last(account_id is None)
    return find.one(db.session().connection(), {"of_account": account_id, "of_project": project_id})


@cache
def _prepare_find_last(is_of_operator: bool) -> Prepared:
    account: Any = None if is_of_operator else bindparam("of_account")
    return Prepared(select(*_select_last(Event.account_id == account)))


def _select_last(is_of_account: Any) -> tuple[Any, Any]:
    newest = select(func.max(Event.id)).where(is_of_account).scalar_subquery()
    return newest, find_newest_entry(bindparam("of_project")).scalar_subquery()


def _follow(last: str | None) -> int:
    return max(int(new_identifier(), 16), int(last or "0", 16) + 1)


def _count(event: Event, times: int, *, is_told: bool = True) -> None:
    """Raise an event's count, and give it a new id, so that readers with a cursor see it."""
    event.times += times
    if is_told:
        event.id = f"{_follow(_find_last(event.account_id)[0]):024x}"
    db.session.flush()


def _find_summary(values: dict[str, Any], is_later_part: bool) -> Event | None:
    """Return the event of a batch's earlier parts, or an equal one of the last hour."""
    if EventType.known[values["type"]].is_counted:
        return _find_same(values)[0]
    if not is_later_part:
        return None
    same = {"batch_id": values["batch_id"], "type": values["type"], "testimonial_id": None}
    return db.session.scalars(select(Event).filter_by(**same)).one_or_none()


def _find_same(values: dict[str, Any]) -> tuple[Event | None, str | None]:
    """Return an equal event of the last hour, and the network to count it under."""
    since, network = clock.now() - COUNTED_WITHIN, values["network"]
    recent = db.session.scalars(
        select(Event)
        .filter_by(**{name: values[name] for name in _SAME})
        .where(Event.id > first_identifier(since), Event.created_at > since, Event.times > 0)
        .order_by(Event.id.desc())
        .limit(MAX_NETWORKS + 1)
    ).all()
    by_network = {each.network: each for each in reversed(recent)}
    if len(recent) >= MAX_NETWORKS and network not in by_network:
        network = None
    return by_network.get(network), network
