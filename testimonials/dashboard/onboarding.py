"""The checklist of a new project."""

from typing import Any

from flask import jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import case, exists, func, select

from testimonials.auth.accounts import get_account
from testimonials.collection.models import MailedRequest
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import home
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.form_errors import wants_json
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import collection_page_url, widget_page_url
from testimonials.dashboard.formatting import describe_testimonial
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.share import describe_sighting
from testimonials.projects.access import Access, Role
from testimonials.projects.defaults import (
    HAS_LOOKED,
    HAS_SHARED,
    IS_HIDDEN,
    KEEPS_SAMPLES,
    PAGE_CONFIG,
    default_page_config,
)
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# The first steps of a project: what is done, and what comes next.

# Enough to see whether somebody has begun, even after a large import.
NEWEST = 500
SAMPLES_SHOWN = 3


def note(project: Project, flag: str, *, is_on: bool = True) -> bool:
    """Set a flag of the locked project; return whether that changed it."""
    if bool(project.dashboard_config.get(flag)) is is_on:
        return False
    project.dashboard_config = project.dashboard_config | {flag: is_on}
    return True


def _find_done(project: Project, *, is_seen: bool) -> dict[str, bool]:
    """Return for each step, in order, whether it is done."""
    newest = (
        select(Testimonial.source, Testimonial.reviewed_at)
        .where(Testimonial.project_id == project.id)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(NEWEST)
        .subquery()
    )
    has_asked = exists().where(MailedRequest.project_id == project.id)
    arrived, reviewed, asked = db.session.execute(
        select(
            func.count(case((newest.c.source == "public_page", 1))),
            func.count(newest.c.reviewed_at),
            has_asked,
        )
    ).one()
    return {
        "look": bool(project.dashboard_config.get(HAS_LOOKED)),
        "brand": _has_brand(project),
        "share": bool(project.dashboard_config.get(HAS_SHARED)) or asked or arrived > 0,
        "approve": reviewed > 0,
        "embed": is_seen,
    }


def describe_checklist(access: Access, *, is_whole: bool) -> dict[str, Any] | None:
    """Return what the checklist shows; None if it is hidden, complete, or for others to do.

    The whole one has the samples too; the other is a button in the head of the page.
    """
    project = access.project
    if not access.is_admin or project.dashboard_config.get(IS_HIDDEN):
        return None
    sighting = describe_sighting(project)
    done = _find_done(project, is_seen=sighting is not None)
    if all(done.values()):
        return None
    return {
        "done": done,
        "count": sum(done.values()),
        "total": len(done),
        "next": next(step for step, is_done in done.items() if not is_done),
        "is_built_by_agent": _is_built_by_agent(project),
        "link": collection_page_url(project.slug, project.own_host),
        "sighting": sighting,
        "is_whole": is_whole,
        "samples": _describe_samples(project) if is_whole else [],
        "samples_shown": SAMPLES_SHOWN,
    }


def _has_brand(project: Project) -> bool:
    page = project.page_config
    usual = {PAGE_CONFIG["headline"], default_page_config(project.business_name)["headline"]}
    return (
        any((project.logo_id, project.cover_id, project.portrait_id))
        or page["buttonColor"].upper() != PAGE_CONFIG["buttonColor"]
        or page["headline"] not in usual
    )


def _is_built_by_agent(project: Project) -> bool:
    """Return whether the project is older than the claim, before which only an agent had access."""
    claimed_at = get_account(project.account_id).claimed_at
    return claimed_at is not None and project.created_at < claimed_at


def _describe_samples(project: Project) -> list[dict[str, Any]]:
    if project.dashboard_config.get(KEEPS_SAMPLES):
        return []
    rows = db.session.scalars(
        select(Testimonial)
        .where(
            Testimonial.project_id == project.id,
            Testimonial.status == "demo",
            Testimonial.deleted_at.is_(None),
        )
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
    ).all()
    return [describe_testimonial(row) for row in rows]


# The checklist's buttons: noting a step, and hiding or showing the list.


# What a button asks for: the flag it sets, to what, and the page that follows.
ACTS = {
    "look": (HAS_LOOKED, True, "wall.show_widget"),
    "share": (HAS_SHARED, True, "dashboard.share.show_share"),
    "hide": (IS_HIDDEN, True, "dashboard.inbox.show_inbox"),
    "show": (IS_HIDDEN, False, "dashboard.inbox.show_inbox"),
}


class StepUnknown(ServiceError):
    code = "STEP_UNKNOWN"
    default_message = gettext_noop("This page is out of date. Reload it and try again.")


@home.post("/dashboard/projects/<project_id>/checklist")
@require_role(Role.ADMIN, for_update=True)
def change_checklist(access: Access) -> ResponseReturnValue:
    project = access.project
    if (act := ACTS.get(request.form.get("do", ""))) is None:
        raise StepUnknown
    flag, is_on, target = act
    note(project, flag, is_on=is_on)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True})
    # The widget's page may have an origin of its own.
    url = widget_page_url(project.id) if flag == HAS_LOOKED else url_for(target)
    return redirect(url, 303)
