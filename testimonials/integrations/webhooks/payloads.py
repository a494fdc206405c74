"""What receivers are told of an event, and one delivery on the wire (Standard Webhooks 1.0.0)."""

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
from testimonials.core.http.answers import dump_json
from testimonials.core.http_client import AddressRefused, Answer, Check, UrlRefused, ask
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
    stored = ((type, type.webhook) for type in EventType.known.whole().values() if type.webhook)
    events = db.session.scalars(
        select(Event)
        .where(
            whose,
            Event.id > query["after"],
            Event.type.in_([type for type, name in stored if not names or name in names]),
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


SECRET_PREFIX = "whsec_"  # noqa: S105 - only the beginning
SECRET_BYTES = 32
SECONDS = 15.0
MOST_READ = 64 * 1024
# How much of an answer the log keeps.
SHOWN = 1024
# The same for an address that isn't public and a name that nobody has: an endpoint is no way to
# learn what is inside.
NOWHERE = "The host has no public address."


@dataclass(frozen=True)
class Message:
    """What leaves for an endpoint; `secrets` are those that sign it, none for a build hook."""

    url: str
    id: str
    body: bytes
    secrets: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """What came of one try: the status of an answer, or an error in a sentence."""

    at: datetime
    ms: int
    status: int | None = None
    error: str | None = None
    answer: str = ""
    # The seconds after which the receiver wants to be asked again.
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
    """Return one signature as the header has it."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def send(message: Message, is_allowed: Check, seconds: float = SECONDS) -> Outcome:
    """Send a message once, and return what came of it; takes no connection of the database."""
    at, begun = clock.now(), time.monotonic()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"testimonials/{__version__}",
        "Connection": "close",
    }
    if message.secrets:
        signatures = (sign(each, message.id, timestamp, message.body) for each in message.secrets)
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
            MOST_READ,
            is_allowed,
            method="POST",
            headers=headers,
            body=message.body,
        )
    except (AddressRefused, UrlRefused, OSError) as fault:
        error = describe_fault(fault)
    ms = int((time.monotonic() - begun) * 1000)
    if answer is None:
        return Outcome(at, ms, error=error)
    text = answer.content[:SHOWN].decode("utf-8", "replace").replace("\0", "\ufffd")
    return Outcome(at, ms, answer.status, answer=text, retry_after=read_retry_after(answer))


def describe_fault(fault: Exception) -> str:
    """Return why no answer came, as a sentence for the log."""
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
    given = answer.headers.get("Retry-After", "") if answer.status in (429, 503) else ""
    if given.isascii() and given.isdigit():
        return float(given[:9])
    with suppress(*FAULTS):
        wanted = email.utils.parsedate_to_datetime(given)
        return max(0.0, (wanted - clock.now()).total_seconds())
    return 0.0
