"""Shapes of requests and answers about testimonials."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_dump, pre_dump, validates_schema

from testimonials.core.web.fields import QueryCount, RuleField, StrictSchema, Time
from testimonials.core.web.paging import CursorQuerySchema
from testimonials.projects.configuration.questions import KINDS
from testimonials.testimonials.fields import (
    AuthorAvatar,
    AuthorLine,
    AuthorName,
    ExternalId,
    Rating,
    SubmittedAt,
    Words,
)
from testimonials.testimonials.recordings.describing import describe_of, load_recordings

MAX_BULK = 100

# Left out of an answer when not set; authorRole is not among them.
OPTIONAL = (
    "authorEmail",
    "authorCompany",
    "authorAvatar",
    "twitter",
    "rating",
    "kind",
    "recording",
    "pinned",
    "reviewedAt",
    "highlights",
    "reply",
    "externalId",
    "answers",
    "form",
    "rewarded",
    "verifiedCustomer",
    "originalText",
    "heldFor",
    "deletedAt",
    "history",
)


class TestimonialCreateSchema(StrictSchema):
    """The body of POST testimonials."""

    authorName = AuthorName(attribute="author_name")
    text = Words()
    rating = Rating(description="Fractions are allowed; leave out for no stars.")
    authorRole = AuthorLine(attribute="author_role")
    authorCompany = AuthorLine(attribute="author_company")
    authorAvatar = AuthorAvatar(attribute="author_avatar", description="URL of a public image.")
    externalId = ExternalId(
        description="Your own id of it. Each is stored once: adding it again gives what is there."
    )


class TestimonialAddSchema(TestimonialCreateSchema):
    """A testimonial to add, also one that was given earlier."""

    submittedAt = SubmittedAt(attribute="submitted_at")


class EachForItself(RuleField, fields.List[Any]):
    """Testimonials to add, each of which is checked, and answered, for itself."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_BULK:
            raise self.make_error("invalid")
        return value


class BulkSchema(StrictSchema):
    """The body of POST testimonials/bulk."""

    testimonials = EachForItself(
        cls_or_instance=fields.Nested(TestimonialAddSchema),
        rule=f"Must be a list of 1 to {MAX_BULK} testimonials.",
        required=True,
        metadata={"minItems": 1, "maxItems": MAX_BULK},
    )


class TwitterSchema(Schema):
    """An author on X."""

    id = fields.String()
    handle = fields.String()
    displayName = fields.String()
    avatarUrl = fields.String()
    verified = fields.Boolean()


class ReplySchema(Schema):
    """The owner's public reply."""

    text = fields.String(required=True)
    repliedAt = Time(attribute="replied_at", required=True)


class AnswerSchema(Schema):
    """An answer, with the question as it was asked."""

    id = fields.String(required=True, metadata={"description": "The question's."})
    question = fields.String(required=True)
    kind = fields.String(required=True, metadata={"enum": list(KINDS)})
    answer = fields.Raw(
        required=True,
        metadata={
            "type": ["string", "array", "integer", "boolean"],
            "items": {"type": "string"},
            "description": "Of a `text` a string, of a `choice` a list, of a `scale` a number from "
            "0 to 10, of a `consent` true.",
        },
    )
    isPublic = fields.Boolean(
        required=True,
        metadata={"description": "Everybody may see it; else only the owner."},
    )


class RecordingSchema(Schema):
    """A video or voice recording."""

    kind = fields.String(required=True, metadata={"enum": ["video", "voice"]})
    url = fields.String(
        required=True,
        metadata={
            "description": "Where it is played, in parts too. Until it is approved, the URL has a "
            "key that opens it for a week at least."
        },
    )
    posterUrl = fields.String(metadata={"description": "The picture before it plays."})
    seconds = fields.Float(required=True)
    mediaType = fields.String(required=True, metadata={"description": "Such as `video/mp4`."})
    width = fields.Integer()
    height = fields.Integer()
    transcript = fields.String(
        required=True, metadata={"description": "What is said; empty until somebody wrote it."}
    )
    captionsUrl = fields.String(metadata={"description": "WebVTT."})

    @post_dump
    def _omit_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {name: value for name, value in data.items() if value is not None}


