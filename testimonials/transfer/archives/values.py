"""Rules for the values in an archive that neither a column nor another schema has."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from testimonials.core import clock
from testimonials.core.text_rules import is_web_url
from testimonials.core.web.fields import Choice, Count, StrictSchema, Switch, Text
from testimonials.projects.configuration.defaults import PAGE_CONFIG, SLUG_LENGTH, WEBSITE_LENGTH
from testimonials.projects.configuration.questions import (
    CHOICE_LENGTH,
    CHOICES_RANGE,
    KINDS,
    QUESTION_LENGTH,
    SCALE_RANGE,
    ItemId,
)
from testimonials.projects.schemas import CollectFieldsUpdateSchema, PageConfigUpdateSchema
from testimonials.testimonials.fields import TEXT_LENGTH
from testimonials.testimonials.moderation.changes import to_json

EARLIEST = datetime(1900, 1, 1, tzinfo=clock.EPOCH.tzinfo)


class Moment(fields.Field[datetime]):
    """A time as the API writes it, at most `ahead` in the future: clocks differ a little."""

    def __init__(self, ahead: timedelta = timedelta(days=1), **options: Any) -> None:
        super().__init__(**options)
        self.ahead = ahead

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        # Only times in UTC are compared; others might lie before the first year.
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
    """A group of settings; one that is newer than the archive gets its default."""

    def __init__(self, schema: type[Schema], usual: Mapping[str, Any]) -> None:
        super().__init__(schema)
        self.usual = usual

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {**self.usual, **super()._deserialize(value, *args, **kwargs)}


class Items(fields.List[Any]):
    """A list that is read up to its first error: a file may have millions of them."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError("Must be a list.")
        found = []
        for place, each in enumerate(value):
            try:
                found.append(self.inner.deserialize(each, **kwargs))
            except ValidationError as error:
                raise ValidationError({place: error.messages}) from None
        return found


class Before(fields.Nested):
    """What a change remembers: some columns of its testimonial, in the form of the history."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found = super()._deserialize(value, *args, **kwargs | {"partial": True})
        return {name: to_json(each) for name, each in found.items()}


def _matching(pattern: str, what: str, length: int = 254) -> Text:
    rule = validate.Regexp(rf"(?:{pattern})\Z", error=f"Must be {what}.")
    return Text(length, one_line=True, validate=rule)


def _require_url(text: str) -> None:
    if text and not is_web_url(text):
        raise ValidationError("Must be an absolute URL that starts with http:// or https://.")


def _optional_url(length: int) -> Text:
    return Text(length, one_line=True, validate=_require_url)


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
    logo = fields.Raw(allow_none=True, validate=validate.Equal(None))
    collectFields = Settings(StoredCollectFieldsSchema, PAGE_CONFIG["collectFields"])


class StoredAnswerSchema(StrictSchema):
    """An answer to one of the owner's questions."""

    id = ItemId()
    question = Text(QUESTION_LENGTH, one_line=True, required=True)
    kind = Choice(*KINDS, required=True)
    answer = fields.Raw(required=True)
    isPublic = Switch(required=True)

    @validates_schema
    def _check_answer(self, data: dict[str, Any], **_: Any) -> None:
        rules: dict[str, fields.Field[Any]] = {
            "text": Text(TEXT_LENGTH),
            "choice": fields.List(
                Text(CHOICE_LENGTH, one_line=True), validate=validate.Length(1, CHOICES_RANGE[1])
            ),
            "scale": Count(*SCALE_RANGE),
            "consent": Switch(validate=validate.Equal(True)),
        }
        if rule := rules.get(data.get("kind", "")):
            rule.deserialize(data.get("answer"))


class StoredTwitterSchema(StrictSchema):
    id = Text(120, one_line=True)
    handle = Text(120, one_line=True)
    displayName = Text(120, one_line=True)
    avatarUrl = _optional_url(500)
    verified = Switch()
