"""The rules of the record: adding to it, reading it, and forgetting what is old."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from testimonials.activity.actors import Actor
from testimonials.activity.event_types import COUNTED, EventType
from testimonials.activity.models import Event
from testimonials.core import clock
from testimonials.core.data.identifiers import first_identifier, new_identifier
from testimonials.extensions import db

NETWORK_KEPT = timedelta(days=90)
ROWS_AT_ONCE = 500
COUNTED_WITHIN = timedelta(hours=1)
# From more networks than this within the hour, the same events are counted as one from anywhere.
MOST_NETWORKS = 20
# Any number, the same in every process.
LOCK = 7_264_552
# Built once: every write of the API has them.
_ADD = insert(Event)
_LAST = select(func.max(Event.id)).where(Event.account_id == bindparam("account_id"))
_LAST_OF_NONE = select(func.max(Event.id)).where(Event.account_id.is_(None))


def add_event(
    type: EventType,
    account_id: str | None,
    project_id: str | None,
    actor: Actor,
    network: str | None,
    details: dict[str, Any],
) -> None:
    """Add an event to the account's record, or to the operator's; the caller commits, and soon.

    What the session holds is flushed before: nothing else may be locked once the record is.
    """
    db.session.flush()
    _lock_record(account_id)
    values = {
        "id": _next_id(account_id),
        "account_id": account_id,
        "project_id": project_id,
        "type": str(type),
        "actor_kind": str(actor.kind),
        "actor_name": actor.name,
        "network": network,
        "details": details,
    }
    if type not in COUNTED:
        # On the connection itself, which takes half the time: agents add testimonials by this.
        db.session.connection().execute(_ADD, values)
        return
    event = Event(**values)
    if (earlier := _find_same(event)) is not None:
        earlier.times += 1
        if "count" in details:
            total = earlier.details["count"] + details["count"]
            earlier.details = earlier.details | {"count": total}
    else:
        db.session.add(event)
    db.session.flush()


def _lock_record(account_id: str | None) -> None:
    """Let in one writer of a record at a time, so that its ids rise in the order of commits.

    SQLite has one writer anyway.
    """
    if db.engine.dialect.name == "postgresql":
        db.session.execute(
            select(func.pg_advisory_xact_lock(LOCK, func.hashtext(account_id or "")))
        )


def _next_id(account_id: str | None) -> str:
    """Return an id after all of the record, also where a clock was put back."""
    connection = db.session.connection()
    if account_id is None:
        last = connection.execute(_LAST_OF_NONE).scalar()
    else:
        last = connection.execute(_LAST, {"account_id": account_id}).scalar()
    return max(new_identifier(), f"{int(last or '0', 16) + 1:024x}")


def _find_same(event: Event) -> Event | None:
    """Return the event of this hour that `event` is one more of."""
    recent = db.session.scalars(
        select(Event)
        .where(
            Event.account_id == event.account_id,
            Event.id > first_identifier(clock.now() - COUNTED_WITHIN),
            Event.project_id == event.project_id,
            Event.type == event.type,
            Event.actor_kind == event.actor_kind,
            Event.actor_name == event.actor_name,
        )
        .order_by(Event.id.desc())
        .limit(MOST_NETWORKS + 1)
    ).all()
    if len(recent) >= MOST_NETWORKS and event.network not in {each.network for each in recent}:
        event.network = None
    return next((each for each in recent if each.network == event.network), None)


@dataclass(frozen=True)
class EventFilter:
    """Which events to read: of one account, or of all."""

    account_id: str | None = None
    types: Sequence[EventType] = ()
    actor_kind: str = ""
    actor_name: str = ""
    # Only those older than this event.
    before: str = ""
    since: datetime | None = None


def list_events(wanted: EventFilter, limit: int | None = None) -> Iterator[Event]:
    """Yield events, newest first, as they are asked for."""
    conditions = [
        Event.account_id == wanted.account_id if wanted.account_id else None,
        Event.type.in_(wanted.types) if wanted.types else None,
        Event.actor_kind == wanted.actor_kind if wanted.actor_kind else None,
        Event.actor_name == wanted.actor_name if wanted.actor_name else None,
        Event.id < wanted.before if wanted.before else None,
        Event.id >= first_identifier(wanted.since) if wanted.since else None,
    ]
    query = select(Event).where(*(each for each in conditions if each is not None))
    query = query.order_by(Event.id.desc()).limit(limit)
    yield from db.session.scalars(query.execution_options(yield_per=ROWS_AT_ONCE))


def find_types(text: str) -> list[EventType]:
    """Return the types that `text` names: one, or all with it as their first word."""
    return [type for type in EventType if text in (type, type.partition(".")[0])]


def forget_networks(limit: int) -> int:
    """Remove where old events came from, of no more than `limit`; return of how many."""
    old = Event.id < first_identifier(clock.now() - NETWORK_KEPT)
    some = select(Event.id).where(old, Event.network.is_not(None)).limit(limit)
    statement = update(Event).where(Event.id.in_(some)).values(network=None).returning(Event.id)
    return len(db.session.scalars(statement).all())


def delete_old_events(before: datetime, limit: int) -> int:
    """Remove what happened before a time, no more than `limit`; return how much."""
    some = select(Event.id).where(Event.id < first_identifier(before)).limit(limit)
    statement = delete(Event).where(Event.id.in_(some)).returning(Event.id)
    return len(db.session.scalars(statement).all())
