"""The inbox: the list, decisions, many at once, undoing."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.form_errors import wants_json
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext
from testimonials.core.http.security import safe_target
from testimonials.dashboard.first_steps import describe_first_steps, note
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.inbox_data import describe_inbox, read_filter, read_page
from testimonials.dashboard.proposal_data import kinds_of
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import Access, Right, find_access
from testimonials.projects.defaults import KEEPS_SAMPLES
from testimonials.projects.models import Project
from testimonials.projects.proposals import summarise
from testimonials.testimonials.inbox import (
    InboxFilter,
    count_samples,
    count_tabs,
    find_ids,
    find_rows,
)
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import (
    ACTIONS,
    ActionRefused,
    apply_action,
    apply_to_many,
    find_testimonial,
)
from testimonials.testimonials.tags import TagRefused, add_tag, find_spellings, remove_tag, spell
from testimonials.testimonials.undo import (
    Step,
    Undone,
    list_steps,
    make_undo_token,
    undo_batch,
    undo_last,
)

# What the inbox says after a decision, and after one was undone.

# What was done to one testimonial, by the action; "" is anything else.
TO_ONE = {
    "approve": gettext_noop("Approved %(name)s"),
    "take_down": gettext_noop("Took down %(name)s"),
    "reject": gettext_noop("Rejected %(name)s"),
    "pin": gettext_noop("Pinned %(name)s"),
    "unpin": gettext_noop("Unpinned %(name)s"),
    "delete": gettext_noop("Deleted %(name)s"),
    "restore": gettext_noop("Restored %(name)s"),
    "spam": gettext_noop("Marked %(name)s as spam"),
    "release": gettext_noop("Moved %(name)s to Pending"),
    "edit": gettext_noop("Edited %(name)s"),
    "tag": gettext_noop("Changed the tags of %(name)s"),
    "highlight": gettext_noop("Changed the highlights of %(name)s"),
    "reply": gettext_noop("Changed the reply to %(name)s"),
    "": gettext_noop("Changed %(name)s"),
}
# The forms of each sentence for a number.
TO_MANY = {
    "approve": lambda num: ngettext(
        "Approved %(num)s testimonial", "Approved %(num)s testimonials", num
    ),
    "take_down": lambda num: ngettext(
        "Took down %(num)s testimonial", "Took down %(num)s testimonials", num
    ),
    "reject": lambda num: ngettext(
        "Rejected %(num)s testimonial", "Rejected %(num)s testimonials", num
    ),
    "pin": lambda num: ngettext("Pinned %(num)s testimonial", "Pinned %(num)s testimonials", num),
    "unpin": lambda num: ngettext(
        "Unpinned %(num)s testimonial", "Unpinned %(num)s testimonials", num
    ),
    "delete": lambda num: ngettext(
        "Deleted %(num)s testimonial", "Deleted %(num)s testimonials", num
    ),
    "restore": lambda num: ngettext(
        "Restored %(num)s testimonial", "Restored %(num)s testimonials", num
    ),
    "spam": lambda num: ngettext(
        "Marked %(num)s testimonial as spam", "Marked %(num)s testimonials as spam", num
    ),
    "release": lambda num: ngettext(
        "Moved %(num)s testimonial to Pending", "Moved %(num)s testimonials to Pending", num
    ),
    "edit": lambda num: ngettext("Edited %(num)s testimonial", "Edited %(num)s testimonials", num),
    "tag": lambda num: ngettext(
        "Changed the tags of %(num)s testimonial", "Changed the tags of %(num)s testimonials", num
    ),
    "highlight": lambda num: ngettext(
        "Changed the highlights of %(num)s testimonial",
        "Changed the highlights of %(num)s testimonials",
        num,
    ),
    "reply": lambda num: ngettext(
        "Changed the reply to %(num)s testimonial", "Changed the reply to %(num)s testimonials", num
    ),
    "": lambda num: ngettext("Changed %(num)s testimonial", "Changed %(num)s testimonials", num),
}


def report_action(action: str, was: str, what: str | int) -> str:
    """Say what was done to `what`, a name or a number, that had the status `was`."""
    if action == "reject" and was == "approved":
        action = "take_down"
    known = action if action in TO_ONE else ""
    if isinstance(what, str):
        return _(TO_ONE[known], name=what)
    return TO_MANY[known](what)


def describe_step(step: Step) -> str:
    """Say what a step did, as its notice said it."""
    what = step.author_name if step.count == 1 else step.count
    return report_action(step.action, step.was, what)


def describe_undone(undone: Undone, left: int) -> str:
    """Say what was undone, what was passed over, and how many steps are left."""
    step, passed = undone.step, len(undone.passed)
    parts = [_("Undid: %(change)s.", change=describe_step(step))]
    if undone.count < step.count:
        parts.append(
            ngettext(
                "%(num)s of them was changed since.",
                "%(num)s of them were changed since.",
                step.count - undone.count,
            )
        )
    if passed:
        parts.insert(0, _tell_passed(describe_step(undone.passed[0]), passed))
    if left:
        parts.append(ngettext("%(num)s more can be undone", "%(num)s more can be undone", left))
    else:
        parts.append(_("That was the last"))
    return " ".join(parts)


def _tell_passed(first: str, count: int) -> str:
    if count == 1:
        return _("Not undone, as it was changed since: %(change)s.", change=first)
    return ngettext(
        "%(num)s change was not undone: others changed the same since.",
        "%(num)s changes were not undone: others changed the same since.",
        count,
    )


# The inbox: the list, decisions one by one and many at once, and undoing them.
#
# A decision answers a form with a redirect back to the list, and a script with JSON.


ALREADY = {
    "pending": gettext_noop("%(name)s is already pending."),
    "approved": gettext_noop("%(name)s is already approved."),
    "rejected": gettext_noop("%(name)s is already rejected."),
    "spam": gettext_noop("%(name)s is already spam."),
    "demo": gettext_noop("%(name)s is already demo."),
}


@inbox.get("/dashboard/projects/<project_id>/inbox")
@require_role(Right.LOOK)
def show_inbox(access: Access) -> ResponseReturnValue:
    project = access.project
    wanted = _read_filter(project, request.args)
    page = read_page(request.args.get("page", "1"))
    shell = build_shell(access, "inbox")
    found = describe_inbox(project, wanted, page, shell["counts"])
    return render_template(
        "dashboard/inbox/inbox.html",
        shell=shell,
        proposed=summarise(project.id, kinds_of(access)) if shell["proposals"] else [],
        notice=read_notice(),
        samples=_count_new_samples(project, wanted),
        can_undo=bool(list_steps(project.id, access.user.email)),
        **describe_first_steps(access, shell["counts"]["approved"]),
        **found,
    )


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/action")
@require_role(Right.DECIDE, for_update=True)
def decide(access: Access, testimonial_id: str) -> ResponseReturnValue:
    project = access.project
    row = find_testimonial(project, testimonial_id)
    name, was = _read_action(), row.status
    batch, count = apply_action(project, [row], name, access.user.email)
    if not count:
        raise ActionRefused(_explain(row))
    return _finish(project, report_action(name, was, row.author_name), batch)


@inbox.post("/dashboard/projects/<project_id>/bulk")
@require_role(Right.DECIDE)
def decide_many(access: Access) -> ResponseReturnValue:
    """Apply an action to the selected testimonials, or to all that match the filter."""
    name, ids = _read_action(), _find_chosen(access.project)
    with _write(access) as project:
        batch, count = apply_to_many(project, ids, name, access.user.email)
        if not count:
            raise ActionRefused(_("This can’t be done to any of the selected testimonials."))
    tab = read_filter(request.form).tab
    text = _tell_rest(report_action(name, tab, count), len(ids) - count)
    return _finish(project, text, batch)


@inbox.post("/dashboard/projects/<project_id>/tags")
@require_role(Right.DECIDE)
def tag_many(access: Access) -> ResponseReturnValue:
    """Add a tag to all selected testimonials, or remove it from them."""
    ids, name = _find_chosen(access.project), request.form.get("new_tag", "")
    is_off = request.form.get("tagging") == "remove"
    change = remove_tag if is_off else add_tag
    try:
        with _write(access) as project:
            batch, count = change(project, ids, name, access.user.email)
            if not count:
                raise ActionRefused(_refuse_tag(is_off=is_off))
    except TagRefused as error:
        raise ActionRefused(error.shown) from None
    return _finish(project, _tell_tagged(count, is_off=is_off), batch)


@inbox.post("/dashboard/projects/<project_id>/samples")
@require_role(Right.DECIDE, for_update=True)
def settle_samples(access: Access) -> ResponseReturnValue:
    """Move all samples to the trash, or keep them and stop asking."""
    project = access.project
    if request.form.get("samples") == "keep":
        note(project, KEEPS_SAMPLES)
        return _finish(project, _("The samples stay, marked as samples"))
    rows = find_rows(project.id, InboxFilter(tab="all", source="demo"), [], is_all=True)
    batch, count = apply_action(project, rows, "delete", access.user.email)
    if not count:
        raise ActionRefused(_("There are no samples left here."))
    return _finish(
        project, ngettext("Removed %(num)s sample", "Removed %(num)s samples", count), batch
    )


@inbox.post("/dashboard/projects/<project_id>/undo")
@require_role(Right.DECIDE)
def undo(access: Access) -> ResponseReturnValue:
    """Undo the batch that a notice names, or the person's own last change."""
    token, actor = request.form.get("undo", ""), access.user.email
    with _write(access) as project:
        undone = undo_batch(project, token, actor) if token else undo_last(project, actor)
    left = len(list_steps(project.id, actor))
    text = describe_undone(undone, left)
    row = undone.step.testimonial_id if undone.step.count == 1 else None
    return _answer(project, text, "" if left else None, row)


