"""What a container selects: a saved widget, a shape, one testimonial, a tag, a minimum length.

The script sends these attributes of its container as query parameters of the same names;
server-rendered pages accept them too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.text import TAG_LENGTH

# Shapes that show the average and number of all ratings rather than testimonials.
BADGES = ("badge", "badge-sentence", "badge-card", "badge-corner", "people")
# How many testimonials the other shapes show; None: as many as configured.
CARDS = {"strip": None, "single": 1, "popup": 5}
SHAPES = (*BADGES, *CARDS)
THEME_CHOICES = ("auto", "light", "dark")
MAX_LENGTH = 2_000
MAX_LIMIT = 50

_LENGTH = re.compile(r"[0-9]{1,4}")
_NAME = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Selection:
    """A shape (empty: the whole widget), and which approved testimonials it shows.

    `theme` applies only to what the server renders (empty: as configured).
    """

    shape: str = ""
    testimonial_id: str = ""
    tag: str = ""
    min_length: int = 0
    theme: str = ""
    # The name of a saved widget; empty: the project's own.
    widget: str = ""

    def with_shape(self, shape: str) -> "Selection":
        """Return the selection in this `shape`, unless it names a shape or a testimonial."""
        return replace(self, shape=shape) if self.is_whole else self

    @property
    def is_whole(self) -> bool:
        """Whether it is the widget as configured, with its button."""
        return not (self.shape or self.testimonial_id)

    @property
    def is_badge(self) -> bool:
        """Whether it shows ratings rather than testimonials."""
        return self.shape in BADGES

    @property
    def query(self) -> dict[str, Any]:
        values = {
            "shape": self.shape,
            "id": self.testimonial_id,
            "tag": self.tag,
            "min": str(self.min_length or ""),
            "theme": self.theme,
            "widget": self.widget,
        }
        return {name: value for name, value in values.items() if value}


WHOLE = Selection()


# Its query parameters.
SELECTING = ("shape", "id", "tag", "min", "theme", "widget")


def read_selection(arguments: Mapping[str, str]) -> Selection:
    """Read query parameters; raise `ValidationFailed`.

    The id of an unknown testimonial is valid, and selects nothing. An invalid name of a widget,
    like an unknown one, stands for the project's own.
    """
    values = {name: arguments.get(name, "") for name in SELECTING}
    errors: dict[str, list[str]] = {}
    if values["shape"] not in ("", *SHAPES):
        errors["shape"] = [f"Must be one of: {', '.join(SHAPES)}."]
    if values["id"] and not is_identifier(values["id"]):
        errors["id"] = ["Must be the id of a testimonial."]
    if len(values["tag"]) > TAG_LENGTH or not values["tag"].isprintable():
        errors["tag"] = [f"Must be a tag: at most {TAG_LENGTH} characters on one line."]
    if values["min"] and not (
        _LENGTH.fullmatch(values["min"]) and int(values["min"]) <= MAX_LENGTH
    ):
        errors["min"] = [f"Must be a number of characters from 0 to {MAX_LENGTH}."]
    if values["theme"] not in ("", *THEME_CHOICES):
        errors["theme"] = [f"Must be one of: {', '.join(THEME_CHOICES)}."]
    if errors:
        raise ValidationFailed.of(errors)
    return Selection(
        shape=values["shape"],
        testimonial_id=values["id"],
        tag=values["tag"],
        min_length=int(values["min"] or 0),
        theme=values["theme"],
        widget=values["widget"] if _NAME.fullmatch(values["widget"]) else "",
    )


def read_limit(arguments: Mapping[str, str]) -> int | None:
    """Read ``?limit=``, from 1 to 50, None if it is missing; raise `ValidationFailed`."""
    text = arguments.get("limit", "")
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise ValidationFailed.of({"limit": [f"Must be a number from 1 to {MAX_LIMIT}."]})
    return int(text)


def add_query(address: str, query: Mapping[str, str]) -> str:
    return f"{address}?{urlencode(query)}".rstrip("?")
