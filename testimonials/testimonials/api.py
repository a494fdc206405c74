"""The API of testimonials: listing, adding, editing, deciding, undoing, tags."""

import io
from functools import partial
from typing import Any

from flask import Flask, Response, current_app

from testimonials.auth.api_auth import require_access
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.audit import record
from testimonials.core.db.cache import VersionedCache
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import testimonials
from testimonials.core.http.idempotency import begin_call, commit_answer, require_match
from testimonials.core.http.pagination import add_link, answer_page, link_to
from testimonials.core.http.resource import answer, answer_bytes, dump_json, endpoint, wrap
from testimonials.core.images.uploads import AVATAR, UPLOADED_TYPES, UPLOADS_PER_ACCOUNT, read_image
from testimonials.projects.access import find_project, find_version, go_on_writing
from testimonials.projects.change_calls import carry_out, keep_picture
from testimonials.projects.proposal_schemas import BulkResultsSchema, ReasonQuerySchema
from testimonials.testimonials import testimonials as services
from testimonials.testimonials.bulk import add_each, say_added
from testimonials.testimonials.changes import TestimonialEditSchema
from testimonials.testimonials.events import SAMPLES_DELETED
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.schemas import (
    BulkSchema,
    DecisionSchema,
    DecisionsSchema,
    DeletedCountSchema,
    PageQuerySchema,
    SubmissionQuerySchema,
    SubmissionSchema,
    TagRemovedSchema,
    TagRenameSchema,
    TagSchema,
    TestimonialCreateSchema,
    TestimonialDetailSchema,
    TestimonialListSchema,
    TestimonialSchema,
    UndoneSchema,
    UndoSchema,
)
from testimonials.testimonials.submissions import decide_all, require_known
from testimonials.testimonials.submissions import list_submissions as read_submissions
from testimonials.testimonials.tags import delete_tag, list_project_tags
from testimonials.testimonials.tags import rename_tag as change_name
from testimonials.testimonials.undo import make_undo_token, undo_batch
from testimonials.testimonials.visibility import describe_testimonial, find_seen

# The API's doors to testimonials.


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
        record(SAMPLES_DELETED, project, count=count)
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


# The API's doors to one testimonial: reading, editing, its photo, the trash.


_DECISIONS = DecisionsSchema()


