"""The columns and values of an archive."""

import copy
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from marshmallow import Schema, ValidationError, fields, missing, validate, validates_schema
from marshmallow.exceptions import SCHEMA
from sqlalchemy import Boolean, Column, Integer, String
from sqlalchemy import Text as LongText

from testimonials.collection.forms import MAX_FORMS
from testimonials.collection.models import CollectionForm, MailedRequest, RequestBatch
from testimonials.collection.schemas import FormDesignSchema
from testimonials.core import clock
from testimonials.core.audit import Event
from testimonials.core.db.engine import Base, Timestamp, to_name, write_columns
from testimonials.core.http.fields import Choice, Color, Count, OneLine, StrictSchema, Switch, Text
from testimonials.core.images.uploads import LARGEST_SIDE, Image
from testimonials.core.text import TAG_LENGTH, is_web_url
from testimonials.projects import page_design
from testimonials.projects.brand import StoredBrandSchema
from testimonials.projects.defaults import (
    PAGE_CONFIG,
    PALETTES,
    SLUG_LENGTH,
    WEBSITE_LENGTH,
    WIDGET_CONFIG,
    DashboardConfigSchema,
)
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.projects.schemas import (
    CollectFieldsUpdateSchema,
    PageConfigUpdateSchema,
    ProjectCreateSchema,
    WidgetConfigUpdateSchema,
)
from testimonials.projects.widget_design import WidgetDesignSchema
from testimonials.testimonials.fields import (
    REPLY_LENGTH,
    TEXT_LENGTH,
    Captions,
    ExternalId,
    Highlights,
    Rating,
)
from testimonials.testimonials.history import to_json
from testimonials.testimonials.models import REASONS, KeptRating, Recording, Testimonial
from testimonials.testimonials.schemas import TestimonialCreateSchema
from testimonials.testimonials.tags import MAX_TAGS
from testimonials.widget.api import WIDGET_NAME, WidgetDraftSchema
from testimonials.widget.cache import MAX_ORIGINS
from testimonials.widget.models import SavedWidget
from testimonials.widget.settings import MAX_SAVED

# Rules for values in archives that neither columns nor the API's schemas have.

EARLIEST = datetime(1900, 1, 1, tzinfo=clock.EPOCH.tzinfo)


class Moment(fields.Field[datetime]):
    """A time as the API writes it, at most `ahead` in the future, since clocks differ."""

    def __init__(self, ahead: timedelta = timedelta(days=1), **options: Any) -> None:
        super().__init__(**options)
        self.ahead = ahead

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        # Converting other zones to UTC could overflow.
        try:
            time = datetime.fromisoformat(value)
            is_exact = time.tzinfo == clock.EPOCH.tzinfo and clock.iso(time) == value
        except (TypeError, ValueError):
            is_exact = False
        if not is_exact:
            raise ValidationError("Must be a time such as 2026-03-12T10:00:00.000Z.")
        if not EARLIEST <= time <= clock.now() + self.ahead:
            raise ValidationError("Must not be so far in the past or in the future.")
        return time


class Settings(fields.Nested):
    """A group of settings, with default values for those that older archives lack."""

    def __init__(self, schema: type[Schema], defaults: Mapping[str, Any]) -> None:
        super().__init__(schema)
        self.defaults = defaults

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {**self.defaults, **super()._deserialize(value, *args, **kwargs)}


class Items(fields.List[Any]):
    """A list that stops at its first error, since a file may have millions."""

    def __init__(
        self, inner: fields.Field[Any], *, most: int | None = None, **options: Any
    ) -> None:
        super().__init__(inner, **options)
        self.most = most

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[Any]:
        _require_list(value, self.most)
        items = []
        for place, each in enumerate(value):
            try:
                items.append(self.inner.deserialize(each, **kwargs))
            except ValidationError as error:
                raise ValidationError({place: error.messages}) from None
        return items


def _require_list(value: Any, most: int | None) -> None:
    if not isinstance(value, list):
        raise ValidationError("Must be a list.")
    if most is not None and len(value) > most:
        raise ValidationError(f"Must be at most {most}.")


