"""The API's doors to testimonials."""

from typing import Any

from flask import Blueprint, Flask, Response, current_app

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.guards import require_credentials
from testimonials.auth.services import Identity
from testimonials.core.data.versioned_cache import VersionedCache
from testimonials.core.web.endpoint import answer, answer_bytes, endpoint, wrap
from testimonials.extensions import begin_write, db
from testimonials.projects.services import find_project, find_version
from testimonials.testimonials import services
from testimonials.testimonials.schemas import (
    MAX_LIMIT,
    DeletedCountSchema,
    PageQuerySchema,
    TestimonialCreateSchema,
    TestimonialListSchema,
    TestimonialSchema,
)

testimonials = Blueprint("testimonials", __name__)

_TESTIMONIAL_LIST = TestimonialListSchema()
_TESTIMONIAL = TestimonialSchema()

PAGES = "testimonials_pages"
CACHE_BYTES = 32 * 1024 * 1024


@testimonials.post("/v1/projects/<project_id>/testimonials")
@require_credentials
@endpoint(
    data=TestimonialSchema,
    body=TestimonialCreateSchema,
    raises=(404,),
    example={
        "authorName": "Maya Kowalski",
        "authorRole": "Owner",
        "text": "We switched on a Tuesday and by Friday we had five new bookings.",
        "rating": 5,
    },
)
def create_testimonial(account: Identity, project_id: str, body: dict[str, Any]) -> Response:
    """Add a testimonial.

    It is stored with source ``manual`` and status ``approved`` and shows in the widget at once,
    without review.
    """
    begin_write()
    project = find_project(account.id, project_id, for_update=True)
    testimonial = services.add_approved_testimonial(project, body)
    record_project_event(EventType.TESTIMONIAL_CREATED, project, testimonial=testimonial.id)
    db.session.commit()
    return answer("Testimonial created", _TESTIMONIAL.dump(testimonial))


@testimonials.delete("/v1/projects/<project_id>/testimonials/demo")
@require_credentials
@endpoint(data=DeletedCountSchema, raises=(404,))
def delete_demo_testimonials(account: Identity, project_id: str) -> Response:
    """Remove the demo testimonials.

    Every one of the project; ``deletedCount`` is 0 when there is none. Testimonials of any other
    status are untouched.
    """
    begin_write()
    project = find_project(account.id, project_id, for_update=True)
    if count := services.delete_demos(project):
        record_project_event(EventType.SAMPLES_DELETED, project, count=count)
    db.session.commit()
    return answer("Demo testimonials deleted", {"deletedCount": count})


@testimonials.get("/v1/projects/<project_id>/testimonials")
@require_credentials
@endpoint(data=TestimonialListSchema, query=PageQuerySchema, raises=(400, 404))
def list_testimonials(account: Identity, project_id: str, query: dict[str, int]) -> Response:
    """List testimonials.

    Approved and demo ones, newest first by ``createdAt``. Pending and rejected ones are never
    returned. Newly approved ones shift the offsets of older items.
    """
    limit, offset = min(query["limit"], MAX_LIMIT), query["offset"]
    version = find_version(account.id, project_id)
    pages: VersionedCache = current_app.extensions[PAGES]
    body = pages.get(
        (project_id, limit, offset), version, lambda: _write_page(project_id, limit, offset)
    )
    return answer_bytes(body.plain)


def init_pages(app: Flask) -> None:
    """Attach the cache of pages of the list to `app`."""
    app.extensions[PAGES] = VersionedCache(CACHE_BYTES)


def _write_page(project_id: str, limit: int, offset: int) -> bytes:
    items = services.list_visible(project_id, limit, offset)
    page = {"items": items, "limit": limit, "offset": offset}
    return wrap("OK", _TESTIMONIAL_LIST.dump(page))
