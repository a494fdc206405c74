"""The notification of new testimonials."""

from collections.abc import Sequence
from typing import Any

from flask import render_template

from testimonials.core.mail.outbox import OutboxMail
from testimonials.core.urls import app_url, project_url
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import Reader, make_unsubscribe_url
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.decision_links import make_decision_url

NAME_LENGTH = 60
# One testimonial is shown nearly whole; of several, enough to recognise each.
ONE_LENGTH = 600
MANY_LENGTH = 200


def send_submissions_mail(
    reader: Reader, project: Project, rows: Sequence[Testimonial], total: int
) -> None:
    """Put a notification of `total` new testimonials into the outbox; it shows `rows` of them."""
    name = cut(project.name, NAME_LENGTH)
    length = ONE_LENGTH if total == 1 else MANY_LENGTH
    title = f"{total} new testimonials for {name}"
    if total == 1:
        did = "wrote a testimonial" if rows[0].returned_at is None else "changed their testimonial"
        title = f"{cut(rows[0].author_name, NAME_LENGTH)} {did} for {name}"
    values = {
        "title": title,
        "project_name": name,
        "items": [_describe(row, length, reader) for row in rows],
        "more": total - len(rows),
        "is_daily": reader.mode == "daily",
        "inbox_url": project_url(project.id, "inbox"),
        # One after another, the one that has waited longest first.
        "decide_url": project_url(project.id, "decide"),
        "is_link": reader.decides_by_mail,
        "choose_url": project_url(project.id, "notifications"),
        "unsubscribe_url": make_unsubscribe_url(project.id, reader.account_id),
        "app_url": app_url(),
    }
    db.session.add(
        OutboxMail(
            purpose="submissions",
            recipient=reader.email,
            subject=title,
            text=render_template("email/submissions.txt", **values),
            html=render_template("email/submissions.html", **values),
            list_unsubscribe=values["unsubscribe_url"],
        )
    )


def cut(text: str, length: int) -> str:
    """Return the text in at most `length` characters, with an ellipsis where it was longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _describe(row: Testimonial, length: int, reader: Reader) -> dict[str, Any]:
    details = [row.author_role, row.author_company or ""]
    stars = None
    if row.rating is not None:
        whole = int(row.rating)
        stars = f"{'★' * whole}{'☆' * (5 - whole)} {row.rating:g} of 5"
    return {
        "author_name": cut(row.author_name, NAME_LENGTH),
        "details": ", ".join(cut(each, NAME_LENGTH) for each in details if each),
        "stars": stars,
        "words": cut(row.text, length) or f"A {row.kind} recording.",
        "url": make_decision_url(row, reader.account_id)
        if reader.decides_by_mail
        else project_url(row.project_id, f"decide/{row.id}"),
    }
