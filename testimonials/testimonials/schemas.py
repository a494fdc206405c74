"""Testimonials in the API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, pre_dump, validates_schema

from testimonials.core.http.answers import CursorQuerySchema
from testimonials.core.http.fields import (
    Choice,
    List,
    Number,
    OneLine,
    QueryCount,
    RuleField,
    SparseSchema,
    StrictSchema,
    String,
    Switch,
    Time,
    WholeSchema,
)
from testimonials.core.text import TAG_LENGTH
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.page_design import KINDS
from testimonials.projects.widget_design import Identifiers
from testimonials.testimonials.fields import (
    RATING_RANGE,
    CardFields,
    ExternalId,
    Rating,
    SubmittedAt,
)
from testimonials.testimonials.inbox import ASIDE, SOURCES
from testimonials.testimonials.media.playback import describe_recording_of, load_recordings
from testimonials.testimonials.models import REASONS
from testimonials.testimonials.moderation import ACTIONS, SET_ASIDE, WITH_REASON

MAX_BULK = 100


class TestimonialCreateSchema(CardFields, StrictSchema):
    """The body of POST testimonials."""

    externalId = ExternalId(
        description="Your own id for it. Adding the same id again returns the stored testimonial."
    )


class TestimonialAddSchema(TestimonialCreateSchema):
    submittedAt = SubmittedAt(attribute="submitted_at")


class EachForItself(RuleField, fields.List[Any]):
    """Testimonials to add, each checked and answered separately."""

    rule = f"Must be a list of 1 to {MAX_BULK} testimonials."
    about: ClassVar[Mapping[str, Any]] = {"minItems": 1, "maxItems": MAX_BULK}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_BULK:
            raise self.make_error("invalid")
        return value


class BulkSchema(StrictSchema):
    """The body of POST testimonials/bulk."""

    testimonials = EachForItself(cls_or_instance=fields.Nested(TestimonialAddSchema), required=True)


class TwitterSchema(Schema):
    id = String()
    handle = String()
    displayName = String()
    avatarUrl = String()
    verified = fields.Boolean()


class ReplySchema(WholeSchema):
    text = String()
    repliedAt = Time(attribute="replied_at")


class AnswerSchema(WholeSchema):
    id = String(description="The question's.")
    question = String()
    kind = Choice(*KINDS)
    answer = fields.Raw(
        metadata={
            "type": ["string", "array", "integer", "boolean"],
            "items": {"type": "string"},
            "description": "A string for a `text`, a list for a `choice`, a number from 0 to 10 "
            "for a `scale`, true for a `consent`.",
        }
    )
    isPublic = Switch(description="Whether everybody may see it, or only the owner.")


class RecordingSchema(SparseSchema):
    kind = Choice("video", "voice", required=True)
    url = String(
        required=True,
        description="The file, which supports range requests. Until it is approved, the URL has a "
        "key that works for at least a week.",
    )
    posterUrl = String(description="The picture shown before it plays.")
    seconds = fields.Float(required=True)
    mediaType = String(required=True, description="Such as `video/mp4`.")
    width = Number()
    height = Number()
    transcript = String(
        required=True, description="What is said; empty until somebody has written it down."
    )
    captionsUrl = String(description="WebVTT.")


class RecordingField(fields.Nested):
    def get_value(self, obj: Any, *_: Any, **__: Any) -> Any:
        return describe_recording_of(obj)


class TestimonialSchema(Schema):
    """A testimonial as the API shows it (spec, "Testimonial")."""

    _id = String(attribute="id", required=True)
    projectId = String(attribute="project_id", required=True)
    status = Choice("pending", "approved", "rejected", "demo", required=True)
    source = Choice("public_page", "manual", "import", "demo", required=True)
    authorName = String(attribute="author_name", required=True)
    authorEmail = String(attribute="author_email")
    authorRole = String(attribute="author_role", required=True)
    authorCompany = String(attribute="author_company")
    authorAvatar = String(attribute="avatar_url")
    twitter = fields.Nested(TwitterSchema)
    text = String(required=True)
    rating = Rating()
    kind = Choice(
        "video", "voice", attribute="spoken_kind", description="Left out if it was written."
    )
    recording = RecordingField(RecordingSchema)
    pinned = fields.Boolean(attribute="is_pinned")
    submittedAt = Time(attribute="submitted_at", required=True)
    reviewedAt = Time(attribute="reviewed_at")
    highlights = List(
        List(Number()),
        description="The words that the owner marked: ranges of `text`, in code points, "
        "such as [[0, 5]] for the first five.",
    )
    reply = fields.Nested(ReplySchema, attribute="public_reply")
    externalId = String(attribute="external_id", description="The API caller's own id for it.")
    answers = List(
        fields.Nested(AnswerSchema),
        attribute="all_answers",
        description="The author's answers to the owner's own questions.",
    )
    form = String(
        attribute="form_name",
        description="The form that it was sent from, if not the collection page.",
    )
    rewarded = Switch(
        attribute="is_rewarded",
        description="Set if the author was promised a thank-you, whatever they wrote.",
    )
    insider = Switch(
        attribute="is_insider", description="Set if the author works here or is related."
    )
    translatedFrom = String(
        attribute="translated_from", description="The language that the text was translated from."
    )
    verifiedCustomer = Switch(
        attribute="is_verified_customer", description="Set if a link proved a purchase."
    )
    createdAt = Time(attribute="created_at", required=True)
    updatedAt = Time(attribute="updated_at", required=True)

    @pre_dump(pass_collection=True)
    def _load_recordings(self, data: Any, *, many: bool, **_: Any) -> Any:
        load_recordings(data if many else [data])
        return data

    def _serialize(self, obj: Any, *, many: bool = False) -> Any:
        """Dump testimonials as marshmallow does, but skip optional fields that aren't set.

        Most aren't, and marshmallow's lookup of each takes most of the time of a dump.
        """
        if many:
            return [self._serialize(each) for each in obj]
        data = {}
        for name, field in self.dump_fields.items():
            attribute = field.attribute or name
            if isinstance(field, RecordingField):
                value = field.get_value(obj)
            else:
                value = getattr(obj, attribute, None)
            if field.required or (value is not None and value is not False):
                data[name] = field._serialize(value, attribute, obj)
        return data


class TestimonialListSchema(WholeSchema):
    items = List(fields.Nested(TestimonialSchema))
    limit = Number()
    offset = Number()


class PageQuerySchema(CursorQuerySchema):
    offset = QueryCount(0, load_default=0, description="How many items to skip.")

    @validates_schema(pass_original=True)
    def _check_position(self, _data: Any, sent: dict[str, Any], **_: Any) -> None:
        if "after" in sent and "offset" in sent:
            raise ValidationError({"after": ["Give after or offset, not both."]})


class DeletedCountSchema(WholeSchema):
    deletedCount = Number()


STATUSES = ("pending", "approved", "rejected", "withdrawn", "spam", "demo")
TRASH, EVERYTHING = "trash", "all"


class SubmissionSchema(TestimonialSchema):
    """A testimonial in any state, with the fields that only its owner sees."""

    status = Choice(*STATUSES, required=True)
    tags = List(String(), required=True)
    originalText = String(
        attribute="original_text",
        description="The text as it was sent, once somebody has edited it.",
    )
    heldFor = List(
        String(),
        attribute="held_reasons",
        description="Why it was taken for spam; kept when it is released.",
    )
    setAside = Choice(
        *REASONS,
        attribute="set_aside",
        description="Why somebody took it out of the numbers: its rating no longer counts.",
    )
    deletedAt = Time(
        attribute="deleted_at",
        description="When it was moved to the trash, which usually keeps it for 30 days.",
    )


class SubmissionQuerySchema(CursorQuerySchema):
    status = Choice(
        *STATUSES,
        TRASH,
        EVERYTHING,
        ASIDE,
        load_default="pending",
        description="`all` leaves out spam and the trash, `set-aside` only the trash. The default "
        "is `pending`.",
    )
    source = Choice(*SOURCES, load_default="")
    tag = OneLine(TAG_LENGTH, blank=False, load_default="")
    form = OneLine(
        SLUG_LENGTH,
        blank=False,
        load_default="",
        description="Only what was sent from the form with this name.",
    )
    minRating = Choice(
        *map(str, range(RATING_RANGE[0], RATING_RANGE[1] + 1)),
        load_default=None,
        allow_none=False,
        description="Only with at least this many stars.",
    )
    q = OneLine(
        200,
        load_default="",
        description="Beginnings of words to find in text, name, role, company, email address, "
        "answers and tags. If more than 500 match, some of the newest are returned.",
    )


class DecisionSchema(StrictSchema):
    decision = Choice(*ACTIONS, required=True, description="What to do with each of them.")
    ids = Identifiers(least=1, required=True, description="Ids of testimonials, each once.")
    reason = Choice(
        *REASONS,
        description="Required for `set-aside`, optional for `delete`; the others take none.",
    )

    @validates_schema
    def _check_reason(self, data: dict[str, Any], **_: Any) -> None:
        decision, is_given = data["decision"], data.get("reason") is not None
        if decision == SET_ASIDE and not is_given:
            listed = ", ".join(REASONS)
            raise ValidationError({"reason": [f"Say why it is set aside: {listed}."]})
        if is_given and decision not in WITH_REASON:
            raise ValidationError({"reason": [f"Leave it out: {decision} takes no reason."]})


class DecidedSchema(WholeSchema):
    _id = String(attribute="id")
    result = Choice(
        "done",
        "unchanged",
        "unknown",
        description="`unchanged`: its status doesn't allow this, or it was done already.",
    )
    status = String(
        allow_none=True, description="Its status now, or `trash`; null for an unknown one."
    )


class DecisionsSchema(WholeSchema):
    """What became of each testimonial, in the order of the request."""

    results = List(fields.Nested(DecidedSchema))
    undo = String(
        allow_none=True,
        description="POST it to `undo` within a day to take the decision back; null if nothing "
        "changed.",
    )


class UndoSchema(StrictSchema):
    undo = OneLine(
        500, blank=False, required=True, description="The value of `undo` in an earlier answer."
    )


class UndoneSchema(WholeSchema):
    undoneCount = Number()


class TagSchema(WholeSchema):
    name = String()
    count = Number()


class TagRenameSchema(StrictSchema):
    name = OneLine(
        TAG_LENGTH,
        blank=False,
        required=True,
        description="If there is already a tag of this name, the two become one.",
    )


class TagRemovedSchema(TagSchema):
    undo = String(allow_none=True)


class ChangeSchema(SparseSchema):
    action = String(required=True, description="Such as `add`, `edit`, `approve` or `reply`.")
    by = String(attribute="actor", required=True, description="A person, or an agent.")
    at = Time(attribute="created_at", required=True)
    reason = Choice(*REASONS, description="Why it was set aside.")


class TestimonialDetailSchema(SubmissionSchema):
    history = List(
        fields.Nested(ChangeSchema),
        description="Who wrote, changed and decided what, newest first; at most 200 changes.",
    )
    recordUrl = String(
        description="Its public record, if it is shown; append `.json` to read it as JSON."
    )


class VisibleTestimonialSchema(TestimonialSchema):
    """A testimonial as the public sees it, with its tags."""

    tags = List(String(), required=True)
