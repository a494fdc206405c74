"""The inbox: the list, bulk actions, undo, proposals, and deciding from the email."""

from collections.abc import Sequence
from typing import Any

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import update
from werkzeug import Response

from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.sessions import find_session
from testimonials.core.audit import ActorKind, Event, act_as
from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import inbox, projects
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, Count, Switch, Text
from testimonials.core.http.forms import FormSchema, Identifiers
from testimonials.core.http.i18n import gettext, gettext_noop, ngettext
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.resource import REASON_LENGTH
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import project_url, wall_url
from testimonials.core.images.uploads import CONTENT_TYPE, Image
from testimonials.dashboard.formatting import describe_testimonial, list_reasons
from testimonials.dashboard.framework import Done, ProjectPage, Values, lock_account_first
from testimonials.dashboard.home import describe_first_steps, note
from testimonials.dashboard.inbox_data import (
    MAX_LINE,
    ActionForm,
    ReturnForm,
    already_decided_text,
    describe_inbox,
    describe_undone,
    done_with_undo,
    read_page,
    read_spelled_filter,
    report_action,
    return_target,
    write_notice,
)
from testimonials.dashboard.proposals import (
    describe_proposals,
    list_waiting,
    name_picture,
    name_proposal,
)
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Right, RoleTooLow
from testimonials.projects.changes import kinds_of
from testimonials.projects.defaults import KEEPS_SAMPLES
from testimonials.projects.models import Proposal
from testimonials.projects.proposals import Decided, Decider, DecisionRefused, decide_proposals
from testimonials.testimonials.inbox import InboxFilter, find_ids, find_next_pending, find_samples
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ActionRefused,
    apply_action,
    apply_to_many,
    find_testimonial,
)
from testimonials.testimonials.new_numbers import describe_old_numbers, end_old_numbers
from testimonials.testimonials.notifications import DecisionLinkInvalid, find_decision
from testimonials.testimonials.tags import TagRefused, add_tag, remove_tag
from testimonials.testimonials.undo import list_steps, make_undo_token, undo_batch, undo_last

# The most proposals that a form may decide; the page shows fewer.
MAX_DECIDED = 100
page = ProjectPage(inbox, "inbox", "inbox/inbox.html", role=Right.LOOK)


class ManyForm(ReturnForm):
    """The selected testimonials, or all that match the filter in the query string."""

    ids = Identifiers()
    all = Switch(attribute="is_all", load_default=False)


class BulkForm(ManyForm, ActionForm):
    pass


class TagForm(ManyForm):
    new_tag = Text(MAX_LINE, load_default="")
    tagging = Choice("add", "remove", load_default="add")


class SamplesForm(ReturnForm):
    samples = Choice("keep", "remove", load_default="remove")


class UndoForm(ReturnForm):
    undo = Text(MAX_LINE, load_default="")


@page.show
def show_inbox(access: Access) -> Values:
    project, filters = access.project, read_spelled_filter(access.project)
    shell, page = build_shell(access, "inbox"), read_page(request.args.get("page", "1"))
    proposed = list_waiting(access) if filters == InboxFilter() else ()
    return describe_inbox(project, filters, page, shell["counts"]) | {
        "shell": shell,
        **describe_first_steps(access, shell["counts"]["approved"]),
        "proposals": describe_proposals(project, proposed) if proposed else [],
        "note_length": REASON_LENGTH,
        "reason_names": list_reasons(),
        "new_numbers": describe_old_numbers(project),
        "can_undo": bool(list_steps(project.id, access.user.email)),
    }


def find_chosen(access: Access, ids: Sequence[str], *, is_all: bool, **_: Any) -> Sequence[str]:
    return find_ids(access.project.id, read_spelled_filter(access.project), ids, is_all=is_all)


@page.save(BulkForm, at="/bulk", role=Right.DECIDE, prepare=find_chosen)
def decide_many(
    access: Access, *, action: str, reason: str, prepared: Sequence[str], **sent: Any
) -> Done:
    """Apply an action to the selected testimonials, or to all that match the filter."""
    batch, count = apply_to_many(access.project, prepared, action, access.user.email, reason)
    _require_any(count)
    text = report_action(action, read_spelled_filter(access.project).tab, count)
    return _finish(access, _add_unchanged(text, len(prepared) - count), batch, sent)


@page.save(TagForm, at="/tags", role=Right.DECIDE, prepare=find_chosen)
def tag_many(
    access: Access, *, new_tag: str, tagging: str, prepared: Sequence[str], **sent: Any
) -> Done:
    """Add a tag to all selected testimonials, or remove it from them."""
    change = remove_tag if tagging == "remove" else add_tag
    try:
        batch, count = change(access.project, prepared, new_tag, access.user.email)
    except TagRefused as error:
        raise ActionRefused(error.shown) from None
    _require_any(count)
    return _finish(access, report_action("tag", "", count), batch, sent)


@page.save(ReturnForm, at="/numbers", role=Right.DECIDE)
def accept_numbers(access: Access, *, return_to: str) -> Done:
    """Show the new numbers at once, since somebody has seen what they change."""
    end_old_numbers(access.project)
    return Done(_("Saved"), return_target(return_to))


@page.save(SamplesForm, at="/samples", role=Right.DECIDE)
def settle_samples(access: Access, *, samples: str, **sent: Any) -> Done:
    """Move all samples to the trash, or keep them and stop asking."""
    project = access.project
    if samples == "keep":
        note(project, KEEPS_SAMPLES)
        return _finish(access, _("Saved"), None, sent)
    batch, count = apply_action(project, find_samples(project.id), "delete", access.user.email)
    _require_any(count)
    return _finish(access, report_action("delete", "", count), batch, sent)


