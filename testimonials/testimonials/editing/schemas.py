"""Shapes of one testimonial in the API."""

from marshmallow import Schema, fields

from testimonials.core.web.fields import Time
from testimonials.testimonials.moderation.schemas import SubmissionSchema
from testimonials.testimonials.schemas import TestimonialSchema


class ChangeSchema(Schema):
    """One change of a testimonial."""

    action = fields.String(
        required=True, metadata={"description": "Such as `add`, `edit`, `approve`, `reply`."}
    )
    by = fields.String(
        attribute="actor", required=True, metadata={"description": "A person, or an agent."}
    )
    at = Time(attribute="created_at", required=True)


class TestimonialDetailSchema(SubmissionSchema):
    """A testimonial with what only its owner sees."""

    history = fields.List(
        fields.Nested(ChangeSchema),
        metadata={"description": "Who wrote, changed and decided what, newest first."},
    )


class VisibleTestimonialSchema(TestimonialSchema):
    """A testimonial as the public sees it, with its tags."""

    tags = fields.List(fields.String(), required=True)
