"""Reading a testimonial from a line of a file, or refusing the line with a reason."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marshmallow import ValidationError, fields

from testimonials.auth.email_addresses import Email
from testimonials.core import clock
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext, translate
from testimonials.core.text import normalize
from testimonials.projects.projects import make_slug
from testimonials.testimonials.fields import (
    LINE_LENGTH,
    MAX_HIGHLIGHTS,
    REPLY_LENGTH,
    TEXT_LENGTH,
    AuthorLine,
    CardFields,
    Reply,
    Tags,
)
from testimonials.testimonials.highlights import HighlightRefused, Ranges, add_highlight
from testimonials.transfer.tables import values
from testimonials.transfer.tables.columns import (
    FIELDS,
    GOOGLE,
    OWN,
    REQUIRED,
    ColumnMapping,
    read_answers,
)
from testimonials.transfer.tables.files import Table

STATUSES = ("approved", "pending")
_RECORDED = ("video", "voice")
_YES = {"yes", "true", "1"}
# Since a file may have millions of empty cells, these fields are skipped if they are missing.
_OPTIONAL = tuple(FIELDS.keys() - set(REQUIRED))
# Fields that may be shortened.
_LENGTHS = {
    "text": TEXT_LENGTH,
    "authorName": LINE_LENGTH,
    "authorRole": LINE_LENGTH,
    "authorCompany": LINE_LENGTH,
    "reply": REPLY_LENGTH,
}
# Repairs for lines that would be refused: cutting texts, or leaving out optional cells.
SHORTEN, LEAVE_OUT = "shorten", "leave-out"
REPAIRS = (SHORTEN, LEAVE_OUT)


class RowRefused(Exception):
    """The line can't become a testimonial; the message says why, and `repairs` what would help."""

    def __init__(self, message: str, repairs: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.repairs = repairs
        # See `make_key`; empty if the line lacks the name or the text.
        self.key = ""


def _yes(attribute: str) -> Any:
    return fields.Function(
        deserialize=lambda text: text.lower() in _YES, attribute=attribute, load_default=False
    )


class RowSchema(CardFields, FormSchema):
    """A line of a file by field."""

    authorRole = AuthorLine(attribute="author_role", load_default="")
    authorEmail = Email(attribute="author_email", is_lasting=False)
    rating = values.WrittenRating()
    tags = Tags(load_default=[])
    reply = Reply()
    pinned = _yes("is_pinned")
    insider = _yes("is_insider")
    # One on each line of the cell.
    highlights = Text(2 * TEXT_LENGTH, load_default="")

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Word the message for an empty cell, where forms ask to fill in a field."""
        super().on_bind_field(field_name, field_obj)
        field_obj.error_messages["required"] = "The cell is empty."


_DEFAULTS = {
    each.attribute or name: each.load_default
    for name, each in RowSchema().fields.items()
    if not each.required
}


@dataclass(frozen=True)
class Reading:
    """A table, and how its lines are read; `status` is what approved testimonials get."""

    table: Table
    mapping: ColumnMapping
    order: str | None = None
    status: str = "approved"
    repairs: frozenset[str] = frozenset()

    @cached_property
    def unclear(self) -> str:
        """The message about a date whose order of day and month is unclear."""
        return translate(values.UNCLEAR)

    @cached_property
    def schema(self) -> FormSchema:
        schema: Any = RowSchema.from_dict(
            {
                "submittedAt": values.WrittenDate(self.order, attribute="submitted_at"),
                "repliedAt": values.WrittenDate(self.order, attribute="replied_at"),
                "status": values.WrittenStatus(self.status),
            }
        )
        return schema()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class NewTestimonial:
    """A testimonial to add; the key keeps it from being added twice."""

    key: str
    columns: dict[str, Any]
    tags: list[str]


def read_row(cells: Mapping[str, str], reading: Reading) -> NewTestimonial:
    """Read one line; raise `RowRefused` with the first problem."""
    mapping = reading.mapping
    texts = mapping.read(cells)
    kind = (cells.get("type", "") or cells.get("kind", "")).lower()
    if "text" not in texts and kind in _RECORDED:
        raise RowRefused(gettext("This is a recording; only text can be imported."))
    if mapping.service == OWN and cells.get("deletedAt"):
        raise RowRefused(gettext("This was in the trash."))
    if mapping.service != OWN:
        # The texts in our own files are tidy.
        texts = {field: _tidy(field, text, mapping.service) for field, text in texts.items()}
    name, text = texts.get("authorName", ""), texts.get("text", "")
    key = make_key(name, text)
    if SHORTEN in reading.repairs:
        for field in texts.keys() & _LENGTHS.keys():
            texts[field] = values.shorten(texts[field], _LENGTHS[field])
    try:
        loaded = _load(texts, reading)
    except RowRefused as error:
        error.key = key if name and text else ""
        raise
    row = _DEFAULTS | {"status": reading.status, "submitted_at": None, "replied_at": None} | loaded
    is_cut = row["text"] != text and len(text) > TEXT_LENGTH
    row["original_text"] = text[: values.LONGEST_TEXT] if is_cut else None
    row["highlights"] = _find_highlights(row["text"], row["highlights"]) or None
    try:
        row["answers"] = read_answers(cells)
    except ValidationError as error:
        raise RowRefused(str(error.messages[0])) from None
    form = cells.get("form", "") if mapping.service == OWN else ""
    row["form_name"] = form if form and make_slug(form) == form else None
    row["replied_at"] = (row["replied_at"] or clock.now()) if row["reply"] else None
    return NewTestimonial(key, row, row.pop("tags"))


def _tidy(field: str, text: str, service: str | None) -> str:
    if "<" in text or "&" in text:
        text = values.read_markup(text)
        if field not in ("text", "reply"):
            text = " ".join(text.split())
    return values.drop_translation(text) if field == "text" and service == GOOGLE else text


def _load(texts: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    """Return the columns of a line; invalid optional cells are left out if that was chosen."""
    try:
        loaded: dict[str, Any] = reading.schema.load(texts, partial=_OPTIONAL)
    except ValidationError as error:
        wrong = error.messages_dict
        # Unclear dates come first, since a person can say what they mean.
        unclear = (field for field, messages in wrong.items() if reading.unclear in messages[0])
        field = next(unclear, next(name for name in FIELDS if name in wrong))
        repairs = _find_repairs(texts, wrong, reading)
        if repairs and LEAVE_OUT in reading.repairs and wrong.keys().isdisjoint(REQUIRED):
            return _load({name: text for name, text in texts.items() if name not in wrong}, reading)
        raise RowRefused(
            f"{translate(FIELDS[field])}: {translate(wrong[field][0])}", repairs
        ) from None
    return loaded


def _find_repairs(
    texts: Mapping[str, str], wrong: Mapping[str, Any], reading: Reading
) -> frozenset[str]:
    long = {
        field
        for field in wrong
        if len(texts.get(field, "")) > _LENGTHS.get(field, values.LONGEST_TEXT)
    }
    others = wrong.keys() - long
    # Unclear dates aren't left out, since a person can say what they mean.
    is_unclear = any(reading.unclear in messages[0] for messages in wrong.values())
    if is_unclear or not others.isdisjoint((*REQUIRED, "status")):
        return frozenset()
    return frozenset(({SHORTEN} if long else set()) | ({LEAVE_OUT} if others else set()))


def _find_highlights(text: str, words: str) -> Ranges:
    """Return the ranges of the text that consist of lines of `words`."""
    ranges: Ranges = []
    for line in words.splitlines()[:MAX_HIGHLIGHTS]:
        with suppress(HighlightRefused):
            ranges = add_highlight(text, ranges, line)
    return ranges


def make_key(name: str, text: str) -> str:
    """Return a hash of name and text, which identifies a testimonial in any file."""
    folded = (" ".join(normalize("NFKC", each).casefold().split()) for each in (name, text))
    return hashlib.sha256("\0".join(folded).encode("utf-8", "surrogatepass")).hexdigest()
