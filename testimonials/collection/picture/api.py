"""Pictures of testimonials, for links and for programs."""

from typing import Any

from flask import Blueprint, Response, redirect, request
from flask.typing import ResponseReturnValue

from testimonials.auth.guards import require_credentials
from testimonials.auth.services import Identity
from testimonials.collection.picture.running import PictureRefused
from testimonials.collection.picture.schemas import PictureQuerySchema
from testimonials.collection.picture.testimonial_picture import (
    DRAWINGS,
    LINK_LOOK,
    LINK_SIZE,
    OWN_DRAWINGS,
    Wanted,
    describe_picture,
    draw_picture,
    find_picture,
    keep_picture,
)
from testimonials.core.urls import share_picture_url
from testimonials.core.web.endpoint import endpoint
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.services import find_project, find_public_project
from testimonials.testimonials.moderation.services import find_testimonial

pictures = Blueprint("pictures", __name__)
PNG = "image/png"


@pictures.get("/v1/projects/<project_id>/testimonials/<testimonial_id>/picture")
@require_credentials
@endpoint(content_type=PNG, query=PictureQuerySchema, raises=(400, 404, 422, 429, 503))
def get_testimonial_picture(
    account: Identity, project_id: str, testimonial_id: str, query: dict[str, Any]
) -> Response:
    """Draw a testimonial as a PNG picture to share.

    Only approved and demo testimonials have one. A long text ends with “…”. 422 says which letters
    no font of the server has.
    """
    project = find_project(account.id, project_id)
    row = find_testimonial(project, testimonial_id)
    wanted = describe_picture(project, row, **query)
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, project_id)
        content = draw_and_keep(wanted)
    return send_picture(wanted, content)


@pictures.get("/<slug>/<testimonial_id>/picture.png")
def get_linked_picture(slug: str, testimonial_id: str) -> ResponseReturnValue:
    """Serve what a link to a testimonial shows, or the page's picture where it can't be drawn."""
    project = find_public_project(slug=slug)
    row = find_testimonial(project, testimonial_id)
    wanted = describe_picture(project, row, LINK_LOOK, LINK_SIZE)
    if (content := find_picture(wanted)) is None:
        if not limiter.allows(DRAWINGS, wanted.project_id):
            return redirect(share_picture_url(slug))
        try:
            content = draw_and_keep(wanted)
        except PictureRefused:
            return redirect(share_picture_url(slug))
    return send_picture(wanted, content, max_age=300)


def draw_and_keep(wanted: Wanted) -> bytes:
    content = draw_picture(wanted)
    begin_write()
    keep_picture(wanted, content)
    db.session.commit()
    return content


def send_picture(wanted: Wanted, content: bytes, max_age: int = 0) -> Response:
    """Answer with a picture; whoever may cache it asks again after `max_age` seconds."""
    response = Response(content, mimetype=PNG)
    response.set_etag(wanted.fingerprint)
    shared = f"public, max-age={max_age}"
    response.headers["Cache-Control"] = shared if max_age else "private, no-cache"
    if max_age:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.make_conditional(request)
    return response
