"""The fields of all schemas: each checks one rule, and has its messages and its JSON Schema.

In a `StrictSchema` (request bodies) JSON types are strict: no "5" for 5, no 1 for true, no null for
a missing field; messages state the rule. In a `core.http.forms.FormSchema` the same fields take
what a browser sends, and messages are for people, in the page's language.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from marshmallow import RAISE, Schema, ValidationError, fields, post_dump, validate
from marshmallow.exceptions import SCHEMA
from marshmallow.types import UnknownOption

from testimonials.core.clock import iso
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.i18n import format_number, gettext_noop, translate
from testimonials.core.text import (
    COLOR_PATTERN,
    LINE_BREAK,
    TEXT_PATTERNS,
    UNUSABLE,
    URL_PATTERN,
    is_web_url,
)

# The most unknown names of a body or query that errors list.
MAX_UNKNOWN = 20
NULL = "null is not allowed. Leave the field out instead."


class StrictSchema(Schema):
    """A schema that refuses unknown fields, with a message that lists the known ones."""

    class Meta:
        unknown: UnknownOption = RAISE

    error_messages = {"type": "Must be an object."}  # noqa: RUF012 - marshmallow's own

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.error_messages["unknown"] = f"Unknown field. The fields are: {', '.join(self.fields)}."

    def load(self, data: Any, **options: Any) -> Any:
        """Load `data`; if very many fields are unknown, report only the first."""
        if isinstance(data, Mapping) and len(data) > len(self.fields) + MAX_UNKNOWN:
            name = next(each for each in data if each not in self.fields)
            raise ValidationError({name: [self.error_messages["unknown"]]})
        return super().load(data, **options)

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the loaded fields; raise `ValidationError` with the messages for each field.

        Nested fields have names such as ``people[2].email``.
        """
        try:
            return dict(self.load(payload))
        except ValidationError as error:
            raise ValidationError(dict(_flatten("", error.messages_dict))) from None


