"""What pages show of proposals that wait."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from flask import url_for
from marshmallow import ValidationError
from sqlalchemy import select

from testimonials.collection.request_mail import suggest_texts
from testimonials.core.event_lists import REASONS
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import LANGUAGES, gettext_noop, ngettext, ngettext_noop, translate
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import image_url
from testimonials.core.images.colors import colour_of, initials_of
from testimonials.dashboard.diff import list_changed, list_differences
from testimonials.projects.access import Access
from testimonials.projects.changes import CHANGES, kinds_of
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposals import name_agents
from testimonials.testimonials.changes import name_state, read_fields
from testimonials.testimonials.models import Testimonial

# In the inbox; decided ones make room for others.
SHOWN = 20
PAGE_PICTURES = ("logo", "cover", "portrait")
COMPARED = ("page", "page.design", "form", *PAGE_PICTURES, "widget", "design", "testimonial.edit")
LANGUAGE_NAMES = {each.code: each.name for each in LANGUAGES}
# What a decision would do to so many testimonials.
DECISIONS = {
    "approve": ngettext_noop("Approve a testimonial", "Approve %(num)s testimonials"),
    "reject": ngettext_noop("Reject a testimonial", "Reject %(num)s testimonials"),
    "delete": ngettext_noop(
        "Move to the trash: a testimonial", "Move to the trash: %(num)s testimonials"
    ),
    "restore": ngettext_noop("Restore a testimonial", "Restore %(num)s testimonials"),
    "set-aside": ngettext_noop("Set a testimonial aside", "Set %(num)s testimonials aside"),
    # Of before it was one of the reasons to set one aside: it can only be declined.
    "spam": ngettext_noop("Mark as spam: a testimonial", "Mark as spam: %(num)s testimonials"),
    "release": ngettext_noop("Not spam: a testimonial", "Not spam: %(num)s testimonials"),
}
# What the other kinds would do.
TITLES = {
    "page": gettext_noop("Change the collection page"),
    "logo": gettext_noop("Change the logo"),
    "cover": gettext_noop("Change the page’s cover"),
    "portrait": gettext_noop("Change the face beside the page’s signature"),
    "page.design": gettext_noop("Change the page’s questions and look"),
    "widget": gettext_noop("Change the widget"),
    "design": gettext_noop("Change the widget’s design"),
}
# The state of a testimonial that a decision is about.
STATES = {
    "pending": gettext_noop("pending"),
    "approved": gettext_noop("approved"),
    "rejected": gettext_noop("rejected"),
    "spam": gettext_noop("spam"),
    "withdrawn": gettext_noop("withdrawn"),
    "demo": gettext_noop("demo"),
    "deleted": gettext_noop("deleted"),
    "gone": gettext_noop("gone"),
}


def list_waiting(access: Access) -> Sequence[Proposal]:
    """Return the first that wait for somebody's decision, by who made them and kind."""
    return db.session.scalars(
        select(Proposal)
        .where(Proposal.project_id == access.project.id, Proposal.status == "waiting")
        .where(Proposal.kind.in_(kinds_of(access)))
        .order_by(Proposal.actor_kind, Proposal.actor_name, Proposal.kind, Proposal.id)
        .limit(SHOWN)
    ).all()


def describe_proposals(project: Project, rows: Sequence[Proposal]) -> list[dict[str, Any]]:
    agents, named = name_agents(rows), _find_testimonials(project, rows)
    return [_describe(project, row, named) | {"who": agents[row.id]} for row in rows]


def _describe(project: Project, row: Proposal, named: Mapping[str, Testimonial]) -> dict[str, Any]:
    target = named.get(row.target_id or "")
    now, problem = _read_now(project, row, target)
    return {
        "row": row,
        "title": name_proposal(row, target),
        "differences": list_differences(row, now) if row.kind in COMPARED else [],
        "card": _describe_card(row.values) if row.kind == "testimonial.add" else None,
        "about": _list_about(row, named),
        "people": row.values.get("people", []),
        "mail": _describe_mail(project, row.values) if row.kind == "request" else None,
        "changed": list_changed(row, now) if row.kind in COMPARED else [],
        "problem": problem,
        **_picture_urls(project, row, target),
    }


