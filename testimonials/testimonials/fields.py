"""Fields shared by the API, forms and imports; answers to the owner's questions."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from marshmallow import Schema, ValidationError, fields
from sqlalchemy import Text as SqlalchemyText
from sqlalchemy import cast, select

from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.fields import Amount, OneLine, RuleField, Text, WebUrl
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.counts import count_answered
from testimonials.testimonials.media.playback import (
    CAPTIONS_LENGTH,
    CaptionsRefused,
    clean_captions,
)
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import TagRefused, read_tags

LINE_LENGTH = 120
TEXT_LENGTH = 2000
REPLY_LENGTH = 2000
EXTERNAL_ID_LENGTH = 120
MAX_HIGHLIGHTS = 10
RATING_RANGE = (1, 5)
EARLIEST_DAY = date(1990, 1, 1)
_LANGUAGE = "[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}"
# A day, or a time with its zone; what else `fromisoformat` accepts depends on the Python version.
_MOMENT = re.compile(
    "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?"
)


AuthorName = partial(OneLine, LINE_LENGTH, blank=False, required=True)
Transcript = partial(Text, TEXT_LENGTH)
# A role or a company.
AuthorLine = partial(OneLine, LINE_LENGTH)
AuthorAvatar = partial(WebUrl, 500)
Reply = partial(Text, REPLY_LENGTH)
ExternalId = partial(OneLine, EXTERNAL_ID_LENGTH, blank=False, attribute="external_id")
Words = partial(Text, TEXT_LENGTH, blank=False, required=True)


class Column(NamedTuple):
    """A column of tables and pages: the attribute that it shows, and its label."""

    attribute: str
    label: str = ""
    # Whether the history shows its earlier values.
    is_told: bool = False


# By name in tables, the API and proposals.
COLUMNS = {
    "id": Column("id"),
    "status": Column("status", gettext_noop("Status")),
    "source": Column("source"),
    "kind": Column("kind"),
    "form": Column("form_name"),
    "authorName": Column("author_name", gettext_noop("Name"), is_told=True),
    "authorRole": Column("author_role", gettext_noop("Role"), is_told=True),
    "authorCompany": Column("author_company", gettext_noop("Company"), is_told=True),
    "authorEmail": Column("author_email", gettext_noop("Email address"), is_told=True),
    "authorAvatar": Column("avatar_url", gettext_noop("Photo URL")),
    "rating": Column("rating", gettext_noop("Rating"), is_told=True),
    "text": Column("text", gettext_noop("Text"), is_told=True),
    "transcript": Column("transcript", gettext_noop("Transcript"), is_told=True),
    "tags": Column("tags", gettext_noop("Tags"), is_told=True),
    "highlights": Column("highlighted_words", gettext_noop("Highlighted words")),
    "reply": Column("reply", gettext_noop("Reply"), is_told=True),
    "repliedAt": Column("replied_at", gettext_noop("Date of the reply")),
    "pinned": Column("is_pinned", gettext_noop("Pinned")),
    "rewarded": Column("is_rewarded"),
    "insider": Column("is_insider", gettext_noop("Works here or is related")),
    "translatedFrom": Column("translated_from", gettext_noop("Translated from"), is_told=True),
    "order": Column("purchase_reference"),
    "submittedAt": Column("submitted_at", gettext_noop("Date")),
    "reviewedAt": Column("reviewed_at"),
    "consentText": Column("consent_text"),
    "consentedAt": Column("consented_at"),
    "deletedAt": Column("deleted_at"),
    "createdAt": Column("created_at"),
}


class Captions(Text):
    """WebVTT; it loads as the cues alone, or as None if it is empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(CAPTIONS_LENGTH, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        text = super()._deserialize(value, attr, data, **kwargs)
        try:
            return clean_captions(text) if text else None
        except CaptionsRefused as error:
            raise ValidationError(str(error)) from None


class LanguageTag(RuleField, fields.String):
    """A language tag; an empty text loads as None."""

    rule = "Must be a language such as pl or pt-BR."
    about: ClassVar[Mapping[str, Any]] = {"pattern": f"^(?:{_LANGUAGE})?$", "examples": ["pt-BR"]}
    form_messages: ClassVar[dict[str, str]] = {
        "invalid": gettext_noop("Enter a language such as pl or pt-BR.")
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or (value and not re.fullmatch(_LANGUAGE, value)):
            raise self.make_error("invalid")
        return value or None


class Rating(Amount):
    """A rating from 1 to 5, in whole stars if `is_whole`."""

    form_messages: ClassVar[dict[str, str]] = {
        "invalid": gettext_noop("Choose from 1 to 5 stars, or none.")
    }

    def __init__(self, *, is_whole: bool = False, **options: Any) -> None:
        self.is_whole = is_whole
        super().__init__(*RATING_RANGE, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        rating = super()._deserialize(value, attr, data, **kwargs)
        if self.is_whole and not rating.is_integer():
            raise self.make_error("invalid")
        return rating


class Highlights(RuleField):
    """Ranges [start, end] of a text in code points, in order and without overlaps."""

    rule = f"Must be at most {MAX_HIGHLIGHTS} ranges such as [0, 12], in order and apart."

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        last = -1
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_HIGHLIGHTS:
            raise self.make_error("invalid")
        for each in value:
            is_pair = isinstance(each, list) and [type(end) for end in each] == [int, int]
            if not is_pair or not max(last, 0) <= each[0] < each[1] <= TEXT_LENGTH:
                raise self.make_error("invalid")
            last = each[1]
        return value


def begin_day(time: datetime) -> datetime:
    """Return what stands for a day alone: its noon, which is on the same day in most of the world,
    or its midnight until then."""
    noon = time.replace(hour=12, minute=0, second=0, microsecond=0)
    return noon if noon <= clock.now() else noon.replace(hour=0)


def is_day(time: datetime) -> bool:
    """Return whether a time stands for a day alone (`begin_day`)."""
    return time == time.replace(hour=time.hour // 12 * 12, minute=0, second=0, microsecond=0)


class SubmittedAt(RuleField):
    """When a testimonial was given: a day, or a time with its zone, from 1990 until now."""

    rule = (
        "Must be a day such as 2024-12-31 or a time such as 2024-12-31T12:00:00Z, from 1990 until "
        "now."
    )
    about: ClassVar[Mapping[str, Any]] = {
        "type": "string",
        "pattern": f"^{_MOMENT.pattern}$",
        "description": "When it was said, such as 2024-12-31 or 2024-12-31T12:00:00Z; left out: "
        "now.",
    }
    form_messages: ClassVar[dict[str, str]] = {
        "required": gettext_noop("Choose the day they said it."),
        "invalid": gettext_noop("Use a day from 1990 until today."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not _MOMENT.fullmatch(value):
            raise self.make_error("invalid")
        try:
            moment = datetime.fromisoformat(value)
            if "T" not in value:
                moment = begin_day(moment.replace(tzinfo=UTC))
            if moment.tzinfo is None or moment.year < EARLIEST_DAY.year or moment > clock.now():
                raise self.make_error("invalid")
        except (ValueError, OverflowError):
            raise self.make_error("invalid") from None
        moment = moment.astimezone(UTC)
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> Any:
        return None if value is None else clock.iso(value)


class Handle(OneLine):
    """A handle on X, with or without @; it loads as the profile to store."""

    messages: ClassVar[dict[str, str]] = Text.messages | {
        "handle": "A handle has letters, digits and _, at most 15 of them."
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(LINE_LENGTH, **options)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        name = super()._deserialize(value, attr, data, **kwargs).lstrip("@")
        if not name:
            return None
        if not (name.isascii() and name.replace("_", "").isalnum() and len(name) <= 15):
            raise self.make_error("handle")
        return {"id": "", "handle": name, "displayName": name, "avatarUrl": "", "verified": False}


class Tags(RuleField):
    """Tags separated by commas; they load as a list without duplicates."""

    rule = "Must be tags separated by commas."

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        try:
            return read_tags(value)
        except TagRefused as error:
            raise ValidationError(error.message) from None


class CardFields(Schema):
    """The fields that the API, edits and imported tables have in common."""

    authorName = AuthorName(attribute="author_name")
    text = Words()
    rating = Rating(description="Fractions are allowed; leave out for no stars.")
    authorRole = AuthorLine(attribute="author_role")
    authorCompany = AuthorLine(attribute="author_company")
    authorAvatar = AuthorAvatar(attribute="author_avatar", description="URL of a public image.")
    translatedFrom = LanguageTag(attribute="translated_from")


def list_columns(but: Collection[str]) -> dict[str, fields.Field[Any]]:
    """Return the fields of a card by column, without those in `but`, for a form."""
    by_column = {each.attribute or name: each for name, each in CardFields().fields.items()}
    return {name: each for name, each in by_column.items() if name not in but}


# A testimonial keeps each answer with its question, so that changing or deleting a question leaves
# the answers as they are.

Answer = dict[str, Any]


def public_answers(testimonial: Testimonial, project: Project) -> list[Answer]:
    return [each for each in testimonial.read_answers(project) if each["isPublic"]]


def write_answer(answer: Mapping[str, Any]) -> str:
    """Return an answer as text; empty for a consent, which its question already expresses."""
    value = answer["answer"]
    if value is True:
        return ""
    return ", ".join(value) if isinstance(value, list) else str(value)


def count_answers(project: Project, ids: Iterable[str]) -> dict[str, int]:
    """Return how many testimonials answer each question, including those in the trash."""
    question_ids = list(ids)
    counts = count_answered(project.id) if question_ids else {}
    return {question_id: counts.get(question_id, 0) for question_id in question_ids}


def find_kind(project: Project, question_id: str) -> str | None:
    """Return the kind that a question had when it was answered; None if nobody answered it."""
    if not count_answers(project, [question_id])[question_id]:
        return None
    # Quotes within texts are escaped, so only an id matches.
    query = select(Testimonial.answers).where(
        Testimonial.project_id == project.id,
        Testimonial.answers.is_not(None),
        cast(Testimonial.answers, SqlalchemyText).contains(
            f'"id": "{question_id}"', autoescape=True
        ),
    )
    answers: Sequence[Answer] = db.session.scalars(query.limit(1)).first() or ()
    return next((each["kind"] for each in answers if each["id"] == question_id), None)


def note_privacy(project: Project, questions: Iterable[Mapping[str, Any]], gone: set[str]) -> None:
    """Store which questions of the locked project are now private.

    Deleted questions (`gone`) that have answers stay as they were.
    """
    hidden = dict.fromkeys(project.private_questions)
    for question in questions:
        if question["isPublic"]:
            hidden.pop(question["id"], None)
        else:
            hidden[question["id"]] = None
    for each in gone & hidden.keys():
        if find_kind(project, each) is None:
            hidden.pop(each)
    if list(hidden) != project.private_questions:
        project.private_questions = list(hidden)
