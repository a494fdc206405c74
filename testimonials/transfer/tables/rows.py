"""Turning a line of a file into a testimonial, or into the reason why it can't be one."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from marshmallow import ValidationError, fields

from testimonials.auth.addresses import Email
from testimonials.core import clock
from testimonials.core.pictures.images import Image
from testimonials.core.web.fields import RuleField, Text
from testimonials.core.web.forms import FormSchema
from testimonials.testimonials.fields import (
    MAX_HIGHLIGHTS,
    TEXT_LENGTH,
    AuthorAvatar,
    AuthorLine,
    AuthorName,
    Rating,
    Reply,
    Tags,
    Words,
)
from testimonials.testimonials.moderation.highlights import (
    HighlightRefused,
    Ranges,
    add_highlight,
)
from testimonials.transfer.tables.dates import DateWrong, read_date
from testimonials.transfer.tables.headings import FIELDS, OWN, REQUIRED, SENJA, ColumnMapping

STATUSES = ("approved", "pending")
# The words for each status in the files of other services.
_STATES = {
    "approved": {"approved", "true", "yes", "1", "published", "public", "live"},
    "pending": {"pending", "false", "no", "0", "unapproved", "unpublished", "draft", "hidden"},
    "rejected": {"rejected", "declined"},
}
_NOT_IMPORTED = {"spam", "withdrawn", "demo", "archived"}
# Empty cells are skipped: a file may have millions of them.
_OPTIONAL = tuple(FIELDS.keys() - set(REQUIRED))
_DEFAULTS: dict[str, Any] = {
    "author_role": "",
    "author_company": None,
    "author_email": None,
    "author_avatar": None,
    "rating": None,
    "submitted_at": None,
    "tags": [],
    "highlights": "",
    "reply": None,
}
_RATING = re.compile(r"(\d(?:[.,]\d+)?)\s*(?:/\s*5|(?:out )?of 5|stars?|★)?", re.I)
_STARS = re.compile(r"([★⭐]\ufe0f?)+[☆✩]*")


class RowRefused(Exception):
    """The line can't become a testimonial; the message says why."""


class WrittenRating(Rating):
    """A rating as services write it: 5, 4.5, 4/5, 5 stars or ★★★★☆."""

    form_messages: ClassVar[dict[str, str]] = {
        "invalid": "Must be a number from 1 to 5, or empty for none."
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if _STARS.fullmatch(value):
            value = len(re.findall("[★⭐]", value))
        elif found := _RATING.fullmatch(value):
            value = float(found[1].replace(",", "."))
        return super()._deserialize(value, attr, data, **kwargs)


class WrittenDate(RuleField):
    """A date in any common form; `order` is that of its day and month."""

    def __init__(self, order: str | None, **options: Any) -> None:
        super().__init__(rule="Must be a date.", **options)
        self.order = order

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return read_date(value, self.order)
        except DateWrong as error:
            raise ValidationError(f"“{value[:40]}”. {error}") from None


class WrittenStatus(RuleField):
    """A status as any service writes it; approved testimonials get the `usual` one."""

    def __init__(self, usual: str, **options: Any) -> None:
        super().__init__(rule="Must be a status.", **options)
        self.usual = usual

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if value.lower() in _NOT_IMPORTED:
            raise ValidationError(f"Testimonials that are “{value}” are not imported.")
        for status, words in _STATES.items():
            if value.lower() in words:
                return self.usual if status == "approved" else status
        raise ValidationError(
            f"“{value[:40]}” is not a known status. Use approved, pending or rejected."
        )


class RowSchema(FormSchema):
    """A line of a file, by the columns of a testimonial."""

    text = Words()
    authorName = AuthorName(attribute="author_name")
    authorRole = AuthorLine(attribute="author_role")
    authorCompany = AuthorLine(attribute="author_company")
    authorEmail = Email(attribute="author_email", is_lasting=False)
    authorAvatar = AuthorAvatar(attribute="author_avatar")
    rating = WrittenRating()
    tags = Tags()
    reply = Reply()
    # Words of the text, a line each.
    highlights = Text(2 * TEXT_LENGTH)

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Report an empty cell, rather than asking to fill in a field."""
        super().on_bind_field(field_name, field_obj)
        field_obj.error_messages["required"] = "The cell is empty."


@dataclass(frozen=True)
class ReadingOptions:
    """How lines are read: the columns, the order in dates, and the status of lines without one."""

    mapping: ColumnMapping
    order: str | None = None
    status: str = "approved"

    @cached_property
    def schema(self) -> FormSchema:
        schema: Any = RowSchema.from_dict(
            {
                "submittedAt": WrittenDate(self.order, attribute="submitted_at"),
                "status": WrittenStatus(self.status),
            }
        )
        made: FormSchema = schema()
        return made


@dataclass(frozen=True)
class NewTestimonial:
    """A testimonial to add: its columns, tags, and the key that keeps it from being added twice."""

    key: str
    columns: dict[str, Any]
    tags: list[str]
    # A copy of the picture that the line links to.
    photo: Image | None = None


def read_row(cells: Mapping[str, str], options: ReadingOptions) -> NewTestimonial:
    """Read one line; raise `RowRefused` with the first problem."""
    mapping = options.mapping
    texts = {field: text for field in FIELDS if (text := mapping.pick(cells, field))}
    is_video = cells.get("type", "").lower() == "video"
    if mapping.service == SENJA and is_video and "text" not in texts:
        raise RowRefused("This is a video; only text can be imported.")
    if mapping.service == OWN and cells.get("deletedAt"):
        raise RowRefused("This was in the trash.")
    try:
        row = _DEFAULTS | {"status": options.status} | options.schema.load(texts, partial=_OPTIONAL)
    except ValidationError as error:
        field, messages = next(iter(error.messages_dict.items()))
        raise RowRefused(f"{FIELDS[field]}: {messages[0]}") from None
    row["highlights"] = _find_highlights(row["text"], row["highlights"]) or None
    row["replied_at"] = clock.now() if row["reply"] else None
    return NewTestimonial(make_key(row["author_name"], row["text"]), row, row.pop("tags"))


def _find_highlights(text: str, words: str) -> Ranges:
    """Return the ranges of words, a line each; those that the text doesn't have are left out."""
    ranges: Ranges = []
    for line in words.splitlines()[:MAX_HIGHLIGHTS]:
        with suppress(HighlightRefused):
            ranges = add_highlight(text, ranges, line)
    return ranges


def make_key(name: str, text: str) -> str:
    """Return a hash of who said what, which identifies a testimonial in any file."""
    folded = (
        " ".join(unicodedata.normalize("NFKC", each).casefold().split()) for each in (name, text)
    )
    return hashlib.sha256("\0".join(folded).encode("utf-8", "surrogatepass")).hexdigest()
