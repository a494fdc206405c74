"""One testimonial: its card, decision, reply, thanks, highlights, recording and picture."""

from typing import Any

from flask import Response, request, url_for

from testimonials.auth.accounts import find_display_names
from testimonials.auth.email_addresses import Email
from testimonials.collection.author_rights import can_thank, thank_author
from testimonials.collection.images import pictures
from testimonials.collection.images.draw import SIZES
from testimonials.collection.request_mail import first_name
from testimonials.collection.requests import find_asked_emails
from testimonials.collection.schemas import PictureQuerySchema
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import QueryCount, Switch, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.http.resource import load
from testimonials.core.http.security import answer_as
from testimonials.core.http.urls import current_path, testimonial_url
from testimonials.core.images import uploads
from testimonials.dashboard import inbox_data
from testimonials.dashboard.formatting import (
    describe_change,
    describe_hands,
    describe_testimonial,
    list_reasons,
)
from testimonials.dashboard.framework import Done, ProjectPage, Values, require_role
from testimonials.projects.access import Access, Right
from testimonials.projects.models import Project
from testimonials.testimonials import fields, moderation
from testimonials.testimonials.highlights import Ranges, add_highlight
from testimonials.testimonials.history import MOST_TOLD, list_history
from testimonials.testimonials.media.playback import (
    CAPTIONS_LENGTH,
    CaptionsRefused,
    clean_captions,
)
from testimonials.testimonials.media.uploads import remove_recording
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import offer_tags

THANKS_LENGTH = 1000
# The owner may change the ratings of testimonials from these sources.
OWN_SOURCES = ("manual", "import")


class TestimonialForm(FormSchema):
    """The card by column, and what only the owner sees; a recording needs no text."""

    class Meta(FormSchema.Meta):
        include = fields.list_columns(but=("text", "author_name", "author_role", "author_avatar"))

    text = fields.Words(required=False, load_default="")
    author_name = fields.AuthorName(missing=gettext_noop("Enter the author’s name."))
    author_role = fields.AuthorLine(load_default="")
    # It may be a disposable address, since nothing is emailed to it.
    author_email = Email(
        is_lasting=False,
        error_messages={
            "malformed": gettext_noop(
                "Enter an email address like name@example.com, or leave it empty."
            )
        },
    )
    submitted_on = fields.SubmittedAt(attribute="submitted_at", required=True)
    twitter_handle = fields.Handle(attribute="twitter")
    tags = fields.Tags(load_default=list)
    remove_avatar = Switch(load_default=False)


class HighlightForm(FormSchema):
    """Words to highlight, with their position if a script sends it; or a highlight to remove."""

    words = Text(fields.TEXT_LENGTH, load_default="")
    start = QueryCount(0)
    # The start of the highlight to remove.
    remove = QueryCount(0)


class ReplyForm(FormSchema):
    reply = fields.Reply(load_default="")
    remove = Switch(load_default=False)


class TranscriptForm(FormSchema):
    transcript = fields.Transcript(load_default="")
    shows_transcript = Switch(load_default=False)


def read_photo(_access: Access, **_sent: Any) -> uploads.Image | None:
    """Return the chosen picture, decoded but not stored."""
    file = request.files.get("avatar")
    if file is None or not file.filename:
        return None
    try:
        return uploads.read_image(file.stream, uploads.AVATAR)
    except (uploads.ImageRefused, uploads.ImageBusy) as error:
        raise ValidationFailed.of({"avatar": [error.shown]}) from None


def to_columns(sent: dict[str, Any], picture: uploads.Image | None, row: Testimonial | None) -> Any:
    """Return the columns that the form sets for a new testimonial or for the locked `row`.

    The time of day and the rest of a handle, which the form doesn't show, are kept.
    """
    columns = dict(sent)
    is_removed = columns.pop("remove_avatar")
    if not columns["text"] and not (row and row.is_recorded):
        raise ValidationFailed.of({"text": [_("Enter what they said.")]})
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
            # The picture of an import.
            columns["twitter"] = columns["twitter"] | {"avatarUrl": ""}
    return columns


def read_ranges(row: Testimonial, words: str, start: int | None, remove: int | None) -> Ranges:
    """Return the highlights after the change; raise `HighlightRefused`."""
    ranges = row.highlights or []
    if remove is not None:
        return [pair for pair in ranges if pair[0] != remove]
    return add_highlight(row.text, ranges, words, start)


