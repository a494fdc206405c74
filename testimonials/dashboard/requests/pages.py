"""Asking people for testimonials by mail: the form, its preview, and the list of who was asked."""

import io

from flask import Blueprint, Response, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.requests.asked_people import (
    STATES,
    cancel_waiting,
    list_asked,
    remove_asked,
)
from testimonials.collection.requests.asking import (
    AskingRefused,
    ask_people,
    choose_people,
    make_batch_token,
)
from testimonials.core import clock
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import ngettext
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
    write_asked,
)
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.services import lock_account
from testimonials.settings.current import current_settings

asking = Blueprint("asking", __name__)


@asking.get("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def show_requests(access: Access) -> ResponseReturnValue:
    """Show the form, and who was asked, filtered by ``?state=`` and ``?page=``."""
    return _page(access, RequestForm(default_values(access.project)))


@asking.post("/dashboard/projects/<project_id>/invitations/preview")
@require_role(Role.ADMIN)
def preview_requests(access: Access) -> ResponseReturnValue:
    """Show who would get what, before anything is sent."""
    project = access.project
    form = read_request_form(project)
    if form.errors:
        return _page(access, form), 422
    if "change" in request.form:
        return _page(access, form)
    try:
        chosen = choose_people(project, [form.pasted, form.uploaded])
    except AskingRefused as error:
        return _refuse(access, form, error)
    preview = describe_preview(project, form, chosen)
    token, shell = make_batch_token(project), build_shell(access, "share")
    return render_template(
        "dashboard/requests/requests_preview.html", shell=shell, token=token, **preview
    )


@asking.post("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def send_requests(access: Access) -> ResponseReturnValue:
    """Ask everybody of a preview, once."""
    form = read_request_form(access.project)
    if form.errors:
        return _page(access, form), 422
    begin_write()
    # The account first: its daily limit covers all of its projects.
    lock_account(access.project.account_id)
    project = find_access(access.user, access.project.id, Role.ADMIN, for_update=True).project
    try:
        count = ask_people(project, form.token, *form.asked_by(access.user.email))
    except AskingRefused as error:
        db.session.rollback()
        return _refuse(access, form, error)
    if count:
        record_project_event(EventType.REQUESTS_SENT, project, count=count)
    db.session.commit()
    return _go_back(_tell_sent(count, form.wait_days) if count else "")


@asking.get("/dashboard/projects/<project_id>/invitations.csv")
@require_role(Role.ADMIN)
def download_requests(access: Access) -> Response:
    """Send the list of who was asked, as a table."""
    out = io.BytesIO()
    write_asked(access.project, out)
    out.seek(0)
    name = f"{access.project.slug}-requests-{clock.now().date().isoformat()}.csv"
    return send_file(out, "text/csv", as_attachment=True, download_name=name, max_age=0)


@asking.post("/dashboard/projects/<project_id>/invitations/cancel")
@require_role(Role.ADMIN, for_update=True)
def cancel_requests(access: Access) -> ResponseReturnValue:
    """Delete the requests that weren't sent yet."""
    count = cancel_waiting(access.project)
    record_project_event(EventType.REQUESTS_CANCELLED, access.project, count=count)
    db.session.commit()
    return _go_back(ngettext("One request is cancelled", "%(num)s requests are cancelled", count))


@asking.post("/dashboard/projects/<project_id>/invitations/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_request(access: Access) -> ResponseReturnValue:
    """Delete one person from the list."""
    remove_asked(access.project, request.form.get("id", ""))
    db.session.commit()
    return _go_back(_("Deleted from the list"))


def _tell_sent(count: int, wait_days: int) -> str:
    if not current_settings().smtp_url:
        return ngettext(
            "One request is noted, but not mailed: this service has no mail server",
            "%(num)s requests are noted, but not mailed: this service has no mail server",
            count,
        )
    if not wait_days:
        return ngettext("One request is on the way", "%(num)s requests are on the way", count)
    if wait_days == 1:
        return ngettext("One request is sent tomorrow", "%(num)s requests are sent tomorrow", count)
    return ngettext(
        "One request is sent in %(days)s days",
        "%(num)s requests are sent in %(days)s days",
        count,
        days=wait_days,
    )


def _go_back(notice: str) -> ResponseReturnValue:
    here = url_for(".show_requests")
    return redirect((add_notice(here, notice) if notice else here) + "#asked", 303)


def _refuse(access: Access, form: RequestForm, error: AskingRefused) -> ResponseReturnValue:
    form.errors = {"people": [error.shown]}
    return _page(access, form), 422


def _page(access: Access, form: RequestForm) -> str:
    project = access.project
    state: str | None = request.args.get("state", "")
    state = state if state in STATES else None
    rows, page, counts = list_asked(project, state, read_page(request.args.get("page", "1")))
    return render_template(
        "dashboard/requests/requests.html",
        shell=build_shell(access, "share"),
        notice=read_notice(),
        is_active=project.is_active,
        values=form.typed,
        errors=form.errors,
        is_changed=request.method == "POST",
        counts=counts,
        tabs=describe_tabs(counts, state),
        asked=[describe_asked(each) for each in rows],
        pager=describe_pager(state, page, counts[state or "all"]),
        **describe_form(project),
    )
