"""One testimonial: its form, reply, highlights, transcript and picture."""

from dataclasses import dataclass, field
from typing import Any

from flask import Response, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.auth.accounts import find_display_names
from testimonials.auth.email_addresses import Email
from testimonials.collection.images.draw import SIZES
from testimonials.collection.images.pictures import (
    OWN_DRAWINGS,
    PictureRefused,
    Wanted,
    describe_picture,
    draw_picture,
    find_picture,
    keep_picture,
    send_picture,
)
from testimonials.collection.requests import find_asked_emails
from testimonials.collection.schemas import PictureQuerySchema
from testimonials.core import clock
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.errors import FieldErrors
from testimonials.core.http.fields import QueryCount, Switch, Text
from testimonials.core.http.form_errors import wants_json
from testimonials.core.http.forms import FormSchema, SentForm, add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.resource import load
from testimonials.core.http.security import answer_as
from testimonials.core.http.urls import current_path, testimonial_url
from testimonials.core.images.uploads import (
    AVATAR,
    MEGABYTE,
    Image,
    ImageBusy,
    ImageRefused,
    read_image,
)
from testimonials.dashboard.formatting import describe_change, describe_hands, describe_testimonial
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.inbox import return_target
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Right, find_access
from testimonials.testimonials.fields import (
    REPLY_LENGTH,
    TEXT_LENGTH,
    AuthorLine,
    AuthorName,
    Handle,
    Rating,
    Reply,
    SaidOn,
    Tags,
    Transcript,
    Words,
)
from testimonials.testimonials.highlights import HighlightRefused, Ranges, add_highlight
from testimonials.testimonials.history import list_history
from testimonials.testimonials.media.playback import (
    CAPTIONS_LENGTH,
    CaptionsRefused,
    clean_captions,
)
from testimonials.testimonials.media.removal import remove_recording
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ActionRefused,
    add_testimonial,
    edit_testimonial,
    find_testimonial,
    set_highlights,
    set_reply,
)
from testimonials.testimonials.tags import list_project_tags
from testimonials.testimonials.undo import make_undo_token

# The form that adds a testimonial by hand, or edits one.

THANKS_LENGTH = 1000
# A photo of 10 MB, and the texts.
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


# Adding a testimonial by hand; editing one, with its history.


# Of `?then=`: back to the page for deciding.
THEN = "decide"