def read_captions(_access: Access, **_sent: Any) -> dict[str, Any]:
    """Return the column to set if captions were sent."""
    file = request.files.get("captions")
    if file is None or not file.filename:
        return {}
    try:
        text = file.stream.read(4 * CAPTIONS_LENGTH + 1).decode("utf-8")
        if len(text) > CAPTIONS_LENGTH:
            raise CaptionsRefused(
                _("Captions can have at most %(most)s characters.", most=CAPTIONS_LENGTH)
            )
        return {"captions": clean_captions(text)}
    except UnicodeDecodeError:
        raise moderation.ActionRefused(_("The captions aren’t UTF-8 text.")) from None
    except CaptionsRefused as error:
        raise moderation.ActionRefused(translate(str(error))) from None


def read_values(row: Testimonial) -> dict[str, str]:
    columns = {name: getattr(row, name, None) or "" for name in TestimonialForm().fields}
    return columns | {
        "rating": "" if row.rating is None else f"{row.rating:g}",
        "submitted_on": row.submitted_at.date().isoformat(),
        "twitter_handle": (row.twitter or {}).get("handle", ""),
        "tags": ", ".join(row.tags),
        "reply": row.reply or "",
    }


TEMPLATE = "inbox/testimonial.html"
new = ProjectPage(inbox, "testimonials/new", TEMPLATE, role=Right.DECIDE)
one = ProjectPage(inbox, "testimonials/<testimonial_id>", TEMPLATE, role=Right.LOOK)


@new.show
def show_new(access: Access) -> Values:
    today = clock.now().date().isoformat()
    return _describe(access.project) | {"values": {"submitted_on": today}}


@new.save(TestimonialForm, takes=uploads.UPLOAD_FORM_BYTES, prepare=read_photo)
def add_by_hand(access: Access, *, prepared: uploads.Image | None, **sent: Any) -> Done:
    columns = to_columns(sent, prepared, None)
    row = moderation.add_testimonial(access.project, columns, access.user.email)
    to = url_for(".show_inbox", status="approved")
    return Done(_("%(name)s is on your site", name=row.author_name), to)


@one.show
def show_testimonial(access: Access, testimonial_id: str) -> Values:
    row = moderation.find_testimonial(access.project, testimonial_id)
    history = list_history(row.id, most=MOST_TOLD)
    people = find_display_names(change.actor for change in history)
    return _describe(access.project) | {
        "item": describe_testimonial(row),
        "values": read_values(row),
        "has_stars": row.source in OWN_SOURCES,
        "history": [describe_change(change, people) for change in history],
        "hands": describe_hands(row, history, people),
        "asked_email": find_asked_emails([row.id]).get(row.id),
        "can_thank": can_thank(access.project, row),
        "first_name": first_name(row.author_name),
    }


def _describe(project: Project) -> Values:
    return {
        "item": None,
        "return_to": current_path(),
        "has_stars": True,
        "reason_names": list_reasons(),
        "known_tags": offer_tags(project.id),
        "text_length": fields.TEXT_LENGTH,
        "reply_length": fields.REPLY_LENGTH,
        "thanks_length": THANKS_LENGTH,
    }


@one.save(TestimonialForm, takes=uploads.UPLOAD_FORM_BYTES, role=Right.DECIDE, prepare=read_photo)
def edit(
    access: Access, testimonial_id: str, *, prepared: uploads.Image | None, **sent: Any
) -> Done:
    """Edit a testimonial; the original text is kept, and highlights follow their words."""
    row = moderation.find_testimonial(access.project, testimonial_id)
    marked, text = len(row.highlights or []), _("Saved")
    columns = to_columns(sent, prepared, row)
    batch = moderation.edit_testimonial(access.project, row, columns, access.user.email)
    if len(row.highlights or []) < marked:
        text = _("Saved. The words changed, so a highlight was removed.")
    return _answer(access, row, text, batch)


@one.save(inbox_data.ActionForm, at="/action", role=Right.DECIDE)
def decide(
    access: Access, testimonial_id: str, *, action: str, reason: str, return_to: str
) -> Done:
    row = moderation.find_testimonial(access.project, testimonial_id)
    old_status = row.status
    batch, count = moderation.apply_action(
        access.project, [row], action, access.user.email, reason=reason
    )
    if not count:
        raise moderation.ActionRefused(inbox_data.already_decided_text(row))
    text = inbox_data.report_action(action, old_status, row.author_name)
    if action == "approve":
        text = _("%(name)s is on your site", name=row.author_name)
    return inbox_data.done_with_undo(access, text, batch, to=inbox_data.return_target(return_to))


