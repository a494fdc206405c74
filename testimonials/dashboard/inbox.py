"""The inbox: the list, bulk actions, undo, and the proposals of agents."""

from collections.abc import Sequence
from typing import Any

from flask import request
from werkzeug import Response

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.errors import NotFound
from testimonials.core.http.fields import Choice, Switch, Text
from testimonials.core.http.forms import Identifiers
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext
from testimonials.core.http.resource import REASON_LENGTH
from testimonials.core.images.uploads import CONTENT_TYPE, Image
from testimonials.dashboard.formatting import list_reasons
from testimonials.dashboard.framework import Done, ProjectPage, Values, lock_account_first
from testimonials.dashboard.home import describe_first_steps, note
from testimonials.dashboard.inbox_data import (
    MAX_LINE,
    ActionForm,
    ReturnForm,
    describe_inbox,
    describe_undone,
    read_page,
    read_spelled_filter,
    report_action,
    return_target,
    tell,
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
from testimonials.testimonials.inbox import InboxFilter, find_ids, find_samples
from testimonials.testimonials.moderation import ActionRefused, apply_action, apply_to_many
from testimonials.testimonials.new_numbers import describe_old_numbers, end_old_numbers
from testimonials.testimonials.tags import TagRefused, add_tag, remove_tag
from testimonials.testimonials.undo import list_steps, undo_batch, undo_last

# More than the page shows.
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
    """Return the ids of the selected testimonials."""
    return find_ids(access.project.id, read_spelled_filter(access.project), ids, is_all=is_all)


@page.save(BulkForm, at="/bulk", role=Right.DECIDE, prepare=find_chosen)
def decide_many(
    access: Access, *, action: str, reason: str, prepared: Sequence[str], **sent: Any
) -> Done:
    """Apply an action to the selected testimonials, or to all that match the filter."""
    batch, count = apply_to_many(access.project, prepared, action, access.user.email, reason)
    if not count:
        raise ActionRefused(_("This can’t be done to any of the selected testimonials."))
    text = report_action(action, read_spelled_filter(access.project).tab, count)
    return _finish(access, _tell_rest(text, len(prepared) - count), batch, sent)


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
    if not count:
        raise ActionRefused(
            _("None of the selected testimonials has this tag.")
            if tagging == "remove"
            else _("None of the selected testimonials can take this tag, or all have it already.")
        )
    return _finish(access, _tell_tagged(tagging, count), batch, sent)


@page.save(ReturnForm, at="/numbers", role=Right.DECIDE)
def accept_numbers(access: Access, *, return_to: str) -> Done:
    """Show the new numbers early, since somebody has seen what changes."""
    end_old_numbers(access.project)
    return Done(_("Every genuine rating counts now."), return_target(return_to))


@page.save(SamplesForm, at="/samples", role=Right.DECIDE)
def settle_samples(access: Access, *, samples: str, **sent: Any) -> Done:
    """Move all samples to the trash, or keep them and stop asking."""
    project = access.project
    if samples == "keep":
        note(project, KEEPS_SAMPLES)
        return _finish(access, _("The samples stay, marked as samples"), None, sent)
    batch, count = apply_action(project, find_samples(project.id), "delete", access.user.email)
    if not count:
        raise ActionRefused(_("There are no samples left here."))
    text = ngettext("Removed %(num)s sample", "Removed %(num)s samples", count)
    return _finish(access, text, batch, sent)


@page.save(UndoForm, at="/undo", role=Right.DECIDE)
def undo(access: Access, *, undo: str, return_to: str) -> Done:
    """Undo the batch of a notice, or the person's last change."""
    project, actor = access.project, access.user.email
    undone = undo_batch(project, undo, actor) if undo else undo_last(project, actor)
    left = len(list_steps(project.id, actor))
    row = undone.step.testimonial_id if undone.step.count == 1 else None
    text, token = describe_undone(undone, left), "" if left else None
    return tell(access, text, to=return_target(return_to), undo=token, row=row)


def _finish(access: Access, text: str, batch: str | None, sent: Values) -> Done:
    return tell(access, text, batch, to=return_target(sent["return_to"]))


def _tell_tagged(tagging: str, count: int) -> str:
    if tagging == "remove":
        return ngettext(
            "Removed a tag from %(num)s testimonial",
            "Removed a tag from %(num)s testimonials",
            count,
        )
    return ngettext("Tagged %(num)s testimonial", "Tagged %(num)s testimonials", count)


def _tell_rest(done: str, count: int) -> str:
    """Add to `done` how many of the selected testimonials didn't change."""
    if not count:
        return done
    return ngettext(
        "%(done)s; %(num)s stayed as it was",
        "%(done)s; %(num)s stayed as they were",
        count,
        done=done,
    )


# The proposals of agents.


class DecisionForm(ReturnForm):
    ids = Identifiers()
    decision = Choice("accepted", "declined", required=True)
    note = Text(REASON_LENGTH, load_default="")


# The account's limit of requests by mail covers all of its projects.
@page.save(DecisionForm, at="/proposals", role=Right.DECIDE, lock_first=lock_account_first)
def decide_proposal(
    access: Access, *, ids: list[str], decision: str, note: str, return_to: str
) -> Done:
    """Accept or decline proposals; those that can't be decided keep waiting."""
    decider = Decider(access.user.account_id, access.user.name, kinds_of(access))
    decided = decide_proposals(access.project, ids[:MAX_DECIDED], decision, decider, note)
    if decided.problems and not decided.done:
        raise DecisionRefused(" ".join(dict.fromkeys(decided.problems.values())))
    text = _tell_rest(_report(decided), len(decided.problems))
    return tell(access, text, to=return_target(return_to), undo=decided.undo)


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


picture = ProjectPage(inbox, "proposals/<proposal_id>/picture", "", role=Right.LOOK)


@picture.show
def get_proposed_picture(access: Access, proposal_id: str) -> Response:
    """Return a proposed picture, which only those who may decide on it see."""
    row = db.session.get(Proposal, proposal_id) if is_identifier(proposal_id) else None
    if row is None or row.project_id != access.project.id:
        raise NotFound(gettext_noop("There is no such proposal in this project."))
    if row.kind not in kinds_of(access):
        raise RoleTooLow
    image = db.session.get(Image, name_picture(row))
    if image is None:
        raise NotFound(gettext_noop("There is no picture any more."))
    return Response(image.content, content_type=CONTENT_TYPE)
