"""Beside Collect: who was asked by mail and what came of it; sharing the page, its QR code."""

import io
import re
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from flask import Response, make_response, request, send_file, url_for
from markupsafe import Markup

from testimonials.auth.email_addresses import Email
from testimonials.collection import requests
from testimonials.collection.events import REQUESTS_CANCELLED, REQUESTS_SENT
from testimonials.collection.forms import find_shown_form, list_forms
from testimonials.collection.models import REQUEST_STATES, CollectionForm, MailedRequest
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.http.blueprints import collect
from testimonials.core.http.fields import Choice, QueryCount, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import format_day, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import form_url
from testimonials.core.images.colors import colour_of, draw_file, draw_inline, initials_of
from testimonials.dashboard.formatting import describe_age, start_small
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    Values,
    lock_account_first,
    require_role,
)
from testimonials.projects.access import Access, Role
from testimonials.projects.brand import find_brand
from testimonials.projects.defaults import MESSAGE_LENGTH, SHARE_MESSAGE
from testimonials.projects.events import PROJECT_CHANGED
from testimonials.projects.models import Project
from testimonials.transfer.tables.export import write_csv

LABELS = {
    "all": gettext_noop("Everybody"),
    "waiting": gettext_noop("Waiting"),
    "sent": gettext_noop("Sent"),
    "opened": gettext_noop("Opened"),
    "started": gettext_noop("Started"),
    "answered": gettext_noop("Wrote"),
    "declined": gettext_noop("Said no"),
    "failed": gettext_noop("Not delivered"),
    "printed": gettext_noop("Not mailed"),
    "unsubscribed": gettext_noop("Said no, won’t be asked again"),
}
# How far each state is: sent, opened, wrote. Where it ended otherwise, there are no bars.
BARS = {"waiting": 0, "sent": 1, "opened": 2, "started": 2, "answered": 3}


class AskedQuery(FormSchema):
    """Which of them the list shows."""

    state = Choice(*REQUEST_STATES)
    page = QueryCount(1, load_default=1)


asked_page = ProjectPage(collect, "collect/asked", "collect/asked.html")
correct_page = ProjectPage(collect, "collect/asked/<asked_id>", "collect/correct.html")


@asked_page.show
def show_asked(access: Access) -> Values:
    query = AskedQuery().read(request.args).values
    state = query.get("state")
    wanted = min(query.get("page") or 1, 10**6)
    people, page, counts = requests.list_asked(access.project, state, wanted)
    return {
        "counts": counts,
        "states": [
            (name, translate(LABELS[name]), counts[name])
            for name in ("all", *REQUEST_STATES)
            if counts[name] or name in ("all", state)
        ],
        "state": state or "all",
        "asked": [describe_person(each) for each in people],
        "pager": describe_pager(state, page, counts[state or "all"]),
    }


@asked_page.save(at="/cancel")
def cancel_requests(access: Access) -> Done:
    """Delete the requests that weren't sent yet."""
    count = requests.cancel_waiting(access.project)
    record(REQUESTS_CANCELLED, access.project, count=count)
    return Done(ngettext("One request is cancelled", "%(num)s requests are cancelled", count))


@asked_page.save({"id": Text(40, load_default="")}, at="/remove")
def remove_request(access: Access, id: str) -> Done:
    """Delete one person from the list; whoever waits gets no mail."""
    is_waiting = requests.find_asked(access.project, id).state == "waiting"
    requests.remove_asked(access.project, id)
    return Done(_("Nothing was sent.") if is_waiting else _("Deleted from the list"))


@correct_page.show
def show_correction(access: Access, asked_id: str) -> Values:
    person = requests.find_asked(access.project, asked_id)
    return {"person": describe_person(person), "typed": {"email": person.request.email}}


@correct_page.save({"email": Email(required=True)}, lock_first=lock_account_first)
def correct_request(access: Access, asked_id: str, email: str) -> Done:
    """Ask somebody at another address, whose mail was not delivered."""
    requests.correct_address(access.project, asked_id, email)
    record(REQUESTS_SENT, access.project, count=1)
    return Done(
        ngettext("%(num)s mail goes out in 30 seconds", "%(num)s mails go out in 30 seconds", 1),
        to=url_for(".show_asked"),
    )