@inbox.get("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Right.DECIDE)
def show_new(access: Access) -> ResponseReturnValue:
    return _form(access, None, empty_values(), {})


@inbox.post("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Right.DECIDE)
def add_by_hand(access: Access) -> ResponseReturnValue:
    form = read_testimonial_form()
    if form.errors:
        return _form(access, None, form.typed or empty_values(), form.errors), 422
    begin_write()
    project = find_access(access.user, access.project.id, Right.DECIDE, for_update=True).project
    form.store_picture()
    add_testimonial(project, form.columns, access.user.email)
    db.session.commit()
    return redirect(url_for("dashboard.inbox.show_inbox", status="approved"), 303)


@inbox.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Right.LOOK)
def show_testimonial(access: Access, testimonial_id: str) -> ResponseReturnValue:
    project = access.project
    row = find_testimonial(project, testimonial_id)
    return _form(access, row, read_values(row), {})


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Right.DECIDE)
def edit(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Change a testimonial; its original text is kept, and highlights follow their words."""
    known = find_testimonial(access.project, testimonial_id)
    form, project_id = read_testimonial_form(known), access.project.id
    if form.errors:
        return _refuse(access, testimonial_id, form)
    begin_write()
    project = find_access(access.user, project_id, Right.DECIDE, for_update=True).project
    row = find_testimonial(project, testimonial_id)
    form.fit_to(row)
    form.store_picture()
    marked = len(row.highlights or [])
    batch = edit_testimonial(project, row, form.columns, access.user.email)
    return _finish(access, row, batch, _tell_saved(marked - len(row.highlights or [])))


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/highlights")
@require_role(Right.DECIDE, for_update=True)
def highlight(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Highlight words of a testimonial, or remove a highlight."""
    row, sent = find_testimonial(access.project, testimonial_id), HighlightForm().read(request.form)
    try:
        ranges = read_ranges(row, sent)
    except HighlightRefused as error:
        db.session.rollback()
        return _form(access, row, read_values(row), {"words": [error.shown]}), 422
    batch = set_highlights(access.project, row, ranges, access.user.email)
    done = _("Highlight removed") if "remove" in request.form else _("Highlighted")
    return _finish(access, row, batch, done, "highlights")


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/reply")
@require_role(Right.DECIDE, for_update=True)
def reply(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Reply in public to a testimonial, or remove the reply."""
    row, sent = find_testimonial(access.project, testimonial_id), ReplyForm().read(request.form)
    if sent.errors:
        db.session.rollback()
        return _form(access, row, read_values(row) | sent.typed, sent.errors), 422
    text = "" if "remove" in request.form else sent.values["reply"]
    batch = set_reply(access.project, row, text, access.user.email)
    return _finish(access, row, batch, _("Reply saved") if text else _("Reply removed"), "reply")


def _tell_saved(lost: int) -> str:
    """Say that an edit was saved, and how many highlights it removed."""
    if lost <= 0:
        return _("Saved")
    if lost == 1:
        return _("Saved. The words changed, so a highlight was removed.")
    return ngettext(
        "Saved. The words changed, so %(num)s highlight was removed.",
        "Saved. The words changed, so %(num)s highlights were removed.",
        lost,
    )


def _finish(
    access: Access, row: Testimonial, batch: str | None, text: str, part: str = ""
) -> ResponseReturnValue:
    """Commit, and go back to a part of the page with a notice that offers to undo the batch."""
    db.session.commit()
    here = _where_from(row.id)
    if batch is not None:
        here = add_notice(here, text, make_undo_token(access.project, batch))
    return redirect(f"{here}#{part}" if part else here, 303)


def _where_from(testimonial_id: str) -> str:
    """Return the page that leads on: the one for deciding, if that led here."""
    page = "show_review" if request.args.get("then") == THEN else "show_testimonial"
    return url_for(f".{page}", testimonial_id=testimonial_id)


def _address(row: Testimonial | None, then: str | None) -> str:
    if row is None:
        return url_for(".add_by_hand")
    return url_for(".edit", testimonial_id=row.id, then=then)


def _refuse(access: Access, testimonial_id: str, form: EditedTestimonial) -> ResponseReturnValue:
    row = find_testimonial(access.project, testimonial_id)
    return _form(access, row, form.typed or read_values(row), form.errors), 422


def _form(
    access: Access,
    row: Testimonial | None,
    values: dict[str, str],
    errors: FieldErrors,
) -> str:
    project, history = access.project, list_history(row.id) if row else []
    people = find_display_names(each.actor for each in history)
    then = THEN if request.args.get("then") == THEN else None
    return render_template(
        "dashboard/inbox/testimonial.html",
        shell=build_shell(access, "inbox"),
        notice=read_notice(),
        return_to=row and current_path(),
        back_url=_where_from(row.id) if row and then else url_for("dashboard.inbox.show_inbox"),
        action=_address(row, then),
        known_tags=[tag.name for tag in list_project_tags(project.id)],
        item=row and describe_testimonial(row),
        values=values,
        errors=errors,
        reply_length=REPLY_LENGTH,
        history=[describe_change(change, people) for change in history],
        hands=describe_hands(row, history, people) if row else [],
        asked_email=find_asked_emails([row.id]).get(row.id) if row else None,
    )


# What is said in a recording: its transcript, which saves itself, and captions.


class TranscriptForm(FormSchema):
    """What is said, and whether the card shows it."""

    transcript = Transcript(load_default="")
    shows_transcript = Switch(load_default=False)


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/transcript")
@require_role(Right.DECIDE, for_update=True)
def save_transcript(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Save the transcript, and captions if a file came with it."""
    row = find_testimonial(access.project, testimonial_id)
    sent = TranscriptForm().read(request.form)
    if sent.errors:
        raise ActionRefused(" ".join(words for each in sent.errors.values() for words in each))
    edit_testimonial(access.project, row, sent.values | _read_captions(), access.user.email)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "text": row.text, "hasCaptions": bool(row.captions)})
    return redirect(add_notice(return_target(), _("Saved"), None), 303)


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/recording/remove")
@require_role(Right.DECIDE, for_update=True)
def discard_recording(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Remove the recording for good; its words stay."""
    # Before anything is refused: the page for that reads the form, which may be too large.
    back = return_target()
    row = find_testimonial(access.project, testimonial_id)
    remove_recording(access.project, row, access.user.email)
    db.session.commit()
    return redirect(add_notice(back, _("Recording removed"), None), 303)


def _read_captions() -> dict[str, Any]:
    """Return the captions that were sent or are to be removed, if either."""
    if "remove_captions" in request.form:
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


# The picture of a testimonial: choosing look and size, and downloading it.


_QUERY = PictureQuerySchema()


@inbox.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture")
@require_role(Right.LOOK)
def show_picture(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Show the picture in the chosen look and size, or why it can't be drawn."""
    wanted = _read_wanted(access, testimonial_id)
    try:
        _draw(wanted)
    except PictureRefused as error:
        return _page(access, wanted, error.shown), error.status
    return _page(access, wanted)


@inbox.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture.png")
@require_role(Right.LOOK)
def get_picture(access: Access, testimonial_id: str) -> Response:
    """Serve the picture; `download` in the query makes a browser save it."""
    wanted = _read_wanted(access, testimonial_id)
    response = send_picture(wanted, _draw(wanted))
    if "download" in request.args:
        name = f"testimonial-{wanted.look}-{wanted.size}.png"
        response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def _page(access: Access, wanted: Wanted, problem: str = "") -> str:
    return render_template(
        "dashboard/inbox/picture.html",
        shell=build_shell(access, "inbox"),
        id=wanted.testimonial_id,
        author=wanted.shown["name"],
        sizes=SIZES,
        chosen={"look": wanted.look, "size": wanted.size},
        problem=problem,
        link=testimonial_url(access.project.slug, wanted.testimonial_id, access.project.own_host),
    )


def _read_wanted(access: Access, testimonial_id: str) -> Wanted:
    row = find_testimonial(access.project, testimonial_id)
    chosen = {name: request.args[name] for name in ("look", "size") if name in request.args}
    return describe_picture(access.project, row, **load(_QUERY, chosen))


def _draw(wanted: Wanted) -> bytes:
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, wanted.project_id)
        content = draw_picture(wanted)
        begin_write()
        keep_picture(wanted, content)
        db.session.commit()
    return content
