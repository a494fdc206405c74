"""The inbox: the list, decisions one by one and many at once, and undoing them.

A decision answers a form with a redirect back to the list, and a script with JSON.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.forms import wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.inbox.checklist import describe_checklist, note
from testimonials.dashboard.inbox.view import describe_inbox, read_filter, read_page
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration.dashboard_config import KEEPS_SAMPLES
from testimonials.projects.models import Project
from testimonials.testimonials.moderation.changes import Facts
from testimonials.testimonials.moderation.inbox import (
    InboxFilter,
    count_samples,
    count_tabs,
    find_rows,
)
from testimonials.testimonials.moderation.services import (
    ACTIONS,
    ActionRefused,
    apply_action,
    find_testimonial,
)
from testimonials.testimonials.moderation.tag_names import (
    TagRefused,
    find_spellings,
    spell,
)
from testimonials.testimonials.moderation.tags import add_tag, remove_tag
from testimonials.testimonials.moderation.undoing import make_undo_token, undo_batch

inbox = Blueprint("inbox", __name__)


@inbox.get("/dashboard/projects/<project_id>/inbox")
@require_role(Role.MODERATOR)
def show_inbox(access: Access) -> ResponseReturnValue:
    """Show one tab of the inbox, searched and filtered as the address says."""
    project = access.project
    wanted = _read_filter(project, request.args)
    shell = build_shell(access, "inbox")
    checklist = describe_checklist(project) if access.is_admin else None
    page = read_page(request.args.get("page", "1"))
    return render_template(
        "dashboard/inbox/inbox.html",
        shell=shell,
        checklist=checklist,
        notice=read_notice(),
        # The checklist asks about them too, where it is shown.
        samples=0 if checklist else _count_new_samples(project, wanted),
        **describe_inbox(project, wanted, page, shell["counts"]),
    )


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/action")
@require_role(Role.MODERATOR, for_update=True)
def decide(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Do one thing to one testimonial."""
    project = access.project
    row = find_testimonial(project, testimonial_id)
    name = _read_action()
    batch, count = apply_action(project, [row], name, access.user.email)
    if not count:
        raise ActionRefused(f"{row.author_name} is {_describe_state(row)} already.")
    text = ACTIONS[name].tell(row.author_name)
    token = make_undo_token(project, batch)
    db.session.commit()
    return _answer(project, text, token)


@inbox.post("/dashboard/projects/<project_id>/bulk")
@require_role(Role.MODERATOR, for_update=True)
def decide_many(access: Access) -> ResponseReturnValue:
    """Do one thing to all chosen testimonials, or to all that the filter finds."""
    project = access.project
    rows = _find_chosen(project)
    name = _read_action()
    batch, count = apply_action(project, rows, name, access.user.email)
    if not count:
        raise ActionRefused("Nothing was chosen that this can be done to.")
    token = make_undo_token(project, batch)
    if name == "delete":
        record_project_event(EventType.TESTIMONIALS_DELETED, project, count=count)
    db.session.commit()
    return _answer(project, ACTIONS[name].tell(_count(count)), token)


@inbox.post("/dashboard/projects/<project_id>/tags")
@require_role(Role.MODERATOR, for_update=True)
def tag_many(access: Access) -> ResponseReturnValue:
    """Put a tag on all chosen testimonials, or take it off them."""
    project = access.project
    rows, name = _find_chosen(project), request.form.get("new_tag", "")
    is_off = request.form.get("tagging") == "remove"
    try:
        batch, count = (remove_tag if is_off else add_tag)(project, rows, name, access.user.email)
    except TagRefused as error:
        raise ActionRefused(error.message) from None
    if not count:
        state = "has this tag" if is_off else "can take this tag, or has it already"
        raise ActionRefused(f"Nothing that was chosen {state}.")
    token = make_undo_token(project, batch)
    db.session.commit()
    done = "Took a tag off" if is_off else "Tagged"
    return _answer(project, f"{done} {_count(count)}", token)


@inbox.post("/dashboard/projects/<project_id>/samples")
@require_role(Role.MODERATOR, for_update=True)
def settle_samples(access: Access) -> ResponseReturnValue:
    """Put every sample into the trash, or keep them and stop asking."""
    project = access.project
    if request.form.get("samples") == "keep":
        note(project, KEEPS_SAMPLES)
        db.session.commit()
        return _answer(project, "The samples stay, marked as samples", None)
    rows = find_rows(project.id, InboxFilter(tab="all", source="demo"), [], is_all=True)
    batch, count = apply_action(project, rows, "delete", access.user.email)
    if not count:
        raise ActionRefused("There are no samples left here.")
    token = make_undo_token(project, batch)
    record_project_event(EventType.SAMPLES_DELETED, project, count=count)
    db.session.commit()
    return _answer(project, f"Removed {count} {'sample' if count == 1 else 'samples'}", token)


@inbox.post("/dashboard/projects/<project_id>/undo")
@require_role(Role.MODERATOR, for_update=True)
def undo(access: Access) -> ResponseReturnValue:
    """Put back what one decision changed."""
    project = access.project
    undo_batch(project, request.form.get("undo", ""), access.user.email)
    db.session.commit()
    return _answer(project, "Undone", None)


@inbox.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    """Tell a script why, and take a person back to the list with the reason."""
    db.session.rollback()
    if wants_json():
        return jsonify({"message": error.message}), error.status
    return redirect(add_notice(_return_target(), error.message, None), 303)


def _read_filter(project: Project, values: Any) -> InboxFilter:
    wanted = read_filter(values)
    if not wanted.tag:
        return wanted
    return replace(wanted, tag=spell(find_spellings(project.id), [wanted.tag])[0])


def _find_chosen(project: Project) -> Sequence[Facts]:
    """Return the rows that a form of the bulk bar is about."""
    is_all = request.form.get("all") == "1"
    wanted = _read_filter(project, request.form)
    # What is no id names nothing, and a statement takes only so many values.
    ids = list(filter(is_identifier, request.form.getlist("ids")))
    return find_rows(project.id, wanted, ids, is_all=is_all)


def _count(number: int) -> str:
    return f"{number} {'testimonial' if number == 1 else 'testimonials'}"


def _count_new_samples(project: Project, wanted: InboxFilter) -> int:
    """Return how many samples to ask about: only among all, and until the answer was to keep."""
    is_asked = wanted.tab == "all" and not wanted.is_narrowed
    if not is_asked or project.dashboard_config.get(KEEPS_SAMPLES):
        return 0
    return count_samples(project.id)


def _answer(project: Project, text: str, token: str | None) -> ResponseReturnValue:
    undo_url = url_for(".undo") if token else None
    if wants_json():
        notice = {"text": text, "undo_url": undo_url, "undo_token": token}
        return jsonify({"ok": True, "notice": notice, "counts": count_tabs(project.id)[project.id]})
    return redirect(add_notice(_return_target(), text, token), 303)


def _return_target() -> str:
    return safe_target(request.form.get("return_to", "")) or url_for(".show_inbox")


def _read_action() -> str:
    name = request.form.get("action", "")
    if name not in ACTIONS:
        raise ActionRefused("This page doesn’t know what to do. Load it again.")
    return name


def _describe_state(row: Any) -> str:
    if row.deleted_at:
        return "in the trash"
    return "withdrawn by its author" if row.status == "withdrawn" else str(row.status)