@testimonials.get("/v1/projects/<project_id>/testimonials/<testimonial_id>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=TestimonialDetailSchema, raises=(404,))
def get_testimonial(caller: Caller, project_id: str, testimonial_id: str) -> Response:
    """Read a testimonial.

    An access token reads it in any state, with ``originalText`` and ``history``. The account's key
    reads approved and demo ones, as the list does, without these two.
    """
    row = find_seen(caller, find_project(caller, project_id), testimonial_id)
    return answer("OK", describe_testimonial(caller, row))


@testimonials.patch("/v1/projects/<project_id>/testimonials/<testimonial_id>")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(
    data=TestimonialDetailSchema,
    body=TestimonialEditSchema,
    query=ReasonQuerySchema,
    raises=(404, 409),
    example={"text": "By Friday we had five new bookings.", "tags": ["case study"], "pinned": True},
)
def update_testimonial(
    caller: Caller,
    project_id: str,
    testimonial_id: str,
    body: dict[str, Any],
    query: dict[str, Any],
) -> Response:
    """Edit a testimonial.

    Only the fields sent are changed. ``originalText`` keeps the author's words. An empty
    ``authorRole``, ``authorCompany``, ``reply``, ``tags`` or ``highlights`` removes it; null
    removes ``rating``, ``authorEmail`` and ``authorAvatar``. ``transcript``, ``captions`` and
    ``showsTranscript`` belong to a recording. A demo or withdrawn one is refused with 409.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_testimonial(project, testimonial_id)
    describe = partial(describe_testimonial, caller, row)
    require_match(describe())
    return carry_out(caller, project, "testimonial.edit", body, row.id, describe=describe, **query)


@testimonials.put("/v1/projects/<project_id>/testimonials/<testimonial_id>/avatar")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(
    data=TestimonialDetailSchema,
    content_types=UPLOADED_TYPES,
    max_bytes=AVATAR.max_bytes,
    query=ReasonQuerySchema,
    raises=(404, 409, 429, 503),
)
def set_avatar(
    caller: Caller, project_id: str, testimonial_id: str, content: bytes, query: dict[str, Any]
) -> Response:
    """Upload the author's photo.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is turned upright, cut
    square and scaled down, and nothing else of the file is kept.
    """
    find_testimonial(find_project(caller, project_id), testimonial_id)
    limiter.count(UPLOADS_PER_ACCOUNT, caller.id)
    # Decoded before the lock is taken, so that no submission waits for it.
    image = read_image(io.BytesIO(content), AVATAR)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_testimonial(project, testimonial_id)
    describe = partial(describe_testimonial, caller, row)
    require_match(describe())
    values = {"avatar_id": keep_picture(caller, project, "testimonial.edit", image, row.id)}
    return carry_out(
        caller, project, "testimonial.edit", values, row.id, describe=describe, **query
    )


@testimonials.delete("/v1/projects/<project_id>/testimonials/<testimonial_id>/avatar")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(data=TestimonialDetailSchema, query=ReasonQuerySchema, raises=(404, 409))
def remove_avatar(
    caller: Caller, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Remove the author's photo.

    An uploaded one, and the URL of one elsewhere.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_testimonial(project, testimonial_id)
    describe, values = partial(describe_testimonial, caller, row), {"avatar_id": None}
    require_match(describe())
    return carry_out(
        caller, project, "testimonial.edit", values, row.id, describe=describe, **query
    )


@testimonials.delete("/v1/projects/<project_id>/testimonials/<testimonial_id>")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(data=DecisionsSchema, query=ReasonQuerySchema, raises=(404,))
def delete_testimonial(
    caller: Caller, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Move a testimonial to the trash.

    It is deleted for good after 30 days, unless the operator chose other; until then ``restore``
    brings it back.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_testimonial(project, testimonial_id)
    require_match(describe_testimonial(caller, row))
    if caller.drafts_only:
        values = {"decision": "delete", "ids": [row.id]}
        return carry_out(caller, project, "testimonial.decide", values, **query)
    data = decide_all(project, "delete", [row.id], caller.label)
    return commit_answer("Testimonial deleted", _DECISIONS.dump(data))


@testimonials.post("/v1/projects/<project_id>/testimonials/<testimonial_id>/restore")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(data=DecisionsSchema, query=ReasonQuerySchema, raises=(404,))
def restore_testimonial(
    caller: Caller, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Bring a testimonial back from the trash.

    As it was before.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = find_testimonial(project, testimonial_id)
    require_match(describe_testimonial(caller, row))
    if caller.drafts_only:
        values = {"decision": "restore", "ids": [row.id]}
        return carry_out(caller, project, "testimonial.decide", values, **query)
    data = decide_all(project, "restore", [row.id], caller.label)
    return commit_answer("Testimonial restored", _DECISIONS.dump(data))


# The API's doors to what waits: reading it, deciding, undoing; and tags.


_SUBMISSIONS = SubmissionSchema(many=True)
_TAGS = TagSchema(many=True)


@testimonials.get("/v1/projects/<project_id>/submissions")
@require_access(Scope.READ)
@endpoint(data=SubmissionSchema, is_paged=True, query=SubmissionQuerySchema, raises=(404,))
def list_submissions(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List submissions in any state.

    Pending ones unless ``status`` says otherwise, newest first.
    """
    project = find_project(caller, project_id)
    return answer_page(_SUBMISSIONS, read_submissions(project, query))


@testimonials.post("/v1/projects/<project_id>/submissions/decisions")
@require_access(Scope.PUBLISH, drafts=True)
@endpoint(
    data=DecisionsSchema,
    body=DecisionSchema,
    query=ReasonQuerySchema,
    raises=(404, 409),
    example={"decision": "approve", "ids": ["6a12d3b4c5f6a7b8c9d0e1f2"]},
)
def decide_submissions(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Decide about testimonials.

    ``release`` takes one out of spam, ``delete`` moves it to the trash. Each is
    answered in order; one whose state doesn't allow it stays as it is and stops no other. Where a
    project asks for captions, a recording without is not approved; 409 if that is all that hinders.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    if caller.drafts_only:
        require_known(project, body["ids"])
        return carry_out(caller, project, "testimonial.decide", body, **query)
    data = decide_all(project, body["decision"], body["ids"], caller.label)
    said = "Decided" if data["undo"] else "Nothing to change"
    return commit_answer(said, _DECISIONS.dump(data))


@testimonials.post("/v1/projects/<project_id>/undo")
@require_access(Scope.PUBLISH)
@endpoint(
    data=UndoneSchema,
    body=UndoSchema,
    raises=(404, 409),
    example={"undo": "WyI2YTEyZDNi..."},
)
def undo_changes(caller: Caller, project_id: str, body: dict[str, str]) -> Response:
    """Undo a change of testimonials.

    ``undo`` is what the answer to the change gave. It puts back what was before where nothing has
    changed since, within a day.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    count = undo_batch(project, body["undo"], caller.label, go_on).count
    return commit_answer("Undone", {"undoneCount": count})


@testimonials.get("/v1/projects/<project_id>/tags")
@require_access(Scope.READ)
@endpoint(data=TagSchema, many=True, raises=(404,))
def list_tags(caller: Caller, project_id: str) -> Response:
    """List tags.

    In alphabetical order, each with how many testimonials have it, without the trash.
    """
    return answer("OK", _TAGS.dump(list_project_tags(find_project(caller, project_id).id)))


@testimonials.patch("/v1/projects/<project_id>/tags/<path:tag>")
@require_access(Scope.PUBLISH)
@endpoint(data=TagSchema, body=TagRenameSchema, raises=(404, 422), example={"name": "case study"})
def rename_tag(caller: Caller, project_id: str, tag: str, body: dict[str, str]) -> Response:
    """Rename a tag.

    On all testimonials, and in the widgets that select by it. If there is a tag of the new name
    already, the two become one.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    go_on = partial(go_on_writing, caller, project_id)
    name, count = change_name(project, tag, body["name"], caller.label, go_on)
    return commit_answer("Tag renamed", {"name": name, "count": count})


@testimonials.delete("/v1/projects/<project_id>/tags/<path:tag>")
@require_access(Scope.PUBLISH)
@endpoint(data=TagRemovedSchema, raises=(404,))
def remove_tag(caller: Caller, project_id: str, tag: str) -> Response:
    """Remove a tag from all testimonials.

    ``undo`` brings it back for a day. Widgets that select by it show nothing until it is used
    again.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    name, batch, count = delete_tag(
        project, tag, caller.label, partial(go_on_writing, caller, project_id)
    )
    undo = make_undo_token(project, batch) if count else None
    return commit_answer("Tag removed", {"name": name, "count": count, "undo": undo})
