"""Shapes of the API's answers about requests by mail."""

from typing import Any

from marshmallow import Schema, fields, post_dump

from testimonials.collection.requests import STATES
from testimonials.core.http.fields import Choice, Time
from testimonials.core.http.pagination import CursorQuerySchema

REQUIRED = ("_id", "email", "name", "state", "createdAt")


class AskedPersonSchema(Schema):
    """Somebody who was asked for a testimonial by mail, and what came of it."""

    _id = fields.String(attribute="id", required=True)
    email = fields.String(attribute="request.email", required=True)
    name = fields.String(attribute="request.name", required=True)
    company = fields.String(attribute="request.company")
    order = fields.String(
        attribute="request.purchase_reference",
        metadata={"description": "The purchase that the link in the mail proves."},
    )
    state = fields.String(
        required=True,
        metadata={
            "enum": list(STATES),
            "description": "`waiting`: the mail has not left; `printed`: it never will, since this "
            "service has no mail server; `started`: they began to write; `failed`: it was not "
            "delivered.",
        },
    )
    problem = fields.String(metadata={"description": "Why the mail was not delivered."})
    testimonialId = fields.String(
        attribute="request.testimonial_id", metadata={"description": "What they answered."}
    )
    createdAt = Time(attribute="created_at", required=True)
    sentAt = Time(attribute="request.sent_at")
    remindedAt = Time(attribute="request.reminded_at")
    openedAt = Time(attribute="request.opened_at")
    startedAt = Time(attribute="request.started_at")
    answeredAt = Time(attribute="request.answered_at")
    declinedAt = Time(attribute="request.declined_at")
    unsubscribedAt = Time(attribute="unsubscribed_at")

    @post_dump
    def _omit_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {name: each for name, each in data.items() if name in REQUIRED or each is not None}


class AskedQuerySchema(CursorQuerySchema):
    """The query of the list of who was asked."""

    state = Choice(*STATES, load_default=None, allow_none=False, description="Only those in it.")


class LeftOutSchema(Schema):
    """Somebody who was not asked, and why."""

    email = fields.String(required=True)
    reason = fields.String(required=True)


class AskedSchema(Schema):
    """Who is asked by mail."""

    count = fields.Integer(required=True, metadata={"description": "How many people are asked."})
    leftOut = fields.List(
        fields.Nested(LeftOutSchema),
        required=True,
        metadata={"description": "Who is not: asked already, unsubscribed, or listed twice."},
    )
    hasMailServer = fields.Boolean(
        required=True,
        metadata={
            "description": "false: this service has no mail server, so no mail leaves it; its "
            "operator sees the mails in the log."
        },
    )
