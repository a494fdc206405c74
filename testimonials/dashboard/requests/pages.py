"""Asking people for testimonials by mail: the form, its preview, and the list of who was asked."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.models import Account
from testimonials.collection.requests.address_lists import MAX_FILE_BYTES
from testimonials.collection.requests.asked_people import (
    STATES,
    cancel_waiting,
    list_asked,
    remove_asked,
)
from testimonials.collection.requests.asking import (
    AskingRefused,
    ask_people,
    is_sent_already,
    make_batch_token,
    read_batch_token,
    require_room,
    sort_out,
)
from testimonials.collection.requests.request_mail import write_due_mails
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.languages import speaking
from testimonials.dashboard.forms import Errors
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.inbox.view import read_page
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.dashboard.requests.form import RequestForm, default_values, read_request_form
from testimonials.dashboard.requests.view import (
    describe_asked,
    describe_form,
    describe_pager,
    describe_preview,
    describe_tabs,
)
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.models import Project
from testimonials.projects.services import lock_account

asking = Blueprint("asking", __name__)

# A file of 1 MB, and beside it 500 people with long names in the text field.
FORM_BYTES = MAX_FILE_BYTES + 1024 * 1024
TOO_LARGE = {
    "file": [
        "The file is too large: 1 MB is the most. It was too much to read the rest either; go back "
        "in your browser to find what you typed, and choose a smaller file."
    ]
}


@asking.get("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def show_requests(access: Access) -> ResponseReturnValue:
    """Show the form, and the list of who was asked; ``?state=`` and ``?page=`` choose of it."""
    project = access.project
    return _page(access, default_values(project), {})


@asking.post("/dashboard/projects/<project_id>/invitations/preview")
@require_role(Role.ADMIN)
def preview_requests(access: Access) -> ResponseReturnValue:
    """Show who would get what, before anything is sent; or the form again, to change it."""
    project = access.project
    form = _read_form(project)
    if form.errors:
        return _page(access, form.values, form.errors), 422
    if "change" in request.form:
        typed = request.form.get("original") or form.values["people"]
        return _page(access, form.values | {"people": typed}, {})
    people, left_out = sort_out(project, form.pasted.people + form.uploaded.people)
    try:
        require_room(project.account_id, len(people))
    except AskingRefused as error:
        return _page(access, form.values, {"people": [error.message]}), 422
    if not people:
        reasons = [each.reason for each in form.pasted.wrong + form.uploaded.wrong]
        reasons += [f"{each.person.email}: {each.reason}" for each in left_out]
        message = "Nobody is left to ask. " + " ".join(dict.fromkeys(reasons[:10]))
        return _page(access, form.values, {"people": [message]}), 422
    account = db.session.get_one(Account, project.account_id)
    with speaking(form.values["language"]) as language:
        preview = describe_preview(project, account, form, people, left_out)
        mail = render_template("email/_request.html", **preview.pop("mail"))
    return render_template(
        "dashboard/requests/requests_preview.html",
        shell=build_shell(access, "share"),
        token=make_batch_token(project),
        # Rendered by a template of ours, which escapes all that people wrote.
        mail_html=Markup(mail),  # noqa: S704
        mail_direction=language.direction,
        **preview,
    )


@asking.post("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def send_requests(access: Access) -> ResponseReturnValue:
    """Ask everybody of a preview; pressed twice, it is done once."""
    project = access.project
    form = _read_form(project)
    if form.errors:
        return _page(access, form.values, form.errors), 422
    begin_write()
    # The account first: how many it may ask is counted over all of its projects.
    lock_account(project.account_id)
    access = find_access(access.user, project.id, Role.ADMIN, for_update=True)
    project = access.project
    try:
        batch_id = read_batch_token(project, request.form.get("token", ""))
        if is_sent_already(batch_id):
            return redirect(url_for(".show_requests", _anchor="asked"), 303)
        people, _ = sort_out(project, form.pasted.people)
        if not people:
            raise AskingRefused("Nobody is left to ask. Look at the list once more.")
        ask_people(project, batch_id, form.letter, people, access.user.email)
    except AskingRefused as error:
        db.session.rollback()
        return _page(access, form.values, {"people": [error.message]}), 422
    write_due_mails()
    record_project_event(EventType.REQUESTS_SENT, project, count=len(people))
    db.session.commit()
    who = "One request is" if len(people) == 1 else f"{len(people)} requests are"
    return redirect(add_notice(url_for(".show_requests"), f"{who} on the way") + "#asked", 303)


@asking.post("/dashboard/projects/<project_id>/invitations/cancel")
@require_role(Role.ADMIN, for_update=True)
def cancel_requests(access: Access) -> ResponseReturnValue:
    """Take everybody off the list who had no mail yet."""
    project = access.project
    count = cancel_waiting(project)
    record_project_event(EventType.REQUESTS_CANCELLED, project, count=count)
    db.session.commit()
    text = "One request is cancelled" if count == 1 else f"{count} requests are cancelled"
    return redirect(add_notice(url_for(".show_requests"), text) + "#asked", 303)


@asking.post("/dashboard/projects/<project_id>/invitations/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_request(access: Access) -> ResponseReturnValue:
    """Delete somebody's row."""
    project = access.project
    request_id = request.form.get("id", "")
    remove_asked(project, request_id if is_identifier(request_id) else "")
    db.session.commit()
    return redirect(add_notice(url_for(".show_requests"), "Deleted from the list") + "#asked", 303)


def _read_form(project: Project) -> RequestForm:
    request.max_content_length = request.max_form_memory_size = FORM_BYTES
    try:
        return read_request_form(project, request.form, request.files.get("file"))
    except RequestEntityTooLarge:
        return RequestForm(default_values(project), dict(TOO_LARGE))


def _page(access: Access, values: dict[str, str], errors: Errors) -> str:
    project = access.project
    state: str | None = request.args.get("state", "")
    state = state if state in STATES else None
    rows, page, counts = list_asked(project, state, read_page(request.args.get("page", "1")))
    total = counts[state or "all"]
    shown: dict[str, Any] = describe_form(project)
    return render_template(
        "dashboard/requests/requests.html",
        shell=build_shell(access, "share"),
        notice=read_notice(),
        is_active=project.is_active,
        values=values,
        errors=errors,
        is_changed=request.method == "POST",
        counts=counts,
        tabs=describe_tabs(counts, state),
        asked=[describe_asked(each) for each in rows],
        pager=describe_pager(state, page, total),
        **shown,
    )
