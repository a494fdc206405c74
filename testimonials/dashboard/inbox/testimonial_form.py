"""The form that adds a testimonial by hand, or edits one."""

from dataclasses import dataclass, field
from typing import Any

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.auth.addresses import Email
from testimonials.core import clock
from testimonials.core.pictures.images import (
    AVATAR,
    MEGABYTE,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.core.web.fields import QueryCount, Text
from testimonials.core.web.forms import FormSchema, SentForm
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.response_headers import answer_as
from testimonials.extensions import db
from testimonials.testimonials.fields import (
    TEXT_LENGTH,
    AuthorLine,
    AuthorName,
    Handle,
    Rating,
    Reply,
    SaidOn,
    Tags,
    Words,
)
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.highlights import Ranges, add_highlight

# A photo of 10 MB, and the texts.
THANKS_LENGTH = 1000
UPLOAD_FORM_BYTES = 16 * MEGABYTE
TOO_LARGE = gettext_noop(
    "This picture is too large to upload, and nothing else in the form could be read. Go back in "
    "your browser to find what you typed, and choose a picture of at most 10 MB."
)


class TestimonialForm(FormSchema):
    """The fields of a testimonial, without its picture."""

    text = Words(error_messages={"required": gettext_noop("Add what they said.")})
    author_name = AuthorName(error_messages={"required": gettext_noop("Add the author’s name.")})
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
    tags = Tags(load_default=list)


class RecordedForm(TestimonialForm):
    """The fields of a testimonial with a recording, beside which no words are needed."""

    text = Words(required=False, load_default="")


class HighlightForm(FormSchema):
    """Words to highlight and, where a script saw them selected, their place; or one to remove."""

    words = Text(TEXT_LENGTH, load_default="")
    start = QueryCount(0)
    # The start of a highlight.
    remove = QueryCount(0)


class ReplyForm(FormSchema):
    reply = Reply(load_default="")


class ThanksForm(FormSchema):
    """A mail to the author."""

    thanks = Text(
        THANKS_LENGTH,
        required=True,
        error_messages={"required": gettext_noop("Write a line to the author.")},
    )


@dataclass
class EditedTestimonial:
    """The form as it was sent: texts, columns, errors, and the chosen picture."""

    typed: dict[str, str] | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    picture: Image | None = None

    def store_picture(self) -> None:
        if self.picture is not None:
            db.session.add(self.picture)
            db.session.flush()
            self.columns["avatar_id"] = self.picture.id

    def fit_to(self, row: Testimonial) -> None:
        """Keep what the form shows only part of: the time of day, the rest of a handle."""
        columns = self.columns
        if columns["submitted_at"].date() == row.submitted_at.date():
            columns["submitted_at"] = row.submitted_at
        if (columns["twitter"] or {}).get("handle") == (row.twitter or {}).get("handle"):
            columns["twitter"] = row.twitter
        if self.picture is None and request.form.get("remove_avatar"):
            columns |= {"avatar_id": None, "author_avatar": None}
            if columns["twitter"]:
                # A picture that an import brought along.
                columns["twitter"] = columns["twitter"] | {"avatarUrl": ""}


def read_testimonial_form(row: Testimonial | None = None) -> EditedTestimonial:
    """Read and check the form; its picture is decoded, but not stored."""
    request.max_content_length = UPLOAD_FORM_BYTES
    schema = RecordedForm if row is not None and row.is_recorded else TestimonialForm
    try:
        sent = schema().read(request.form)
        file = request.files.get("avatar")
    except RequestEntityTooLarge:
        return EditedTestimonial(errors={"avatar": [TOO_LARGE]})
    edited = EditedTestimonial(sent.typed, sent.values, sent.errors)
    if file is not None and file.filename:
        try:
            edited.picture = read_image(file.stream, AVATAR)
        except (ImageRefused, ImageBusy) as error:
            edited.errors["avatar"] = [error.shown]
            answer_as(error)
    return edited


def read_ranges(row: Testimonial, sent: SentForm) -> Ranges:
    """Return the highlights that the form asks for; raise `HighlightRefused`."""
    ranges, values = row.highlights or [], sent.values
    if values.get("remove") is not None:
        return [each for each in ranges if each[0] != values["remove"]]
    return add_highlight(row.text, ranges, values.get("words", ""), values.get("start"))


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
        "tags": ", ".join(row.tags),
        "reply": row.reply or "",
    }


def empty_values() -> dict[str, str]:
    return {"submitted_on": clock.now().date().isoformat()}
