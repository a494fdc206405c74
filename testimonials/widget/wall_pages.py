"""The public wall of a project, and the page of one testimonial that can be shared."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.http.errors import NotFound, answer_service_error
from testimonials.core.http.i18n import use_visitors_language
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

wall = Blueprint("wall", __name__)
wall.before_request(use_visitors_language)


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
    """Show one testimonial that the wall shows, for a link to it."""
    project = find_public_project(slug=slug)
    keep_page(project)
    return render_testimonial(project, find_shown_testimonial(project, testimonial_id))


@wall.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Redirect from a project's former address to the current one."""
    values = dict(request.view_args or {})
    renamed = find_renamed(values.get("slug", ""))
    if request.endpoint is None or renamed is None:
        return answer_service_error(error)
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for(request.endpoint, **values | {"slug": renamed}) + query, 307)
