"""Shapes of events, webhook endpoints and deliveries in the API."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validates_schema

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.answers import PageLimit
from testimonials.core.http.fields import Choice, RuleField, StrictSchema, Switch, Time, WebUrl
from testimonials.integrations.webhooks.models import EVENT, STATES, TEMPLATES
from testimonials.integrations.webhooks.payloads import NAMES

URL_LENGTH = 500
# Other forms of ISO 8601 differ between versions of Python.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3,6})?(Z|[+-]\d\d:\d\d)")
ACTOR_KINDS = ("person", "agent", "token", "operator", "system", "visitor")


class EventNames(RuleField, fields.List):  # type: ignore[type-arg]
    """Names of events, each once; none for all."""

    rule = f"Must be a list of types of events, or [] for all: {', '.join(NAMES)}."
    about: ClassVar[Mapping[str, Any]] = {
        "description": "The types of events that it is told of; [] for all.",
        "items": {"type": "string", "enum": list(NAMES)},
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(cls_or_instance=fields.String(), **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not all(each in NAMES for each in value):
            raise self.make_error("invalid")
        return list(dict.fromkeys(value))


class EventId(RuleField, fields.String):
    """The id of an event, or the beginning of time."""

    rule = "Must be the `id` of an event."

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not is_identifier(value):
            raise self.make_error("invalid")
        return value


class Since(RuleField, fields.DateTime):
    """A time with its offset, as ISO 8601 has it."""

    rule = "Must be a time such as 2026-03-12T10:00:00Z."

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            if _TIME.fullmatch(value):
                return datetime.fromisoformat(value).astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            pass
        raise self.make_error("invalid")


class ActorSchema(Schema):
    """Who did it."""

    kind = Choice(*ACTOR_KINDS, required=True)
    name = fields.String(
        required=True, metadata={"description": "What people know them by, as activity shows it."}
    )


class EventSchema(Schema):
    """One thing that happened, to one testimonial or to `count` of them at once."""

    id = fields.String(required=True)
    type = Choice(*NAMES, required=True)
    projectId = fields.String(required=True)
    testimonialId = fields.String()
    count = fields.Integer()
    actor = fields.Nested(ActorSchema, required=True)
    createdAt = Time(required=True)


class EventQuerySchema(StrictSchema):
    """The query of the list of events."""

    after = EventId(load_default="", description="The `id` of the last event that you have read.")
    projectId = EventId(load_default="", description="Only events of this project.")
    type = Choice(*NAMES, load_default="", description="Only events of this type.")
    limit = PageLimit()


class WebhookCreateSchema(StrictSchema):
    """The body of POST webhooks."""

    url = WebUrl(URL_LENGTH, required=True, description="An https:// address on the internet.")
    events = EventNames(load_default=list)
    template = Choice(
        *TEMPLATES,
        load_default=EVENT,
        description="`event`: it is sent each event, signed. `build`: it is a host's build hook.",
    )


class WebhookUpdateSchema(StrictSchema):
    """The body of PATCH webhooks; only the fields that are sent change."""

    url = WebUrl(URL_LENGTH, description="An https:// address on the internet.")
    events = EventNames()
    active = Switch(
        attribute="is_active",
        description="false: nothing is sent. true: it hears of what happens from now on.",
    )


class WebhookSchema(Schema):
    """A webhook endpoint."""

    _id = fields.String(attribute="id", required=True)
    projectId = fields.String(attribute="project_id", required=True)
    url = fields.String(required=True)
    events = fields.List(fields.String(), required=True)
    template = Choice(*TEMPLATES, required=True)
    active = fields.Boolean(attribute="is_active", required=True)
    state = Choice(
        *STATES,
        required=True,
        description="`paused`: whoever added it is no admin any more. It hears of nothing "
        "until it is kept (`POST .../rotate`) or removed.",
    )
    failingSince = Time(
        attribute="failing_since",
        allow_none=True,
        required=True,
        metadata={"description": "Since when every try has failed; null while all is well."},
    )
    switchedOffBecause = fields.String(
        attribute="switched_off_because", allow_none=True, required=True
    )
    createdBy = fields.String(attribute="created_by", required=True)
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)


class NewWebhookSchema(WebhookSchema):
    """A webhook endpoint with its secret, which is shown only once."""

    secret = fields.String(
        allow_none=True,
        required=True,
        metadata={"description": "Verifies what it is sent; null for a build hook."},
    )


class AttemptSchema(Schema):
    """One try of a delivery, and what came of it."""

    at = fields.String(required=True, metadata={"format": "date-time"})
    ms = fields.Integer(required=True, metadata={"description": "How long it took."})
    status = fields.Integer(allow_none=True, required=True)
    error = fields.String(
        allow_none=True, required=True, metadata={"description": "Why no answer came."}
    )
    answer = fields.String(
        required=True, metadata={"description": "The first 1,024 bytes of the answer's content."}
    )


class DeliverySchema(Schema):
    """One message to an endpoint."""

    _id = fields.String(attribute="id", required=True)
    webhookId = fields.String(attribute="endpoint_id", required=True)
    messageId = fields.String(
        attribute="message_id",
        required=True,
        metadata={"description": "The header `webhook-id` of each try."},
    )
    eventId = fields.String(attribute="event_id", required=True)
    type = fields.String(attribute="event_type", required=True)
    testimonialId = fields.String(attribute="subject", allow_none=True, required=True)
    state = Choice("due", "sent", "failed", required=True)
    tries = fields.Integer(required=True)
    nextTryAt = Time(attribute="due_at", allow_none=True, required=True)
    request = fields.Dict(
        allow_none=True, required=True, metadata={"description": "What was last sent."}
    )
    attempts = fields.List(fields.Nested(AttemptSchema), required=True)
    createdAt = Time(attribute="created_at", required=True)


class RedeliverSchema(StrictSchema):
    """The body of POST redeliver: one of the two."""

    deliveryId = EventId(attribute="delivery_id", description="The `_id` of one delivery.")
    since = Since(description="Everything that has happened since this time.")

    @validates_schema
    def _require_one(self, data: dict[str, Any], **_: Any) -> None:
        if len(data) != 1:
            raise ValidationError("Send either deliveryId or since.", "since")


class RedeliveredSchema(Schema):
    """How many events are told again."""

    count = fields.Integer(required=True)
