"""One testimonial: its card, the decision, reply and thanks, highlights, words of a recording."""

from typing import Any

from flask import url_for

from testimonials.auth.accounts import find_display_names
from testimonials.collection.author_rights import can_thank, thank_author
from testimonials.collection.request_mail import first_name
from testimonials.collection.requests import find_asked_emails
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext
from testimonials.core.http.urls import current_path
from testimonials.core.images.uploads import UPLOAD_FORM_BYTES, Image
from testimonials.dashboard.formatting import (
    describe_change,
    describe_hands,
    describe_testimonial,
    list_reasons,
)
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.dashboard.inbox_data import (
    ActionForm,
    ReturnForm,
    report_action,
    return_target,
    tell,
)
from testimonials.dashboard.testimonial_form import (
    OWN_SOURCES,
    THANKS_LENGTH,
    HighlightForm,
    ReplyForm,
    TestimonialForm,
    ThanksForm,
    TranscriptForm,
    empty_values,
    read_captions,
    read_photo,
    read_ranges,
    read_values,
    to_columns,
)
from testimonials.projects.access import Access, Right
from testimonials.projects.models import Project
from testimonials.testimonials.fields import REPLY_LENGTH, TEXT_LENGTH
from testimonials.testimonials.history import list_history
from testimonials.testimonials.media.removal import remove_recording
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ActionRefused,
    add_testimonial,
    apply_action,
    edit_testimonial,
    find_testimonial,
    set_highlights,
    set_reply,
)
from testimonials.testimonials.tags import list_project_tags

TEMPLATE = "inbox/testimonial.html"
new = ProjectPage(inbox, "testimonials/new", TEMPLATE, role=Right.DECIDE)
one = ProjectPage(inbox, "testimonials/<testimonial_id>", TEMPLATE, role=Right.LOOK)
ALREADY = {
    "pending": gettext_noop("%(name)s is waiting already."),
    "approved": gettext_noop("%(name)s is already approved."),
    "rejected": gettext_noop("%(name)s is already rejected."),
    "spam": gettext_noop("%(name)s is already spam."),
    "demo": gettext_noop("%(name)s is a sample already."),
}


@new.show
def show_new(access: Access) -> Values:
    return _describe(access.project) | {"values": empty_values()}


@new.save(TestimonialForm, takes=UPLOAD_FORM_BYTES, prepare=read_photo)
def add_by_hand(access: Access, *, prepared: Image | None, **sent: Any) -> Done:
    columns = to_columns(sent, prepared, None)
    row = add_testimonial(access.project, columns, access.user.email)
    to = url_for(".show_inbox", status="approved")
    return Done(_("%(name)s is on your site", name=row.author_name), to)


@one.show
def show_testimonial(access: Access, testimonial_id: str) -> Values:
    row = find_testimonial(access.project, testimonial_id)
    history = list_history(row.id)
    people = find_display_names(each.actor for each in history)
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
        "known_tags": [tag.name for tag in list_project_tags(project.id)],
        "text_length": TEXT_LENGTH,
        "reply_length": REPLY_LENGTH,
        "thanks_length": THANKS_LENGTH,
    }


@one.save(TestimonialForm, takes=UPLOAD_FORM_BYTES, role=Right.DECIDE, prepare=read_photo)
def edit(access: Access, testimonial_id: str, *, prepared: Image | None, **sent: Any) -> Done:
    """Change a testimonial; its original text is kept, and highlights follow their words."""
    row = find_testimonial(access.project, testimonial_id)
    marked = len(row.highlights or [])
    columns = to_columns(sent, prepared, row)
    batch = edit_testimonial(access.project, row, columns, access.user.email)
    return _tell(access, row, _tell_saved(marked - len(row.highlights or [])), batch)


@one.save(ActionForm, at="/action", role=Right.DECIDE)
def decide(
    access: Access, testimonial_id: str, *, action: str, reason: str, return_to: str
) -> Done:
    row = find_testimonial(access.project, testimonial_id)
    was = row.status
    batch, count = apply_action(access.project, [row], action, access.user.email, reason=reason)
    if not count:
        raise ActionRefused(_explain(row))
    said = report_action(action, was, row.author_name)
    if action == "approve":
        said = _("%(name)s is on your site", name=row.author_name)
    return tell(access, said, batch, to=return_target(return_to))


@one.save(HighlightForm, at="/highlights", role=Right.DECIDE)
def highlight(
    access: Access, testimonial_id: str, *, words: str, start: int | None, remove: int | None
) -> Done:
    row = find_testimonial(access.project, testimonial_id)
    ranges = read_ranges(row, words, start, remove)
    batch = set_highlights(access.project, row, ranges, access.user.email)
    said = _("Highlighted") if remove is None else _("Highlight removed")
    return _tell(access, row, said, batch)


@one.save(ReplyForm, at="/reply", role=Right.DECIDE)
def reply(access: Access, testimonial_id: str, *, reply: str, remove: bool) -> Done:
    row = find_testimonial(access.project, testimonial_id)
    text = "" if remove else reply
    batch = set_reply(access.project, row, text, access.user.email)
    return _tell(access, row, _("Reply saved") if text else _("Reply removed"), batch, "reply")


@one.save(ThanksForm, at="/thanks", role=Right.DECIDE)
def thank(access: Access, testimonial_id: str, *, thanks: str) -> Done:
    """Mail a line to the author, once."""
    row = find_testimonial(access.project, testimonial_id)
    thank_author(access.project, row, thanks, access.user.email)
    return Done(_("A mail to %(name)s is on its way", name=row.author_name))


@one.save(
    TranscriptForm,
    at="/transcript",
    takes=UPLOAD_FORM_BYTES,
    role=Right.DECIDE,
    prepare=read_captions,
)
def save_transcript(
    access: Access, testimonial_id: str, *, prepared: Values, remove_captions: bool, **sent: Any
) -> Done:
    """Save the transcript, and captions if a file came with it."""
    row = find_testimonial(access.project, testimonial_id)
    edit_testimonial(access.project, row, sent | prepared, access.user.email)
    return Done(_("Saved"), shown={"text": row.text, "hasCaptions": bool(row.captions)})


@one.save(ReturnForm, at="/recording/remove", role=Right.DECIDE)
def discard_recording(access: Access, testimonial_id: str, *, return_to: str) -> Done:
    """Remove the recording for good; its words stay."""
    row = find_testimonial(access.project, testimonial_id)
    remove_recording(access.project, row, access.user.email)
    return Done(_("Recording removed"))


def _tell(access: Access, row: Testimonial, text: str, batch: str | None, anchor: str = "") -> Done:
    """Say what was done, unless that is nothing; a script gets the card's words as they are now."""
    done = tell(access, text if batch else "", batch)
    card = {
        "text": row.text,
        "highlights": row.highlights or [],
        "name": row.author_name,
        "photo": row.avatar_url,
        "isEdited": row.original_text is not None,
    }
    return Done(done.notice, anchor=anchor, undo=done.undo, shown=done.shown | card)


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


def _explain(row: Testimonial) -> str:
    """Say why nothing was done to a testimonial, and what that means for what is shown."""
    name = row.author_name
    if row.deleted_at:
        return _("%(name)s is already in the trash.", name=name)
    if row.status == "withdrawn":
        return _(
            "%(name)s took it back. These words were withdrawn and are shown nowhere.", name=name
        )
    return _(ALREADY.get(row.status, ALREADY["pending"]), name=name)
