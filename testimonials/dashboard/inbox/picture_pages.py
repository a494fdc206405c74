"""The picture of a testimonial: choosing look and size, and downloading it."""

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.collection.picture.looks import SIZES
from testimonials.collection.picture.running import PictureRefused
from testimonials.collection.picture.schemas import PictureQuerySchema
from testimonials.collection.picture.testimonial_picture import (
    OWN_DRAWINGS,
    Wanted,
    describe_picture,
    draw_picture,
    find_picture,
    keep_picture,
    send_picture,
)
from testimonials.core.urls import testimonial_url
from testimonials.core.web.endpoint import load
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.extensions import begin_write, db, limiter
from testimonials.projects.access import Access, Role
from testimonials.testimonials.moderation.services import find_testimonial

picture = Blueprint("picture", __name__)

_QUERY = PictureQuerySchema()


@picture.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture")
@require_role(Role.READER)
def show_picture(access: Access, testimonial_id: str) -> ResponseReturnValue:
    """Show the picture in the chosen look and size, or why it can't be drawn."""
    wanted = _read_wanted(access, testimonial_id)
    try:
        _draw(wanted)
    except PictureRefused as error:
        return _page(access, wanted, error.shown), error.status
    return _page(access, wanted)


@picture.get("/dashboard/projects/<project_id>/testimonials/<testimonial_id>/picture.png")
@require_role(Role.READER)
def get_picture(access: Access, testimonial_id: str) -> Response:
    """Serve the picture; `download` in the query makes a browser save it."""
    wanted = _read_wanted(access, testimonial_id)
    response = send_picture(wanted, _draw(wanted))
    if "download" in request.args:
        name = f"testimonial-{wanted.look}-{wanted.size}.png"
        response.headers["Content-Disposition"] = f"attachment; filename={name}"
    return response


def _page(access: Access, wanted: Wanted, problem: str = "") -> str:
    return render_template(
        "dashboard/inbox/picture.html",
        shell=build_shell(access, "inbox"),
        id=wanted.testimonial_id,
        author=wanted.shown["name"],
        sizes=SIZES,
        chosen={"look": wanted.look, "size": wanted.size},
        problem=problem,
        link=testimonial_url(access.project.slug, wanted.testimonial_id, access.project.own_host),
    )


def _read_wanted(access: Access, testimonial_id: str) -> Wanted:
    row = find_testimonial(access.project, testimonial_id)
    chosen = {name: request.args[name] for name in ("look", "size") if name in request.args}
    return describe_picture(access.project, row, **load(_QUERY, chosen))


def _draw(wanted: Wanted) -> bytes:
    if (content := find_picture(wanted)) is None:
        limiter.count(OWN_DRAWINGS, wanted.project_id)
        content = draw_picture(wanted)
        begin_write()
        keep_picture(wanted, content)
        db.session.commit()
    return content
