"""What the pages show on which an owner asks people for testimonials by mail."""

from collections.abc import Iterable, Sequence
from typing import Any

from flask import render_template, url_for
from markupsafe import Markup

from testimonials.auth.models import Account
from testimonials.collection.models import MailedRequest, RequestBatch, hash_email
from testimonials.collection.requests.address_lists import (
    MAX_PEOPLE,
    Person,
    WrongLine,
    write_table,
)
from testimonials.collection.requests.asked_people import PAGE_SIZE, STATES, AskedPerson
from testimonials.collection.requests.asking import REMINDERS, LeftOut, count_room
from testimonials.collection.requests.request_mail import describe_mail
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.portraits import colour_of, initials_of
from testimonials.core.web.languages import LANGUAGES, speaking
from testimonials.dashboard.requests.form import NEVER, RequestForm
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.settings.current import current_settings

LABELS = {
    "all": "All",
    "waiting": "Waiting",
    "sent": "Sent",
    "opened": "Opened",
    "answered": "Answered",
    "declined": "Declined",
    "failed": "Not delivered",
    "unsubscribed": "Unsubscribed",
}
# How many people the preview names.
LISTED = 10


def describe_form(project: Project) -> dict[str, Any]:
    choices = [(str(days), f"After {days} days") for days in REMINDERS]
    return {
        "languages": [{"code": each.code, "name": each.name} for each in LANGUAGES],
        "reminders": [*choices, (NEVER, "Never")],
        "room": count_room(project.account_id),
        "per_day": current_settings().invitations_per_day,
        "most": MAX_PEOPLE,
    }


def describe_tabs(counts: dict[str, int], state: str | None) -> list[dict[str, Any]]:
    """Return the filters: `all`, and each state that somebody is in."""
    shown = [name for name in STATES if counts[name] or name == state]
    return [
        {
            "label": LABELS[name],
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
        "label": f"{first} to {last} of {total}" if last >= first else "",
    }


def _address(state: str | None, page: int | None = None) -> str:
    return url_for("asking.show_requests", state=state, page=page, _anchor="asked")


def describe_asked(person: AskedPerson) -> dict[str, Any]:
    row = person.request
    times = [
        ("Added", row.created_at if person.state == "waiting" else None),
        ("Sent", row.sent_at if person.state != "waiting" else None),
        ("Reminded", row.reminded_at),
        ("Opened", row.opened_at),
        ("Answered", row.answered_at),
        ("Declined", row.declined_at),
        ("Unsubscribed", person.unsubscribed_at),
    ]
    return {
        "id": row.id,
        "email": row.email,
        "name": row.name,
        "company": row.company or "",
        "initials": initials_of(row.name or row.email),
        "colour": colour_of(row.name or row.email),
        "state": person.state,
        "state_label": LABELS[person.state],
        "problem": person.problem if person.state == "failed" else None,
        "times": [(what, time) for what, time in times if time],
        "testimonial_url": url_for("editor.show_testimonial", testimonial_id=row.testimonial_id)
        if row.testimonial_id
        else None,
    }


def describe_preview(
    project: Project, form: RequestForm, chosen: tuple[Sequence[Person], Sequence[LeftOut]]
) -> dict[str, Any]:
    """Return what the preview shows: how many get what, who doesn't, and the mail of the first."""
    people, left_out = chosen
    account = db.session.get_one(Account, project.account_id)
    pasted, uploaded = form.pasted.wrong, form.uploaded.wrong
    wrong = [
        *_describe_wrong("Line", pasted),
        *_describe_wrong("Line" if not pasted else "Line of the file", uploaded),
    ]
    return {
        "count": len(people),
        "people": [{"email": each.email, "name": each.name} for each in people[:LISTED]],
        "more": max(0, len(people) - LISTED),
        "wrong": wrong,
        "left_out": [{"email": each.person.email, "reason": each.reason} for each in left_out],
        **_render_first_mail(project, account, form.batch, people[0]),
        "values": form.typed | {"people": write_table(people)},
        # What "Change" leads back to: as it was typed, wrong lines too; a file isn't kept.
        "original": write_table(form.uploaded.people + form.pasted.people)
        if form.uploaded.people
        else form.typed["people"],
        "reply_to": account.email,
        "minutes": -(-len(people) // current_settings().invitations_per_minute),
    }


def _describe_wrong(label: str, lines: Iterable[WrongLine]) -> list[dict[str, str]]:
    return [
        {"where": f"{label} {each.line}", "text": each.text, "reason": each.reason}
        for each in lines
    ]


def _render_first_mail(
    project: Project, account: Account, batch: RequestBatch, person: Person
) -> dict[str, Any]:
    """Render the mail to the first of them; its rows exist only for this."""
    request = MailedRequest(
        id=new_identifier(),
        email=person.email,
        email_hash=hash_email(account.id, person.email),
        name=person.name,
    )
    with speaking(batch.language) as language:
        values = describe_mail(project, account, batch, request)
        mail = render_template("email/_request.html", **values, is_preview=True)
    # Rendered by a template of ours, which escapes all that people wrote.
    return {"mail_html": Markup(mail), "mail_direction": language.direction}  # noqa: S704
