"""Changes of the page, its pictures, forms and requests, which may be proposed."""

from collections.abc import Callable
from typing import Any

from marshmallow import ValidationError, fields, validate

from testimonials.auth.email_addresses import Email
from testimonials.collection.address_lists import REFERENCE_LENGTH
from testimonials.collection.forms import (
    change_form,
    create_form,
    delete_form,
    describe_form,
    describe_page_design,
    find_form,
    find_named,
    update_page_design,
)
from testimonials.collection.request_mail import SUBJECT_LENGTH
from testimonials.collection.requests import MESSAGE_LENGTH, REMINDERS, WAITS
from testimonials.collection.schemas import (
    NAME_LENGTH,
    FormSchema,
    FormUpdateSchema,
    WholePageDesignSchema,
)
from testimonials.core.audit import record_project_event
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.event_types import EventType
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice, Parts, RuleField, StrictSchema, Switch, Text
from testimonials.core.http.i18n import ENGLISH, LANGUAGES
from testimonials.core.text import TAG_LENGTH, TAG_PATTERN
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project
from testimonials.projects.projects import make_slug
from testimonials.projects.settings import set_picture, update_page_config
from testimonials.projects.widget_design import NumberChoice, WidgetDesignSchema, WidgetLabelsSchema
from testimonials.testimonials.changes import Outcome, Values, finish, publish_picture
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
from testimonials.testimonials.tags import MAX_TAGS, TagRefused, read_tags

# What each kind of change of the collection page and its forms does, as in `changes`.

_DESIGN = WholePageDesignSchema()
_FORM = FormSchema()


def change_page(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    was = project.updated_at
    update_page_config(project, values)
    return finish(project, EventType.PAGE_CHANGED, is_changed=project.updated_at != was)


def change_design(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    is_changed = update_page_design(project, values)
    finish(project, EventType.PAGE_CHANGED, is_changed=is_changed)
    return Outcome(_DESIGN.dump(describe_page_design(project)), {})


def change_logo(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "logo", values)


def change_cover(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "cover", values)


def change_portrait(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    return _change_picture(project, "portrait", values)


def save_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    """Change the form with this name, or add it."""
    changes = {name: value for name, value in values.items() if name not in ("name", "new_name")}
    form = find_named(project, make_slug(values["name"]))
    if form is None:
        if "title" not in values:
            raise ValidationFailed.of({"title": ["A new form needs a title."]})
        form = create_form(project, values)
        record_project_event(EventType.FORM_ADDED, project, form=form.name)
    elif change_form(project, form, changes | _rename(values)):
        record_project_event(EventType.FORM_CHANGED, project, form=form.name)
    return Outcome(_FORM.dump(describe_form(project, form)), {"form": form.name})


def remove_form(project: Project, _target: str | None, values: Values, _actor: str) -> Outcome:
    form = find_form(project, values["name"])
    data = _FORM.dump(describe_form(project, form))
    delete_form(project, form)
    record_project_event(EventType.FORM_DELETED, project, form=form.name)
    return Outcome(data, {"form": form.name})


def read_page(project: Project, _target: str | None, values: Values) -> Values:
    now = {"businessName": project.business_name} | project.page_config
    asked = project.page_config["collectFields"]
    fields = {name: asked[name] for name in values.get("collectFields", {})}
    return now | {"collectFields": fields}


def read_design(project: Project, _target: str | None, _values: Values) -> Values:
    return project.whole_page_design


def read_picture(name: str) -> Callable[[Project, str | None, Values], Values]:
    """Return what reads the `logo`, the `cover` or the `portrait`."""
    return lambda project, _target, _values: {"imageId": getattr(project, f"{name}_id")}


def read_form(project: Project, _target: str | None, values: Values) -> Values:
    """Return the form with this name as it is; nothing if there is none."""
    form = find_named(project, make_slug(values["name"]))
    if form is None:
        return {}
    described: Values = _FORM.dump(describe_form(project, form))
    return described | {"name": values["name"], "newName": form.name}


def _change_picture(project: Project, name: str, values: Values) -> Outcome:
    is_changed = values["image_id"] != getattr(project, f"{name}_id")
    if is_changed:
        set_picture(project, name, publish_picture(project, values["image_id"]))
    return finish(project, EventType.PAGE_CHANGED, is_changed=is_changed)


def _rename(values: Values) -> Values:
    return {"name": values["new_name"]} if "new_name" in values else {}


# The values of those kinds of changes that no other door has a schema for.

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
