"""The list of requests by email: the page, correcting an address, the list as a file."""

import io
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from flask import Response, request, url_for

from testimonials.auth.email_addresses import Email
from testimonials.collection import requests
from testimonials.collection.events import REQUESTS_CANCELLED, REQUESTS_SENT
from testimonials.collection.models import REQUEST_STATES, MailedRequest
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.http.blueprints import collect
from testimonials.core.http.fields import Choice, QueryCount, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import format_day, gettext_noop, ngettext, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.dashboard.exports import send_download
from testimonials.dashboard.formatting import describe_age, start_small
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    Values,
    lock_account_first,
    require_role,
)
from testimonials.projects.access import Access, Role
from testimonials.transfer.tables.export import write_csv

LABELS = {
    "all": gettext_noop("Everyone"),
    "waiting": gettext_noop("Waiting"),
    "sent": gettext_noop("Sent"),
    "opened": gettext_noop("Opened"),
    "started": gettext_noop("Started writing"),
    "answered": gettext_noop("Wrote"),
    "declined": gettext_noop("Said no"),
    "failed": gettext_noop("Not delivered"),
    "printed": gettext_noop("Not sent"),
    "unsubscribed": gettext_noop("Said no, and won’t be asked again"),
}
# How many of the bars (sent, opened, wrote) are filled in each state.
BARS = {"waiting": 0, "sent": 1, "opened": 2, "started": 2, "answered": 3}


class AskedQuery(FormSchema):
    state = Choice(*REQUEST_STATES)
    page = QueryCount(1, load_default=1)


asked_page = ProjectPage(collect, "collect/asked", "collect/asked.html")
correct_page = ProjectPage(collect, "collect/asked/<asked_id>", "collect/correct.html")


@asked_page.show
def show_asked(access: Access) -> Values:
    query = AskedQuery().read(request.args).values
    state = query.get("state")
    number = min(query.get("page") or 1, 10**6)
    people, page, counts = requests.list_asked(access.project, state, number)
    return {
        "counts": counts,
        "states": [
            (name, translate(LABELS[name]), counts[name])
            for name in ("all", *REQUEST_STATES)
            if counts[name] or name in ("all", state)
        ],
        "state": state or "all",
        "asked": list(map(describe_person, people)),
        "pager": describe_pager(state, page, counts[state or "all"]),
    }


@asked_page.save(at="/cancel")
def cancel_requests(access: Access) -> Done:
    """Delete the requests that have not been sent."""
    count = requests.cancel_waiting(access.project)
    record(REQUESTS_CANCELLED, access.project, count=count)
    return Done(_("Removed"))


@asked_page.save({"id": Text(40, load_default="")}, at="/remove")
def remove_request(access: Access, id: str) -> Done:
    """Delete a request, which is not sent if it is waiting."""
    requests.remove_asked(access.project, id)
    return Done(_("Removed"))


@correct_page.show
def show_correction(access: Access, asked_id: str) -> Values:
    person = requests.find_asked(access.project, asked_id)
    return {"person": describe_person(person), "typed": {"email": person.request.email}}


@correct_page.save({"email": Email(required=True)}, lock_first=lock_account_first)
def correct_request(access: Access, asked_id: str, email: str) -> Done:
    """Send a request again, to a corrected address."""
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
    return send_download(out, f"{access.project.slug}-requests", "csv", "text/csv")


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
        "words": state_text(person),
        "problem": person.problem if state == "failed" else None,
        "seconds": count_seconds(row) if state == "waiting" else None,
        "reminder": _reminder_text(row) if BARS.get(state) in (1, 2) else None,
    }


def count_seconds(row: MailedRequest) -> int | None:
    """Return the seconds in which an email can still be cancelled, or None."""
    if row.sent_at is not None or row.next_mail_at is None:
        return None
    left = row.next_mail_at - clock.now()
    is_soon = timedelta() < left <= requests.GRACE
    return max(1, round(left.total_seconds())) if is_soon else None


def state_text(person: requests.AskedPerson) -> str:
    row = person.request
    if person.state == "waiting":
        return _waiting_text(row)
    time = {
        "sent": row.sent_at,
        "opened": row.opened_at,
        "started": row.started_at,
        "answered": row.answered_at,
    }.get(person.state)
    done = translate(LABELS[person.state])
    if time is None:
        return done
    return _("%(done)s, %(time)s", done=done, time=start_small(describe_age(time)))


def _waiting_text(row: MailedRequest) -> str:
    seconds = count_seconds(row)
    if seconds is not None:
        return ngettext("Goes out in %(num)s second", "Goes out in %(num)s seconds", seconds)
    if row.sent_at is None and row.next_mail_at is not None and row.next_mail_at > clock.now():
        return _("Goes out %(day)s", day=format_day(row.next_mail_at, "long", has_year=False))
    return translate(LABELS["waiting"])


def _reminder_text(row: MailedRequest) -> str | None:
    if row.reminded_at is not None:
        return _("reminder on %(day)s", day=format_day(row.reminded_at, has_year=False))
    if row.next_mail_at is not None:
        return _("reminder on %(day)s", day=format_day(row.next_mail_at, has_year=False))
    return None


# The list as a CSV file, which is the same in every language.

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
