"""The values of those kinds of changes that no other door has a schema for."""

from typing import Any

from marshmallow import ValidationError, fields, validate

from testimonials.auth.addresses import Email
from testimonials.collection.forms.schemas import NAME_LENGTH, FormUpdateSchema
from testimonials.collection.requests.address_lists import REFERENCE_LENGTH
from testimonials.collection.requests.asking import MESSAGE_LENGTH, REMINDERS, WAITS
from testimonials.collection.requests.request_mail import SUBJECT_LENGTH
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.text_rules import TAG_LENGTH, TAG_PATTERN
from testimonials.core.web.fields import Choice, Parts, RuleField, StrictSchema, Switch, Text
from testimonials.core.web.languages import ENGLISH, LANGUAGES
from testimonials.projects.configuration.defaults import SLUG_LENGTH
from testimonials.projects.configuration.widget_design import (
    NumberChoice,
    WidgetDesignSchema,
    WidgetLabelsSchema,
)
from testimonials.testimonials.fields import (
    AuthorAvatar,
    AuthorLine,
    AuthorName,
    Captions,
    Highlights,
    Rating,
    Reply,
    Transcript,
    Words,
)
from testimonials.testimonials.moderation.tags import MAX_TAGS, TagRefused, read_tags

MAX_ASKED = 100


class Identifier(RuleField, fields.String):
    """The id of a record."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        super().__init__(
            rule="Must be an id of 24 hexadecimal digits.",
            metadata={"pattern": "^[0-9a-f]{24}$", "description": description},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not is_identifier(value):
            raise self.make_error("invalid")
        return value


class TagList(RuleField):
    """Tags as a JSON list of strings, each once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            rule=f"Must be a list of at most {MAX_TAGS} tags of 1 to {TAG_LENGTH} characters, "
            "without commas.",
            metadata={
                "type": "array",
                "items": {"type": "string", "maxLength": TAG_LENGTH, "pattern": TAG_PATTERN},
                "maxItems": MAX_TAGS,
                "description": "All tags; those left out are removed.",
            },
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.make_error("invalid")
        try:
            names = read_tags(",".join(value))
            if any(len(read_tags(each)) != 1 for each in value):
                raise self.make_error("invalid")
        except TagRefused as error:
            raise ValidationError(error.message) from None
        return names


class NewHighlights(Highlights):
    """As `Highlights`; an empty list removes them all."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return [] if value == [] else super()._deserialize(value, attr, data, **kwargs)


class LabelsUpdateSchema(WidgetLabelsSchema):
    """The owner's own words on the widget's buttons; they take the place of all earlier ones."""


class DesignUpdateSchema(WidgetDesignSchema):
    """The widget's design beyond its specified settings; what is left out stays."""

    labels = fields.Nested(LabelsUpdateSchema)


class PagePictureSchema(StrictSchema):
    """A picture of the collection page."""

    imageId = Identifier(
        attribute="image_id",
        required=True,
        allow_none=True,
        description="An uploaded picture; null removes it.",
    )


class FormNameSchema(StrictSchema):
    """A form, by its name."""

    name = Text(NAME_LENGTH, one_line=True, blank=False, required=True)


class FormChangeSchema(FormUpdateSchema):
    """A form to add, or to change if there is one with this name."""

    name = Text(NAME_LENGTH, one_line=True, blank=False, required=True)
    newName = Text(
        NAME_LENGTH,
        one_line=True,
        blank=False,
        attribute="new_name",
        description="Gives the form another name, and so another address.",
    )


class TestimonialEditSchema(StrictSchema):
    """Changes of one testimonial; what is left out stays."""

    authorName = AuthorName(attribute="author_name", required=False)
    authorRole = AuthorLine(attribute="author_role")
    authorCompany = AuthorLine(attribute="author_company")
    authorEmail = Email(attribute="author_email", is_lasting=False, allow_none=True)
    authorAvatar = AuthorAvatar(
        attribute="author_avatar", allow_none=True, description="URL of a public image."
    )
    text = Words(required=False)
    rating = Rating(allow_none=True, description="null removes the stars.")
    tags = TagList()
    pinned = Switch(attribute="is_pinned", description="Only approved ones can be pinned.")
    reply = Reply(description="The owner’s public reply; an empty one removes it.")
    highlights = NewHighlights(
        metadata={
            "type": "array",
            "items": {"type": "array", "items": {"type": "integer"}},
            "description": "Ranges of `text` to mark, in code points, such as [[0, 12]].",
        }
    )
    avatarId = Identifier(
        attribute="avatar_id",
        allow_none=True,
        description="An uploaded picture; null removes the photo.",
    )
    transcript = Transcript(description="What is said in the recording, if there is one.")
    captions = Captions(
        description="WebVTT for the recording; an empty text removes it. Without any, the "
        "transcript is shown as captions."
    )
    showsTranscript = Switch(
        attribute="shows_transcript", description="Whether the transcript is the card’s `text`."
    )


class PersonSchema(StrictSchema):
    """Somebody to ask."""

    email = Email(required=True)
    name = AuthorLine(load_default="")
    company = AuthorLine(load_default="")
    order = Text(
        REFERENCE_LENGTH,
        one_line=True,
        load_default="",
        description="Your reference of a purchase. What they write by the link in the mail is then "
        "marked “Verified customer”.",
    )


class RequestSchema(StrictSchema):
    """Asking people for a testimonial by mail, in the owner's name."""

    people = Parts(
        fields.Nested(PersonSchema),
        required=True,
        validate=validate.Length(1, MAX_ASKED, error=f"Must be 1 to {MAX_ASKED} people."),
    )
    subject = Text(
        SUBJECT_LENGTH, one_line=True, blank=False, description="Left out: the usual one."
    )
    message = Text(
        MESSAGE_LENGTH,
        blank=False,
        description="Left out: the usual one. `{first_name}`, `{name}`, `{company}` and "
        "`{business}` are filled in for each person; one that isn't known is left out.",
    )
    language = Choice(
        *(language.code for language in LANGUAGES),
        load_default=ENGLISH.code,
        description="Of the mail.",
    )
    form = Text(
        SLUG_LENGTH,
        one_line=True,
        attribute="form_name",
        description="The name of the form to open; left out: the project’s own page.",
    )
    sendAfterDays = NumberChoice(
        *WAITS,
        attribute="wait_days",
        load_default=0,
        description="In how many days the mails go out; 0: now.",
    )
    remindAfterDays = NumberChoice(
        *REMINDERS,
        attribute="remind_after_days",
        allow_none=True,
        load_default=None,
        description="null: no reminder.",
    )
