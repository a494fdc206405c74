"""Payloads of webhooks, and sending one (Standard Webhooks 1.0.0)."""

import base64
import email.utils
import hashlib
import hmac
import secrets
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials import __version__
from testimonials.auth.tokens import Caller, find_token_names
from testimonials.collection.events import REQUEST_ANSWERED
from testimonials.core import clock
from testimonials.core.audit import IS_TOLD, ActorKind, Event, EventType
from testimonials.core.clock import iso
from testimonials.core.db.identifiers import find_time
from testimonials.core.event_lists import Names, is_kept, name_actor, token_key
from testimonials.core.extensions import db
from testimonials.core.faults import FAULTS
from testimonials.core.http.answers import Page, dump_json
from testimonials.core.http_client import AddressRefused, Answer, Check, UrlRefused, ask
from testimonials.integrations.webhooks.models import BUILD, Due, WebhookDelivery
from testimonials.projects.api import ProposalSchema
from testimonials.projects.events import PROJECT_UPDATED, PROPOSAL_DECIDED
from testimonials.projects.models import Project, Proposal
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
MAX_BODY_BYTES = 20_000

_TESTIMONIAL, _PROJECT, _PROPOSAL = VisibleTestimonialSchema(), ProjectSchema(), ProposalSchema()


def write_messages(due: Sequence[Due]) -> list["Message"]:
    """Return the messages of deliveries, with the current data; store their bodies for the log."""
    ids = {row.subject for row, _, _ in due if row.subject}
    query = select(Testimonial).where(Testimonial.id.in_(ids))
    query = query.options(selectinload(Testimonial.tag_rows))
    testimonials = {row.id: row for row in db.session.scalars(query)} if ids else {}
    messages = []
    for row, endpoint, project in due:
        is_build = endpoint.template == BUILD
        body = b"{}" if is_build else _write_body(row, project, testimonials)
        row.body = body.decode()
        messages.append(Message(endpoint.url, row.message_id, body, endpoint.signing_secrets))
    return messages


def _write_body(
    delivery: WebhookDelivery, project: Project, testimonials: dict[str, Testimonial]
) -> bytes:
    if delivery.event_type.startswith("testimonial."):
        short = {"_id": delivery.subject, "projectId": project.id}
        row = testimonials.get(delivery.subject or "")
        data = short if row is None else _describe(row, short)
    elif delivery.event_type == PROJECT_UPDATED:
        data, short = _PROJECT.dump(project), {"_id": project.id}
    else:
        data, short = _describe_other(delivery, project.id)
    envelope = {"type": delivery.event_type, "timestamp": iso(find_time(delivery.event_id))}
    body = dump_json(envelope | {"data": data})
    return body if len(body) < MAX_BODY_BYTES else dump_json(envelope | {"data": short})


def _describe(row: Testimonial, short: dict[str, Any]) -> dict[str, Any]:
    """Return a testimonial without words that its author or the owner has withdrawn."""
    if row.deleted_at is not None:
        return short
    aside = {"setAside": row.set_aside} if row.set_aside else {}
    if row.status == "withdrawn":
        return short | {"status": row.status} | aside
    values: dict[str, Any] = _TESTIMONIAL.dump(row)
    return values | aside


