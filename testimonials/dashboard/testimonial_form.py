"""What the page of one testimonial sends: the card, words to highlight, a reply, a transcript."""

from typing import Any

from flask import request

from testimonials.auth.email_addresses import Email
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import QueryCount, Switch, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.images.uploads import (
    AVATAR,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.projects.access import Access
from testimonials.testimonials.fields import (
    TEXT_LENGTH,
    AuthorLine,
    AuthorName,
    Handle,
    LanguageTag,
    Rating,
    Reply,
    SaidOn,
    Tags,
    Transcript,
    Words,
)
from testimonials.testimonials.highlights import Ranges, add_highlight
from testimonials.testimonials.media.playback import (
    CAPTIONS_LENGTH,
    CaptionsRefused,
    clean_captions,
)
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import ActionRefused

THANKS_LENGTH = 1000
# Whose stars the owner wrote in themselves.
OWN_SOURCES = ("manual", "import")


class TestimonialForm(FormSchema):
    """The card, and what only the owner sees of it. With a recording no words are needed."""

    text = Words(required=False, load_default="")
    author_name = AuthorName(missing=gettext_noop("Add the author’s name."))
    author_role = AuthorLine(load_default="")
    author_company = AuthorLine()
    # Nothing is mailed to it, so a disposable one will do.
    author_email = Email(
        is_lasting=False,
        error_messages={
            "malformed": gettext_noop("Write the address like name@example.com, or leave it empty.")
        },
    )
    rating = Rating()
    submitted_on = SaidOn(attribute="submitted_at", required=True)
    twitter_handle = Handle(attribute="twitter")
    translated_from = LanguageTag(load_default=None)
    tags = Tags(load_default=list)
    remove_avatar = Switch(load_default=False)


class HighlightForm(FormSchema):
    """Words to highlight and, where a script saw them selected, their place; or one to remove."""

    words = Text(TEXT_LENGTH, load_default="")
    start = QueryCount(0)
    # The start of a highlight.
    remove = QueryCount(0)


class ReplyForm(FormSchema):
    reply = Reply(load_default="")
    remove = Switch(load_default=False)


class ThanksForm(FormSchema):
    """A mail to the author."""

    thanks = Text(THANKS_LENGTH, missing=gettext_noop("Write a line to the author."))


class TranscriptForm(FormSchema):
    """What is said, and whether the card shows it."""

    transcript = Transcript(load_default="")
    shows_transcript = Switch(load_default=False)
    remove_captions = Switch(load_default=False)


def read_photo(_access: Access, **_sent: Any) -> Image | None:
    """Return the picture that was chosen, decoded, but not stored."""
    file = request.files.get("avatar")
    if file is None or not file.filename:
        return None
    try:
        return read_image(file.stream, AVATAR)
    except (ImageRefused, ImageBusy) as error:
        raise ValidationFailed.of({"avatar": [error.shown]}) from None


def to_columns(sent: dict[str, Any], picture: Image | None, row: Testimonial | None) -> Any:
    """Return the columns that the form sets, of a new one or of the locked `row`.

    What the form shows only part of is kept: the time of day, the rest of a handle.
    """
    columns = dict(sent)
    is_removed = columns.pop("remove_avatar")
    if not columns["text"] and not (row and row.is_recorded):
        raise ValidationFailed.of({"text": [_("Add what they said.")]})
    if row is not None:
        if columns["submitted_at"].date() == row.submitted_at.date():
            columns["submitted_at"] = row.submitted_at
        if (columns["twitter"] or {}).get("handle") == (row.twitter or {}).get("handle"):
            columns["twitter"] = row.twitter
        if row.source not in OWN_SOURCES:
            columns.pop("rating")
    if picture is not None:
        db.session.add(picture)
        db.session.flush()
        columns["avatar_id"] = picture.id
    elif is_removed:
        columns |= {"avatar_id": None, "author_avatar": None}
        if columns["twitter"]:
            # A picture that an import brought along.
            columns["twitter"] = columns["twitter"] | {"avatarUrl": ""}
    return columns


def read_ranges(row: Testimonial, words: str, start: int | None, remove: int | None) -> Ranges:
    """Return the highlights that the form asks for; raise `HighlightRefused`."""
    ranges = row.highlights or []
    if remove is not None:
        return [each for each in ranges if each[0] != remove]
    return add_highlight(row.text, ranges, words, start)


def read_captions(_access: Access, *, remove_captions: bool, **_sent: Any) -> dict[str, Any]:
    """Return the captions that were sent or are to be removed, if either."""
    if remove_captions:
        return {"captions": None}
    file = request.files.get("captions")
    if file is None or not file.filename:
        return {}
    try:
        text = file.stream.read(4 * CAPTIONS_LENGTH + 1).decode("utf-8")
        if len(text) > CAPTIONS_LENGTH:
            raise CaptionsRefused(
                _("Captions may have at most %(most)s characters.", most=CAPTIONS_LENGTH)
            )
        return {"captions": clean_captions(text)}
    except UnicodeDecodeError:
        raise ActionRefused(_("The captions are not text in UTF-8.")) from None
    except CaptionsRefused as error:
        raise ActionRefused(translate(str(error))) from None


def read_values(row: Testimonial) -> dict[str, str]:
    return {
        "author_name": row.author_name,
        "author_role": row.author_role,
        "author_company": row.author_company or "",
        "author_email": row.author_email or "",
        "text": row.text,
        "rating": "" if row.rating is None else f"{row.rating:g}",
        "submitted_on": row.submitted_at.date().isoformat(),
        "twitter_handle": (row.twitter or {}).get("handle", ""),
        "translated_from": row.translated_from or "",
        "tags": ", ".join(row.tags),
        "reply": row.reply or "",
    }


def empty_values() -> dict[str, str]:
    return {"submitted_on": clock.now().date().isoformat()}
