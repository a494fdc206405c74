"""Turning a line of a file into a testimonial, or into the reason why it can't be one."""

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
from testimonials.core.http.i18n import gettext, gettext_noop, translate
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
from testimonials.transfer.tables.columns import (
    FIELDS,
    GOOGLE,
    OWN,
    REQUIRED,
    ColumnMapping,
    read_answers,
)
from testimonials.transfer.tables.files import Table
from testimonials.transfer.tables.values import (
    LONGEST_TEXT,
    UNCLEAR,
    WrittenDate,
    WrittenRating,
    WrittenStatus,
    drop_translation,
    read_markup,
    shorten,
)

STATUSES = ("approved", "pending")
_RECORDED = {
    "video": gettext_noop("This is a video; only text can be imported."),
    "voice": gettext_noop("This is a voice recording; only text can be imported."),
}
_YES = {"yes", "true", "1"}
# Empty cells are skipped: a file may have millions of them.
_OPTIONAL = tuple(FIELDS.keys() - set(REQUIRED))
# Of these the beginning is worth having.
_LENGTHS = {
    "text": TEXT_LENGTH,
    "authorName": LINE_LENGTH,
    "authorRole": LINE_LENGTH,
    "authorCompany": LINE_LENGTH,
    "reply": REPLY_LENGTH,
}
# What may be done about a line that would be refused: its texts cut, or optional cells left out.
SHORTEN, LEAVE_OUT = "shorten", "leave-out"
REPAIRS = (SHORTEN, LEAVE_OUT)


class RowRefused(Exception):
    """The line can't become a testimonial; the message says why, `repairs` what would let it."""

    def __init__(self, message: str, repairs: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.repairs = repairs
        # Of who said what, where the line has both.
        self.key = ""


def _yes(attribute: str) -> Any:
    return fields.Function(
        deserialize=lambda written: written.lower() in _YES, attribute=attribute, load_default=False
    )


class RowSchema(CardFields, FormSchema):
    """A line of a file, by the columns of a testimonial."""

    authorRole = AuthorLine(attribute="author_role", load_default="")
    authorEmail = Email(attribute="author_email", is_lasting=False)
    rating = WrittenRating()
    tags = Tags(load_default=[])
    reply = Reply()
    pinned = _yes("is_pinned")
    insider = _yes("is_insider")
    # Words of the text, a line each.
    highlights = Text(2 * TEXT_LENGTH, load_default="")

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Report an empty cell, rather than asking to fill in a field."""
        super().on_bind_field(field_name, field_obj)
        field_obj.error_messages["required"] = "The cell is empty."


_USUAL = {
    each.attribute or name: each.load_default
    for name, each in RowSchema().fields.items()
    if not each.required
}


@dataclass(frozen=True)
class Reading:
    """A file as a table, and how its lines are read: the columns, the order in dates, the status of
    lines without one, and what is done about those that would be refused.
    """

    table: Table
    mapping: ColumnMapping
    order: str | None = None
    status: str = "approved"
    repairs: frozenset[str] = frozenset()

    @cached_property
    def unclear(self) -> str:
        """What is said of a date whose day and month can't be told apart."""
        return translate(UNCLEAR)

    @cached_property
    def schema(self) -> FormSchema:
        schema: Any = RowSchema.from_dict(
            {
                "submittedAt": WrittenDate(self.order, attribute="submitted_at"),
                "repliedAt": WrittenDate(self.order, attribute="replied_at"),
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


def read_row(cells: Mapping[str, str], reading: Reading) -> NewTestimonial:
    """Read one line; raise `RowRefused` with the first problem."""
    mapping = reading.mapping
    texts = mapping.read(cells)
    kind = (cells.get("type", "") or cells.get("kind", "")).lower()
    if "text" not in texts and kind in _RECORDED:
        raise RowRefused(translate(_RECORDED[kind]))
    if mapping.service == OWN and cells.get("deletedAt"):
        raise RowRefused(gettext("This was in the trash."))
    if mapping.service != OWN:
        # Our own file has texts as they are.
        texts = {field: _tidy(field, text, mapping.service) for field, text in texts.items()}
    whole = texts.get("authorName", ""), texts.get("text", "")
    key = make_key(*whole)
    try:
        loaded = _load(_shorten(texts, reading), reading)
    except RowRefused as error:
        error.key = key if all(whole) else ""
        raise
    row = _USUAL | {"status": reading.status, "submitted_at": None, "replied_at": None} | loaded
    is_cut = row["text"] != whole[1] and len(whole[1]) > TEXT_LENGTH
    row["original_text"] = whole[1][:LONGEST_TEXT] if is_cut else None
    row["highlights"] = _find_highlights(row["text"], row["highlights"]) or None
    row["answers"] = _read_answers(cells)
    form = cells.get("form", "") if mapping.service == OWN else ""
    row["form_name"] = form if form and make_slug(form) == form else None
    row["replied_at"] = (row["replied_at"] or clock.now()) if row["reply"] else None
    return NewTestimonial(key, row, row.pop("tags"))


def _read_answers(cells: Mapping[str, str]) -> list[dict[str, Any]] | None:
    try:
        return read_answers(cells)
    except ValidationError as error:
        raise RowRefused(str(error.messages[0])) from None


def _tidy(field: str, text: str, service: str | None) -> str:
    if "<" in text or "&" in text:
        text = (
            read_markup(text) if field in ("text", "reply") else " ".join(read_markup(text).split())
        )
    return drop_translation(text) if field == "text" and service == GOOGLE else text


def _shorten(texts: dict[str, str], reading: Reading) -> dict[str, str]:
    """Return the texts of a line, cut if that was chosen."""
    if SHORTEN not in reading.repairs:
        return texts
    return {
        field: shorten(text, _LENGTHS[field]) if field in _LENGTHS else text
        for field, text in texts.items()
    }


def _load(texts: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    """Return a line's columns, without optional cells that are wrong if that was chosen."""
    try:
        loaded: dict[str, Any] = reading.schema.load(texts, partial=_OPTIONAL)
    except ValidationError as error:
        wrong = error.messages_dict
        # What has to be asked is asked first.
        asked = (field for field, messages in wrong.items() if reading.unclear in messages[0])
        field = next(asked, next(name for name in FIELDS if name in wrong))
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
        field for field in wrong if len(texts.get(field, "")) > _LENGTHS.get(field, LONGEST_TEXT)
    }
    others = wrong.keys() - long
    # What nobody has answered yet is not left out.
    is_asked = any(reading.unclear in messages[0] for messages in wrong.values())
    if is_asked or not others.isdisjoint((*REQUIRED, "status")):
        return frozenset()
    return frozenset(({SHORTEN} if long else set()) | ({LEAVE_OUT} if others else set()))


def _find_highlights(text: str, words: str) -> Ranges:
    """Return the ranges of words, a line each; those that the text doesn't have are left out."""
    ranges: Ranges = []
    for line in words.splitlines()[:MAX_HIGHLIGHTS]:
        with suppress(HighlightRefused):
            ranges = add_highlight(text, ranges, line)
    return ranges


def make_key(name: str, text: str) -> str:
    """Return a hash of who said what, which identifies a testimonial in any file."""
    folded = (" ".join(normalize("NFKC", each).casefold().split()) for each in (name, text))
    return hashlib.sha256("\0".join(folded).encode("utf-8", "surrogatepass")).hexdigest()
