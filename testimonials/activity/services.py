"""Reading the record, and removing what is old."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, update

from testimonials.activity.event_types import EventType
from testimonials.activity.models import Event
from testimonials.core.data.identifiers import first_identifier
from testimonials.extensions import db

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
    return [type for type in EventType if text in (type, type.partition(".")[0])]


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
