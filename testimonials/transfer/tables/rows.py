"""Turning one line of a file into a testimonial, or into the reason why it can't be one."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from marshmallow import ValidationError

from testimonials.auth.addresses import EmailMalformed, parse_email
from testimonials.testimonials.moderation.tag_names import TagRefused, read_tags
from testimonials.testimonials.schemas import TestimonialCreateSchema
from testimonials.transfer.tables.dates import DateWrong, read_date
from testimonials.transfer.tables.headings import FIELDS, OWN, SENJA, ColumnMapping

STATUSES = ("approved", "pending")
# What a file says about a testimonial, and what it becomes here.
_STATES = {
    "approved": {"approved", "true", "yes", "1", "published", "public", "live"},
    "pending": {"pending", "false", "no", "0", "unapproved", "unpublished", "draft", "hidden"},
    "rejected": {"rejected", "declined"},
}
_NOT_TAKEN = {
    "spam": "It was spam.",
    "withdrawn": "Its author has withdrawn it.",
    "demo": "It was a sample.",
    "archived": "It was archived.",
}
_RATING = re.compile(r"(\d(?:[.,]\d+)?)\s*(?:/\s*5|(?:out )?of 5|stars?|★)?", re.I)
_STARS = re.compile(r"([★⭐]\ufe0f?)+[☆✩]*")

_SCHEMA = TestimonialCreateSchema()
_COLUMNS = {
    "text": "text",
    "authorName": "author_name",
    "authorRole": "author_role",
    "authorCompany": "author_company",
    "authorAvatar": "author_avatar",
    "rating": "rating",
}


class RowRefused(Exception):
    """The line is no testimonial; the message says why."""


@dataclass(frozen=True)
class ReadingOptions:
    """How lines are read: the columns, the order in dates, and the status of what has none."""

    mapping: ColumnMapping
    order: str | None = None
    status: str = "approved"


@dataclass(frozen=True)
class NewTestimonial:
    """What a line becomes: columns, tags, and the key under which it is imported once."""

    key: str
    columns: dict[str, Any]
    tags: list[str]


def read_row(cells: Mapping[str, str], options: ReadingOptions) -> NewTestimonial:
    """Read one line; raise `RowRefused` with the first thing that is wrong."""
    said = {field: _pick(cells, field, options.mapping) for field in FIELDS}
    _refuse_what_is_no_testimonial(cells, said, options.mapping)
    _refuse_halves(said)
    values: dict[str, Any] = {
        field: said[field] for field in _COLUMNS if said[field] and field != "rating"
    }
    if said["rating"]:
        values["rating"] = read_rating(said["rating"])
    try:
        loaded = _SCHEMA.check(values)
    except ValidationError as error:
        field, messages = next(iter(error.messages_dict.items()))
        raise RowRefused(f"{FIELDS[field]}: {messages[0]}") from None
    columns = {column: loaded.get(field) for field, column in _COLUMNS.items()}
    columns["author_role"] = columns["author_role"] or ""
    columns["author_email"] = _read_email(said["authorEmail"])
    columns["status"] = _read_status(said["status"], options.status)
    columns["submitted_at"] = _read_date(said["submittedAt"], options.order)
    try:
        tags = read_tags(said["tags"])
    except TagRefused as error:
        raise RowRefused(f"{FIELDS['tags']}: {error.message}") from None
    return NewTestimonial(make_key(loaded["authorName"], loaded["text"]), columns, tags)


def make_key(name: str, text: str) -> str:
    """Return what identifies a testimonial whatever file it comes from: who said what."""
    folded = (
        " ".join(unicodedata.normalize("NFKC", each).casefold().split()) for each in (name, text)
    )
    return hashlib.sha256("\0".join(folded).encode("utf-8", "surrogatepass")).hexdigest()


def read_rating(text: str) -> float:
    """Return a rating as services write it: 5, 4.5, 4/5, 5 stars or ★★★★☆; raise `RowRefused`."""
    if _STARS.fullmatch(text):
        return float(len(re.findall("[★⭐]", text)))
    found = _RATING.fullmatch(text)
    if found is None:
        raise RowRefused(
            f"{FIELDS['rating']}: “{text[:40]}” is no number from 1 to 5. Empty means none."
        )
    return float(found[1].replace(",", "."))


def _pick(cells: Mapping[str, str], field: str, mapping: ColumnMapping) -> str:
    return mapping.pick(cells, field).replace("\r\n", "\n").replace("\r", "\n")


def _refuse_what_is_no_testimonial(
    cells: Mapping[str, str], said: Mapping[str, str], mapping: ColumnMapping
) -> None:
    for field in ("text", "authorName"):
        if not said[field]:
            is_video = mapping.service == SENJA and cells.get("type", "").lower() == "video"
            if field == "text" and is_video:
                raise RowRefused("It is a video; only words can be imported.")
            raise RowRefused(f"{FIELDS[field]}: There is nothing.")
    if mapping.service == OWN and cells.get("deletedAt"):
        raise RowRefused("It lay in the trash.")


def _refuse_halves(said: Mapping[str, str]) -> None:
    """Refuse half a character: JSON can write one, as where an emoji was cut, no database can."""
    for field, text in said.items():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RowRefused(f"{FIELDS[field]}: It holds half a character.") from None


def _read_email(text: str) -> str | None:
    # One that is thrown away is the author's own business: it is never written to.
    try:
        return parse_email(text) if text else None
    except EmailMalformed:
        raise RowRefused(f"{FIELDS['authorEmail']}: “{text[:60]}” is no address.") from None


def _read_status(text: str, usual: str) -> str:
    if not text:
        return usual
    if reason := _NOT_TAKEN.get(text.lower()):
        raise RowRefused(reason)
    for status, words in _STATES.items():
        if text.lower() in words:
            # Whoever wants to look at all of them first does so also with what was shown before.
            return usual if status == "approved" else status
    raise RowRefused(f"{FIELDS['status']}: “{text[:40]}” is not known here.")


def _read_date(text: str, order: str | None) -> datetime | None:
    try:
        return read_date(text, order) if text else None
    except DateWrong as error:
        raise RowRefused(f"{FIELDS['submittedAt']}: “{text[:40]}”. {error}") from None