class RecordingField(fields.Nested):
    """The recording of a testimonial that has one."""

    def get_value(self, obj: Any, *_: Any, **__: Any) -> Any:
        return describe_of(obj)


class TestimonialSchema(Schema):
    """A testimonial as the API shows it (spec, "Testimonial")."""

    _id = fields.String(attribute="id", required=True)
    projectId = fields.String(attribute="project_id", required=True)
    status = fields.String(
        required=True, metadata={"enum": ["pending", "approved", "rejected", "demo"]}
    )
    source = fields.String(
        required=True, metadata={"enum": ["public_page", "manual", "import", "demo"]}
    )
    authorName = fields.String(attribute="author_name", required=True)
    authorEmail = fields.String(attribute="author_email")
    authorRole = fields.String(attribute="author_role", required=True)
    authorCompany = fields.String(attribute="author_company")
    authorAvatar = fields.String(attribute="avatar_url")
    twitter = fields.Nested(TwitterSchema)
    text = fields.String(required=True)
    rating = Rating()
    kind = fields.String(
        attribute="spoken_kind",
        metadata={"enum": ["video", "voice"], "description": "Left out if it was written."},
    )
    recording = RecordingField(RecordingSchema)
    pinned = fields.Boolean(attribute="is_pinned")
    submittedAt = Time(attribute="submitted_at", required=True)
    reviewedAt = Time(attribute="reviewed_at")
    highlights = fields.List(
        fields.List(fields.Integer()),
        metadata={
            "description": "The words that the owner marked: ranges of `text`, in code points, "
            "such as [[0, 5]] for the first five."
        },
    )
    reply = fields.Nested(ReplySchema, attribute="public_reply")
    externalId = fields.String(
        attribute="external_id", metadata={"description": "The id that its writer gave it."}
    )
    answers = fields.List(
        fields.Nested(AnswerSchema),
        attribute="all_answers",
        metadata={"description": "What the author answered to the owner's own questions."},
    )
    form = fields.String(
        attribute="form_name",
        metadata={"description": "The form that it was sent by, if not the collection page."},
    )
    rewarded = fields.Boolean(
        attribute="is_rewarded",
        metadata={"description": "Set where a thank-you was promised, whatever the author says."},
    )
    verifiedCustomer = fields.Boolean(
        attribute="is_verified_customer",
        metadata={"description": "Set where a link proved that the author bought something."},
    )
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)

    @pre_dump(pass_collection=True)
    def _load_recordings(self, data: Any, *, many: bool, **_: Any) -> Any:
        load_recordings(data if many else [data])
        return data

    @post_dump
    def _omit_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {
            name: value for name, value in data.items() if name not in OPTIONAL or _is_set(value)
        }


class TestimonialListSchema(Schema):
    """A page of the list."""

    items = fields.List(fields.Nested(TestimonialSchema), required=True)
    limit = fields.Integer(required=True)
    offset = fields.Integer(required=True)


class PageQuerySchema(CursorQuerySchema):
    """The query of the list."""

    offset = QueryCount(
        0, load_default=0, metadata={"description": "Items skipped from the start."}
    )

    @validates_schema(pass_original=True)
    def _refuse_two_places(self, _data: Any, sent: dict[str, Any], **_: Any) -> None:
        if "after" in sent and "offset" in sent:
            raise ValidationError({"after": ["Give after or offset, not both."]})


class DeletedCountSchema(Schema):
    """How many were removed."""

    deletedCount = fields.Integer(required=True)


def _is_set(value: object) -> bool:
    return value is not None and value is not False