def _read_filter(project: Project, values: Any) -> InboxFilter:
    wanted = read_filter(values)
    if not wanted.tag:
        return wanted
    return replace(wanted, tag=spell(find_spellings(project.id), [wanted.tag])[0])


def _write(access: Access) -> AbstractContextManager[Project]:
    return write(
        lambda: find_access(access.user, access.project.id, Right.DECIDE, for_update=True).project
    )


def _find_chosen(project: Project) -> Sequence[str]:
    """Return the ids of what was selected for a bulk action."""
    is_all = request.form.get("all") == "1"
    wanted = _read_filter(project, request.form)
    # Nothing else can match, and a statement takes a limited number of values.
    ids = list(filter(is_identifier, request.form.getlist("ids")))
    return find_ids(project.id, wanted, ids, is_all=is_all)


def _refuse_tag(*, is_off: bool) -> str:
    if is_off:
        return _("None of the selected testimonials has this tag.")
    return _("None of the selected testimonials can take this tag, or all have it already.")


def _tell_tagged(count: int, *, is_off: bool) -> str:
    if is_off:
        return ngettext(
            "Removed a tag from %(num)s testimonial",
            "Removed a tag from %(num)s testimonials",
            count,
        )
    return ngettext("Tagged %(num)s testimonial", "Tagged %(num)s testimonials", count)


