"""The public wall of a project, and the page of one testimonial that can be shared."""

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.http.blueprints import wall
from testimonials.core.http.errors import NotFound, answer_service_error
from testimonials.projects.projects import find_public_project
from testimonials.projects.settings import find_renamed
from testimonials.widget.cache import keep_page
from testimonials.widget.wall import (
    find_shown_testimonial,
    read_choice,
    read_wall,
    render_testimonial,
    render_wall,
)


@wall.get("/<slug>/wall")
def show_wall(slug: str) -> str:
    """Show the public wall: everything approved, 50 a page, without scripts."""
    project = find_public_project(slug=slug)
    keep_page(project)
    choice, after = read_choice(request.args), request.args.get("after")
    contents = read_wall(project, choice, after)
    return render_wall(project, choice, contents, is_first=after is None)


@wall.get("/<slug>/<string(length=24):testimonial_id>")
def show_testimonial(slug: str, testimonial_id: str) -> str:
    project = find_public_project(slug=slug)
    keep_page(project)
    return render_testimonial(project, find_shown_testimonial(project, testimonial_id))


@wall.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Redirect from a project's former address, keeping the method and the form.

    Temporarily, since the address becomes free again.
    """
    at = request.view_args or {}
    if request.endpoint is None or not (renamed := find_renamed(at.get("slug", "\0"))):
        return answer_service_error(error)
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(request.endpoint, **at | {"slug": renamed}) + query, 307)