@page.save(UndoForm, at="/undo", role=Right.DECIDE)
def undo(access: Access, *, undo: str, return_to: str) -> Done:
    """Undo the batch of a notice, or the person's last change."""
    project, actor = access.project, access.user.email
    undone = undo_batch(project, undo, actor) if undo else undo_last(project, actor)
    left = len(list_steps(project.id, actor))
    row = undone.step.testimonial_id if undone.step.count == 1 else None
    text, token = describe_undone(undone), "" if left else None
    return done_with_undo(access, text, to=return_target(return_to), undo=token, row=row)


def _require_any(count: int) -> None:
    if not count:
        raise ActionRefused(_("None of the selected testimonials allows this."))


def _finish(access: Access, text: str, batch: str | None, sent: Values) -> Done:
    return done_with_undo(access, text, batch, to=return_target(sent["return_to"]))


def _add_unchanged(done: str, count: int) -> str:
    """Return `done` with the number of selected testimonials that didn't change."""
    if not count:
        return done
    return ngettext(
        "%(done)s; %(num)s stayed as it was",
        "%(done)s; %(num)s stayed as they were",
        count,
        done=done,
    )


# Agents' proposals.


class DecisionForm(ReturnForm):
    ids = Identifiers()
    decision = Choice("accepted", "declined", required=True)
    note = Text(REASON_LENGTH, load_default="")


# The account's limit of requests by email covers all of its projects.
@page.save(DecisionForm, at="/proposals", role=Right.DECIDE, lock_first=lock_account_first)
def decide_proposal(
    access: Access, *, ids: list[str], decision: str, note: str, return_to: str
) -> Done:
    """Accept or decline proposals; those that can't be decided keep waiting."""
    decider = Decider(access.user.account_id, access.user.name, kinds_of(access))
    decided = decide_proposals(access.project, ids[:MAX_DECIDED], decision, decider, note)
    if decided.problems and not decided.done:
        raise DecisionRefused(" ".join(dict.fromkeys(decided.problems.values())))
    text = _add_unchanged(_report(decided), len(decided.problems))
    return done_with_undo(access, text, to=return_target(return_to), undo=decided.undo)


def _report(decided: Decided) -> str:
    if not decided.done:
        return _("Nothing selected")
    first, count = decided.done[0], len(decided.done)
    done = gettext_noop("Accepted") if first.status == "accepted" else gettext_noop("Declined")
    return write_notice(done, name_proposal(first) if count == 1 else count)


picture = ProjectPage(inbox, "proposals/<proposal_id>/picture", "", role=Right.LOOK)


@picture.show
def get_proposed_picture(access: Access, proposal_id: str) -> Response:
    """Return a proposed picture, which only those who may decide on it see."""
    row = db.session.get(Proposal, proposal_id) if is_identifier(proposal_id) else None
    if row is None or row.project_id != access.project.id:
        raise NotFound(gettext_noop("It may have moved, or the address may be mistyped."))
    if row.kind not in kinds_of(access):
        raise RoleTooLow
    image = db.session.get(Image, name_picture(row))
    if image is None:
        raise NotFound(gettext_noop("There is no picture at this address."))
    return Response(image.content, content_type=CONTENT_TYPE)


# Deciding one testimonial after the other, from the email.

MAX_COUNTED = 9_999
DECISIONS = ("approve", "reject")
first = ProjectPage(inbox, "decide", "", role=Right.DECIDE)
review = ProjectPage(inbox, "decide/<testimonial_id>", "inbox/mail.html", role=Right.DECIDE)


class DoneForm(FormSchema):
    """How many have been decided so far; the number is passed on in the URL."""

    done = Count(0, MAX_COUNTED, load_default=0)


class ReviewForm(DoneForm):
    action = Choice(*DECISIONS, missing=gettext_noop("This page is out of date. Reload it."))


def _url(row: Testimonial | None, done: int) -> str:
    if row is None:
        return url_for("dashboard.inbox.show_inbox")
    return url_for("dashboard.inbox.show_review", testimonial_id=row.id, done=done or None)


@first.show
def show_next(access: Access) -> Response:
    """Redirect to the testimonial that has waited longest, or to the inbox."""
    return redirect(_url(find_next_pending(access.project.id), 0), 303)


@review.show
def show_review(access: Access, testimonial_id: str) -> Values:
    """Show a testimonial, even if it was decided since the email."""
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
        "text": already_decided_text(row),
        "next_url": _url(next_row, done) if next_row else None,
    }


@review.save(ReviewForm)
def decide_in_review(access: Access, testimonial_id: str, *, action: str, done: int) -> Done:
    """Approve or reject it, and redirect to the next one that waits."""
    row = find_testimonial(access.project, testimonial_id)
    batch, count = apply_action(access.project, [row], action, access.user.email)
    if not count:
        raise ActionRefused(already_decided_text(row))
    next_row = find_next_pending(access.project.id, row)
    text = report_action(action, "", row.author_name)
    return Done(text, _url(next_row, done + 1), undo=make_undo_token(access.project, batch))


@first.save(DoneForm, at="/undo")
def undo_in_review(access: Access, *, done: int) -> Done:
    """Undo the person's last change, and redirect to its testimonial."""
    step = undo_last(access.project, access.user.email).step
    row = find_testimonial(access.project, step.testimonial_id)
    return Done(to=_url(row, max(0, done - 1)))


# Deciding by the link in an email, without signing in.
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
        raise ActionRefused(gettext("This page is out of date. Reload it."))
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
