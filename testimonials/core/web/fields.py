"""Strict fields for request bodies: no coercion, and messages that name the rule.

JSON types count (decisions: "JSON is strict"): no "5" for 5, no 1 for true, no null in place of
leaving a field out. Each field also carries the same rule as JSON Schema for the OpenAPI document.
"""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields
from marshmallow.types import UnknownOption

from testimonials.core.clock import iso

# What the patterns below are made of: classes of characters that Python and JSON Schema (ECMA 262)
# read alike, as their own \s and \w differ. SPACE is what `str.strip` takes away.
_CONTROL = r"\u0000-\u0008\u000b-\u001f"
_BREAK = r"\n\u0085\u2028\u2029"
_SPACE = r"\t\n \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

CONTROL = re.compile(f"[{_CONTROL}]")
LINE_BREAK = re.compile(f"[{_BREAK}]")

# By (one_line, blank): the same rules as `clean` has. Outer white space is trimmed, so it may hold
# line breaks; a text that must not be blank has one character that is left over.
_PATTERNS = {
    (False, True): f"^[^{_CONTROL}]*$",
    (False, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_CONTROL}]*$",
    (True, True): f"^[{_SPACE}]*[^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
    (True, False): f"^[{_SPACE}]*[^{_SPACE}{_CONTROL}][^{_BREAK}{_CONTROL}]*[{_SPACE}]*$",
}

NULL = "null is no value here. Leave the field out instead."