def _flatten(place: str, messages: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(messages, list):
        yield place, messages
        return
    for name, below in messages.items():
        inside = f"{place}.{name}" if place else str(name)
        inner = f"{place}[{name}]" if isinstance(name, int) else inside
        yield from _flatten(place if place and name == SCHEMA else inner, below)


class WholeSchema(Schema):
    """A response of the API that always has all its fields."""

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        field_obj.required = True


class SparseSchema(Schema):
    """A response of the API that omits fields without a value, unless they are required."""

    @post_dump
    def _omit_unset(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {
            name: value
            for name, value in data.items()
            if value is not None or self.fields[name].required
        }


class RuleField(fields.Field[Any]):
    """The base of all fields, with messages for programs and for people.

    `rule` is the message for a wrong type or range, `about` the field's JSON Schema. A field's own
    `error_messages` override both sets of messages. `missing` makes a form's field required, and is
    the message if it is missing.
    """

    rule: ClassVar[str] = ""
    about: ClassVar[Mapping[str, Any]] = {}
    messages: ClassVar[dict[str, str]] = {}
    # For people, translated when they are shown.
    form_messages: ClassVar[dict[str, str]] = {"required": gettext_noop("Fill in this field.")}

    def __init__(
        self,
        *arguments: Any,
        rule: str = "",
        missing: str = "",
        description: str = "",
        metadata: Mapping[str, Any] | None = None,
        error_messages: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.own_messages = dict(error_messages or {})
        if missing:
            options["required"] = True
            self.own_messages |= dict.fromkeys(("required", "invalid"), missing)
        super().__init__(
            *arguments,
            error_messages=_messages(rule or self.rule) | self.messages | self.own_messages,
            metadata={**self.about, **(metadata or {})}
            | ({"description": description} if description else {}),
            **options,
        )

    def make_error(self, key: str, **values: Any) -> ValidationError:
        """Return the error in the current language, with its numbers formatted."""
        message = translate(str(self.error_messages[key]))
        shown = {
            name: format_number(value) if isinstance(value, int) else value
            for name, value in values.items()
        }
        return ValidationError(message % shown if shown else message)

    def from_text(self, text: str) -> Any:
        """Convert a form's text to the field's type, or return it unchanged if that fails."""
        return text


class Text(RuleField, fields.String):
    """A trimmed string of at most `max_length` code points."""

    is_one_line: ClassVar[bool] = False

    messages: ClassVar[dict[str, str]] = {
        "control": "Must not contain control characters except tab and newline; found %(code)s.",
        "line_break": "Must be one line, without line breaks.",
        "long": "Must be at most %(limit)s characters; this has %(count)s.",
        "empty": "Must not be empty: 1 to %(limit)s characters.",
    }
    form_messages: ClassVar[dict[str, str]] = {
        "control": gettext_noop("Remove the control characters."),
        "line_break": gettext_noop("Use a single line."),
        "long": gettext_noop("Shorten this to %(limit)s characters; it has %(count)s."),
    }

    def __init__(
        self,
        max_length: int,
        *,
        blank: bool = True,
        metadata: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.max_length = max_length
        self.blank = blank
        pattern = TEXT_PATTERNS[self.is_one_line, blank]
        rules: dict[str, Any] = {"maxLength": max_length, "pattern": pattern}
        if not blank:
            rules["minLength"] = 1
        super().__init__(
            rule=f"Must be a string of {0 if blank else 1} to {max_length} characters.",
            metadata=rules | dict(metadata or {}),
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        text = value.strip()
        if len(text) > self.max_length:
            raise self.make_error("long", limit=self.max_length, count=len(text))
        if match := UNUSABLE.search(value):
            raise self.make_error("control", code=f"U+{ord(match[0]):04X}")
        if self.is_one_line and LINE_BREAK.search(text):
            raise self.make_error("line_break")
        if not text and not self.blank:
            raise self.make_error("empty", limit=self.max_length)
        return text


class OneLine(Text):
    """A text without line breaks."""

    is_one_line = True


class WebUrl(OneLine):
    """An absolute http(s) URL."""

    messages: ClassVar[dict[str, str]] = Text.messages | {
        "url": "Must be an absolute URL that starts with http:// or https://, such as "
        "https://example.com/photo.jpg."
    }
    form_messages: ClassVar[dict[str, str]] = Text.form_messages | {
        "url": gettext_noop("Enter the full address, such as https://example.com.")
    }

    def __init__(self, max_length: int, **options: Any) -> None:
        super().__init__(max_length, metadata={"pattern": URL_PATTERN}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not is_web_url(text):
            raise self.make_error("url")
        return text


class Parts(fields.List[Any]):
    """A list whose length is checked before its items, so that errors can't be too many."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, list):
            self._validate(value)
        return super()._deserialize(value, attr, data, **kwargs)


class NamedParts(fields.Dict):
    """An object with arbitrary keys, whose number is checked before the values."""

    def deserialize(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            self._validate(value)
        return super().deserialize(value, *args, **kwargs)


class Choice(RuleField, fields.String):
    """One of a fixed set of words."""

    form_messages: ClassVar[dict[str, str]] = {
        "invalid": gettext_noop("Choose one of the options.")
    }

    def __init__(self, *choices: str, **options: Any) -> None:
        self.choices = choices
        rule = f"Must be one of: {', '.join(each or '(empty)' for each in choices)}."
        super().__init__(rule=rule, metadata={"enum": list(choices)}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or value not in self.choices:
            raise self.make_error("invalid")
        return value


class Color(RuleField, fields.String):
    """A color `#RRGGBB`, converted to upper case."""

    rule = "Must be a colour such as #4F46E5."
    about: ClassVar[Mapping[str, Any]] = {"pattern": COLOR_PATTERN, "examples": ["#4F46E5"]}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch("#[0-9A-Fa-f]{6}", value.strip()):
            raise self.make_error("invalid")
        return value.strip().upper()


class Switch(RuleField, fields.Boolean):
    """A boolean; a form's checkbox is ticked if it sends anything but "false"."""

    rule = "Must be true or false."

    def from_text(self, text: str) -> Any:
        return text != "false"

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class _Range(RuleField):
    """A JSON number from `low` to `high`."""

    kind: ClassVar[str]

    def __init__(self, low: int, high: int, **options: Any) -> None:
        self.low, self.high = low, high
        rule = f"Must be a {self.kind} from {low} to {high}."
        super().__init__(rule=rule, metadata={"minimum": low, "maximum": high}, **options)

    def from_text(self, text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.make_error("invalid")
        if not self.low <= value <= self.high:
            raise self.make_error("invalid")
        return float(value)


class Amount(_Range, fields.Float):
    kind = "number"

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        if value is None:
            return None
        return int(value) if float(value).is_integer() else float(value)


class Count(_Range, fields.Integer):
    """A whole number, perhaps written as 5.0, since JSON has only one type of number."""

    kind = "whole number"

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        number = super()._deserialize(value, attr, data, **kwargs)
        if not number.is_integer():
            raise self.make_error("invalid")
        return int(number)


class QueryCount(RuleField, fields.Integer):
    """A whole number of at least `low` in a query string."""

    def __init__(self, low: int, **options: Any) -> None:
        self.low = low
        rule = f"Must be a whole number, {low} or more."
        super().__init__(rule=rule, metadata={"minimum": low}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        # Python also accepts underscores and digits of other scripts, and fails beyond 4,300
        # digits: of a longer number the first ones are large enough.
        if not re.fullmatch("[0-9]+", value):
            raise self.make_error("invalid")
        if (number := int(value.lstrip("0")[:4000] or 0)) < self.low:
            raise self.make_error("invalid")
        return number


class String(RuleField, fields.String):
    """A string in a response."""


class Number(RuleField, fields.Integer):
    """A whole number in a response."""


class List(RuleField, fields.List[Any]):
    """A list in a response."""


class Time(RuleField, fields.DateTime):
    """A time in a response: ISO 8601 in UTC, with milliseconds and Z."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else iso(value)


class Identifier(RuleField, fields.String):
    rule = "Must be an id of 24 hexadecimal digits."
    about: ClassVar[Mapping[str, Any]] = {"pattern": "^[0-9a-f]{24}$"}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not is_identifier(value):
            raise self.make_error("invalid")
        return value


def make_part(schema: type[StrictSchema], **options: Any) -> fields.Nested:
    """Return a field for an object in a body."""
    return fields.Nested(schema, error_messages=_messages("Must be an object."), **options)


def make_parts(each: fields.Field[Any], most: int, **options: Any) -> Parts:
    """Return a field for a list of 1 to `most` values in a body."""
    size = validate.Length(min=1, max=most, error=f"Must be a list of 1 to {most}.")
    messages = _messages("Must be a list.")
    return Parts(each, validate=size, error_messages=messages, **options)


def _messages(rule: str) -> dict[str, Any]:
    required = f"This field is required. {rule}"
    return {"required": required, "null": f"{NULL} {rule}", "invalid": rule}
