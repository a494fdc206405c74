"""Deciding one after the other, and by the link in a mail."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import update

from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.sessions import find_session
from testimonials.collection.author_rights import can_thank, thank_author
from testimonials.collection.request_mail import first_name
from testimonials.core.audit import ActorKind, Event, act_as
from testimonials.core.db.transactions import write
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import inbox, projects
from testimonials.core.http.errors import NotFound, answer_service_error
from testimonials.core.http.form_errors import wants_json
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import project_url, wall_url
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.inbox import describe_step, return_target
from testimonials.dashboard.shell import build_shell
from testimonials.dashboard.testimonial import THANKS_LENGTH, ReplyForm, ThanksForm
from testimonials.projects.access import Access, Right, find_access
from testimonials.testimonials.fields import REPLY_LENGTH
from testimonials.testimonials.inbox import find_next_pending
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ActionRefused,
    apply_action,
    find_testimonial,
    set_reply,
)
from testimonials.testimonials.moderation_links import DecisionLinkInvalid, find_decision
from testimonials.testimonials.undo import find_last_step, undo_last

# What the page shows on which one testimonial after the other is decided.

# More than this is a bar nobody can count.
MOST_MARKS = 20


@dataclass(frozen=True)
class Tally:
    """How many the person has approved and rejected since they began; it travels in the URL."""

    approved: int = 0
    rejected: int = 0

    @property
    def count(self) -> int:
        return self.approved + self.rejected

    @property
    def query(self) -> dict[str, Any]:
        return {name: count for name, count in vars(self).items() if count}

    def add(self, action: str, by: int = 1) -> "Tally":
        """Return it with one more decision, or one less."""
        approved = self.approved + by * (action == "approve")
        rejected = self.rejected + by * (action == "reject")
        return Tally(max(0, approved), max(0, rejected))


def read_tally(values: Mapping[str, str]) -> Tally:
    """Return the tally in a URL or form; what isn't a small number counts as 0."""
    counts = [values.get(name, "") for name in ("approved", "rejected")]
    return Tally(*(int(text) if text.isdecimal() and len(text) < 5 else 0 for text in counts))


def decide_url(row: Testimonial | None, tally: Tally, notice: str | None = None) -> str:
    """Return the address of a testimonial's page, or of the end."""
    if row is None:
        return url_for("dashboard.inbox.show_next", **tally.query)
    query = tally.query | {"notice": notice}
    return url_for("dashboard.inbox.show_review", testimonial_id=row.id, **query)


def describe_decision(access: Access, row: Testimonial, tally: Tally) -> dict[str, Any]:
    """Return what the page of one testimonial shows."""
    shell = build_shell(access, "inbox")
    is_pending = row.status == "pending" and row.deleted_at is None
    waiting = shell["counts"]["pending"]
    following = find_next_pending(access.project.id, row)
    place = tally.count + (1 if is_pending else 0)
    return {
        "shell": shell,
        "item": describe_testimonial(row),
        "is_pending": is_pending,
        "waiting": waiting,
        "place": place,
        "total": tally.count + waiting,
        "has_marks": is_pending and 1 < tally.count + waiting <= MOST_MARKS,
        "last": _describe_last(access),
        "next_url": decide_url(following, tally) if following else None,
        "tally": tally,
        "return_to": decide_url(row, tally),
        "reply_length": REPLY_LENGTH,
        "thanks_length": THANKS_LENGTH,
        "can_thank": can_thank(access.project, row),
        "first_name": first_name(row.author_name),
    }


def describe_end(access: Access, tally: Tally) -> dict[str, Any]:
    """Return what the page shows when nothing waits."""
    shell = build_shell(access, "inbox")
    return {
        "shell": shell,
        "tally": tally,
        "last": _describe_last(access),
        "next_url": url_for("dashboard.inbox.show_next", **tally.query)
        if shell["counts"]["pending"]
        else None,
        "wall_url": wall_url(access.project.slug, access.project.own_host)
        if access.project.is_active
        else None,
    }


def _describe_last(access: Access) -> str | None:
    """Say what Undo would undo."""
    step = find_last_step(access.project, access.user.email)
    return describe_step(step) if step else None


# Deciding about one testimonial after the other: where the mails about new ones lead.
#
# A GET changes nothing. How many were decided on the way travels in the URL.


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


@inbox.get("/dashboard/projects/<project_id>/decide")
@require_role(Right.DECIDE)
def show_next(access: Access) -> ResponseReturnValue:
    """Lead to the one that has waited longest, or say that all are decided."""
    tally = read_tally(request.args)
    if row := find_next_pending(access.project.id):
        # A notice on the way there is for the page that follows.
        return redirect(decide_url(row, tally, request.args.get("notice")), 303)
    page = describe_end(access, tally)
    return render_template("dashboard/inbox/decided.html", **page, notice=read_notice())


@inbox.get("/dashboard/projects/<project_id>/decide/<testimonial_id>")
@require_role(Right.DECIDE)
def show_review(access: Access, testimonial_id: str) -> ResponseReturnValue:
    return _review_page(access, testimonial_id, read_tally(request.args))