class StrictSchema(Schema):
    """A schema that refuses unknown fields and names the ones it knows."""

    class Meta:
        unknown: UnknownOption = RAISE

    error_messages = {"type": "Must be an object."}  # noqa: RUF012

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the loaded fields; raise `ValidationError` with a list of messages a field."""
        unknown = [name for name in payload if name not in self.fields]
        known = ", ".join(self.fields)
        errors = {name: [f"Unknown field. The fields are: {known}."] for name in unknown}
        try:
            loaded: dict[str, Any] = self.load(
                {name: value for name, value in payload.items() if name in self.fields}
            )
        except ValidationError as error:
            raise ValidationError(error.messages_dict | errors) from None
        if errors:
            raise ValidationError(errors)
        return loaded


class Text(fields.String):
    """A string, trimmed, of at most `max_length` code points; `one_line` refuses line breaks."""

    def __init__(
        self,
        max_length: int,
        *,
        one_line: bool = False,
        blank: bool = True,
        description: str = "",
        metadata: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.max_length = max_length
        self.one_line = one_line
        self.blank = blank
        rules: dict[str, Any] = {
            "maxLength": max_length,
            "pattern": _PATTERNS[one_line, blank],
            "description": description,
        }
        if not blank:
            rules["minLength"] = 1
        least = 0 if blank else 1
        rule = f"Must be a string of {least} to {max_length} characters."
        super().__init__(
            metadata=rules | dict(metadata or {}),
            error_messages={
                "required": f"This field is required. {rule}",
                "null": f"{NULL} {rule}",
                "invalid": rule,
            },
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str):
            raise self.make_error("invalid")
        text = clean(value, one_line=self.one_line)
        if len(text) > self.max_length:
            raise ValidationError(
                f"Must be at most {self.max_length} characters; this has {len(text)}."
            )
        if not text and not self.blank:
            raise ValidationError(f"Must not be empty: 1 to {self.max_length} characters.")
        return text


def clean(value: str, *, one_line: bool) -> str:
    """Trim outer white space; refuse control characters and, on one line, line breaks.

    Raises `ValidationError`, naming the character.
    """
    if found := CONTROL.search(value):
        raise ValidationError(
            f"Must not contain control characters but tab and newline; found "
            f"U+{ord(found.group()):04X}."
        )
    text = value.strip()
    if one_line and LINE_BREAK.search(text):
        raise ValidationError("Must be one line, without line breaks.")
    return text


class WebUrl(Text):
    """An absolute http(s) URL."""

    def __init__(self, max_length: int, **options: Any) -> None:
        super().__init__(max_length, one_line=True, metadata={"pattern": URL_PATTERN}, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not is_web_url(text):
            raise ValidationError(
                "Must be an absolute URL that starts with http:// or https://, such as "
                "https://example.com/photo.jpg."
            )
        return text


# A label of a host name: ASCII letters, digits, - and _, not - at its ends, and any sign outside
# ASCII but white space and invisible ones, since what such a name may hold is a registry's to say.
_UNSEEN = r"\u007f-\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_EDGE = rf"[^\u0000-/:-@\[-\^`{{-\u007e{_UNSEEN}]"
_INNER = rf"[^\u0000-,./:-@\[-\^`{{-\u007e{_UNSEEN}]"
_LABEL = rf"{_EDGE}(?:{_INNER}{{0,61}}{_EDGE})?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*\.?"
_PORT = r"(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
# Behind the host: no characters that no URL holds unescaped, or that markup could trip over.
_REST = rf"""(?:[/?#][^\u0000- "<>\\\^`{{|}}\u007f-\u009f{_SPACE}]*)?"""
_ADDRESS = rf"{_HOST}(?::{_PORT})?{_REST}"
_SCHEME = "[Hh][Tt][Tt][Pp][Ss]?://"

# For the OpenAPI document; the one with an optional scheme may be empty too.
URL_PATTERN = f"^[{_SPACE}]*{_SCHEME}{_ADDRESS}[{_SPACE}]*$"
WEBSITE_PATTERN = f"^[{_SPACE}]*(?:(?:{_SCHEME})?{_ADDRESS})?[{_SPACE}]*$"

_URL = re.compile(_SCHEME + _ADDRESS)


def is_web_url(text: str) -> bool:
    """Tell whether `text` is an http(s) URL with a sound name and port, without credentials."""
    return _URL.fullmatch(text) is not None


class Choice(fields.String):
    """One of a fixed set of words."""

    def __init__(self, *choices: str, description: str = "", **options: Any) -> None:
        self.choices = choices
        rule = f"Must be one of: {', '.join(choices)}."
        super().__init__(
            metadata={"enum": list(choices), "description": description},
            error_messages={"invalid": rule, "null": f"{NULL} {rule}"},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or value not in self.choices:
            raise self.make_error("invalid")
        return value


class Colour(fields.String):
    """A colour as `#RRGGBB`; it comes out in capitals."""

    rule = "Must be a colour such as #4F46E5."

    def __init__(self) -> None:
        super().__init__(error_messages={"invalid": self.rule, "null": f"{NULL} {self.rule}"})

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch("#[0-9A-Fa-f]{6}", value.strip()):
            raise self.make_error("invalid")
        return value.strip().upper()


class Switch(fields.Boolean):
    """true or false, nothing else."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        rule = "Must be true or false."
        super().__init__(
            metadata={"description": description},
            error_messages={"invalid": rule, "null": f"{NULL} {rule}"},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, bool):
            raise self.make_error("invalid")
        return value


class Amount(fields.Float):
    """A JSON number from `low` to `high`; fractions are allowed, `true` and "5" are not."""

    rule = "Must be a number from {low} to {high}."

    def __init__(self, low: int, high: int, *, description: str = "", **options: Any) -> None:
        self.low, self.high = low, high
        rule = self.rule.format(low=low, high=high)
        super().__init__(
            metadata={"minimum": low, "maximum": high, "description": description},
            error_messages={"invalid": rule, "null": f"{NULL} {rule}"},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.make_error("invalid")
        if not self.low <= value <= self.high:
            raise self.make_error("invalid")
        return float(value)

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        if value is None:
            return None
        return int(value) if float(value).is_integer() else float(value)


class Count(fields.Integer):
    """A whole JSON number from `low` to `high`; 5.0 is 5, as JSON has one kind of number."""

    def __init__(self, low: int, high: int, *, description: str = "", **options: Any) -> None:
        self.low, self.high = low, high
        rule = f"Must be a whole number from {low} to {high}."
        super().__init__(
            metadata={"minimum": low, "maximum": high, "description": description},
            error_messages={"invalid": rule, "null": f"{NULL} {rule}"},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.make_error("invalid")
        if not self.low <= value <= self.high or value != int(value):
            raise self.make_error("invalid")
        return int(value)


class QueryCount(fields.Integer):
    """A whole number in a query string, at least `low`; digits alone, and any number of them."""

    def __init__(self, low: int, **options: Any) -> None:
        self.low = low
        super().__init__(
            metadata={"minimum": low} | options.pop("metadata", {}),
            error_messages={"invalid": f"Must be a whole number, {low} or more."},
            **options,
        )

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        # Python reads at most 4,300 digits, and other digits and underscores than JSON does.
        if not re.fullmatch(r"[0-9]{1,4000}", value) or int(value) < self.low:
            raise self.make_error("invalid")
        return int(value)


class Time(fields.DateTime):
    """A time in an answer: UTC, ISO 8601, milliseconds, Z."""

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else iso(value)
