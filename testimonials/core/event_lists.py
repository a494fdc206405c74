"""The record of events as it is read on, listed and cleaned."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Row, select, text, update
from sqlalchemy.orm.attributes import set_committed_value

from testimonials.core import clock
from testimonials.core.audit import (
    IS_ENDED,
    IS_HISTORY,
    IS_SINGLE,
    IS_TOLD,
    ActorKind,
    Event,
    EventType,
)
from testimonials.core.db.identifiers import first_identifier
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.settings.current import current_settings

ROWS_AT_ONCE = 500


def list_events(
    *conditions: ColumnElement[bool], limit: int | None = None, **same: str | None
) -> Iterator[Event]:
    """Yield events, newest first, reading them as they are asked for.

    In `same` are columns and their values, of which empty ones don't count.
    """
    query = select(Event).where(IS_TOLD, is_kept(), *conditions)
    query = query.filter_by(**{name: value for name, value in same.items() if value})
    query = query.order_by(Event.id.desc()).limit(limit)
    yield from db.session.scalars(query.execution_options(yield_per=ROWS_AT_ONCE))


def hide_from_team(event: Event) -> None:
    """Forget, of an event that was read, from where colleagues work, and the owner's key."""
    set_committed_value(event, "network", None)
    if event.actor_kind == ActorKind.AGENT:
        set_committed_value(event, "actor_name", None)


def read_after(project_id: str, after: str, limit: int) -> Sequence[Row[str, str, str | None]]:
    """Return id, type and testimonial of what happened in a project after an event, oldest first.

    A later call with the last id goes on from there and misses nothing (`record`).
    """
    query = select(Event.id, Event.type, Event.testimonial_id).where(
        Event.project_id == project_id, Event.id > after, IS_SINGLE
    )
    return db.session.execute(query.order_by(Event.id).limit(limit)).all()


def is_kept() -> ColumnElement[bool]:
    """Return the condition for what is told still; a testimonial's history stays with it."""
    until = clock.expired_until(current_settings().activity_days)
    return Event.id >= first_identifier(until)


def find_types(text: str) -> list[EventType]:
    return [
        type for type in EventType.known.whole().values() if text in (type, type.partition(".")[0])
    ]


def forget_networks(limit: int) -> int:
    """Remove the network of at most `limit` events older than NETWORK_DAYS; return how many."""
    old = Event.id < first_identifier(clock.expired_until(current_settings().network_days))
    some = select(Event.id).where(old, Event.network.is_not(None)).limit(limit)
    statement = update(Event).where(Event.id.in_(some)).values(network=None).returning(Event.id)
    return len(db.session.scalars(statement).all())


def delete_old_events(limit: int) -> int:
    """Delete at most `limit` events that are told no more (`is_kept`); return how many.

    The history of a testimonial stays with it. Of an event with an entry in the public record only
    that stays, with its project.
    """
    ended = select(Event.id).where(~is_kept(), text(IS_ENDED))
    nothing = {"type": "", "times": 0, "actor_name": None, "details": {}}
    db.session.execute(update(Event).where(Event.id.in_(ended.limit(limit))).values(nothing))
    some = select(Event.id).where(~is_kept(), ~IS_HISTORY, Event.entry.is_(None)).limit(limit)
    return delete_rows(Event, Event.id.in_(some))
