"""Deciding by the link in a mail, without signing in.

A GET changes nothing, since mail scanners open links; its buttons decide, once. The link gives no
other power: it edits nothing, lists nothing and replies to nobody.
"""

from flask import Blueprint, redirect, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import update

from testimonials.activity.actors import ActorKind, act_as
from testimonials.auth.sign_in.cookies import read_session_cookie, use_persons_language
from testimonials.auth.sign_in.sessions import find_session
from testimonials.core.urls import project_url, wall_url
from testimonials.core.web.languages import gettext
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.describe import describe_testimonial
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import Access
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.decision_links import (
    DecisionLinkInvalid,
    find_decision,
)
from testimonials.testimonials.moderation.services import ActionRefused, apply_action

decision_link = Blueprint("decision_link", __name__)
decision_link.before_request(use_persons_language)

PER_ADDRESS = Limit("decide-ip", 60, "from one IP address")
DECISIONS = ("approve", "reject")


@decision_link.get("/decide/<token>")
def show_decision(token: str) -> ResponseReturnValue:
    """Show the testimonial and two buttons; whoever is signed in decides in the dashboard."""
    access, row = find_decision(token)
    owner = find_session(read_session_cookie())
    if owner is not None and owner.account_id == access.user.account_id:
        return redirect(project_url(access.project.id, f"decide/{row.id}"), 303)
    return _page(access, row, "")


@decision_link.post("/decide/<token>")
@limiter.per_address(PER_ADDRESS)
def decide_by_mail(token: str) -> ResponseReturnValue:
    action = request.form.get("action", "")
    begin_write()
    access, row = find_decision(token, for_update=True)
    if action not in DECISIONS:
        raise ActionRefused(gettext("This page is out of date. Open the link again."))
    act_as(ActorKind.PERSON, access.user.account_id)
    batch, _ = apply_action(access.project, [row], action, access.user.email)
    _note_mail(batch)
    db.session.commit()
    return _page(access, row, action)


@decision_link.errorhandler(DecisionLinkInvalid)
def show_problem(error: DecisionLinkInvalid) -> ResponseReturnValue:
    db.session.rollback()
    page = render_template("dashboard/inbox/link_problem.html", text=error.shown)
    return answer_privately(page, error.status)


def _note_mail(batch: str) -> None:
    """Note in the history that nobody signed in for this."""
    db.session.execute(
        update(TestimonialChange).where(TestimonialChange.batch_id == batch).values(is_by_mail=True)
    )


def _page(access: Access, row: Testimonial, done: str) -> ResponseReturnValue:
    page = render_template(
        "dashboard/inbox/decision_link.html",
        project=access.project,
        who=access.user.email,
        item=describe_testimonial(row) | {"is_read_only": True},
        done=done,
        inbox_url=project_url(access.project.id, "inbox"),
        wall_url=wall_url(access.project.slug, access.project.own_host)
        if access.project.is_active
        else None,
    )
    return answer_privately(page)
