"""Schemas of events, webhook endpoints and deliveries."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validates_schema

from testimonials.core.audit import ActorKind
from testimonials.core.http.answers import PageLimit
from testimonials.core.http.fields import (
    Choice,
    Identifier,
    List,
    Number,
    RuleField,
    StrictSchema,
    String,
    Switch,
    Time,
    WebUrl,
    WholeSchema,
)
from testimonials.integrations.webhooks.models import EVENT, STATES, TEMPLATES
from testimonials.integrations.webhooks.payloads import NAMES

URL_LENGTH = 500
# Other forms of ISO 8601 differ between versions of Python.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3,6})?(Z|[+-]\d\d:\d\d)")


class EventNames(RuleField, fields.List):  # type: ignore[type-arg]
    """Names of events without duplicates; empty for all."""

    rule = f"Must be a list of types of events, or [] for all: {', '.join(NAMES)}."
    about: ClassVar[Mapping[str, Any]] = {
        "description": "The types of events to send; [] for all.",
        "items": {"type": "string", "enum": list(NAMES)},
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(cls_or_instance=fields.String(), **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not all(name in NAMES for name in value):
            raise self.make_error("invalid")
        return list(dict.fromkeys(value))


class Since(RuleField, fields.DateTime):
    """An ISO 8601 time with an offset."""

    rule = "Must be a time such as 2026-03-12T10:00:00Z."

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            if _TIME.fullmatch(value):
                return datetime.fromisoformat(value).astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            pass
        raise self.make_error("invalid")


class ActorSchema(WholeSchema):
    """Who did it."""

    kind = Choice(*ActorKind)
    name = String(description="Their name, as activity shows it.")


class EventSchema(Schema):
    """An event, about one testimonial or `count` of them."""

    id = String(required=True)
    type = Choice(*NAMES, required=True)
    projectId = String(required=True)
    testimonialId = String()
    reason = String(description="Why the testimonial was set aside.")
    count = Number()
    actor = fields.Nested(ActorSchema, required=True)
    createdAt = Time(required=True)


class EventQuerySchema(StrictSchema):
    after = Identifier(load_default="", description="The `id` of the last event you have read.")
    projectId = Identifier(load_default="", description="Only events of this project.")
    type = Choice(*NAMES, load_default="", description="Only events of this type.")
    limit = PageLimit()


class WebhookCreateSchema(StrictSchema):
    """The body of POST webhooks."""

    url = WebUrl(URL_LENGTH, required=True, description="An https:// address on the internet.")
    events = EventNames(load_default=list)
    template = Choice(
        *TEMPLATES,
        load_default=EVENT,
        description="`event`: it gets each event, signed. `build`: it is a host's build hook.",
    )


class WebhookUpdateSchema(StrictSchema):
    """The body of PATCH webhooks; only the fields that are sent change."""

    url = WebUrl(URL_LENGTH, description="An https:// address on the internet.")
    events = EventNames()
    active = Switch(
        attribute="is_active",
        description="false: nothing is sent. true: new events are sent from now on.",
    )


class WebhookSchema(WholeSchema):
    """A webhook endpoint."""

    _id = String(attribute="id")
    projectId = String(attribute="project_id")
    url = String()
    events = List(String())
    template = Choice(*TEMPLATES)
    active = fields.Boolean(attribute="is_active")
    state = Choice(
        *STATES,
        description="`paused`: whoever added it is no longer an admin. Nothing is sent until it is "
        "kept (`POST .../rotate`) or removed.",
    )
    failingSince = Time(
        attribute="failing_since",
        allow_none=True,
        description="Since when every attempt has failed; null while deliveries succeed.",
    )
    switchedOffBecause = String(attribute="switched_off_because", allow_none=True)
    createdBy = String(attribute="created_by")
    createdAt = Time(attribute="created_at")
    updatedAt = Time(attribute="updated_at")


class NewWebhookSchema(WebhookSchema):
    """A webhook endpoint with its secret, which is shown only once."""

    secret = String(
        attribute="shown_secret",
        allow_none=True,
        description="Verifies deliveries; null for a build hook.",
    )


class AttemptSchema(WholeSchema):
    """One attempt of a delivery, and its outcome."""

    at = String(metadata={"format": "date-time"})
    ms = Number(description="How long it took.")
    status = Number(allow_none=True)
    error = String(allow_none=True, description="Why there was no response.")
    answer = String(description="The first 1,024 bytes of the response.")


class DeliverySchema(WholeSchema):
    """A message to an endpoint."""

    _id = String(attribute="id")
    webhookId = String(attribute="endpoint_id")
    messageId = String(attribute="message_id", description="The header `webhook-id`.")
    eventId = String(attribute="event_id")
    type = String(attribute="event_type")
    testimonialId = String(attribute="subject", allow_none=True)
    state = Choice("due", "sent", "failed")
    tries = Number()
    nextTryAt = Time(attribute="due_at", allow_none=True)
    request = fields.Dict(allow_none=True, metadata={"description": "What was last sent."})
    attempts = List(fields.Nested(AttemptSchema))
    createdAt = Time(attribute="created_at")


class RedeliverSchema(StrictSchema):
    """The body of POST redeliver: one of the two."""

    deliveryId = Identifier(attribute="delivery_id", description="The `_id` of one delivery.")
    since = Since(description="All events since this time.")

    @validates_schema
    def _require_one(self, data: dict[str, Any], **_: Any) -> None:
        if len(data) != 1:
            raise ValidationError("Send either deliveryId or since.", "since")


class RedeliveredSchema(WholeSchema):
    """How many events are sent again."""

    count = Number()
