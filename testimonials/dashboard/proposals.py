"""The page on which people decide about what agents proposed."""

from collections.abc import Mapping

from flask import Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, Text
from testimonials.core.http.forms import FormSchema, add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext
from testimonials.core.http.resource import REASON_LENGTH
from testimonials.core.http.security import safe_target
from testimonials.core.http.urls import current_path
from testimonials.core.images.uploads import CONTENT_TYPE, Image
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.inbox_data import MAX_LINE, read_page
from testimonials.dashboard.proposal_data import (
    PAGE_SIZE,
    describe_proposals,
    kinds_of,
    list_page,
    name_proposal,
)
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Right, RoleTooLow, find_access
from testimonials.projects.models import Proposal
from testimonials.projects.projects import lock_account
from testimonials.projects.proposals import Decided, Decider, decide_proposals

MOST_AT_ONCE = 100


class DecisionForm(FormSchema):
    decision = Choice("accepted", "declined", required=True)
    note = Text(REASON_LENGTH, load_default="")
    return_to = Text(MAX_LINE, load_default="")


@inbox.get("/dashboard/projects/<project_id>/proposals")
@require_role(Right.LOOK)
def show_proposals(access: Access) -> ResponseReturnValue:
    """Show what waits, or with ``?show=decided`` what was decided."""
    return _page(access, Decided())


@inbox.get("/dashboard/projects/<project_id>/proposals/<proposal_id>/picture")
@require_role(Right.LOOK)
def get_proposed_picture(access: Access, proposal_id: str) -> Response:
    """Return the proposed picture, which only those who decide about it may see."""
    values = _find(access, proposal_id).values
    image_id = values.get("imageId") or values.get("avatarId") or ""
    image = db.session.get(Image, image_id) if is_identifier(image_id) else None
    if image is None:
        raise NotFound(gettext_noop("There is no picture any more."))
    return Response(image.content, content_type=CONTENT_TYPE)


@inbox.post("/dashboard/projects/<project_id>/proposals")
@require_role(Right.DECIDE)
def decide_proposal(access: Access) -> ResponseReturnValue:
    """Accept or decline the proposals that the form names."""
    sent, ids = DecisionForm().read(request.form), request.form.getlist("ids")[:MOST_AT_ONCE]
    if sent.errors:
        return _page(access, Decided(problems=dict.fromkeys(ids, _first(sent.errors)))), 422
    begin_write()
    # The account first: its limit of requests by mail covers all of its projects.
    lock_account(access.project.account_id)
    access = find_access(access.user, access.project.id, Right.DECIDE, for_update=True)
    decider = Decider(access.user.account_id, access.user.name, kinds_of(access))
    status, note = sent.values["decision"], sent.values["note"]
    decided = decide_proposals(access.project, ids, status, decider, note)
    db.session.commit()
    if decided.problems:
        return _page(access, decided), 409
    to = safe_target(sent.values["return_to"]) or url_for(".show_proposals")
    return redirect(add_notice(to, _report(decided), decided.undo), 303)


def _report(decided: Decided) -> str:
    if not decided.done:
        return _("Nothing was chosen.")
    first, count = decided.done[0], len(decided.done)
    title, is_accepted = name_proposal(first), first.status == "accepted"
    if count == 1:
        accepted = _("Accepted: %(title)s", title=title)
        return accepted if is_accepted else _("Declined: %(title)s", title=title)
    if is_accepted:
        return ngettext("Accepted %(num)s proposal", "Accepted %(num)s proposals", count)
    return ngettext("Declined %(num)s proposal", "Declined %(num)s proposals", count)


def _find(access: Access, proposal_id: str) -> Proposal:
    proposal = db.session.get(Proposal, proposal_id) if is_identifier(proposal_id) else None
    if proposal is None or proposal.project_id != access.project.id:
        raise NotFound(gettext_noop("There is no such proposal in this project."))
    if proposal.kind not in kinds_of(access):
        raise RoleTooLow
    return proposal


def _first(errors: Mapping[str, list[str]]) -> str:
    return next(text for texts in errors.values() for text in texts)


def _page(access: Access, decided: Decided) -> str:
    is_waiting = request.args.get("show") != "decided"
    rows, page, total = list_page(
        access, read_page(request.args.get("page", "1")), is_waiting=is_waiting
    )
    shown = {row.id for row in rows}
    return render_template(
        "dashboard/proposals/proposals.html",
        shell=build_shell(access, "inbox"),
        notice=read_notice(),
        return_to=current_path(),
        is_waiting=is_waiting,
        items=describe_proposals(access.project, rows),
        total=total,
        page=page,
        pages=-(-total // PAGE_SIZE),
        done=_report(decided) if decided.done else "",
        problems=decided.problems,
        # About what is no longer on the page.
        others=sorted({text for each, text in decided.problems.items() if each not in shown}),
        note_length=REASON_LENGTH,
    )
