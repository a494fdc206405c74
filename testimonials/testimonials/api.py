"""The API's resources for testimonials, submissions and tags."""

from collections.abc import Sequence
from typing import Any

from flask import Response, current_app, request

from testimonials.auth.tokens import Caller, Scope
from testimonials.core.audit import LockedProject, record
from testimonials.core.db.cache import LIST_PAGES, VersionedCache
from testimonials.core.http.answers import Answer, Page, answer_bytes, dump_json, link_to, wrap
from testimonials.core.http.blueprints import testimonials
from testimonials.core.http.resource import Operation, ReasonQuerySchema
from testimonials.core.images.uploads import AVATAR, Image
from testimonials.projects.access import find_project, find_version, reserve_number
from testimonials.projects.api import keep_picture
from testimonials.projects.changes import Values
from testimonials.projects.models import Project
from testimonials.testimonials import changes, schemas
from testimonials.testimonials import testimonials as services
from testimonials.testimonials.events import SAMPLES_DELETED
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation import find_testimonial
from testimonials.testimonials.submissions import (
    decide_all,
    describe_testimonial,
    find_seen,
    require_known,
)
from testimonials.testimonials.submissions import list_submissions as read_submissions
from testimonials.testimonials.tags import delete_tag, list_project_tags
from testimonials.testimonials.tags import rename_tag as change_name
from testimonials.testimonials.undo import make_undo_token, undo_batch

_BULK = changes.BulkResultsSchema()
_DECISIONS = schemas.DecisionsSchema()
_TESTIMONIAL_LIST = schemas.TestimonialListSchema()


def _find_project(
    operation: Operation, caller: Caller, project_id: str, sent: Any, is_locked: bool
) -> Project | LockedProject:
    """Return the project, or only reserve a number if a testimonial will certainly be added."""
    is_adding = operation.view is create_testimonial and is_locked and not caller.drafts_only
    if is_adding and "externalId" not in sent:
        return reserve_number(caller, project_id)
    return find_project(caller, project_id, is_locked=is_locked)


testimonials.find(project=_find_project)


@testimonials.resource(
    "POST /v1/projects/<project_id>/testimonials",
    scope=Scope.PUBLISH,
    by_key=True,
    change="testimonial.add",
    body=schemas.TestimonialCreateSchema,
    example={
        "authorName": "Maya Kowalski",
        "authorRole": "Owner",
        "text": "We switched on a Tuesday and by Friday we had five new bookings.",
        "rating": 5,
    },
    data=schemas.TestimonialSchema,
)
def create_testimonial(body: Values) -> Values:
    """Add a testimonial.

    It is stored with source ``manual`` and status ``approved`` and shows in the widget at once,
    without review. To add one from an earlier time, use ``bulk`` with ``submittedAt``.
    """
    return body


@testimonials.resource(
    "POST /v1/projects/<project_id>/testimonials/bulk",
    scope=Scope.PUBLISH,
    by_key=True,
    drafts=True,
    body=schemas.BulkSchema,
    max_bytes=512 * 1024,
    example={
        "testimonials": [
            {"externalId": "review-1", "authorName": "Maya", "text": "Lovely.", "rating": 5},
            {"externalId": "review-2", "authorName": "Ben", "text": "I came back twice."},
        ]
    },
    query=ReasonQuerySchema,
    data=changes.BulkResultsSchema,
)
def create_testimonials(caller: Caller, project: Project, body: Values, query: Values) -> Answer:
    """Add up to 100 testimonials.

    The results are in the order of the request, and one that is refused doesn't stop the others.
    A testimonial whose ``externalId`` exists is left as it is, so the call can be repeated. With
    only the scope ``draft`` the answer is 200, and each becomes a proposal. The body may have up
    to 512 KiB.
    """
    results = changes.add_each(caller, project, body["testimonials"], **query)
    return Answer(changes.summarize_results(results), _BULK.dump({"results": results}))


@testimonials.resource(
    "DELETE /v1/projects/<project_id>/testimonials/demo",
    scope=Scope.PUBLISH,
    by_key=True,
    data=schemas.DeletedCountSchema,
    done="Demo testimonials deleted",
)
def delete_demo_testimonials(project: Project) -> Values:
    """Remove the demo testimonials.

    ``deletedCount`` is 0 if there are none. Testimonials of any other status are untouched.
    """
    if count := services.delete_demos(project):
        record(SAMPLES_DELETED, project, count=count)
    return {"deletedCount": count}


