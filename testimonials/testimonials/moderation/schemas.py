"""Shapes of the API's answers about what waits, and of decisions about it."""

from marshmallow import Schema, fields

from testimonials.core.text_rules import TAG_LENGTH
from testimonials.core.web.fields import Choice, StrictSchema, Text, Time
from testimonials.core.web.paging import CursorQuerySchema
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.projects.configuration.widget_design import Identifiers
from testimonials.testimonials.fields import RATING_RANGE
from testimonials.testimonials.moderation.inbox import SOURCES
from testimonials.testimonials.moderation.services import ACTIONS
from testimonials.testimonials.schemas import TestimonialSchema

SEARCH_LENGTH = 200
UNDO_LENGTH = 500
STATUSES = ("pending", "approved", "rejected", "withdrawn", "spam", "demo")
TRASH, EVERYTHING = "trash", "all"


class SubmissionSchema(TestimonialSchema):
    """A testimonial in any state, with what only its owner sees."""

    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    tags = fields.List(fields.String(), required=True)
    originalText = fields.String(
        attribute="original_text",
        metadata={"description": "The words as they were sent, once somebody has edited them."},
    )
    heldFor = fields.List(
        fields.String(),
        attribute="held_reasons",
        metadata={"description": "Why it was taken for spam; kept when it is released."},
    )
    deletedAt = Time(
        attribute="deleted_at",
        metadata={
            "description": "Since when it is in the trash, which usually keeps it for 30 days."
        },
    )


class SubmissionQuerySchema(CursorQuerySchema):
    """The query of the submissions."""

    status = Choice(
        *STATUSES,
        TRASH,
        EVERYTHING,
        load_default="pending",
        description="`all` leaves out spam and the trash; without it, `pending`.",
    )
    source = Choice(*SOURCES, load_default="")
    tag = Text(TAG_LENGTH, one_line=True, blank=False, load_default="")
    form = Text(
        SLUG_LENGTH,
        one_line=True,
        blank=False,
        load_default="",
        description="Only what was sent by the form with this name.",
    )
    minRating = Choice(
        *map(str, range(RATING_RANGE[0], RATING_RANGE[1] + 1)),
        load_default=None,
        allow_none=False,
        description="Only with so many stars or more.",
    )
    q = Text(
        SEARCH_LENGTH,
        one_line=True,
        load_default="",
        description="Words to find in text, name, role, company, email address, answers and tags: "
        "those that begin so. Of words in more than 500 some of the newest are found, not all.",
    )


class DecisionSchema(StrictSchema):
    """A decision about testimonials."""

    decision = Choice(*ACTIONS, required=True, description="What to do with all of them.")
    ids = Identifiers(least=1, required=True, description="Of testimonials, each once.")


class DecidedSchema(Schema):
    """What became of one testimonial."""

    _id = fields.String(attribute="id", required=True)
    result = fields.String(
        required=True,
        metadata={
            "enum": ["done", "unchanged", "unknown"],
            "description": "`unchanged`: its status doesn't allow this, or it was so already.",
        },
    )
    status = fields.String(
        allow_none=True,
        required=True,
        metadata={"description": "Its status now, or `trash`; null for an unknown one."},
    )


class DecisionsSchema(Schema):
    """What became of each, in the order in which they were named."""

    results = fields.List(fields.Nested(DecidedSchema), required=True)
    undo = fields.String(
        allow_none=True,
        required=True,
        metadata={"description": "Takes it back for a day: POST it to `undo`. null: nothing to."},
    )


class UndoSchema(StrictSchema):
    """What to undo."""

    undo = Text(
        UNDO_LENGTH,
        one_line=True,
        blank=False,
        required=True,
        description="The value `undo` of an earlier answer.",
    )


class UndoneSchema(Schema):
    """How many testimonials were put back."""

    undoneCount = fields.Integer(required=True)


class TagSchema(Schema):
    """A tag, and how many testimonials have it."""

    name = fields.String(required=True)
    count = fields.Integer(required=True)


class TagRenameSchema(StrictSchema):
    """A tag's other name."""

    name = Text(
        TAG_LENGTH,
        one_line=True,
        blank=False,
        required=True,
        description="If there is such a tag, the two become one.",
    )


class TagRemovedSchema(TagSchema):
    """A tag that was removed from testimonials."""

    undo = fields.String(required=True, allow_none=True)
