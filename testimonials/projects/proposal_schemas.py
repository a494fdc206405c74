"""Shapes of proposals in the API."""

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields

from testimonials.core.http.fields import Choice, StrictSchema, Time
from testimonials.core.http.pagination import CursorQuerySchema
from testimonials.core.http.urls import project_url
from testimonials.projects.changes import KINDS, PROPOSALS
from testimonials.projects.proposals import STATUSES


class ProposeSchema(StrictSchema):
    """A change for the owner to accept: its kind, and the values that this kind takes."""

    # By kind; the document has them in place of this schema.
    variants = PROPOSALS

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        kind = payload.get("kind")
        if not isinstance(kind, str) or kind not in PROPOSALS:
            raise ValidationError({"kind": [f"Must be one of: {', '.join(KINDS)}."]})
        return PROPOSALS[kind].check(payload)


class ProposalQuerySchema(CursorQuerySchema):
    """The query of the list of proposals."""

    status = Choice(
        *STATUSES, load_default=None, allow_none=False, description="Only those in this state."
    )


class ProposalSchema(Schema):
    """A change that waits for the owner, or what became of it."""

    _id = fields.String(attribute="id", required=True)
    projectId = fields.String(attribute="project_id", required=True)
    kind = fields.String(required=True, metadata={"enum": KINDS})
    targetId = fields.String(attribute="target_id", allow_none=True, required=True)
    values = fields.Dict(required=True)
    reason = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    result = fields.Dict(
        allow_none=True,
        required=True,
        metadata={"description": "What accepting it made, such as `testimonialId`."},
    )
    note = fields.String(
        allow_none=True, required=True, metadata={"description": "The owner’s words to you."}
    )
    createdAt = Time(attribute="created_at", required=True)
    decidedAt = Time(attribute="decided_at", allow_none=True, required=True)
    url = fields.Function(
        lambda proposal: project_url(proposal.project_id, "proposals"),
        metadata={"type": "string", "description": "Where the owner decides."},
    )


class BulkResultSchema(Schema):
    """What became of one testimonial of a bulk."""

    index = fields.Integer(
        required=True, metadata={"description": "Its place in the list, from 0."}
    )
    status = fields.String(
        required=True,
        metadata={
            "enum": ["created", "exists", "proposed", "refused"],
            "description": "`exists`: there is one with this `externalId`; it wasn't changed.",
        },
    )
    testimonialId = fields.String(
        attribute="testimonial.id", metadata={"description": "The one that is there now."}
    )
    proposal = fields.Nested(ProposalSchema)
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        metadata={"description": "Why it was refused: field name to the list of broken rules."},
    )


class BulkResultsSchema(Schema):
    """One answer for each testimonial, in order."""

    results = fields.List(fields.Nested(BulkResultSchema), required=True)
