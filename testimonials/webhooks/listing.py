"""Events as the API lists them, for who reads the record without webhooks."""

from typing import Any

from sqlalchemy import select

from testimonials.access.callers import Caller
from testimonials.access.tokens import find_token_names
from testimonials.activity.actors import ActorKind
from testimonials.activity.models import Event
from testimonials.activity.sentences import Names, name_actor, token_key
from testimonials.core.clock import iso
from testimonials.extensions import db
from testimonials.webhooks.events import TOLD, find_moment, find_stored

TEAM = "The owner or a colleague"


def list_told(caller: Caller, query: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of the events that the caller reaches, and the cursor of the next."""
    project_id = query["projectId"] or caller.project_id
    whose = Event.project_id == project_id if project_id else Event.account_id == caller.id
    names = [query["type"]] if query["type"] else []
    events = db.session.scalars(
        select(Event)
        .where(whose, Event.id > query["after"], Event.type.in_(find_stored(names)))
        .order_by(Event.id)
        .limit(query["limit"] + 1)
    ).all()
    shown = events[: query["limit"]]
    following = shown[-1].id if len(events) > len(shown) else None
    names_of = find_token_names(caller.id).items()
    tokens = {token_key(token_id): name for token_id, name in names_of}
    return [_describe(event, tokens) for event in shown], following


def _describe(event: Event, names: Names) -> dict[str, Any]:
    details = event.details
    # Who of the team it was is not for whoever holds a token.
    is_person = event.actor_kind == ActorKind.PERSON
    described = {
        "id": event.id,
        "type": TOLD[event.type],
        "projectId": event.project_id,
        "actor": {
            "kind": event.actor_kind,
            "name": TEAM if is_person else name_actor(event, names),
        },
        "createdAt": iso(find_moment(event)),
    }
    if "testimonial" in details:
        described["testimonialId"] = details["testimonial"]
    if "count" in details:
        described["count"] = details["count"]
    return described
