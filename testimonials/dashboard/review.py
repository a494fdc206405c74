"""Deciding from the mail: one after the other, or by a link without signing in."""

from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import update
from werkzeug import Response

from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.sessions import find_session
from testimonials.core.audit import ActorKind, Event, act_as
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import inbox, projects
from testimonials.core.http.fields import Choice, Count
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import project_url, wall_url
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.dashboard.inbox_data import report_action
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Right
from testimonials.testimonials.inbox import find_next_pending
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import ActionRefused, apply_action, find_testimonial
from testimonials.testimonials.notifications import DecisionLinkInvalid, find_decision
from testimonials.testimonials.undo import make_undo_token, undo_last

MAX_COUNTED = 9_999
DECISIONS = ("approve", "reject")
# Why a testimonial can't be decided, by status.
DECIDED = {
    "withdrawn": gettext_noop(
        "%(name)s took it back. These words were withdrawn and are shown nowhere."
    ),
    "approved": gettext_noop("It is approved already, and shown."),
    "rejected": gettext_noop("It is rejected already, and shown nowhere."),
    "spam": gettext_noop(
        "It is held as spam and shown nowhere. Release it in the inbox if it is real."
    ),
    "demo": gettext_noop("It is a sample."),
}

first = ProjectPage(inbox, "decide", "", role=Right.DECIDE)
page = ProjectPage(inbox, "decide/<testimonial_id>", "inbox/mail.html", role=Right.DECIDE)


class DoneForm(FormSchema):
    """How many were decided so far, which travels in the URL."""

    done = Count(0, MAX_COUNTED, load_default=0)


class ReviewForm(DoneForm):
    action = Choice(
        *DECISIONS, missing=gettext_noop("This page is out of date. Reload it and try again.")
    )


def _url(row: Testimonial | None, done: int) -> str:
    if row is None:
        return url_for("dashboard.inbox.show_inbox")
    return url_for("dashboard.inbox.show_review", testimonial_id=row.id, done=done or None)


@first.show
def show_next(access: Access) -> Response:
    """Redirect to the testimonial that has waited longest, or to the inbox."""
    return redirect(_url(find_next_pending(access.project.id), 0), 303)


@page.show
def show_review(access: Access, testimonial_id: str) -> Values:
    """Show a testimonial, even if it was decided since the mail."""
    row = find_testimonial(access.project, testimonial_id)
    shell = build_shell(access, "inbox")
    done = DoneForm().read(request.args).values.get("done", 0)
    is_pending = row.status == "pending" and row.deleted_at is None
    next_row = find_next_pending(access.project.id, row)
    return {
        "done": done,
        "place": done + 1,
        "total": done + shell["counts"]["pending"],
        "shell": shell,
        "item": describe_testimonial(row),
        "is_pending": is_pending,
        "text": _describe_decided(row),
        "next_url": _url(next_row, done) if next_row else None,
    }


@page.save(ReviewForm)
def decide_in_review(access: Access, testimonial_id: str, *, action: str, done: int) -> Done:
    """Approve or reject it, and redirect to the next one that waits."""
    row = find_testimonial(access.project, testimonial_id)
    batch, count = apply_action(access.project, [row], action, access.user.email)
    if not count:
        raise ActionRefused(_describe_decided(row))
    next_row = find_next_pending(access.project.id, row)
    text = report_action(action, "", row.author_name)
    return Done(text, _url(next_row, done + 1), undo=make_undo_token(access.project, batch))


@first.save(DoneForm, at="/undo")
def undo_in_review(access: Access, *, done: int) -> Done:
    """Undo the person's last change, and redirect to its testimonial."""
    step = undo_last(access.project, access.user.email).step
    row = find_testimonial(access.project, step.testimonial_id)
    return Done(to=_url(row, max(0, done - 1)))


def _describe_decided(row: Testimonial) -> str:
    if row.deleted_at is not None:
        return gettext("It is in the trash.")
    return gettext(DECIDED.get(row.status, ""), name=row.author_name)


# Deciding by the link in a mail, without signing in.
#
# A GET changes nothing, since mail scanners open links; the buttons work once. The link allows
# nothing else: no editing, no lists, no replies.

PER_ADDRESS = Limit("decide-ip", 60, "from one IP address")


class LinkForm(FormSchema):
    action = Choice(*DECISIONS, load_default="")


@projects.get("/decide/<token>")
def show_decision(token: str) -> ResponseReturnValue:
    """Show the testimonial and two buttons; redirect signed-in people to the dashboard."""
    access, row = find_decision(token)
    owner = find_session(read_session_cookie())
    if owner is not None and owner.account_id == access.user.account_id:
        query = f"?{request.query_string.decode()}" if request.query_string else ""
        return redirect(project_url(access.project.id, f"decide/{row.id}{query}"), 303)
    return _link_page(access, row, "")


@projects.post("/decide/<token>")
@limiter.per_address(PER_ADDRESS)
def decide_by_mail(token: str) -> ResponseReturnValue:
    action = LinkForm().read().values.get("action")
    if not action:
        raise ActionRefused(gettext("This page is out of date. Open the link again."))
    with write(lambda: find_decision(token, for_update=True)) as (access, row):
        act_as(ActorKind.PERSON, access.user.account_id)
        batch, _ = apply_action(access.project, [row], action, access.user.email)
        events = update(Event).where(Event.batch_id == batch)
        db.session.execute(events.values(is_by_mail=True))
    return _link_page(access, row, action)


@projects.errorhandler(DecisionLinkInvalid)
def show_problem(error: DecisionLinkInvalid) -> ResponseReturnValue:
    db.session.rollback()
    return answer_privately(_render(problem=error.shown), error.status)


def _link_page(access: Access, row: Testimonial, decided: str) -> ResponseReturnValue:
    project = access.project
    return answer_privately(
        _render(
            project=project,
            who=access.user.email,
            item=describe_testimonial(row) | {"is_read_only": True},
            decided=decided,
            inbox_url=project_url(project.id, "inbox"),
            wall_url=wall_url(project.slug, project.own_host) if project.is_active else None,
        )
    )


def _render(**values: Any) -> str:
    return render_template("dashboard/inbox/mail_link.html", **values)