class Before(fields.Nested):
    """The values of columns before a change, as the history stores them."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        columns = super()._deserialize(value, *args, **kwargs | {"partial": True})
        return {name: to_json(each) for name, each in columns.items()}


def _matching(pattern: str, description: str, length: int = 254) -> OneLine:
    rule = validate.Regexp(rf"(?:{pattern})\Z", error=f"Must be {description}.")
    return OneLine(length, validate=rule)


def _require_url(text: str) -> None:
    if text and not is_web_url(text):
        raise ValidationError("Must be an absolute URL that starts with http:// or https://.")


def _optional_url(length: int) -> OneLine:
    return OneLine(length, validate=_require_url)


IDENTIFIER = _matching("[0-9a-f]{24}", "an id of 24 hexadecimal digits")
EMAIL = _matching(r"\S+@[^\s@]+", "an email address")
SLUG = _matching("[a-z0-9]+(-[a-z0-9]+)*", "lower-case letters, digits and dashes", SLUG_LENGTH)
ORIGIN = _matching(
    r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", "the origin of a website", 300
)


class StoredCollectFieldsSchema(CollectFieldsUpdateSchema):
    name = Switch()


class StoredPageConfigSchema(PageConfigUpdateSchema):
    website = _optional_url(WEBSITE_LENGTH + len("https://"))
    buttonColor = Color(allow_none=True)
    buttonTextColor = Color(allow_none=True)
    logo = fields.Raw(allow_none=True, validate=validate.Equal(None))
    collectFields = Settings(StoredCollectFieldsSchema, PAGE_CONFIG["collectFields"])


class StoredWidgetConfigSchema(WidgetConfigUpdateSchema):
    palette = Choice(*PALETTES, allow_none=True)


_ANSWERS: dict[str, fields.Field[Any]] = {
    "text": Text(TEXT_LENGTH),
    "choice": fields.List(
        OneLine(page_design.CHOICE_LENGTH),
        validate=validate.Length(1, page_design.CHOICES_RANGE[1]),
    ),
    "scale": Count(*page_design.SCALE_RANGE),
    "consent": Switch(validate=validate.Equal(True)),
}


class StoredAnswerSchema(StrictSchema):
    id = page_design.ItemId()
    question = OneLine(page_design.QUESTION_LENGTH, required=True)
    kind = Choice(*page_design.KINDS, required=True)
    answer = fields.Raw(required=True)
    isPublic = Switch(required=True)

    @validates_schema
    def _check_answer(self, data: dict[str, Any], **_: Any) -> None:
        if rule := _ANSWERS.get(data.get("kind", "")):
            rule.deserialize(data.get("answer"))


class StoredTwitterSchema(StrictSchema):
    id = OneLine(120)
    handle = OneLine(120)
    displayName = OneLine(120)
    avatarUrl = _optional_url(500)
    verified = Switch()


# The rows of a project's archive: their columns, and the rules for their values.
#
# Columns, types and limits come from the models, and other rules from the schemas of the API, so
# that a new column or setting is in the archive as soon as it exists. Only what these don't say is
# here: rules for single columns, and the columns that are left out, each with the reason.

FORMAT, VERSION = "testimonials-project", 1
# For columns without a limit.
LINE_LENGTH = 254

Row = dict[str, Any]


class Part:
    """One kind of row in an archive.

    The rule for a column is the one in `rules`, or the field with its name in the API's `schema`,
    or that of its type. `beside` has fields that aren't columns; `most` limits the rows of a
    project.
    """

    def __init__(
        self,
        model: type[Base],
        left_out: Mapping[str, str],
        rules: Mapping[str, fields.Field[Any]] | None = None,
        *,
        schema: type[Schema] | None = None,
        beside: Mapping[str, fields.Field[Any]] | None = None,
        most: int | None = None,
    ) -> None:
        self.model, self.most = model, most
        self.table: Any = model.__table__
        self.left_out = left_out
        self.columns = [each.name for each in self.table.columns if each.name not in left_out]
        api_fields = (schema or Schema)().fields
        self.fields: dict[str, Any] = {
            to_name(name): _make_field(
                self.table.columns[name], (rules or {}).get(name) or api_fields.get(to_name(name))
            )
            for name in self.columns
        }
        self.fields |= beside or {}
        self._schema = StrictSchema.from_dict(self.fields)()

    def write(self, row: Any) -> Row:
        return write_columns(row, self.columns)

    def read_all(self, items: Any, name: str) -> list[Row]:
        """Return the rows of a list in an archive; a `ValidationError` names the place."""
        try:
            _require_list(items, self.most)
        except ValidationError as error:
            raise ValidationError(_name_place(name, error.messages)) from None
        return [self.read(item, f"{name} {number}") for number, item in enumerate(items, 1)]

    def read(self, item: Any, where: str) -> Row:
        """Return a row in an archive by column; a `ValidationError` names the place."""
        if isinstance(item, dict) and (unknown := item.keys() - self.fields.keys()):
            raise ValidationError(f"{where}, {min(unknown)[:60]}: Unknown field.")
        try:
            row: Row = self._schema.load(item)
        except ValidationError as error:
            raise ValidationError(_name_place(where, error.messages)) from None
        return row


def _make_field(column: Column[Any], rule: fields.Field[Any] | None) -> fields.Field[Any]:
    field = copy.deepcopy(rule or _choose_field(column))
    default = getattr(column.default, "arg", None) if column.default is not None else None
    default = None if callable(default) else default
    if default is None and field.load_default is not missing:
        default = field.load_default
    field.attribute, field.allow_none = column.name, bool(column.nullable)
    # Older archives lack columns with defaults.
    field.required = not column.nullable and default is None
    field.load_default = missing if field.required else default
    # A new dictionary, since a copy of a field shares that of the original.
    field.error_messages = field.error_messages | {
        "required": "Is missing.",
        "null": "Must not be null.",
    }
    return field


def _choose_field(column: Column[Any]) -> fields.Field[Any]:
    kind = column.type
    if isinstance(kind, Timestamp):
        return Moment()
    if column.name == "id" or column.name.endswith("_id"):
        return IDENTIFIER
    if isinstance(kind, Boolean):
        return Switch()
    if isinstance(kind, Integer):
        return Count(0, 100_000)
    if isinstance(kind, LongText):
        return Text(TEXT_LENGTH)
    if isinstance(kind, String):
        return OneLine(kind.length or LINE_LENGTH)
    raise TypeError(f"Say in {__name__} what {column} may be in an archive.")


def _name_place(where: str, messages: Any) -> str:
    """Return the first message, preceded by its path."""
    while isinstance(messages, dict):
        key, messages = next(iter(messages.items()))
        if isinstance(key, int):
            where += f" {key + 1}"
        elif key != SCHEMA:
            where += f", {key[:60]}"
    return f"{where}: {messages[0]}"


EXTERNAL_ID = ExternalId()
_PARENT = "Known from its place in the archive."

PROJECT = Part(
    Project,
    {
        "account_id": "Chosen when the archive is imported.",
        "feed_version": "Increased, so that no cache shows an older state.",
        "event_number": "The record of events is the instance's own.",
        "old_numbers": "In an imported project every genuine rating counts at once.",
        "numbers_from": "Belongs to the old numbers.",
        "last_testimonial_at": "Derived from the newest testimonial.",
        "deleted_at": "An imported project is not in the trash.",
        "own_host": "The name leads to one instance, which checks it.",
        "purchase_secret": "Shared by the owner's shop and one instance.",
        "old_purchase_secret": "Shared by the former owner's shop and one instance.",
        "old_purchase_secret_until": "Belongs to that secret.",
    },
    {
        "status": Choice("active", "inactive"),
        "slug": SLUG,
        "external_id": EXTERNAL_ID,
        "brand": fields.Nested(StoredBrandSchema, load_default=dict),
        "page_config": Settings(StoredPageConfigSchema, PAGE_CONFIG),
        "widget_config": Settings(StoredWidgetConfigSchema, WIDGET_CONFIG),
        "widget_design": fields.Nested(WidgetDesignSchema, load_default=dict),
        "widget_draft": fields.Nested(WidgetDraftSchema),
        "page_design": fields.Nested(page_design.PageDesignSchema, load_default=dict),
        "private_questions": fields.List(page_design.ItemId(), load_default=list),
        "dashboard_config": fields.Nested(DashboardConfigSchema),
    },
    schema=ProjectCreateSchema,
)
OLD_SLUG = Part(OldSlug, {"project_id": _PARENT}, {"slug": SLUG})
SAVED_WIDGET = Part(
    SavedWidget,
    {"project_id": _PARENT},
    {
        "name": WIDGET_NAME,
        "config": Settings(StoredWidgetConfigSchema, WIDGET_CONFIG),
        "design": fields.Nested(WidgetDesignSchema, load_default=dict),
        "draft": fields.Nested(WidgetDraftSchema),
    },
    most=MAX_SAVED,
)
FORM = Part(
    CollectionForm,
    {"project_id": _PARENT},
    {"name": SLUG, "design": fields.Nested(FormDesignSchema, load_default=dict)},
    most=MAX_FORMS,
)
SIGHTING = Part(WidgetSighting, {"project_id": _PARENT}, {"origin": ORIGIN}, most=MAX_ORIGINS)
# The parts of a large batch have four digits more.
_BATCH = _matching("[0-9a-f]{24}([0-9a-f]{4})?", "an id of 24 hexadecimal digits")
_BATCH.attribute, _BATCH.required = "batch_id", True
CHANGE = Part(
    Event,
    {
        **dict.fromkeys(("testimonial_id", "project_id", "account_id"), _PARENT),
        **dict.fromkeys(("number", "entry", "salt"), "They belong to the instance's record."),
        **dict.fromkeys(
            ("type", "actor_kind", "actor_name", "network", "times", "reason", "details"),
            "They are in `activity.csv`, in the archive of an account.",
        ),
        "before": "Written like a testimonial.",
        "undone_at": "What was undone can't be redone elsewhere.",
    },
    beside={
        "batchId": _BATCH,
        "actor": OneLine(LINE_LENGTH, required=True),
        "action": OneLine(LINE_LENGTH, required=True),
        "before": Before(lambda: _before_schema(), required=True),
    },
)
TESTIMONIAL = Part(
    Testimonial,
    {
        "project_id": _PARENT,
        "import_id": "An import can be undone only where it was made.",
        "visit": "A visit is counted where it was.",
        "is_visible": "Derived from the status by the database.",
        "standing": "Derived from the status by the database.",
        "rank": "Derived from the rating by the database.",
    },
    {
        "kind": Choice("written", "video", "voice"),
        "status": Choice("pending", "approved", "rejected", "spam", "demo", "withdrawn"),
        # Empty if there is only a recording.
        "text": Text(TEXT_LENGTH, required=True),
        "source": Choice("public_page", "manual", "import", "demo"),
        "set_aside": Choice(*REASONS),
        "author_email": EMAIL,
        "external_id": EXTERNAL_ID,
        "twitter": fields.Nested(StoredTwitterSchema),
        "answers": Items(fields.Nested(StoredAnswerSchema)),
        "highlights": Highlights(),
        "reply": Text(REPLY_LENGTH, blank=False),
    },
    schema=TestimonialCreateSchema,
    beside={
        "tags": Items(OneLine(TAG_LENGTH, blank=False), required=True, most=MAX_TAGS),
        "changes": Items(fields.Nested(StrictSchema.from_dict(CHANGE.fields)), required=True),
        # The salts of its hashes in the record, oldest first.
        "salts": Items(_matching("[0-9a-f]{32}", "32 hexadecimal digits"), load_default=list),
    },
)
KEPT_RATING = Part(KeptRating, {"project_id": _PARENT}, {"rating": Rating(required=True)})
RECORDING = Part(
    Recording,
    {
        "project_id": _PARENT,
        **dict.fromkeys(
            (
                *("state", "received", "size", "digest", "media_type", "codecs"),
                *("seconds", "width", "height"),
            ),
            "Read from the file again.",
        ),
    },
    {"kind": Choice("video", "voice"), "captions": Captions()},
)
REQUEST_BATCH = Part(RequestBatch, {"project_id": _PARENT}, {"remind_after_days": Count(0, 365)})
REQUEST = Part(
    MailedRequest,
    {
        "project_id": _PARENT,
        "email_hash": "Derived from the account and the address.",
        "mail_id": "The outbox is not exported.",
    },
    # Requests and reminders are sent within weeks.
    {"email": EMAIL, "next_mail_at": Moment(ahead=timedelta(days=60))},
    beside={"unsubscribedAt": Moment(required=True, allow_none=True)},
)
IMAGE = Part(
    Image,
    {
        "content": "A separate file in the archive.",
        "digest": "Derived from the content.",
        "is_held": "Proposals are not exported.",
    },
    {"width": Count(1, LARGEST_SIDE), "height": Count(1, LARGEST_SIDE)},
)
# The lists of `project.json` in order. Older archives lack `savedWidgets`, `forms`, `keptRatings`
# and `recordings`.
LISTS = {
    "oldSlugs": OLD_SLUG,
    "widgetSightings": SIGHTING,
    "savedWidgets": SAVED_WIDGET,
    "forms": FORM,
    "testimonials": TESTIMONIAL,
    "keptRatings": KEPT_RATING,
    "recordings": RECORDING,
    "invitationBatches": REQUEST_BATCH,
    "invitations": REQUEST,
    "images": IMAGE,
}


def _before_schema() -> Schema:
    columns = {
        name: each for name, each in TESTIMONIAL.fields.items() if name not in ("changes", "salts")
    }
    # An edit can also change these columns of the recording.
    names = ("transcript", "captions", "showsTranscript")
    return StrictSchema.from_dict(columns | {name: RECORDING.fields[name] for name in names})()