@collect.get("/dashboard/projects/<project_id>/collect/asked.csv")
@require_role(Role.ADMIN)
def download_requests(access: Access) -> Response:
    out = io.BytesIO()
    headings = ["email", "name", "company", "order", "state", *_COLUMNS]
    write_csv(headings, map(_to_cells, requests.list_everybody(access.project)), out)
    out.seek(0)
    name = f"{access.project.slug}-requests-{clock.now().date().isoformat()}.csv"
    return send_file(out, "text/csv", as_attachment=True, download_name=name, max_age=0)


# What the list says.


def describe_pager(state: str | None, page: int, total: int) -> Values:
    first, last = (page - 1) * requests.PAGE_SIZE + 1, min(page * requests.PAGE_SIZE, total)
    here = partial(url_for, ".show_asked", state=state)
    return {
        "prev_url": here(page=page - 1) if page > 1 else None,
        "next_url": here(page=page + 1) if last < total else None,
        "label": _("%(first)s to %(last)s of %(total)s", first=first, last=last, total=total),
    }


def describe_person(person: requests.AskedPerson) -> dict[str, Any]:
    row, state = person.request, person.state
    name = row.name or row.email
    return {
        "row": row,
        "name": name,
        "initials": initials_of(name),
        "colour": colour_of(name),
        "state": state,
        "bars": BARS.get(state),
        "words": tell_state(person),
        "problem": person.problem if state == "failed" else None,
        "seconds": count_seconds(row) if state == "waiting" else None,
        "reminder": _tell_reminder(row) if BARS.get(state) in (1, 2) else None,
    }


def count_seconds(row: MailedRequest) -> int | None:
    """Return in how many seconds a mail goes out that can still be taken back."""
    if row.sent_at is not None or row.next_mail_at is None:
        return None
    left = row.next_mail_at - clock.now()
    return (
        max(1, round(left.total_seconds()))
        if left <= requests.GRACE and left.total_seconds() > 0
        else None
    )


def tell_state(person: requests.AskedPerson) -> str:
    row = person.request
    if person.state == "waiting":
        return _tell_waiting(row)
    sentence, time = {
        "sent": (gettext_noop("Sent, %(time)s"), row.sent_at),
        "opened": (gettext_noop("Opened, %(time)s"), row.opened_at),
        "started": (gettext_noop("Began to write, %(time)s"), row.started_at),
        "answered": (gettext_noop("Wrote, %(time)s"), row.answered_at),
    }.get(person.state, ("", None))
    if time is None:
        return translate(LABELS[person.state])
    return _(sentence, time=start_small(describe_age(time)))


def _tell_waiting(row: MailedRequest) -> str:
    seconds = count_seconds(row)
    if seconds is not None:
        return ngettext("Goes out in %(num)s second", "Goes out in %(num)s seconds", seconds)
    if row.sent_at is None and row.next_mail_at is not None and row.next_mail_at > clock.now():
        return _("Goes out %(day)s", day=format_day(row.next_mail_at, "long", has_year=False))
    return translate(LABELS["waiting"])


def _tell_reminder(row: MailedRequest) -> str | None:
    if row.reminded_at is not None:
        return _("reminded on %(day)s", day=format_day(row.reminded_at, has_year=False))
    if row.next_mail_at is not None:
        return _("reminder on %(day)s", day=format_day(row.next_mail_at, has_year=False))
    return None


# The list as a file, whose words are those of before.

_COLUMNS = ("sent", "reminded", "opened", "started", "answered", "said no", "unsubscribed")
_STATES = LABELS | {"answered": "Answered", "unsubscribed": "Unsubscribed"}


def _to_cells(person: requests.AskedPerson) -> list[str | None]:
    row = person.request
    has_left = person.state not in ("waiting", "printed")
    times: list[datetime | None] = [
        row.sent_at if has_left else None, row.reminded_at, row.opened_at, row.started_at,
        row.answered_at, row.declined_at, person.unsubscribed_at,
    ]  # fmt: skip
    cells = [row.email, row.name, row.company, row.purchase_reference, _STATES[person.state]]
    return [*cells, *(clock.iso(time) if time else None for time in times)]


# The placeholder for the link in a stored message, which follows the page to a new address.
LINK = "{link}"


