"""Asking by mail: the list, one request, purchase links."""

import io
from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

from flask import Response, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from testimonials.auth.models import Account
from testimonials.collection.address_lists import MAX_PEOPLE, Person, write_table
from testimonials.collection.events import REQUESTS_CANCELLED, REQUESTS_SENT
from testimonials.collection.forms import list_forms
from testimonials.collection.models import (
    REQUEST_STATES,
    MailedRequest,
    RequestBatch,
    hash_email,
)
from testimonials.collection.request_mail import describe_mail
from testimonials.collection.requests import (
    PAGE_SIZE,
    REMINDERS,
    WAITS,
    AskedPerson,
    AskingRefused,
    LeftOut,
    ask_people,
    cancel_waiting,
    choose_people,
    count_room,
    list_asked,
    list_everybody,
    make_batch_token,
    remove_asked,
)
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import requests
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import LANGUAGES, gettext_noop, ngettext, speaking, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.inbox_data import read_page
from testimonials.dashboard.request_form import (
    NEVER,
    RequestForm,
    default_values,
    read_request_form,
)
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Role, find_access
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account
from testimonials.transfer.tables.export import write_csv

# What the pages for asking by email show.

LABELS = {
    "all": gettext_noop("All"),
    "waiting": gettext_noop("Waiting"),
    "sent": gettext_noop("Sent"),
    "opened": gettext_noop("Opened"),
    "started": gettext_noop("Started"),
    "answered": gettext_noop("Answered"),
    "declined": gettext_noop("Said no"),
    "failed": gettext_noop("Not delivered"),
    "printed": gettext_noop("Not mailed"),
    "unsubscribed": gettext_noop("Unsubscribed"),
}
# How many people the preview names.
LISTED = 10


def describe_form(project: Project) -> dict[str, Any]:
    choices = [
        (str(days), ngettext("After %(num)s day", "After %(num)s days", days)) for days in REMINDERS
    ]
    return {
        "languages": LANGUAGES,
        "waits": [(str(days), name_wait(days)) for days in WAITS],
        "reminders": [*choices, (NEVER, _("Never"))],
        "room": count_room(project.account_id),
        "per_day": current_settings().invitations_per_day,
        "most": MAX_PEOPLE,
        "forms": list_forms(project),
        "has_mail_server": bool(current_settings().smtp_url),
    }


def name_wait(days: int) -> str:
    """Return when mails go out, as a choice."""
    if days < 2:
        return _("Tomorrow") if days else _("Now")
    return ngettext("In %(num)s day", "In %(num)s days", days)


def describe_tabs(counts: dict[str, int], state: str | None) -> list[dict[str, Any]]:
    """Return a tab for everybody and for each state that somebody is in."""
    shown = [name for name in REQUEST_STATES if counts[name] or name == state]
    return [
        {
            "label": translate(LABELS[name]),
            "count": counts[name],
            "url": _address(None if name == "all" else name),
            "is_current": name == (state or "all"),
        }
        for name in ("all", *shown)
    ]


def describe_pager(state: str | None, page: int, total: int) -> dict[str, Any]:
    first, last = (page - 1) * PAGE_SIZE + 1, min(page * PAGE_SIZE, total)
    return {
        "prev_url": _address(state, page - 1) if page > 1 else None,
        "next_url": _address(state, page + 1) if last < total else None,
        "label": _("%(first)s to %(last)s of %(total)s", first=first, last=last, total=total)
        if last >= first
        else "",
    }


def _address(state: str | None, page: int | None = None) -> str:
    return url_for("dashboard.requests.show_requests", state=state, page=page, _anchor="asked")


def describe_asked(person: AskedPerson) -> dict[str, Any]:
    row = person.request
    waits = person.state == "waiting"
    is_later = row.sent_at is None and (row.next_mail_at or clock.now()) > clock.now()
    added = (gettext_noop("Added"), row.created_at if waits else None)
    return {
        "row": row,
        "initials": initials_of(row.name or row.email),
        "colour": colour_of(row.name or row.email),
        "state": person.state,
        "state_label": translate(LABELS[person.state]),
        "problem": person.problem if person.state == "failed" else None,
        "goes_out_at": row.next_mail_at if is_later else None,
        "times": [(translate(what), time) for what, time in (added, *_list_times(person)) if time],
    }


def _list_times(person: AskedPerson | None) -> list[tuple[str, datetime | None]]:
    """Return what can happen to a request, and when it did."""
    row = person.request if person else MailedRequest()
    has_left = person is not None and person.state not in ("waiting", "printed")
    return [
        (gettext_noop("Sent"), row.sent_at if has_left else None),
        (gettext_noop("Reminded"), row.reminded_at),
        (gettext_noop("Opened"), row.opened_at),
        (gettext_noop("Started"), row.started_at),
        (gettext_noop("Answered"), row.answered_at),
        (gettext_noop("Said no"), row.declined_at),
        (gettext_noop("Unsubscribed"), person.unsubscribed_at if person else None),
    ]


def write_asked(project: Project, out: IO[bytes]) -> None:
    """Write everybody who was asked as CSV, newest first."""
    headings = ["email", "name", "company", "order", "state"]
    headings += [what.lower() for what, _ in _list_times(None)]
    write_csv(headings, (_to_cells(each) for each in list_everybody(project)), out)


def _to_cells(person: AskedPerson) -> list[str | None]:
    row = person.request
    times = [clock.iso(time) if time else None for _, time in _list_times(person)]
    cells = [row.email, row.name, row.company, row.purchase_reference]
    return [*cells, LABELS[person.state], *times]