def _count_new_samples(project: Project, wanted: InboxFilter) -> int:
    """Return how many samples to ask about: only in the tab All, until the owner keeps them."""
    is_asked = wanted.tab == "all" and not wanted.is_narrowed
    if not is_asked or project.dashboard_config.get(KEEPS_SAMPLES):
        return 0
    return count_samples(project.id)


def _finish(project: Project, text: str, batch: str | None = None) -> ResponseReturnValue:
    """Commit, and answer with a notice that offers to undo the batch."""
    return _answer(project, text, make_undo_token(project, batch) if batch else None)


def _answer(
    project: Project, text: str, undo_token: str | None, testimonial_id: str | None = None
) -> ResponseReturnValue:
    """Commit, and answer with a notice; an empty token undoes what comes before."""
    db.session.commit()
    if wants_json():
        notice = {"text": text, "undo_url": None if undo_token is None else url_for(".undo")}
        notice["undo_token"] = undo_token
        counts = count_tabs(project.id)[project.id]
        return jsonify({"ok": True, "notice": notice, "counts": counts, "row": testimonial_id})
    return redirect(add_notice(return_target(), text, undo_token), 303)


def return_target() -> str:
    return safe_target(request.form.get("return_to", "")) or url_for(".show_inbox")


def _read_action() -> str:
    name = request.form.get("action", "")
    if name not in ACTIONS:
        raise ActionRefused(_("This page is out of date. Reload it and try again."))
    return name


def _tell_rest(done: str, count: int) -> str:
    """Say what was done, and to how many selected testimonials it couldn't be done."""
    if not count:
        return done
    return ngettext(
        "%(done)s; %(num)s stayed as it was",
        "%(done)s; %(num)s stayed as they were",
        count,
        done=done,
    )


def _explain(row: Testimonial) -> str:
    """Say why nothing was done to a testimonial, and what that means for what is shown."""
    name = row.author_name
    if row.deleted_at:
        return _("%(name)s is already in the trash.", name=name)
    if row.status == "withdrawn":
        return _(
            "%(name)s took it back. These words were withdrawn and are shown nowhere.", name=name
        )
    return _(ALREADY.get(row.status, ALREADY["pending"]), name=name)
