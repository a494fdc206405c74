"""Deciding about one testimonial after the other: where the mails about new ones lead.

A GET changes nothing. How many were decided on the way travels in the URL.
"""

from functools import partial

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.authors.thanking import thank_author
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext, gettext_noop
from testimonials.dashboard.guards import go_on_writing, require_role
from testimonials.dashboard.inbox.deciding import (
    Tally,
    decide_url,
    describe_decision,
    describe_end,
    read_tally,
)
from testimonials.dashboard.inbox.testimonial_form import ReplyForm, ThanksForm
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.inbox import find_next_pending
from testimonials.testimonials.moderation.services import (
    ActionRefused,
    apply_action,
    find_testimonial,
    set_reply,
)
from testimonials.testimonials.moderation.undoing import undo_last

deciding = Blueprint("deciding", __name__)

# What can be decided here, and what became of it where it can't.
DECISIONS = {
    "approve": gettext_noop("Not approved: %(name)s"),
    "reject": gettext_noop("Not rejected: %(name)s"),
}
REFUSED = {
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


@deciding.get("/dashboard/projects/<project_id>/decide")
@require_role(Role.MODERATOR)
def show_next(access: Access) -> ResponseReturnValue:
    """Lead to the one that has waited longest, or say that all are decided."""
    tally = read_tally(request.args)
    if row := find_next_pending(access.project.id):
        # A notice on the way there is for the page that follows.
        return redirect(decide_url(row, tally, request.args.get("notice")), 303)
    page = describe_end(access, tally)
    return render_template("dashboard/inbox/decided.html", **page, notice=read_notice())


@deciding.get("/dashboard/projects/<project_id>/decide/<testimonial_id>")
@require_role(Role.MODERATOR)
def show_testimonial(access: Access, testimonial_id: str) -> ResponseReturnValue:
    return _page(access, testimonial_id, read_tally(request.args))


@deciding.post("/dashboard/projects/<project_id>/decide/<testimonial_id>")
@require_role(Role.MODERATOR, for_update=True)
def decide(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Approve or reject it, and lead to the next one that waits."""
    action, tally = request.form.get("action", ""), read_tally(request.form)
    row = _find(access, testimonial_id)
    if row is None:
        return _page(access, testimonial_id, tally)
    if action not in DECISIONS:
        raise ActionRefused(gettext("This page is out of date. Reload it and try again."))
    _, count = apply_action(access.project, [row], action, access.user.email)
    if not count:
        db.session.rollback()
        return _page(access, testimonial_id, tally, 409, refusal=_explain(row, action))
    following = find_next_pending(access.project.id, row)
    db.session.commit()
    return redirect(decide_url(following, tally.add(action)), 303)


@deciding.post("/dashboard/projects/<project_id>/decide/undo")
@require_role(Role.MODERATOR, for_update=True)
def undo(access: Access) -> ResponseReturnValue:
    """Undo the person's last change, and lead back to what it was about."""
    tally = read_tally(request.form)
    go_on = partial(go_on_writing, access, Role.MODERATOR)
    step = undo_last(access.project, access.user.email, go_on).step
    row = find_testimonial(access.project, step.testimonial_id)
    db.session.commit()
    return redirect(decide_url(row, tally.add(step.action, -1)), 303)


@deciding.post("/dashboard/projects/<project_id>/decide/<testimonial_id>/reply")
@require_role(Role.MODERATOR, for_update=True)
def reply(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Reply in public, shown once it is approved."""
    tally = read_tally(request.form)
    row, sent = find_testimonial(access.project, testimonial_id), ReplyForm().read(request.form)
    if sent.errors:
        db.session.rollback()
        return _page(access, testimonial_id, tally, 422, errors=sent.errors, typed=sent.typed)
    set_reply(access.project, row, sent.values["reply"], access.user.email)
    db.session.commit()
    return redirect(add_notice(decide_url(row, tally), gettext("Reply saved")), 303)


@deciding.post("/dashboard/projects/<project_id>/decide/<testimonial_id>/thanks")
@require_role(Role.MODERATOR, for_update=True)
def thank(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Mail a line to the author, once."""
    tally = read_tally(request.form)
    row, sent = find_testimonial(access.project, testimonial_id), ThanksForm().read(request.form)
    if sent.errors:
        db.session.rollback()
        return _page(access, testimonial_id, tally, 422, errors=sent.errors, typed=sent.typed)
    thank_author(access.project, row, sent.values["thanks"], access.user.email)
    record_project_event(EventType.AUTHOR_THANKED, access.project, testimonial=row.id)
    db.session.commit()
    notice = gettext("A mail to %(name)s is on its way", name=row.author_name)
    return redirect(add_notice(decide_url(row, tally), notice), 303)


@deciding.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    db.session.rollback()
    target = url_for(".show_next", **read_tally(request.form).query)
    return redirect(add_notice(target, error.shown), 303)


def _find(access: Access, testimonial_id: str) -> Testimonial | None:
    """Return the testimonial unless its author or a colleague deleted it meanwhile."""
    try:
        return find_testimonial(access.project, testimonial_id)
    except NotFound:
        return None


def _explain(row: Testimonial, action: str) -> dict[str, str]:
    """Return why it was refused, and what that means for what is shown."""
    name = row.author_name
    is_here = row.deleted_at is None
    why = (
        gettext(REFUSED.get(row.status, ""), name=name)
        if is_here
        else gettext("It is in the trash.")
    )
    return {"title": gettext(DECISIONS[action], name=name), "text": why}


def _page(
    access: Access, testimonial_id: str, tally: Tally, status: int = 200, **said: object
) -> ResponseReturnValue:
    row = _find(access, testimonial_id)
    if row is None:
        page = describe_end(access, tally) | {"is_gone": True}
        return render_template("dashboard/inbox/decided.html", **page), 404
    usual = {"errors": {}, "typed": {}, "refusal": None, "notice": read_notice()}
    page = describe_decision(access, row, tally) | usual | said
    return render_template("dashboard/inbox/decide.html", **page), status
