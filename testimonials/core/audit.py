"""The record of events: their types, who acts and from where, writing, reading and cleaning it."""

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol

import click
from flask import g, has_request_context, request
from sqlalchemy import JSON, ForeignKey, Index, String, delete, func, insert, select, text, update
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core import clock
from testimonials.core.db.engine import Base, Timestamp, present
from testimonials.core.db.identifiers import first_identifier, new_identifier, whole_of
from testimonials.core.extensions import db

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

    known: ClassVar[dict[str, "EventType"]] = {}
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
    if not has_request_context():
        return None
    try:
        address = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    bits = 24 if address.version == 4 else 48
    return str(ipaddress.ip_network((address, bits), strict=False))


# Events.

_HAS_NETWORK = text("network IS NOT NULL")


class Event(Base):
    """One thing that happened, written in the transaction in which it happened.

    Within an account a later commit has a greater id, so an id serves as a cursor.
    """

    __tablename__ = "event"
    __table_args__ = (
        Index("ix_event_account_id_id", "account_id", "id"),
        Index("ix_event_project_id_id", "project_id", "id"),
        # For the sweep, which looks for old events with a network each minute.
        Index(
            "ix_event_with_network",
            "id",
            sqlite_where=_HAS_NETWORK,
            postgresql_where=_HAS_NETWORK,
        ),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    # The account whose record it is in. None: only in the operator's, as an account's deletion.
    account_id: Mapped[str | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"))
    # No foreign key: the event of a project's deletion outlives the project.
    project_id: Mapped[str | None]
    type: Mapped[str] = mapped_column(String(60))
    # Who did it (`Actor`): never an address, so that nothing is left of a person who leaves.
    actor_kind: Mapped[str] = mapped_column(String(20))
    actor_name: Mapped[str | None]
    # A /24 or /48, never the full address; None again after NETWORK_DAYS.
    network: Mapped[str | None]
    # How often it happened: repeats within an hour are one event.
    times: Mapped[int] = mapped_column(default=1)
    # Names, addresses and numbers; never a secret or the words of a testimonial.
    details: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)


# Recording events: a door records what happened right before it commits.

COUNTED_WITHIN = timedelta(hours=1)
# After this many networks within the hour, the same events are counted without a network.
MOST_NETWORKS = 20
# Then there is another event, so that none grows for ever.
MOST_BATCHES = 100
# Any number, the same in every process.
LOCK = 7_264_552


class Owned(Protocol):
    """A project: its id, and the account that it belongs to."""

    id: Any
    account_id: Any


class Place(NamedTuple):
    """Where something happened that may concern one project or all of an account."""

    account_id: str | None
    id: str | None


def record(
    type: EventType,
    subject: Owned | Place | str | None,
    actor: Actor | None = None,
    /,
    **details: Any,
) -> None:
    """Record what happened to a project, or to an account of which this is the id.

    None is the operator's record. The details are JSON values, none of them a secret or the words
    of a testimonial. Who acts is the caller unless there is an `actor`, who has no network. The
    caller commits soon.

    Flushes the session first, because nothing else may be locked after the record.
    """
    place = Place(subject, None) if subject is None or isinstance(subject, str) else subject
    account_id, network = place.account_id, current_network() if actor is None else None
    actor = actor or current_actor()
    db.session.flush()
    if db.engine.dialect.name == "postgresql":
        # One writer of a record at a time, as SQLite has anyway: its ids rise in the order of
        # commits, so nothing is missed by reading on from one.
        lock = func.pg_advisory_xact_lock(LOCK, func.hashtext(account_id or ""))
        db.session.execute(select(lock))
    values: dict[str, Any] = {
        "account_id": account_id,
        "project_id": place.id,
        "type": str(type),
        "actor_kind": str(actor.kind),
        "actor_name": actor.name,
    }
    earlier, batch = None, details.get("batch", "")
    if type.is_counted:
        earlier, network = _find_same(values, network)
    elif batch != whole_of(batch):
        earlier = _find_begun(values, whole_of(batch))
    if earlier is not None and len(earlier.details.get("batches", ())) < MOST_BATCHES:
        earlier.times += 1
        if not type.is_guess:
            _tell_again(earlier, details)
        db.session.flush()
        return
    values |= {"id": _next_id(account_id), "network": network, "details": details}
    # Straight on the connection, which takes half the time: adding a testimonial waits for it.
    db.session.connection().execute(insert(Event), values)


def _tell_again(event: Event, details: dict[str, Any]) -> None:
    """Give an event that happened again the newest id, so that who reads on from one sees it.

    Of several batches, `batches` has each under the id that the event had with it.
    """
    last, event.id = event.id, _next_id(event.account_id)
    if "batch" in details:
        known = dict(event.details)
        batches = known.pop("batches", None) or {last: known.pop("batch")}
        event.details = {
            **known,
            **{name: value for name, value in details.items() if name != "batch"},
            "count": known["count"] + details["count"],
            "batches": batches | {event.id: details["batch"]},
        }


def _next_id(account_id: str | None) -> str:
    """Return an id greater than all in the record, even if a clock was set back."""
    newest = select(func.max(Event.id)).where(Event.account_id == account_id)
    last = db.session.connection().execute(newest).scalar()
    return max(new_identifier(), f"{int(last or '0', 16) + 1:024x}")


def _find_begun(values: dict[str, Any], batch: str) -> Event | None:
    """Return the event of the earlier parts of a batch."""
    recent = db.session.scalars(
        select(Event).filter_by(**values).where(Event.id > batch).order_by(Event.id.desc())
    )
    for event in recent.yield_per(MOST_NETWORKS):
        told = event.details.get("batches") or {event.id: event.details.get("batch", "")}
        if any(whole_of(each) == batch for each in told.values()):
            return event
    return None


def _find_same(values: dict[str, Any], network: str | None) -> tuple[Event | None, str | None]:
    """Return the last hour's event with these values, and the network to count it under."""
    since = clock.now() - COUNTED_WITHIN
    recent = db.session.scalars(
        select(Event)
        .filter_by(**values)
        .where(Event.id > first_identifier(since), Event.created_at > since)
        .order_by(Event.id.desc())
        .limit(MOST_NETWORKS + 1)
    ).all()
    by_network = {each.network: each for each in reversed(recent)}
    if len(recent) >= MOST_NETWORKS and network not in by_network:
        network = None
    return by_network.get(network), network


# Reading the record, and removing what is old.

ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class EventFilter:
    account_id: str | None = None
    types: Sequence[EventType] = ()
    actor_kinds: Sequence[str] = ()
    actor_name: str = ""
    # Only events older than this one.
    before: str = ""
    since: datetime | None = None
    project_id: str = ""


def list_events(wanted: EventFilter, limit: int | None = None) -> Iterator[Event]:
    """Yield events, newest first, reading them as they are asked for."""
    query = select(Event).order_by(Event.id.desc()).limit(limit)
    for name in ("account_id", "project_id", "actor_name"):
        if value := getattr(wanted, name):
            query = query.where(getattr(Event, name) == value)
    if wanted.actor_kinds:
        query = query.where(Event.actor_kind.in_(wanted.actor_kinds))
    if wanted.types:
        query = query.where(Event.type.in_(wanted.types))
    if wanted.before:
        query = query.where(Event.id < wanted.before)
    if wanted.since:
        query = query.where(Event.id >= first_identifier(wanted.since))
    yield from db.session.scalars(query.execution_options(yield_per=ROWS_AT_ONCE))


def find_types(text: str) -> list[EventType]:
    """Return the types that `text` names: one, or all of a subject."""
    return [type for type in EventType.known.values() if text in (type, type.partition(".")[0])]


def forget_networks(before: datetime, limit: int) -> int:
    """Remove the network of at most `limit` events older than a time; return how many."""
    old = Event.id < first_identifier(before)
    some = select(Event.id).where(old, Event.network.is_not(None)).limit(limit)
    statement = update(Event).where(Event.id.in_(some)).values(network=None).returning(Event.id)
    return len(db.session.scalars(statement).all())


def delete_old_events(before: datetime, limit: int) -> int:
    """Delete at most `limit` events older than a time; return how many."""
    some = select(Event.id).where(Event.id < first_identifier(before)).limit(limit)
    statement = delete(Event).where(Event.id.in_(some)).returning(Event.id)
    return len(db.session.scalars(statement).all())
