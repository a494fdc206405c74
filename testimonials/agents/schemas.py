"""Shapes of what agents tell their owners."""

from marshmallow import Schema, fields

from testimonials.core.web.fields import Time


class TestimonialCountsSchema(Schema):
    """How many testimonials are in each state; `rejected` has those that authors withdrew."""

    pending = fields.Integer(required=True)
    approved = fields.Integer(required=True)
    rejected = fields.Integer(required=True)
    spam = fields.Integer(required=True)
    trash = fields.Integer(required=True)
    samples = fields.Integer(required=True)


class WebsiteSchema(Schema):
    """A website that shows the widget."""

    origin = fields.String(required=True)
    seenAt = Time(attribute="seen_at", required=True)


class SummarySchema(Schema):
    """How a project stands."""

    status = fields.String(required=True, metadata={"enum": ["active", "inactive"]})
    testimonials = fields.Nested(TestimonialCountsSchema, required=True)
    averageRating = fields.Float(
        required=True,
        allow_none=True,
        metadata={"description": "Of all approved ones with stars, to one decimal; null: none."},
    )
    ratingCount = fields.Integer(required=True)
    proposalsWaiting = fields.Integer(required=True)
    requests = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        required=True,
        metadata={"description": "How many requests by mail are in each state."},
    )
    websites = fields.List(
        fields.Nested(WebsiteSchema),
        required=True,
        metadata={"description": "Where the widget was seen within 90 days, last seen first."},
    )