@one.save(HighlightForm, at="/highlights", role=Right.DECIDE)
def highlight(
    access: Access, testimonial_id: str, *, words: str, start: int | None, remove: int | None
) -> Done:
    row = moderation.find_testimonial(access.project, testimonial_id)
    ranges = read_ranges(row, words, start, remove)
    batch = moderation.set_highlights(access.project, row, ranges, access.user.email)
    text = _("Saved") if remove is None else _("Removed")
    return _answer(access, row, text, batch)


@one.save(ReplyForm, at="/reply", role=Right.DECIDE)
def reply(access: Access, testimonial_id: str, *, reply: str, remove: bool) -> Done:
    row = moderation.find_testimonial(access.project, testimonial_id)
    text = "" if remove else reply
    batch = moderation.set_reply(access.project, row, text, access.user.email)
    return _answer(access, row, _("Saved") if text else _("Removed"), batch, "reply")


@one.save(
    {"thanks": Text(THANKS_LENGTH, required=True)},
    at="/thanks",
    role=Right.DECIDE,
)
def thank(access: Access, testimonial_id: str, *, thanks: str) -> Done:
    row = moderation.find_testimonial(access.project, testimonial_id)
    thank_author(access.project, row, thanks, access.user.email)
    return Done(_("Sent"))


@one.save(
    TranscriptForm,
    at="/transcript",
    takes=uploads.UPLOAD_FORM_BYTES,
    role=Right.DECIDE,
    prepare=read_captions,
)
def save_transcript(access: Access, testimonial_id: str, *, prepared: Values, **sent: Any) -> Done:
    row = moderation.find_testimonial(access.project, testimonial_id)
    moderation.edit_testimonial(access.project, row, sent | prepared, access.user.email)
    return Done(_("Saved"), shown={"text": row.text, "highlights": row.highlights or []})


@one.save(inbox_data.ReturnForm, at="/recording/remove", role=Right.DECIDE)
def discard_recording(access: Access, testimonial_id: str, *, return_to: str) -> Done:
    """Delete the recording for good; its text stays."""
    row = moderation.find_testimonial(access.project, testimonial_id)
    remove_recording(access.project, row, access.user.email)
    return Done(_("Removed"))


def _answer(
    access: Access, row: Testimonial, text: str, batch: str | None, anchor: str = ""
) -> Done:
    """Return a notice if something changed; a script also gets the card."""
    done = inbox_data.done_with_undo(access, text if batch else "", batch)
    card = {
        "text": row.text,
        "highlights": row.highlights or [],
        "name": row.author_name,
        "photo": row.avatar_url,
        "isEdited": row.original_text is not None,
    }
    return Done(done.notice, anchor=anchor, undo=done.undo, shown=done.shown | card)


# The picture to share.

picture = ProjectPage(
    inbox, "testimonials/<testimonial_id>/picture", "inbox/picture.html", role=Right.LOOK
)
_QUERY = PictureQuerySchema()


@picture.show
def show_picture(access: Access, testimonial_id: str) -> Values:
    """Show the picture in a look and size, or why it can't be drawn."""
    spec, problem = _read_wanted(access, testimonial_id), ""
    try:
        pictures.fetch_picture(spec)
    except pictures.PictureRefused as error:
        answer_as(error)
        problem = error.shown
    return {
        "id": spec.testimonial_id,
        "author": spec.shown["name"],
        "sizes": SIZES,
        "chosen": {"look": spec.look, "size": spec.size},
        "problem": problem,
        "link": testimonial_url(access.project.slug, testimonial_id, access.project.own_host),
    }


@inbox.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture.png")
@require_role(Right.LOOK)
def get_picture(access: Access, testimonial_id: str) -> Response:
    """Send the picture, with ``?download`` as an attachment."""
    spec = _read_wanted(access, testimonial_id)
    response = pictures.send_picture(spec.fingerprint, pictures.fetch_picture(spec))
    if "download" in request.args:
        name = f"testimonial-{spec.look}-{spec.size}.png"
        response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def _read_wanted(access: Access, testimonial_id: str) -> pictures.Picture:
    row = moderation.find_testimonial(access.project, testimonial_id)
    chosen = {name: request.args[name] for name in ("look", "size") if name in request.args}
    return pictures.describe_picture(access.project, row, **load(_QUERY, chosen))
