"""The inbox: the list, decisions one by one and many at once, and undoing them.

A decision answers a form with a redirect back to the list, and a script with JSON.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop, ngettext
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.forms import wants_json
from testimonials.dashboard.guards import build_shell, go_on_writing, lock_again, require_role
from testimonials.dashboard.inbox.checklist import describe_checklist, note
from testimonials.dashboard.inbox.reporting import describe_undone, report_action
from testimonials.dashboard.inbox.view import describe_inbox, read_filter, read_page
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.dashboard.proposals.view import kinds_of
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration.dashboard_config import KEEPS_SAMPLES
from testimonials.projects.models import Project
from testimonials.proposals.deciding import summarise
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.inbox import (
    InboxFilter,
    count_samples,
    count_tabs,
    find_ids,
    find_rows,
)
from testimonials.testimonials.moderation.parts import GoOn
from testimonials.testimonials.moderation.services import (
    ACTIONS,
    ActionRefused,
    apply_action,
    apply_to_many,
    find_testimonial,
)
from testimonials.testimonials.moderation.tags import (
    TagRefused,
    add_tag,
    find_spellings,
    remove_tag,
    spell,
)
from testimonials.testimonials.moderation.undoing import (
    list_steps,
    make_undo_token,
    undo_batch,
    undo_last,
)

inbox = Blueprint("inbox", __name__)

ALREADY = {
    "pending": gettext_noop("%(name)s is already pending."),
    "approved": gettext_noop("%(name)s is already approved."),
    "rejected": gettext_noop("%(name)s is already rejected."),
    "spam": gettext_noop("%(name)s is already spam."),
    "demo": gettext_noop("%(name)s is already demo."),
}


@inbox.get("/dashboard/projects/<project_id>/inbox")
@require_role(Role.READER)
def show_inbox(access: Access) -> ResponseReturnValue:
    project = access.project
    wanted = _read_filter(project, request.args)
    page = read_page(request.args.get("page", "1"))
    shell = build_shell(access, "inbox")
    found = describe_inbox(project, wanted, page, shell["counts"])
    return render_template(
        "dashboard/inbox/inbox.html",
        shell=shell,
        checklist=describe_checklist(access, is_whole=found["is_idle"] and not shell["proposals"]),
        proposed=summarise(project.id, kinds_of(access)) if shell["proposals"] else [],
        notice=read_notice(),
        samples=_count_new_samples(project, wanted),
        can_undo=bool(list_steps(project.id, access.user.email)),
        **found,
    )


@inbox.post("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/action")
@require_role(Role.MODERATOR, for_update=True)
def decide(access: Access, testimonial_id: str) -> ResponseReturnValue:
    project = access.project
    row = find_testimonial(project, testimonial_id)
    name, was = _read_action(), row.status
    batch, count = apply_action(project, [row], name, access.user.email)
    if not count:
        raise ActionRefused(_explain(row))
    return _finish(project, report_action(name, was, row.author_name), batch)


@inbox.post("/dashboard/projects/<project_id>/bulk")
@require_role(Role.MODERATOR)
def decide_many(access: Access) -> ResponseReturnValue:
    """Apply an action to the selected testimonials, or to all that match the filter."""
    name, ids = _read_action(), _find_chosen(access.project)
    project = lock_again(access, Role.MODERATOR)
    batch, count = apply_to_many(project, ids, name, access.user.email, _go_on(access))
    if not count:
        raise ActionRefused(_("This can’t be done to any of the selected testimonials."))
    tab = read_filter(request.form).tab
    text = _tell_rest(report_action(name, tab, count), len(ids) - count)
    return _finish(project, text, batch)


@inbox.post("/dashboard/projects/<project_id>/tags")
@require_role(Role.MODERATOR)
def tag_many(access: Access) -> ResponseReturnValue:
    """Add a tag to all selected testimonials, or remove it from them."""
    ids, name = _find_chosen(access.project), request.form.get("new_tag", "")
    is_off = request.form.get("tagging") == "remove"
    change, project = remove_tag if is_off else add_tag, lock_again(access, Role.MODERATOR)
    try:
        batch, count = change(project, ids, name, access.user.email, _go_on(access))
    except TagRefused as error:
        raise ActionRefused(error.shown) from None
    if not count:
        raise ActionRefused(_refuse_tag(is_off=is_off))
    return _finish(project, _tell_tagged(count, is_off=is_off), batch)


@inbox.post("/dashboard/projects/<project_id>/samples")
@require_role(Role.MODERATOR, for_update=True)
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
@require_role(Role.MODERATOR, for_update=True)
def undo(access: Access) -> ResponseReturnValue:
    """Undo the batch that a notice names, or the person's own last change."""
    project, actor, go_on = access.project, access.user.email, _go_on(access)
    token = request.form.get("undo", "")
    undone = undo_batch(project, token, actor, go_on) if token else undo_last(project, actor, go_on)
    left = len(list_steps(project.id, actor))
    text = describe_undone(undone, left)
    row = undone.step.testimonial_id if undone.step.count == 1 else None
    return _answer(project, text, "" if left else None, row)


@inbox.errorhandler(ActionRefused)
def show_refusal(error: ActionRefused) -> ResponseReturnValue:
    db.session.rollback()
    if wants_json():
        return jsonify({"message": error.shown}), error.status
    return redirect(add_notice(_return_target(), error.shown, None), 303)


def _read_filter(project: Project, values: Any) -> InboxFilter:
    wanted = read_filter(values)
    if not wanted.tag:
        return wanted
    return replace(wanted, tag=spell(find_spellings(project.id), [wanted.tag])[0])


def _go_on(access: Access) -> GoOn:
    return partial(go_on_writing, access, Role.MODERATOR)


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
    return redirect(add_notice(_return_target(), text, undo_token), 303)


def _return_target() -> str:
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
