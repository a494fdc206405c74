"""Testimonials for callers of the API: which they may see, listing them, and deciding."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials.auth.tokens import Caller, Scope
from testimonials.core.http.answers import Page, read_page
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import record_url
from testimonials.projects.models import Project
from testimonials.testimonials import schemas
from testimonials.testimonials.history import MOST_TOLD, list_history
from testimonials.testimonials.inbox import ASIDE, InboxFilter, find_rows, match_filter
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import apply_action, find_testimonial, list_open
from testimonials.testimonials.tags import find_spellings, spell
from testimonials.testimonials.undo import make_undo_token

_DETAIL = schemas.TestimonialDetailSchema()
_VISIBLE = schemas.VisibleTestimonialSchema()
# Values of `status` with a tab of their own; the others are in the tab All.
OWN_TABS = (schemas.TRASH, schemas.EVERYTHING, ASIDE, "spam")


def may_see_all(caller: Caller) -> bool:
    return not caller.is_key and Scope.READ in caller.scopes


def find_seen(caller: Caller, project: Project, testimonial_id: str) -> Testimonial:
    """Return a testimonial that the caller may read: without the scope Read, only a public one."""
    row = find_testimonial(project, testimonial_id)
    if not (row.is_visible or may_see_all(caller)):
        raise NotFound(gettext_noop("There is no such testimonial in this project."))
    return row


def describe_testimonial(caller: Caller, row: Testimonial) -> dict[str, Any]:
    if not may_see_all(caller):
        described: dict[str, Any] = _VISIBLE.dump(row)
        return described
    described = _DETAIL.dump(row)
    described["history"] = _DETAIL.fields["history"].serialize(
        "history", {"history": list_history(row.id, most=MOST_TOLD)}
    )
    if row.is_visible and row.status != "demo":
        described["recordUrl"] = record_url(row.project.slug, row.id, row.project.own_host)
    return described


def list_submissions(project: Project, query: dict[str, Any]) -> Page:
    """Return a page of testimonials for a query loaded by `SubmissionQuerySchema`."""
    status, tag, rating = query["status"], query["tag"], query["minRating"]
    filters = InboxFilter(
        tab=status if status in OWN_TABS else schemas.EVERYTHING,
        q=query["q"],
        min_rating=None if rating is None else int(rating),
        source=query["source"],
        form=query["form"],
        tag=spell(find_spellings(project.id), [tag])[0] if tag else "",
    )
    rows = select(Testimonial).where(match_filter(project.id, filters))
    if status not in OWN_TABS:
        rows = rows.where(Testimonial.status == status)
    rows = rows.options(selectinload(Testimonial.tag_rows))
    return read_page(rows, Testimonial, query["limit"], query["after"])


def require_known(project: Project, ids: Sequence[str]) -> list[Testimonial]:
    """Return the project's testimonials with these ids, in this order. Raises `NotFound`."""
    known = {row.id: row for row in find_rows(project.id, ids)}
    if unknown := [each for each in ids if each not in known]:
        listed = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        raise NotFound(f"There is no such testimonial in this project: {listed}.")
    return [known[each] for each in ids]


def decide_all(
    project: Project, decision: str, ids: Sequence[str], actor: str, reason: str = ""
) -> dict[str, Any]:
    """Apply one of ACTIONS to testimonials of the locked project whose state allows it.

    Returns what `DecisionsSchema` dumps.
    """
    rows = {row.id: row for row in find_rows(project.id, ids)}
    allowed = {row.id for row in list_open(project, list(rows.values()), decision)}
    in_order = [rows[each] for each in ids if each in rows]
    batch, count = apply_action(project, in_order, decision, actor, reason=reason)
    return {
        "results": [
            {
                "id": each,
                "result": "done" if each in allowed else "unchanged",
                "status": schemas.TRASH if rows[each].deleted_at else rows[each].status,
            }
            if each in rows
            else {"id": each, "result": "unknown", "status": None}
            for each in ids
        ],
        "undo": make_undo_token(project, batch) if count else None,
    }