def _describe_other(
    delivery: WebhookDelivery, project_id: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the data and its short form for events of requests and proposals, and for tests."""
    data: dict[str, Any] = {"projectId": project_id}
    if delivery.event_type == TEST:
        data |= {"message": "This is a test."}
        return data, data
    # A delivery that is sent again may be older than the events that are kept.
    event = db.session.get(Event, delivery.event_id)
    details = event.details if event else {}
    if delivery.event_type == ANSWERED:
        data |= {"testimonialId": delivery.subject}
        data |= {"requestId": details["request"]} if details else {}
        return data, data
    data |= {"_id": details.get("proposal")}
    proposal = db.session.get(Proposal, details["proposal"]) if details else None
    return (_PROPOSAL.dump(proposal) if proposal else data), data


# Events as the API lists them.

TEAM = "The owner or a colleague"


def list_caller_events(caller: Caller, query: dict[str, Any]) -> Page:
    """Return a page of the events that the caller may read."""
    project_id = query["projectId"] or caller.project_id
    types = [
        type
        for type in EventType.known.whole().values()
        if type.webhook and query["type"] in ("", type.webhook)
    ]
    events = db.session.scalars(
        select(Event)
        .where(
            Event.project_id == project_id if project_id else Event.account_id == caller.id,
            Event.id > query["after"],
            Event.type.in_(types),
            IS_TOLD,
            is_kept(),
        )
        .order_by(Event.id)
        .limit(query["limit"] + 1)
    ).all()
    page = events[: query["limit"]]
    cursor = page[-1].id if len(events) > len(page) else None
    names = {token_key(id): name for id, name in find_token_names(caller.id).items()}
    return Page([_describe_event(event, names) for event in page], cursor)


def _describe_event(event: Event, names: Names) -> dict[str, Any]:
    """Return what `EventSchema` dumps."""
    # Tokens don't learn which person it was.
    is_person = event.actor_kind == ActorKind.PERSON
    described: dict[str, Any] = {
        "id": event.id,
        "type": EventType.known[event.type].webhook,
        "projectId": event.project_id,
        "actor": {
            "kind": event.actor_kind,
            "name": TEAM if is_person else name_actor(event, names),
        },
        # `created_at` is that of the first repetition, the id that of the last.
        "createdAt": find_time(event.id),
    }
    if event.testimonial_id:
        described["testimonialId"] = event.testimonial_id
    if event.reason:
        described["reason"] = event.reason
    if event.is_of_many:
        described["count"] = event.times
    return described


SECRET_PREFIX = "whsec_"  # noqa: S105 - only the beginning
SECRET_BYTES = 32
SECONDS = 15.0
MAX_RESPONSE_BYTES = 64 * 1024
# How much of a response the log keeps.
LOGGED_BYTES = 1024
# The same for private addresses and unknown names, so that endpoints can't explore the network.
NOWHERE = "The host has no public address."


@dataclass(frozen=True)
class Message:
    """A request to an endpoint, signed with each of `secrets`; none for a build hook."""

    url: str
    id: str
    body: bytes
    secrets: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attempt: the status of the response, or an error in a sentence."""

    at: datetime
    ms: int
    status: int | None = None
    error: str | None = None
    answer: str = ""
    # In seconds.
    retry_after: float = 0

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def problem(self) -> str:
        return self.error or f"Its server answered {self.status}."


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return one signature of the header."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def send(message: Message, is_allowed: Check, seconds: float = SECONDS) -> Outcome:
    """Send a message once, without a database connection, and return the outcome."""
    at, start = clock.now(), time.monotonic()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"testimonials/{__version__}",
        "Connection": "close",
    }
    if message.secrets:
        signatures = (
            sign(secret, message.id, timestamp, message.body) for secret in message.secrets
        )
        headers |= {
            "webhook-id": message.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join(signatures),
        }
    answer, error = None, None
    try:
        answer = ask(
            message.url,
            seconds,
            MAX_RESPONSE_BYTES,
            is_allowed,
            method="POST",
            headers=headers,
            body=message.body,
        )
    except (AddressRefused, UrlRefused, OSError) as fault:
        error = describe_fault(fault)
    ms = int((time.monotonic() - start) * 1000)
    if answer is None:
        return Outcome(at, ms, error=error)
    text = answer.content[:LOGGED_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd")
    return Outcome(at, ms, answer.status, answer=text, retry_after=read_retry_after(answer))


def describe_fault(fault: Exception) -> str:
    """Return why there was no response, as a sentence for the log."""
    if isinstance(fault, AddressRefused | UrlRefused | socket.gaierror):
        return NOWHERE
    if isinstance(fault, TimeoutError):
        return f"No complete answer came within {SECONDS:g} seconds."
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"Its certificate is not valid: {fault.verify_message}."
    if isinstance(fault, ConnectionRefusedError):
        return "It refused the connection."
    return f"The connection failed ({type(fault).__name__})."


def read_retry_after(answer: Answer) -> float:
    """Return the seconds that a 429 or 503 asks for, or 0."""
    value = answer.headers.get("Retry-After", "") if answer.status in (429, 503) else ""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    with suppress(*FAULTS):
        at = email.utils.parsedate_to_datetime(value)
        return max(0.0, (at - clock.now()).total_seconds())
    return 0.0
