"""The API's doors to one testimonial: reading, editing, its photo, the trash."""

import io
from functools import partial
from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.pictures.images import (
    AVATAR,
    UPLOADED_TYPES,
    UPLOADS_PER_ACCOUNT,
    read_image,
)
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.writes import begin_call, commit_answer, require_match
from testimonials.extensions import limiter
from testimonials.projects.reach import find_project
from testimonials.proposals.calls import carry_out, keep_picture
from testimonials.proposals.schemas import ReasonQuerySchema
from testimonials.proposals.values import TestimonialEditSchema
from testimonials.testimonials.editing.schemas import TestimonialDetailSchema
from testimonials.testimonials.editing.services import describe_testimonial, find_seen
from testimonials.testimonials.moderation.schemas import DecisionsSchema
from testimonials.testimonials.moderation.services import find_testimonial
from testimonials.testimonials.moderation.submissions import decide_all

editing = Blueprint("editing", __name__)

_DECISIONS = DecisionsSchema()


@editing.get("/v1/projects/<project_id>/testimonials/<testimonial_id>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=TestimonialDetailSchema, raises=(404,))
def get_testimonial(caller: Caller, project_id: str, testimonial_id: str) -> Response:
    """Read a testimonial.

    An access token reads it in any state, with ``originalText`` and ``history``. The account's key
    reads approved and demo ones, as the list does, without these two.
    """
    row = find_seen(caller, find_project(caller, project_id), testimonial_id)
    return answer("OK", describe_testimonial(caller, row))


@editing.patch("/v1/projects/<project_id>/testimonials/<testimonial_id>")
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


@editing.put("/v1/projects/<project_id>/testimonials/<testimonial_id>/avatar")
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


@editing.delete("/v1/projects/<project_id>/testimonials/<testimonial_id>/avatar")
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


@editing.delete("/v1/projects/<project_id>/testimonials/<testimonial_id>")
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


@editing.post("/v1/projects/<project_id>/testimonials/<testimonial_id>/restore")
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
