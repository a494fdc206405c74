"""Recording events: a door records what happened right before it commits."""

from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import func, insert, select

from testimonials.activity.actors import Actor, current_actor, current_network
from testimonials.activity.event_types import COUNTED, GUESSES, EventType
from testimonials.activity.models import Event
from testimonials.core import clock
from testimonials.core.data.identifiers import first_identifier, new_identifier, whole_of
from testimonials.extensions import db

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


def record_event(type: EventType, account_id: str | None, **details: Any) -> None:
    """Record what happened to an account.

    The details are JSON values, none of them a secret or the words of a testimonial.
    """
    add_event(type, account_id, None, current_actor(), current_network(), details)


def record_project_event(type: EventType, project: Owned, **details: Any) -> None:
    """Record what happened to a project, in the record of the account that it belongs to."""
    add_event(type, project.account_id, project.id, current_actor(), current_network(), details)


def add_event(
    type: EventType,
    account_id: str | None,
    project_id: str | None,
    actor: Actor,
    network: str | None,
    details: dict[str, Any],
) -> None:
    """Add an event to the record of an account, or of the operator; the caller commits soon.

    Flushes the session first, because nothing else may be locked after the record.
    """
    db.session.flush()
    if db.engine.dialect.name == "postgresql":
        # One writer of a record at a time, as SQLite has anyway: its ids rise in the order of
        # commits, so nothing is missed by reading on from one.
        lock = func.pg_advisory_xact_lock(LOCK, func.hashtext(account_id or ""))
        db.session.execute(select(lock))
    values: dict[str, Any] = {
        "account_id": account_id,
        "project_id": project_id,
        "type": str(type),
        "actor_kind": str(actor.kind),
        "actor_name": actor.name,
    }
    earlier, batch = None, details.get("batch", "")
    if type in COUNTED:
        earlier, network = _find_same(values, network)
    elif batch != whole_of(batch):
        earlier = _find_begun(values, whole_of(batch))
    if earlier is not None and len(earlier.details.get("batches", ())) < MOST_BATCHES:
        earlier.times += 1
        if type not in GUESSES:
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
