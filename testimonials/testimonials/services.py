"""The rules of testimonials: adding, listing, samples."""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from testimonials.auth.emails import ProjectSummary
from testimonials.core import clock
from testimonials.core.data.database import insert_row
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.urls import collection_page_url, widget_page_url
from testimonials.core.web.paging import Cursor, Page, read_page
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import list_projects, mark_changed
from testimonials.testimonials.counts.services import count_states
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.samples import DEMOS, FALLBACK_NAME

# The largest offset that both databases accept; nothing is past it.
LARGEST_OFFSET = 2**62


def add_approved_testimonial(project: Project, columns: dict[str, Any]) -> Testimonial:
    """Add a testimonial that shows at once; `project` is locked.

    See spec, "POST /v1/projects/:id/testimonials".
    """
    company = columns.get("author_company") or None
    approved = {"status": "approved", "source": "manual", "author_company": company}
    row = _make_row(project, columns | approved)
    insert_row(db.session(), row)
    return row


def prepare_approved(project: Project, columns: dict[str, Any]) -> Testimonial:
    """Return a testimonial of the locked project as `add_approved_testimonial` adds it.

    For adding many at once: the caller adds them to the session and calls `mark_changed`.
    """
    time = next_time(project)
    times = {"submitted_at": time, "created_at": time, "updated_at": time}
    company = columns.get("author_company") or None
    approved = {"status": "approved", "source": "manual", "author_company": company}
    return Testimonial(id=new_identifier(), project_id=project.id, **times | columns | approved)


def find_by_external_ids(project: Project, ids: Iterable[str]) -> dict[str, Testimonial]:
    """Return those of the project's testimonials that have the caller's own ids, also deleted."""
    query = select(Testimonial).where(
        Testimonial.project_id == project.id, Testimonial.external_id.in_(list(ids))
    )
    return {str(row.external_id): row for row in db.session.scalars(query)}


def seed_demos(project: Project) -> None:
    """Add the six samples to a new project (spec, "States and transitions")."""
    name = project.business_name or FALLBACK_NAME
    for demo in reversed(DEMOS):
        columns = dataclasses.asdict(demo) | {"text": demo.text.replace("{name}", name)}
        add_row(project, columns | {"status": "demo", "source": "demo"})


def add_row(project: Project, columns: dict[str, Any]) -> Testimonial:
    """Add a testimonial of any status to the locked project, at its next time."""
    row = _make_row(project, columns)
    db.session.add(row)
    db.session.flush()
    return row


def _make_row(project: Project, columns: dict[str, Any]) -> Testimonial:
    mark_changed(project)
    time = next_time(project)
    times = {"submitted_at": time, "created_at": time, "updated_at": time}
    return Testimonial(**{"project_id": project.id, **times, **columns})


def delete_demos(project: Project) -> int:
    """Remove every sample of the locked project; return how many there were."""
    removed = db.session.scalars(
        delete(Testimonial)
        .where(Testimonial.project_id == project.id, Testimonial.status == "demo")
        .returning(Testimonial.id)
    ).all()
    if removed:
        mark_changed(project)
    return len(removed)


def list_visible(project_id: str, limit: int, offset: int = 0, after: Cursor | None = None) -> Page:
    """Return approved and demo testimonials, newest first (spec, "GET .../testimonials")."""
    query = select(Testimonial).where(Testimonial.project_id == project_id, Testimonial.is_visible)
    return read_page(query.offset(min(offset, LARGEST_OFFSET)), Testimonial, limit, after)


def list_all_of_project(project_id: str, status: str | None, limit: int) -> Sequence[Testimonial]:
    """Return the project's newest testimonials in any state, or in one, for the operator."""
    query = select(Testimonial).where(Testimonial.project_id == project_id)
    if status is not None:
        query = query.where(Testimonial.status == status)
    return db.session.scalars(
        query.order_by(Testimonial.created_at.desc(), Testimonial.id.desc()).limit(limit)
    ).all()


def find_authors(testimonial_ids: Collection[str]) -> dict[str, str]:
    """Return the names of the authors of testimonials, by the testimonials' ids."""
    query = select(Testimonial.id, Testimonial.author_name)
    query = query.where(Testimonial.id.in_(testimonial_ids), Testimonial.deleted_at.is_(None))
    return {row.id: row.author_name for row in db.session.execute(query)}


def count_by_status(project_id: str) -> dict[str, int]:
    return count_by_project([project_id])[project_id]


def count_by_project(project_ids: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """Return how many testimonials these projects, or all of them, have in each state."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for each in count_states(None if project_ids is None else list(project_ids)):
        of_project = counts[each.project_id]
        of_project[each.status] = of_project.get(each.status, 0) + each.number
    return counts


def next_time(project: Project) -> datetime:
    """Return the time of the project's next testimonial: now, but later than all earlier ones.

    `project` is locked, so that no two get the same time (decisions, "Testimonials").
    """
    time = clock.now()
    if project.last_testimonial_at is not None:
        time = max(time, project.last_testimonial_at + clock.MILLISECOND)
    project.last_testimonial_at = time
    return time


def summarize_projects(account_id: str) -> list[ProjectSummary]:
    """Return a summary of each of the account's projects, for mails and the claim page."""
    summaries = []
    projects = list_projects(account_id)
    by_project = count_by_project(project.id for project in projects)
    for project in projects:
        counts = by_project[project.id]
        counts.pop("spam", None)
        summaries.append(
            ProjectSummary(
                name=project.name,
                slug=project.slug,
                page_url=collection_page_url(project.slug, project.own_host),
                widget_url=widget_page_url(project.id),
                testimonial_count=sum(counts.values()) - counts.get("demo", 0),
                sample_count=counts.get("demo", 0),
            )
        )
    return summaries
