"""Shapes of a project's own host name in the API."""

from marshmallow import Schema, fields

from testimonials.core.web.fields import StrictSchema, Text, Time
from testimonials.domains.describe import STATES, describe_state
from testimonials.domains.names import LONGEST


class DomainUpdateSchema(StrictSchema):
    host = Text(
        LONGEST,
        one_line=True,
        required=True,
        metadata={"description": "Such as `reviews.example.com`."},
    )


class DomainRecordSchema(Schema):
    """A record that the name's zone needs."""

    type = fields.String(required=True)
    name = fields.String(required=True)
    value = fields.String(required=True)


class DomainSchema(Schema):
    """A project's own host name, what the DNS needs, and what was found there last."""

    host = fields.String(required=True)
    state = fields.Function(
        describe_state,
        required=True,
        metadata={
            "type": "string",
            "enum": list(STATES),
            "description": "`waiting` for the TXT record, `verified` but not answering yet, or "
            "`serving`: links to the public pages use it.",
        },
    )
    records = fields.List(
        fields.Nested(DomainRecordSchema),
        required=True,
        metadata={"description": "The TXT record says whose it is, the CNAME leads here."},
    )
    points_to = fields.List(
        fields.String(),
        data_key="pointsTo",
        required=True,
        metadata={"description": "Where it led to when it was looked up last."},
    )
    problem = fields.String(
        required=True, metadata={"description": "Why it doesn’t answer; empty if it does."}
    )
    verified_at = Time(data_key="verifiedAt", required=True, allow_none=True)
    serving_since = Time(data_key="servingSince", required=True, allow_none=True)
    checked_at = Time(data_key="checkedAt", required=True, allow_none=True)
    next_check_at = Time(data_key="nextCheckAt", required=True)
    created_at = Time(data_key="createdAt", required=True)
