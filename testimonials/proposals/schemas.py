"""Shapes of proposals in the API."""

from marshmallow import Schema, fields

from testimonials.core.web.fields import Time


class ProposalSchema(Schema):
    """A change that waits for the owner, or what became of it."""

    _id = fields.String(attribute="id", required=True)
    projectId = fields.String(attribute="project_id", required=True)
    kind = fields.String(required=True)
    targetId = fields.String(attribute="target_id", allow_none=True, required=True)
    values = fields.Dict(required=True)
    reason = fields.String(required=True)
    status = fields.String(
        required=True, metadata={"enum": ["waiting", "accepted", "declined", "withdrawn"]}
    )
    result = fields.Dict(allow_none=True, required=True)
    note = fields.String(allow_none=True, required=True)
    createdAt = Time(attribute="created_at", required=True)
    decidedAt = Time(attribute="decided_at", allow_none=True, required=True)