def _read_now(
    project: Project, row: Proposal, target: Testimonial | None
) -> tuple[dict[str, Any], str]:
    """Return what is there now, and what makes the proposal impossible by now."""
    change = CHANGES[row.kind]
    if target is not None and target.status == "withdrawn":
        return row.before, _("Its author has withdrawn this testimonial, so nothing can change it.")
    try:
        values = change.schema.check(row.values)
        # Of testimonials, all that the page needs were found at once.
        if row.kind == "testimonial.edit" and target is not None:
            return read_fields(target), ""
        if row.kind == "testimonial.decide":
            return row.before, ""
        now = change.before(project, row.target_id, values)
    except ServiceError as error:
        return row.before, error.shown
    except ValidationError:
        return row.before, _("The rules have changed since, so it can’t be accepted any more.")
    return now, ""


def name_proposal(row: Proposal, target: Testimonial | None = None) -> str:
    """Return in a few words what a proposal would do."""
    values = row.values
    if row.kind == "testimonial.edit":
        if target is None:
            return _("Edit a testimonial")
        return _("Edit what %(name)s wrote", name=target.author_name)
    if row.kind == "testimonial.add":
        return _("Add a testimonial by %(name)s", name=values["authorName"])
    if row.kind == "testimonial.decide":
        title = DECISIONS[values["decision"]](len(values["ids"]))
        if why := REASONS.get(values.get("reason", "")):
            title = _("%(title)s: %(reason)s", title=title, reason=translate(why))
        return title
    if row.kind == "form":
        if row.before:
            return _("Change the form %(form)s", form=values["name"])
        return _("Add the form %(form)s", form=values["name"])
    if row.kind == "form.delete":
        return _("Delete the form %(form)s", form=values["name"])
    if row.kind == "request":
        count = len(values["people"])
        return ngettext("Ask one person by mail", "Ask %(num)s people by mail", count)
    return translate(TITLES[row.kind])


def _describe_card(values: Mapping[str, Any]) -> dict[str, Any]:
    details = [values.get("authorRole", ""), values.get("authorCompany", "")]
    given = values.get("submittedAt")
    return {
        "name": values["authorName"],
        "initials": initials_of(values["authorName"]),
        "color": colour_of(values["authorName"]),
        "avatar_url": values.get("authorAvatar"),
        "details": ", ".join(filter(None, details)),
        "rating": values.get("rating"),
        "text": values["text"],
        "submitted_at": datetime.fromisoformat(given) if given else None,
    }


def _describe_mail(project: Project, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the subject and the words that people would get in the owner's name."""
    subject, message = suggest_texts(project, values["language"])
    return {
        "subject": values.get("subject", subject),
        "message": values.get("message", message),
        "language": LANGUAGE_NAMES[values["language"]],
    }


def _list_about(row: Proposal, named: Mapping[str, Testimonial]) -> list[dict[str, Any]]:
    """Return the testimonials that a decision is about, with their states then and now."""
    if row.kind != "testimonial.decide":
        return []
    then = row.before.get("ids", {})
    about = []
    for each in dict.fromkeys(row.values["ids"]):
        found = named.get(each)
        now = name_state(found) if found else "gone"
        was = then.get(each, "")
        changed = translate(STATES.get(now, now)) if now != was else ""
        about.append({"row": found, "was": translate(STATES.get(was, was)), "changed": changed})
    return about


def _find_testimonials(project: Project, rows: Sequence[Proposal]) -> dict[str, Testimonial]:
    ids = {row.target_id for row in rows if row.target_id}
    ids |= {each for row in rows for each in row.values.get("ids", ())}
    if not ids:
        return {}
    found = db.session.scalars(
        select(Testimonial).where(Testimonial.project_id == project.id, Testimonial.id.in_(ids))
    )
    return {each.id: each for each in found}


def _picture_urls(
    project: Project, row: Proposal, target: Testimonial | None
) -> dict[str, str | None]:
    """Return the pictures before and after; what is only proposed has no public URL."""
    column = row.kind if row.kind in PAGE_PICTURES else PAGE_PICTURES[0]
    now = target.avatar_url if target else image_url(getattr(project, f"{column}_id"))
    url = url_for("dashboard.inbox.get_proposed_picture", project_id=project.id, proposal_id=row.id)
    return {"picture_before": now, "picture_after": url if name_picture(row) else None}


def name_picture(row: Proposal) -> str:
    """Return the id of the picture that is proposed, if there is one."""
    return row.values.get("imageId") or row.values.get("avatarId") or ""
