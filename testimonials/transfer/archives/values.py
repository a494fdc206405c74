"""The values of an archive: how each is written, and what it may be when it comes back.

An archive may have been written by anybody. Nothing is coerced or trimmed: what is right comes back
exactly as it was, and what is not is refused.
"""

import json
import re
from datetime import datetime, timedelta
from typing import Any

from marshmallow import ValidationError, fields
from marshmallow.exceptions import SCHEMA

from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.fields import CONTROL, LINE_BREAK, StrictSchema, is_web_url
from testimonials.projects.configuration.dashboard_config import DashboardConfigSchema
from testimonials.projects.configuration.defaults import PAGE_CONFIG, WEBSITE_LENGTH, WIDGET_CONFIG
from testimonials.projects.schemas import PageConfigUpdateSchema, WidgetConfigUpdateSchema
from testimonials.projects.slugs import make_slug

EARLIEST = datetime(1900, 1, 1, tzinfo=clock.EPOCH.tzinfo)
# Clocks differ a little between machines; a time far ahead would hold up what is counted from it.
AHEAD = timedelta(days=1)

_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


class Exact(fields.Field[Any]):
    """A value that is there in each row, and None only where the column may be empty."""

    def __init__(self, *, empty: bool = False) -> None:
        super().__init__(
            required=True,
            allow_none=empty,
            error_messages={"required": "It is missing.", "null": "It is empty."},
        )


class Words(Exact):
    """A text of at most `longest` characters; `lines` allows more than one line."""

    def __init__(self, longest: int, *, lines: bool = False, empty: bool = False) -> None:
        super().__init__(empty=empty)
        self.longest, self.lines = longest, lines

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("It is no text.")
        if len(value) > self.longest:
            raise ValidationError(f"It is longer than {self.longest:,} characters.")
        if CONTROL.search(value) or (not self.lines and LINE_BREAK.search(value)):
            raise ValidationError("It holds control characters or line breaks.")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise ValidationError("It holds half a character.")
        return value


class Filled(Words):
    """A text that says something."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text.strip():
            raise ValidationError("It is blank.")
        return text


class Address(Words):
    """An http(s) address."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not is_web_url(text):
            raise ValidationError("It is no http:// or https:// address.")
        return text


class Origin(Words):
    """A website as browsers name it in the Origin header."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not _ORIGIN.fullmatch(text):
            raise ValidationError("It is no website.")
        return text


class Email(Words):
    """Something that has the form of an e-mail address, in small letters as all are stored."""

    def __init__(self, *, empty: bool = False) -> None:
        super().__init__(254, empty=empty)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        local, at, domain = text.rpartition("@")
        if not (local and at and domain) or text != text.lower() or " " in text:
            raise ValidationError("It is no e-mail address.")
        return text


class Slug(Words):
    """A slug as they are stored."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text or make_slug(text) != text:
            raise ValidationError("It is no slug.")
        return text


class Key(Words):
    """A hash in hexadecimal digits, as long as its column."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if len(text) != self.longest or not set(text) <= set("0123456789abcdef"):
            raise ValidationError("It is no such key.")
        return text


class Identifier(Exact):
    """An id."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or not is_identifier(value):
            raise ValidationError("It is no id.")
        return value


class Moment(Exact):
    """A time as the API writes it; `ahead` is how far in the future it may lie."""

    def __init__(self, *, empty: bool = False, ahead: timedelta = AHEAD) -> None:
        super().__init__(empty=empty)
        self.ahead = ahead

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else clock.iso(value)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        # Only what is written in UTC, with Z, is compared: others might lie before the first year.
        try:
            time = datetime.fromisoformat(value)
            is_exact = time.tzinfo == clock.EPOCH.tzinfo and clock.iso(time) == value
        except (TypeError, ValueError):
            is_exact = False
        if not is_exact:
            raise ValidationError("It is no time such as 2026-03-12T10:00:00.000Z.")
        if not EARLIEST <= time <= clock.now() + self.ahead:
            raise ValidationError("It lies too far in the past or in the future.")
        return time


class OneOf(Exact):
    """One of a few words."""

    def __init__(self, *choices: str, empty: bool = False) -> None:
        super().__init__(empty=empty)
        self.choices = choices

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise ValidationError(f"It is none of: {', '.join(self.choices)}.")
        return value


class Flag(Exact):
    """true or false."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("It is neither true nor false.")
        return value


class Number(Exact):
    """A number from `low` to `high`, whole if it says so."""

    def __init__(self, low: int, high: int, *, whole: bool = False, empty: bool = False) -> None:
        super().__init__(empty=empty)
        self.low, self.high, self.whole = low, high, whole

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int | float:
        is_kind = isinstance(value, int) or (isinstance(value, float) and not self.whole)
        if isinstance(value, bool) or not is_kind or not self.low <= value <= self.high:
            raise ValidationError(f"It is no number from {self.low} to {self.high}.")
        return int(value) if self.whole else float(value)


class PageConfig(Exact):
    """The settings of a collection page."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict[str, Any]:
        config = _as_object(value)
        fields_asked = _as_object(config.get("collectFields", {}))
        changeable = {
            name: part
            for name, part in config.items()
            if name not in ("collectFields", "website", "logo")
        }
        asked = {name: part for name, part in fields_asked.items() if name != "name"}
        _check(PageConfigUpdateSchema(), changeable | {"collectFields": asked})
        if (website := config.get("website", "")) != "":
            Address(WEBSITE_LENGTH + len("https://")).deserialize(website)
        if fields_asked.get("name", True) is not True or config.get("logo") is not None:
            raise ValidationError("It holds what no page has.")
        # A setting that came later than the archive has its usual value.
        collected = PAGE_CONFIG["collectFields"] | fields_asked
        return {**PAGE_CONFIG, **config, "collectFields": collected}


class WidgetConfig(Exact):
    """The settings of a widget."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict[str, Any]:
        config = _as_object(value)
        _check(WidgetConfigUpdateSchema(), config)
        return WIDGET_CONFIG | config


class DashboardConfig(Exact):
    """What the dashboard keeps of a project."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict[str, Any]:
        config = _as_object(value)
        _check(DashboardConfigSchema(), config)
        return config


class Twitter(Exact):
    """An author on X."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> dict[str, Any]:
        found = _as_object(value)
        for name, part in found.items():
            if name == "verified":
                Flag().deserialize(part)
            elif name == "avatarUrl" and part != "":
                Address(500).deserialize(part)
            elif name in ("id", "handle", "displayName", "avatarUrl"):
                Words(120).deserialize(part)
            else:
                raise ValidationError(f"{name[:60]}: It is not known here.")
        return found


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValidationError("It is no object.")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValidationError("It holds half a character.") from None
    return value


def _check(schema: StrictSchema, value: dict[str, Any]) -> None:
    """Refuse what the schema refuses, and what it would change."""
    try:
        loaded = schema.check(value)
    except ValidationError as error:
        name, messages = next(iter(error.messages_dict.items()))
        while isinstance(messages, dict):
            inner, messages = next(iter(messages.items()))
            # What the library says of a whole object stands under a name of its own.
            name = name if inner == SCHEMA else f"{name}.{inner}"
        raise ValidationError(f"{name[:60]}: {messages[0]}") from None
    if loaded != value:
        raise ValidationError("It is not as it is stored.")