@inbox.post("/dashboard/projects/<project_id>/decide/<testimonial_id>")
@require_role(Right.DECIDE, for_update=True)
def decide_in_review(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Approve or reject it, and lead to the next one that waits."""
    action, tally = request.form.get("action", ""), read_tally(request.form)
    row = _find(access, testimonial_id)
    if row is None:
        return _review_page(access, testimonial_id, tally)
    if action not in DECISIONS:
        raise ActionRefused(gettext("This page is out of date. Reload it and try again."))
    _, count = apply_action(access.project, [row], action, access.user.email)
    if not count:
        db.session.rollback()
        return _review_page(access, testimonial_id, tally, 409, refusal=_explain(row, action))
    following = find_next_pending(access.project.id, row)
    db.session.commit()
    return redirect(decide_url(following, tally.add(action)), 303)


@inbox.post("/dashboard/projects/<project_id>/decide/undo")
@require_role(Right.DECIDE)
def undo_in_review(access: Access) -> ResponseReturnValue:
    """Undo the person's last change, and lead back to what it was about."""
    tally = read_tally(request.form)
    needed = partial(find_access, for_update=True)
    with write(lambda: needed(access.user, access.project.id, Right.DECIDE)) as access:
        step = undo_last(access.project, access.user.email).step
        row = find_testimonial(access.project, step.testimonial_id)
    return redirect(decide_url(row, tally.add(step.action, -1)), 303)


@inbox.post("/dashboard/projects/<project_id>/decide/<testimonial_id>/reply")
@require_role(Right.DECIDE, for_update=True)
def reply_in_review(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Reply in public, shown once it is approved."""
    tally = read_tally(request.form)
    row, sent = find_testimonial(access.project, testimonial_id), ReplyForm().read(request.form)
    if sent.errors:
        db.session.rollback()
        return _review_page(
            access, testimonial_id, tally, 422, errors=sent.errors, typed=sent.typed
        )
    set_reply(access.project, row, sent.values["reply"], access.user.email)
    db.session.commit()
    return redirect(add_notice(decide_url(row, tally), gettext("Reply saved")), 303)


@inbox.post("/dashboard/projects/<project_id>/decide/<testimonial_id>/thanks")
@require_role(Right.DECIDE, for_update=True)
def thank_in_review(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Mail a line to the author, once."""
    tally = read_tally(request.form)
    row, sent = find_testimonial(access.project, testimonial_id), ThanksForm().read(request.form)
    if sent.errors:
        db.session.rollback()
        return _review_page(
            access, testimonial_id, tally, 422, errors=sent.errors, typed=sent.typed
        )
    thank_author(access.project, row, sent.values["thanks"], access.user.email)
    db.session.commit()
    notice = gettext("A mail to %(name)s is on its way", name=row.author_name)
    return redirect(add_notice(decide_url(row, tally), notice), 303)


# Views whose forms hold what was typed, which the page of an error keeps.
TYPED = ("add_by_hand", "decide_proposal", "edit", "highlight", "reply")


@inbox.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    """Lead back to where the button was, and say there why nothing was done."""
    view = str(request.endpoint).rpartition(".")[2]
    if view in TYPED:
        return answer_service_error(error)
    db.session.rollback()
    if wants_json():
        return jsonify({"message": error.shown}), error.status
    is_here = view.endswith("_in_review")
    here = url_for(".show_next", **read_tally(request.form).query) if is_here else return_target()
    return redirect(add_notice(here, error.shown), 303)


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


def _review_page(
    access: Access, testimonial_id: str, tally: Tally, status: int = 200, **said: object
) -> ResponseReturnValue:
    row = _find(access, testimonial_id)
    if row is None:
        page = describe_end(access, tally) | {"is_gone": True}
        return render_template("dashboard/inbox/decided.html", **page), 404
    usual = {"errors": {}, "typed": {}, "refusal": None, "notice": read_notice()}
    page = describe_decision(access, row, tally) | usual | said
    return render_template("dashboard/inbox/decide.html", **page), status


# Deciding by the link in a mail, without signing in.
#
# A GET changes nothing, since mail scanners open links; its buttons decide, once. The link gives no
# other power: it edits nothing, lists nothing and replies to nobody.


PER_ADDRESS = Limit("decide-ip", 60, "from one IP address")
LINK_DECISIONS = ("approve", "reject")


@projects.get("/decide/<token>")
def show_decision(token: str) -> ResponseReturnValue:
    """Show the testimonial and two buttons; whoever is signed in decides in the dashboard."""
    access, row = find_decision(token)
    owner = find_session(read_session_cookie())
    if owner is not None and owner.account_id == access.user.account_id:
        query = f"?{request.query_string.decode()}" if request.query_string else ""
        return redirect(project_url(access.project.id, f"decide/{row.id}{query}"), 303)
    return _link_page(access, row, "")


@projects.post("/decide/<token>")
@limiter.per_address(PER_ADDRESS)
def decide_by_mail(token: str) -> ResponseReturnValue:
    action = request.form.get("action", "")
    begin_write()
    access, row = find_decision(token, for_update=True)
    if action not in LINK_DECISIONS:
        raise ActionRefused(gettext("This page is out of date. Open the link again."))
    act_as(ActorKind.PERSON, access.user.account_id)
    batch, _ = apply_action(access.project, [row], action, access.user.email)
    _note_mail(batch)
    db.session.commit()
    return _link_page(access, row, action)


@projects.errorhandler(DecisionLinkInvalid)
def show_problem(error: DecisionLinkInvalid) -> ResponseReturnValue:
    db.session.rollback()
    page = render_template("dashboard/inbox/link_problem.html", text=error.shown)
    return answer_privately(page, error.status)


def _note_mail(batch: str) -> None:
    """Note in the history that nobody signed in for this."""
    db.session.execute(update(Event).where(Event.batch_id == batch).values(is_by_mail=True))


def _link_page(access: Access, row: Testimonial, done: str) -> ResponseReturnValue:
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
