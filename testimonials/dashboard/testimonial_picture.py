"""The picture of a testimonial: choosing look and size, and downloading it."""

from flask import Response, request

from testimonials.collection.images.draw import SIZES
from testimonials.collection.images.pictures import (
    OWN_DRAWINGS,
    PictureRefused,
    Wanted,
    describe_picture,
    draw_picture,
    find_picture,
    keep_picture,
    send_picture,
)
from testimonials.collection.schemas import PictureQuerySchema
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import inbox
from testimonials.core.http.resource import load
from testimonials.core.http.security import answer_as
from testimonials.core.http.urls import testimonial_url
from testimonials.dashboard.framework import ProjectPage, Values, require_role
from testimonials.projects.access import Access, Right
from testimonials.testimonials.moderation import find_testimonial

page = ProjectPage(
    inbox, "testimonials/<testimonial_id>/picture", "inbox/picture.html", role=Right.LOOK
)
_QUERY = PictureQuerySchema()


@page.show
def show_picture(access: Access, testimonial_id: str) -> Values:
    """Show the picture in the chosen look and size, or why it can't be drawn."""
    wanted, problem = _read_wanted(access, testimonial_id), ""
    try:
        _draw(wanted)
    except PictureRefused as error:
        answer_as(error)
        problem = error.shown
    return {
        "id": wanted.testimonial_id,
        "author": wanted.shown["name"],
        "sizes": SIZES,
        "chosen": {"look": wanted.look, "size": wanted.size},
        "problem": problem,
        "link": testimonial_url(access.project.slug, testimonial_id, access.project.own_host),
    }


@inbox.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture.png")
@require_role(Right.LOOK)
def get_picture(access: Access, testimonial_id: str) -> Response:
    """Serve the picture; `download` in the query makes a browser save it."""
    wanted = _read_wanted(access, testimonial_id)
    response = send_picture(wanted, _draw(wanted))
    if "download" in request.args:
        name = f"testimonial-{wanted.look}-{wanted.size}.png"
        response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def _read_wanted(access: Access, testimonial_id: str) -> Wanted:
    row = find_testimonial(access.project, testimonial_id)
    chosen = {name: request.args[name] for name in ("look", "size") if name in request.args}
    return describe_picture(access.project, row, **load(_QUERY, chosen))


def _draw(wanted: Wanted) -> bytes:
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, wanted.project_id)
        content = draw_picture(wanted)
        with write():
            keep_picture(wanted, content)
    return content
