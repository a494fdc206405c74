"""Adding a testimonial by hand; editing one, with its history."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.display_names import find_display_names
from testimonials.collection.requests.asked_people import find_asked_emails
from testimonials.core.url_rules import current_path
from testimonials.core.web.errors import FieldErrors
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import ngettext
from testimonials.dashboard.describe import (
    describe_change,
    describe_hands,
    describe_testimonial,
)
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.inbox.testimonial_form import (
    EditedTestimonial,
    HighlightForm,
    ReplyForm,
    empty_values,
    read_ranges,
    read_testimonial_form,
    read_values,
)
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.testimonials.fields import REPLY_LENGTH
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.highlights import HighlightRefused
from testimonials.testimonials.moderation.services import (
    add_testimonial,
    edit_testimonial,
    find_testimonial,
    list_history,
    set_highlights,
    set_reply,
)
from testimonials.testimonials.moderation.tags import list_project_tags
from testimonials.testimonials.moderation.undoing import make_undo_token

editor = Blueprint("editor", __name__)

# Of `?then=`: back to the page for deciding.
THEN = "decide"


@editor.get("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Role.MODERATOR)
def show_new(access: Access) -> ResponseReturnValue:
    return _form(access, None, empty_values(), {})


@editor.post("/dashboard/projects/<project_id>/testimonials/new")
@require_role(Role.MODERATOR)
def add_by_hand(access: Access) -> ResponseReturnValue:
    form = read_testimonial_form()
    if form.errors:
        return _form(access, None, form.typed or empty_values(), form.errors), 422
    begin_write()
    project = find_access(access.user, access.project.id, Role.MODERATOR, for_update=True).project
    form.store_picture()
    row = add_testimonial(project, form.columns, access.user.email)
    record_project_event(EventType.TESTIMONIAL_CREATED, project, testimonial=row.id)
    db.session.commit()
    return redirect(url_for("inbox.show_inbox", status="approved"), 303)


@editor.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Role.READER)
def show_testimonial(access: Access, testimonial_id: str) -> ResponseReturnValue:
    project = access.project
    row = find_testimonial(project, testimonial_id)
    return _form(access, row, read_values(row), {})


@editor.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>")
@require_role(Role.MODERATOR)
def edit(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Change a testimonial; its original text is kept, and highlights follow their words."""
    known = find_testimonial(access.project, testimonial_id)
    form, project_id = read_testimonial_form(known), access.project.id
    if form.errors:
        return _refuse(access, testimonial_id, form)
    begin_write()
    project = find_access(access.user, project_id, Role.MODERATOR, for_update=True).project
    row = find_testimonial(project, testimonial_id)
    form.fit_to(row)
    form.store_picture()
    marked = len(row.highlights or [])
    batch = edit_testimonial(project, row, form.columns, access.user.email)
    return _finish(access, row, batch, _tell_saved(marked - len(row.highlights or [])))


@editor.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/highlights")
@require_role(Role.MODERATOR, for_update=True)
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


@editor.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/reply")
@require_role(Role.MODERATOR, for_update=True)
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
    page = "deciding" if request.args.get("then") == THEN else "editor"
    return url_for(f"{page}.show_testimonial", testimonial_id=testimonial_id)


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
    project, history = access.project, list_history(row) if row else []
    people = find_display_names(each.actor for each in history)
    then = THEN if request.args.get("then") == THEN else None
    return render_template(
        "dashboard/inbox/testimonial.html",
        shell=build_shell(access, "inbox"),
        notice=read_notice(),
        return_to=row and current_path(),
        back_url=_where_from(row.id) if row and then else url_for("inbox.show_inbox"),
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