@testimonials.resource(
    "GET /v1/projects/<project_id>/testimonials",
    scope=Scope.READ,
    by_key=True,
    query=schemas.PageQuerySchema,
    data=schemas.TestimonialListSchema,
)
def list_testimonials(caller: Caller, project_id: str, query: Values) -> Response:
    """List testimonials.

    Approved and demo ones, newest first by ``createdAt``. Pending and rejected ones are never
    returned. Newly approved ones shift the offsets of older items, so use ``after`` to page: while
    there are more, the ``Link`` header has the URL of the next page.
    """
    version = find_version(caller, project_id)
    pages: VersionedCache = current_app.extensions[LIST_PAGES]
    # The key has the query string as sent, so that `widget/cache.py` needn't parse it.
    key = (project_id, request.environ["QUERY_STRING"])
    body = pages.get(key, version, lambda: _write_page(project_id, query))
    response = answer_bytes(body.plain, etag=body.etag)
    response.headers.update(body.headers)
    return response


def _write_page(project_id: str, query: Values) -> tuple[bytes, str]:
    page = services.list_visible(project_id, **query)
    data = {"items": page.items, "limit": query["limit"], "offset": query["offset"]}
    return wrap("OK", dump_json(_TESTIMONIAL_LIST.dump(data))), link_to(page.next)


testimonials.find(row=find_testimonial)


def _describe(caller: Caller, row: Testimonial) -> Answer:
    return Answer("OK", describe_testimonial(caller, row))


@testimonials.resource(
    "GET /v1/projects/<project_id>/testimonials/<testimonial_id>",
    scope=Scope.READ,
    by_key=True,
    data=schemas.TestimonialDetailSchema,
)
def get_testimonial(caller: Caller, project: Project, testimonial_id: str) -> Answer:
    """Read a testimonial.

    An access token reads it in any state, with ``originalText`` and ``history``. The account's key
    reads only approved and demo ones, as in the list, without these two fields.
    """
    return _describe(caller, find_seen(caller, project, testimonial_id))


@testimonials.resource(
    "PATCH /v1/projects/<project_id>/testimonials/<testimonial_id>",
    scope=Scope.PUBLISH,
    change="testimonial.edit",
    match=_describe,
    body=changes.TestimonialEditSchema,
    example={"text": "By Friday we had five new bookings.", "tags": ["case study"], "pinned": True},
    data=schemas.TestimonialDetailSchema,
    raises=(409,),
)
def update_testimonial(body: Values) -> Values:
    """Edit a testimonial.

    Only the fields that are sent change. ``originalText`` keeps the author's words. An empty
    ``authorRole``, ``authorCompany``, ``reply``, ``tags`` or ``highlights`` removes it; null
    removes ``rating``, ``authorEmail`` and ``authorAvatar``. ``transcript``, ``captions`` and
    ``showsTranscript`` belong to a recording. Demo and withdrawn ones are refused with 409.
    """
    return body


@testimonials.resource(
    "PUT /v1/projects/<project_id>/testimonials/<testimonial_id>/avatar",
    scope=Scope.PUBLISH,
    change="testimonial.edit",
    match=_describe,
    upload=AVATAR,
    data=schemas.TestimonialDetailSchema,
    raises=(409,),
)
def set_avatar(caller: Caller, project: Project, row: Testimonial, image: Image) -> Values:
    """Upload the author's photo.

    The body is the picture itself: PNG, JPEG or WebP of at most 10 MB. It is turned upright,
    cropped to a square and scaled down; the file's metadata isn't kept.
    """
    return {"avatar_id": keep_picture(caller, project, "testimonial.edit", image, row.id)}


@testimonials.resource(
    "DELETE /v1/projects/<project_id>/testimonials/<testimonial_id>/avatar",
    scope=Scope.PUBLISH,
    change="testimonial.edit",
    match=_describe,
    data=schemas.TestimonialDetailSchema,
    raises=(409,),
)
def remove_avatar() -> Values:
    """Remove the author's photo.

    Removes an uploaded photo as well as the URL of one on another site.
    """
    return {"avatar_id": None}


@testimonials.resource(
    "DELETE /v1/projects/<project_id>/testimonials/<testimonial_id>",
    scope=Scope.PUBLISH,
    change="testimonial.decide",
    match=_describe,
    data=schemas.DecisionsSchema,
)
def delete_testimonial(caller: Caller, project: Project, row: Testimonial) -> Values | Answer:
    """Move a testimonial to the trash.

    It is deleted for good after 30 days, unless the operator chose otherwise; until then
    ``restore`` brings it back. If a visitor sent it, its rating still counts; the decision
    ``delete`` with a ``reason`` also sets it aside.
    """
    return _decide(caller, project, "delete", [row.id], done="Testimonial deleted")


