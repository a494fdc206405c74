"""The API's door to pictures of testimonials."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.collection.picture.schemas import PictureQuerySchema
from testimonials.collection.picture.testimonial_picture import (
    OWN_DRAWINGS,
    describe_picture,
    draw_picture,
    find_picture,
    keep_picture,
    send_picture,
)
from testimonials.core.web.endpoint import endpoint
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.reach import find_project
from testimonials.testimonials.moderation.services import find_testimonial

pictures = Blueprint("pictures", __name__)


@pictures.get("/v1/projects/<project_id>/testimonials/<testimonial_id>/picture")
@require_access(Scope.READ, by_key=True)
@endpoint(content_type="image/png", query=PictureQuerySchema, raises=(400, 404, 422, 429, 503))
def get_testimonial_picture(
    caller: Caller, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Draw a testimonial as a PNG picture to share.

    Only approved and demo testimonials have one. A long text ends with “…”. 422 says which letters
    no font of the server has.
    """
    project = find_project(caller, project_id)
    row = find_testimonial(project, testimonial_id)
    wanted = describe_picture(project, row, **query)
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, project_id)
        content = draw_picture(wanted)
        begin_write()
        keep_picture(wanted, content)
        db.session.commit()
    return send_picture(wanted, content)
