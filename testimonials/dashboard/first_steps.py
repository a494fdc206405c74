"""The three steps of a new project, in the pill at the head of its inbox."""

from typing import Any

from sqlalchemy import case, exists, func, select

from testimonials.collection.models import MailedRequest
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import home
from testimonials.dashboard.framework import Done, ProjectPage
from testimonials.projects.access import Access
from testimonials.projects.defaults import IS_HIDDEN, KEEPS_SAMPLES
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.widget.sightings import find_newest_sighting

INBOX = "dashboard.inbox.show_inbox"
# Enough to see whether somebody has begun, even after a large import.
NEWEST = 500


def note(project: Project, flag: str) -> None:
    """Set a flag of the locked project."""
    if not project.dashboard_config.get(flag):
        project.dashboard_config = project.dashboard_config | {flag: True}


def describe_first_steps(access: Access, approved: int) -> dict[str, Any]:
    """Return which steps are done, and whether to ask about the samples, with so many approved."""
    return {
        "first_steps": _describe_steps(access),
        "offers_samples": bool(approved) and access.may_decide and _has_samples(access.project),
    }


def _describe_steps(access: Access) -> dict[str, Any] | None:
    """Return the steps; None if all are done, if they are hidden, or for others to do."""
    project = access.project
    if not access.is_admin or project.dashboard_config.get(IS_HIDDEN):
        return None
    done = _find_done(project)
    count = sum(done.values())
    return {"done": done, "count": count, "left": len(done) - count} if count < len(done) else None


def _has_samples(project: Project) -> bool:
    """Return whether there are samples about which nothing was said yet."""
    if project.dashboard_config.get(KEEPS_SAMPLES):
        return False
    is_sample = (Testimonial.project_id == project.id, Testimonial.status == "demo")
    found = exists().where(*is_sample, Testimonial.deleted_at.is_(None))
    return bool(db.session.scalar(select(found)))


def _find_done(project: Project) -> dict[str, bool]:
    newest = (
        select(Testimonial.source, Testimonial.reviewed_at)
        .where(Testimonial.project_id == project.id)
        .order_by(Testimonial.created_at.desc(), Testimonial.id.desc())
        .limit(NEWEST)
        .subquery()
    )
    arrived, reviewed, asked = db.session.execute(
        select(
            func.count(case((newest.c.source == "public_page", 1))),
            func.count(newest.c.reviewed_at),
            exists().where(MailedRequest.project_id == project.id),
        )
    ).one()
    return {
        "ask": asked or arrived > 0,
        "approve": reviewed > 0,
        "embed": find_newest_sighting(project.id) is not None,
    }


steps = ProjectPage(home, "first-steps", "", part_of=INBOX)


@steps.save(at="/hide")
def hide_steps(access: Access) -> Done:
    note(access.project, IS_HIDDEN)
    return Done()