@testimonials.resource(
    "POST /v1/projects/<project_id>/testimonials/<testimonial_id>/restore",
    scope=Scope.PUBLISH,
    change="testimonial.decide",
    match=_describe,
    data=schemas.DecisionsSchema,
    raises=(409,),
)
def restore_testimonial(caller: Caller, project: Project, row: Testimonial) -> Values | Answer:
    """Bring a testimonial back from the trash.

    It returns as it was.
    """
    return _decide(caller, project, "restore", [row.id], done="Testimonial restored")


def _decide(
    caller: Caller,
    project: Project,
    decision: str,
    ids: Sequence[str],
    reason: str = "",
    done: str = "",
) -> Values | Answer:
    """Decide at once, or return the values for a proposal."""
    if caller.drafts_only:
        return {"decision": decision, "ids": ids} | ({"reason": reason} if reason else {})
    decided = decide_all(project, decision, ids, caller.label, reason)
    message = done or ("Decided" if decided["undo"] else "Nothing to change")
    return Answer(message, _DECISIONS.dump(decided))


@testimonials.resource(
    "GET /v1/projects/<project_id>/submissions",
    scope=Scope.READ,
    query=schemas.SubmissionQuerySchema,
    data=schemas.SubmissionSchema,
    is_paged=True,
)
def list_submissions(project: Project, query: Values) -> Page:
    """List submissions in any state.

    Pending ones unless ``status`` says otherwise, newest first.
    """
    return read_submissions(project, query)


@testimonials.resource(
    "POST /v1/projects/<project_id>/submissions/decisions",
    scope=Scope.PUBLISH,
    change="testimonial.decide",
    body=schemas.DecisionSchema,
    example={"decision": "approve", "ids": ["6a12d3b4c5f6a7b8c9d0e1f2"]},
    data=schemas.DecisionsSchema,
    raises=(409,),
)
def decide_submissions(caller: Caller, project: Project, body: Values) -> Values | Answer:
    """Decide on testimonials.

    ``reject`` means "not shown": the rating still counts. Only ``set-aside`` takes it out of the
    numbers, for a ``reason``; approving, rejecting or releasing it takes that back. ``release``
    takes it out of spam, ``delete`` moves it to the trash. The results are in the order of the
    request; one whose state doesn't allow the decision stays as it is. Where a project asks for
    captions, a recording without any isn't approved; the answer is 409 if nothing else prevents it.
    """
    if caller.drafts_only:
        require_known(project, body["ids"])
    return _decide(caller, project, **body)


@testimonials.resource(
    "POST /v1/projects/<project_id>/undo",
    scope=Scope.PUBLISH,
    body=schemas.UndoSchema,
    example={"undo": "WyI2YTEyZDNi..."},
    data=schemas.UndoneSchema,
    done="Undone",
    raises=(409,),
)
def undo_changes(caller: Caller, project: Project, body: Values) -> Values:
    """Undo a change to testimonials.

    ``undo`` comes from the answer to the change. It works for a day, and skips testimonials that
    have been changed since.
    """
    return {"undoneCount": undo_batch(project, body["undo"], caller.label).count}


@testimonials.resource(
    "GET /v1/projects/<project_id>/tags", scope=Scope.READ, data=schemas.TagSchema, many=True
)
def list_tags(project: Project) -> Any:
    """List tags.

    In alphabetical order, each with the number of its testimonials outside the trash.
    """
    return list_project_tags(project.id)


@testimonials.resource(
    "PATCH /v1/projects/<project_id>/tags/<path:tag>",
    scope=Scope.PUBLISH,
    body=schemas.TagRenameSchema,
    example={"name": "case study"},
    data=schemas.TagSchema,
    done="Tag renamed",
)
def rename_tag(caller: Caller, project: Project, tag: str, body: Values) -> Values:
    """Rename a tag.

    It is renamed on all testimonials, and in the widgets that select by it. If there is already a
    tag with the new name, the two become one.
    """
    name, count = change_name(project, tag, body["name"], caller.label)
    return {"name": name, "count": count}


@testimonials.resource(
    "DELETE /v1/projects/<project_id>/tags/<path:tag>",
    scope=Scope.PUBLISH,
    data=schemas.TagRemovedSchema,
    done="Tag removed",
)
def remove_tag(caller: Caller, project: Project, tag: str) -> Values:
    """Remove a tag from all testimonials.

    ``undo`` brings it back within a day. Widgets that select by it show nothing until it is used
    again.
    """
    name, batch, count = delete_tag(project, tag, caller.label)
    undo = make_undo_token(project, batch) if count else None
    return {"name": name, "count": count, "undo": undo}