def describe_preview(
    project: Project, form: RequestForm, chosen: tuple[Sequence[Person], Sequence[LeftOut]]
) -> dict[str, Any]:
    """Return who gets the mail, who doesn't and why, and the first person's mail."""
    people, left_out = chosen
    account = db.session.get_one(Account, project.account_id)
    line = gettext_noop("Line %(line)s")
    of_file = gettext_noop("Line of the file %(line)s") if form.pasted.wrong else line
    return {
        "count": len(people),
        "people": people[:LISTED],
        "more": max(0, len(people) - LISTED),
        "wrong": [
            *((translate(line), each) for each in form.pasted.wrong),
            *((translate(of_file), each) for each in form.uploaded.wrong),
        ],
        "left_out": left_out,
        **_render_first_mail(project, account, form.batch, people[0]),
        "values": form.typed | {"people": write_table(people)},
        # For "Change": the list as it was typed, wrong lines included. A file isn't kept.
        "original": write_table(form.uploaded.people + form.pasted.people)
        if form.uploaded.people
        else form.typed["people"],
        "reply_to": account.email,
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
        "has_mail_server": bool(current_settings().smtp_url),
        "wait_days": form.wait_days,
        "minutes": -(-len(people) // current_settings().invitations_per_minute),
    }


def _render_first_mail(
    project: Project, account: Account, batch: RequestBatch, person: Person
) -> dict[str, Any]:
    """Render the first person's mail, with a request that is never stored."""
    request = MailedRequest(
        id=new_identifier(),
        email=person.email,
        email_hash=hash_email(account.id, person.email),
        name=person.name,
        company=person.company or None,
    )
    with speaking(batch.language) as language:
        values = describe_mail(project, batch, request)
        mail = render_template("email/_request.html", **values, is_preview=True)
    # The template escapes everything that people typed.
    return {"mail_html": Markup(mail), "mail_direction": language.direction}  # noqa: S704


# Asking people for testimonials by mail: the form, its preview, and the list of who was asked.


@requests.get("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def show_requests(access: Access) -> ResponseReturnValue:
    """Show the form, and who was asked, filtered by ``?state=`` and ``?page=``."""
    return _requests_page(access, RequestForm(default_values(access.project)))


@requests.post("/dashboard/projects/<project_id>/invitations/preview")
@require_role(Role.ADMIN)
def preview_requests(access: Access) -> ResponseReturnValue:
    """Show who would get what, before anything is sent."""
    project = access.project
    form = read_request_form(project)
    if form.errors:
        return _requests_page(access, form), 422
    if "change" in request.form:
        return _requests_page(access, form)
    try:
        chosen = choose_people(project, [form.pasted, form.uploaded])
    except AskingRefused as error:
        return _refuse(access, form, error)
    preview = describe_preview(project, form, chosen)
    token, shell = make_batch_token(project), build_shell(access, "collect")
    return render_template(
        "dashboard/requests/requests_preview.html", shell=shell, token=token, **preview
    )


@requests.post("/dashboard/projects/<project_id>/invitations")
@require_role(Role.ADMIN)
def send_requests(access: Access) -> ResponseReturnValue:
    """Ask everybody of a preview, once."""
    form = read_request_form(access.project)
    if form.errors:
        return _requests_page(access, form), 422
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
        record(REQUESTS_SENT, project, count=count)
    db.session.commit()
    return _go_back_to_requests(_tell_sent(count, form.wait_days) if count else "")


@requests.get("/dashboard/projects/<project_id>/invitations.csv")
@require_role(Role.ADMIN)
def download_requests(access: Access) -> Response:
    """Send the list of who was asked, as a table."""
    out = io.BytesIO()
    write_asked(access.project, out)
    out.seek(0)
    name = f"{access.project.slug}-requests-{clock.now().date().isoformat()}.csv"
    return send_file(out, "text/csv", as_attachment=True, download_name=name, max_age=0)


@requests.post("/dashboard/projects/<project_id>/invitations/cancel")
@require_role(Role.ADMIN, for_update=True)
def cancel_requests(access: Access) -> ResponseReturnValue:
    """Delete the requests that weren't sent yet."""
    count = cancel_waiting(access.project)
    record(REQUESTS_CANCELLED, access.project, count=count)
    db.session.commit()
    return _go_back_to_requests(
        ngettext("One request is cancelled", "%(num)s requests are cancelled", count)
    )


@requests.post("/dashboard/projects/<project_id>/invitations/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_request(access: Access) -> ResponseReturnValue:
    """Delete one person from the list."""
    remove_asked(access.project, request.form.get("id", ""))
    db.session.commit()
    return _go_back_to_requests(_("Deleted from the list"))


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


def _go_back_to_requests(notice: str) -> ResponseReturnValue:
    here = url_for(".show_requests")
    return redirect((add_notice(here, notice) if notice else here) + "#asked", 303)


def _refuse(access: Access, form: RequestForm, error: AskingRefused) -> ResponseReturnValue:
    form.errors = {"people": [error.shown]}
    return _requests_page(access, form), 422


def _requests_page(access: Access, form: RequestForm) -> str:
    project = access.project
    state: str | None = request.args.get("state", "")
    state = state if state in REQUEST_STATES else None
    rows, page, counts = list_asked(project, state, read_page(request.args.get("page", "1")))
    return render_template(
        "dashboard/requests/requests.html",
        shell=build_shell(access, "collect"),
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
