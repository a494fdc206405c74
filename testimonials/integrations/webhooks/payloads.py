"""What receivers are told of an event."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials.auth.callers import Caller
from testimonials.auth.tokens import find_token_names
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.core import clock
from testimonials.core.audit import IS_TOLD, ActorKind, Event, EventType
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import find_time
from testimonials.core.event_lists import Names, is_kept, name_actor, token_key
from testimonials.core.extensions import db
from testimonials.core.http.answers import dump_json
from testimonials.integrations.webhooks.models import WebhookDelivery
from testimonials.projects.events import PROJECT_UPDATED, PROPOSAL_DECIDED
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals_api import ProposalSchema
from testimonials.projects.schemas import ProjectSchema
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.schemas import VisibleTestimonialSchema

ANSWERED, DECIDED, TEST = REQUEST_ANSWERED.webhook, PROPOSAL_DECIDED.webhook, "webhook.test"
NAMES = tuple(
    sorted(
        dict.fromkeys(type.webhook for type in EventType.known.values() if type.webhook),
        key=lambda name: name.partition(".")[0],
    )
)
MOST_BYTES = 20_000

_TESTIMONIAL, _PROJECT, _PROPOSAL = VisibleTestimonialSchema(), ProjectSchema(), ProposalSchema()


def find_stored(names: Sequence[str]) -> list[str]:
    """Return the recorded types that webhooks know by one of these names; all for none."""
    stored = ((type, type.webhook) for type in EventType.known.whole().values() if type.webhook)
    return [type for type, name in stored if not names or name in names]


def write_bodies(told: Sequence[WebhookDelivery], project_id: str) -> dict[str, bytes]:
    """Return the bodies of a project's deliveries, by their ids, as they are now."""
    ids = {each.subject for each in told if each.subject}
    rows = select(Testimonial).where(Testimonial.id.in_(ids))
    rows = rows.options(selectinload(Testimonial.tag_rows))
    found = {row.id: row for row in db.session.scalars(rows)} if ids else {}
    project = db.session.get(Project, project_id)
    return {each.id: _write_body(each, project_id, found, project) for each in told}


def _write_body(
    each: WebhookDelivery, project_id: str, found: dict[str, Testimonial], project: Project | None
) -> bytes:
    if each.event_type.startswith("testimonial."):
        short = {"_id": each.subject, "projectId": project_id}
        row = found.get(each.subject or "")
        data = short if row is None else _describe(row, short)
    elif each.event_type == PROJECT_UPDATED:
        short = {"_id": project_id}
        data = short if project is None else _PROJECT.dump(project)
    else:
        data, short = _describe_other(each, project_id)
    for shown in (data, short):
        body = dump_json(
            {
                "type": each.event_type,
                "timestamp": clock.iso(find_time(each.event_id)),
                "data": shown,
            }
        )
        if len(body) < MOST_BYTES:
            break
    return body


def _describe(row: Testimonial, short: dict[str, Any]) -> dict[str, Any]:
    """Return a testimonial, but no words that its author or the owner has taken back."""
    if row.deleted_at is not None:
        return short
    aside = {"setAside": row.set_aside} if row.set_aside else {}
    if row.status == "withdrawn":
        return short | {"status": row.status} | aside
    shown: dict[str, Any] = _TESTIMONIAL.dump(row)
    return shown | aside


def _describe_other(
    each: WebhookDelivery, project_id: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the data of a type that is about neither a testimonial nor the project."""
    data: dict[str, Any] = {"projectId": project_id}
    if each.event_type == TEST:
        data |= {"message": "This is a test."}
        return data, data
    # Redelivered when the record has forgotten it: ids only.
    event = db.session.get(Event, each.event_id)
    details = event.details if event else {}
    if each.event_type == ANSWERED:
        data |= {"testimonialId": each.subject}
        data |= {"requestId": details["request"]} if details else {}
        return data, data
    data |= {"_id": details.get("proposal")}
    proposal = db.session.get(Proposal, details["proposal"]) if details else None
    return (_PROPOSAL.dump(proposal) if proposal else data), data


# Events as the API lists them, for who reads the record without webhooks.

TEAM = "The owner or a colleague"


def list_told(caller: Caller, query: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of the events that the caller reaches, and the cursor of the next."""
    project_id = query["projectId"] or caller.project_id
    whose = Event.project_id == project_id if project_id else Event.account_id == caller.id
    names = [query["type"]] if query["type"] else []
    events = db.session.scalars(
        select(Event)
        .where(
            whose,
            Event.id > query["after"],
            Event.type.in_(find_stored(names)),
            IS_TOLD,
            is_kept(),
        )
        .order_by(Event.id)
        .limit(query["limit"] + 1)
    ).all()
    shown = events[: query["limit"]]
    following = shown[-1].id if len(events) > len(shown) else None
    names_of = find_token_names(caller.id).items()
    tokens = {token_key(token_id): name for token_id, name in names_of}
    return [_describe_event(event, tokens) for event in shown], following


def _describe_event(event: Event, names: Names) -> dict[str, Any]:
    # Who of the team it was is not for whoever holds a token.
    is_person = event.actor_kind == ActorKind.PERSON
    described: dict[str, Any] = {
        "id": event.id,
        "type": EventType.known[event.type].webhook,
        "projectId": event.project_id,
        "actor": {
            "kind": event.actor_kind,
            "name": TEAM if is_person else name_actor(event, names),
        },
        # When it last happened; `created_at` is when an event was first counted.
        "createdAt": iso(find_time(event.id)),
    }
    if event.testimonial_id:
        described["testimonialId"] = event.testimonial_id
    if event.reason:
        described["reason"] = event.reason
    if event.is_of_many:
        described["count"] = event.times
    return described
