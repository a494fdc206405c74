"""The API's doors to testimonials."""

from typing import Any

from flask import Blueprint, Flask, Response, current_app

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.agents.bulk import add_each, say_added
from testimonials.core.data.versioned_cache import VersionedCache
from testimonials.core.web.endpoint import answer_bytes, dump_json, endpoint, wrap
from testimonials.core.web.paging import add_link, link_to
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.projects.reach import find_project, find_version
from testimonials.proposals.calls import carry_out
from testimonials.proposals.schemas import BulkResultsSchema, ReasonQuerySchema
from testimonials.testimonials import services
from testimonials.testimonials.schemas import (
    BulkSchema,
    DeletedCountSchema,
    PageQuerySchema,
    TestimonialCreateSchema,
    TestimonialListSchema,
    TestimonialSchema,
)

testimonials = Blueprint("testimonials", __name__)

_BULK = BulkResultsSchema()
_TESTIMONIAL_LIST = TestimonialListSchema()

PAGES = "testimonials_pages"
MAX_BULK_BYTES = 512 * 1024
CACHE_BYTES = 32 * 1024 * 1024


@testimonials.post("/v1/projects/<project_id>/testimonials")
@require_access(Scope.PUBLISH, by_key=True, drafts=True)
@endpoint(
    data=TestimonialSchema,
    body=TestimonialCreateSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "authorName": "Maya Kowalski",
        "authorRole": "Owner",
        "text": "We switched on a Tuesday and by Friday we had five new bookings.",
        "rating": 5,
    },
)
def create_testimonial(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Add a testimonial.

    It is stored with source ``manual`` and status ``approved`` and shows in the widget at once,
    without review. One that was said before now is added with its ``submittedAt`` by ``bulk``.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    return carry_out(caller, project, "testimonial.add", body, **query)


@testimonials.post("/v1/projects/<project_id>/testimonials/bulk")
@require_access(Scope.PUBLISH, by_key=True, drafts=True)
@endpoint(
    data=BulkResultsSchema,
    body=BulkSchema,
    query=ReasonQuerySchema,
    max_bytes=MAX_BULK_BYTES,
    raises=(404,),
    example={
        "testimonials": [
            {"externalId": "review-1", "authorName": "Maya", "text": "Lovely.", "rating": 5},
            {"externalId": "review-2", "authorName": "Ben", "text": "I came back twice."},
        ]
    },
)
def create_testimonials(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Add up to 100 testimonials.

    Each is answered in order with its id, and one that is refused stops no other. One whose
    ``externalId`` is there already is left as it is, so the call can be repeated. With the
    scope ``draft`` alone the call answers 200, and each becomes a proposal. The body may have
    512 KiB.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    results = add_each(caller, project, body["testimonials"], **query)
    return commit_answer(say_added(results), _BULK.dump({"results": results}))


@testimonials.delete("/v1/projects/<project_id>/testimonials/demo")
@require_access(Scope.PUBLISH, by_key=True)
@endpoint(data=DeletedCountSchema, raises=(404,))
def delete_demo_testimonials(caller: Caller, project_id: str) -> Response:
    """Remove the demo testimonials.

    Every one of the project; ``deletedCount`` is 0 when there is none. Testimonials of any other
    status are untouched.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    if count := services.delete_demos(project):
        record_project_event(EventType.SAMPLES_DELETED, project, count=count)
    return commit_answer("Demo testimonials deleted", {"deletedCount": count})


@testimonials.get("/v1/projects/<project_id>/testimonials")
@require_access(Scope.READ, by_key=True)
@endpoint(data=TestimonialListSchema, query=PageQuerySchema, raises=(400, 404))
def list_testimonials(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List testimonials.

    Approved and demo ones, newest first by ``createdAt``. Pending and rejected ones are never
    returned. Newly approved ones shift the offsets of older items; ``after`` doesn't mind: while
    there are more, the header ``Link`` has the URL of the next page.
    """
    version = find_version(caller, project_id)
    pages: VersionedCache = current_app.extensions[PAGES]
    key = (project_id, *query.values())
    body = pages.get(key, version, lambda: _write_page(project_id, query))
    response = answer_bytes(body.plain, etag=body.etag)
    add_link(response, body.link)
    return response


def init_pages(app: Flask) -> None:
    """Attach the cache of pages of the list to `app`."""
    app.extensions[PAGES] = VersionedCache(CACHE_BYTES)


def _write_page(project_id: str, query: dict[str, Any]) -> tuple[bytes, str]:
    found = services.list_visible(project_id, **query)
    page = {"items": found.items, "limit": query["limit"], "offset": query["offset"]}
    return wrap("OK", dump_json(_TESTIMONIAL_LIST.dump(page))), link_to(found.next)
