"""What the pages for asking by email show."""

from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

from flask import render_template, url_for
from markupsafe import Markup

from testimonials.auth.models import Account
from testimonials.collection.forms.services import list_forms
from testimonials.collection.models import MailedRequest, RequestBatch, hash_email
from testimonials.collection.requests.address_lists import MAX_PEOPLE, Person, write_table
from testimonials.collection.requests.asked_people import (
    PAGE_SIZE,
    STATES,
    AskedPerson,
    list_everybody,
)
from testimonials.collection.requests.asking import REMINDERS, WAITS, LeftOut, count_room
from testimonials.collection.requests.request_mail import describe_mail
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.web.languages import (
    LANGUAGES,
    gettext_noop,
    ngettext,
    speaking,
    translate,
)
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.requests.form import NEVER, RequestForm
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings
from testimonials.transfer.tables.table_export import write_csv

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
    shown = [name for name in STATES if counts[name] or name == state]
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
    return url_for("asking.show_requests", state=state, page=page, _anchor="asked")


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
