"""The API's doors to testimonials."""

from typing import Any

from flask import Blueprint, Response

from testimonials.auth.guards import require_credentials
from testimonials.auth.services import Identity
from testimonials.core.endpoint import endpoint
from testimonials.core.envelope import answer
from testimonials.extensions import begin_write, db
from testimonials.projects.services import find_project
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
    """Add a testimonial, stored with source ``manual`` and status ``approved``.

    It shows in the widget at once, without review.
    """
    begin_write()
    project = find_project(account.id, project_id, for_update=True)
    testimonial = services.add_approved_testimonial(project, body)
    db.session.commit()
    return answer("Testimonial created", TestimonialSchema().dump(testimonial))


@testimonials.delete("/v1/projects/<project_id>/testimonials/demo")
@require_credentials
@endpoint(data=DeletedCountSchema, raises=(404,))
def delete_demo_testimonials(account: Identity, project_id: str) -> Response:
    """Remove every demo testimonial of the project; 0 when there is none.

    Testimonials of any other status are untouched.
    """
    begin_write()
    project = find_project(account.id, project_id, for_update=True)
    count = services.delete_demos(project)
    db.session.commit()
    return answer("Demo testimonials deleted", {"deletedCount": count})


@testimonials.get("/v1/projects/<project_id>/testimonials")
@require_credentials
@endpoint(data=TestimonialListSchema, query=PageQuerySchema, raises=(400, 404))
def list_testimonials(account: Identity, project_id: str, query: dict[str, int]) -> Response:
    """List approved and demo testimonials, newest first by ``createdAt``.

    Pending and rejected ones are never returned. Newly approved ones shift the offsets of older
    items.
    """
    project = find_project(account.id, project_id)
    limit, offset = min(query["limit"], MAX_LIMIT), query["offset"]
    items = services.list_visible(project.id, limit, offset)
    page = {"items": items, "limit": limit, "offset": offset}
    return answer("OK", TestimonialListSchema().dump(page))