message_page = ProjectPage(collect, "collect/message", "collect/message.html")
code_page = ProjectPage(collect, "collect/code", "collect/code.html")
card_page = ProjectPage(collect, "collect/card", "collect/card.html")


@message_page.show
def show_message(access: Access) -> Values:
    project = access.project
    stored = project.dashboard_config.get(SHARE_MESSAGE)
    # The link is filled in.
    message = str(stored or default_message(project)).replace(LINK, link_to(project, None))
    return {
        "typed": {"message": message},
        "has_own_message": bool(stored),
        **describe_mail(project, message),
    }


@message_page.save({"message": Text(MESSAGE_LENGTH, load_default="")})
def save_message(access: Access, message: str) -> Done:
    """Keep the message; it saves itself while it is written."""
    set_message(access.project, message)
    record(PROJECT_CHANGED, access.project)
    return Done(_("Saved"))


@message_page.save(at="/reset")
def reset_message(access: Access) -> Done:
    """Go back to the suggested message."""
    set_message(access.project, "")
    record(PROJECT_CHANGED, access.project)
    return Done()


@code_page.show
def show_code(access: Access) -> Values:
    """Show the code of the page's address, or of a form's with ``?form=``."""
    return describe_card(access.project)


@card_page.show
def show_card(access: Access) -> Values:
    """Show a card to print, for a table or a counter."""
    return describe_card(access.project)


@collect.get("/dashboard/projects/<project_id>/collect/qr.<any(svg,png):kind>")
@require_role(Role.ADMIN)
def get_qr_code(access: Access, kind: str) -> Response:
    project, form = access.project, find_asked_form(access.project)
    response = make_response(draw_file(link_to(project, form), kind))
    response.headers["Content-Type"] = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    name = f"{project.slug}{f'-{form.name}' if form else ''}-qr.{kind}"
    # A slug has only letters, digits and dashes, so the name needs no escaping.
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def find_asked_form(project: Project) -> CollectionForm | None:
    return find_shown_form(project, request.args.get("form", ""))


def link_to(project: Project, form: CollectionForm | None) -> str:
    return form_url(project.slug, form.name if form else None, project.own_host)


def describe_card(project: Project) -> Values:
    """Return the card of a page, and the other pages that have one."""
    form = find_asked_form(project)
    link = link_to(project, form)
    forms = [(each.name, each.title) for each in list_forms(project)]
    return {
        "brand": find_brand(project),
        "headline": (form and form.design.get("headline")) or project.page_config["headline"],
        "link": link,
        "link_label": link.partition("://")[2],
        # The library draws dark and light squares; none of the link's text is in the markup.
        "qr": Markup(draw_inline(link)),  # noqa: S704
        "form_name": form and form.name,
        "forms": forms and [(None, _("The project’s page")), *forms],
    }


# The message to customers.


def default_message(project: Project) -> str:
    """Return the suggested message, in the language that the owner reads."""
    words = (
        _(
            "Hi! Thank you for choosing %(name)s. If you have a minute, two honest sentences about "
            "how it was would help us a lot:",
            name=project.business_name,
        )
        if project.business_name
        else _(
            "Hi! Thank you for choosing us. If you have a minute, two honest sentences about how "
            "it was would help us a lot:"
        )
    )
    return f"{words}\n{LINK}"


def set_message(project: Project, text: str) -> None:
    """Store the message in the locked project, unless it is empty or the suggested one."""
    config = dict(project.dashboard_config)
    config.pop(SHARE_MESSAGE, None)
    # A longer address that starts the same way is another page's.
    stored = re.sub(rf"{re.escape(link_to(project, None))}(?![\w/-])", LINK, text)
    if stored and stored != default_message(project):
        config[SHARE_MESSAGE] = stored
    project.dashboard_config = config


def describe_mail(project: Project, message: str) -> dict[str, Any]:
    """Return the subject of a mail with the message, and its `mailto:` link."""
    subject = f"A few words about {project.business_name or 'your visit'}?"
    # RFC 6068 asks for CRLF.
    body = quote(message.replace("\n", "\r\n"), safe="")
    return {
        "mail_subject": subject,
        "mail_url": f"mailto:?subject={quote(subject, safe='')}&body={body}",
    }
