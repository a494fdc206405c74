"""The widget without its script: its own page, the public wall, and a fragment for static sites."""

import hashlib
from base64 import b64encode
from typing import Any

from flask import Blueprint, Response, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from testimonials.core.urls import (
    collection_page_url,
    image_url,
    script_url,
    share_picture_url,
    wall_url,
)
from testimonials.core.web.errors import NotFound, answer_service_error
from testimonials.core.web.languages import use_visitors_language
from testimonials.projects.changes import find_renamed
from testimonials.projects.models import Project
from testimonials.projects.services import find_public_project
from testimonials.widget.rendered.look import page_styles, shadow_styles
from testimonials.widget.rendered.rendering import Still, render_still
from testimonials.widget.rendered.structured_data import describe_ratings
from testimonials.widget.selection import Selection, read_limit, read_selection
from testimonials.widget.services import find_shown_project, rate
from testimonials.widget.snippet import container_attributes

wall = Blueprint("wall", __name__)
wall.before_request(use_visitors_language)

ON_A_WALL = 50
FRAMES = ("iframe", "frame", "embed", "object")


@wall.get("/widget/<project_id>")
def show_widget(project_id: str) -> ResponseReturnValue:
    """Show the widget by itself as complete HTML, which its script then replaces.

    Takes the parameters of `read_selection`, and ``?after=``, the cursor of a further page.
    """
    project = find_shown_project(project_id)
    selection, after = read_selection(request.args), request.args.get("after")
    still = render_still(project, selection, after)
    g.is_frameable = True
    values: dict[str, Any] = {"is_framed": request.headers.get("Sec-Fetch-Dest") in FRAMES}
    # Only browsers without scripts get to a further page.
    if after is None:
        values |= {"container": container_attributes(project, selection), "script": _script()}
    next_url = _next_url("wall.show_widget", still, selection, project_id=project.id)
    response = Response(_render(project, selection, still, next_url=next_url, **values))
    response.headers["Vary"] = "Sec-Fetch-Dest, Accept-Language"
    return response


@wall.get("/<slug>/wall")
def show_wall(slug: str) -> ResponseReturnValue:
    """Show the public wall: everything approved, 50 a page, without scripts."""
    project = find_public_project(slug=slug)
    selection = read_selection({name: request.args.get(name, "") for name in ("tag", "min")})
    # A carousel's single row would not be a wall.
    layout = "list" if project.widget_config["layout"] == "list" else "masonry"
    after = request.args.get("after")
    still = render_still(project, selection, after, limit=ON_A_WALL, layout=layout)
    average, count = rate(project)
    return _render(
        project,
        selection,
        still,
        is_wall=True,
        rating={"average": average, "count": count} if count else None,
        next_url=_next_url("wall.show_wall", still, selection, slug=project.slug),
    )


@wall.get("/widget/<project_id>/fragment")
def get_fragment(project_id: str) -> Response:
    """Serve the widget as self-contained HTML, for sites that include it when they are built.

    Takes the parameters of the widget's page, and ``?limit=``, up to 50.
    """
    project = find_shown_project(project_id)
    selection = read_selection(request.args)
    still = render_still(project, selection, limit=read_limit(request.args))
    content = _render_fragment(project, selection, still) if still.total or still.badge else ""
    response = Response(content.strip() + "\n")
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.add_etag()
    response.make_conditional(request)
    return response


@wall.errorhandler(NotFound)
def redirect_renamed(error: NotFound) -> ResponseReturnValue:
    """Redirect the wall of a project's former address to the current one."""
    slug = (request.view_args or {}).get("slug", "")
    renamed = find_renamed(slug)
    if renamed is None:
        return answer_service_error(error)
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return redirect(url_for("wall.show_wall", slug=renamed) + query, 307)


def _render(
    project: Project, selection: Selection, still: Still, *, is_wall: bool = False, **values: Any
) -> str:
    theme = selection.theme or project.widget_config["theme"]
    styles = page_styles(project.widget_config, theme, still.total)
    digest = b64encode(hashlib.sha256(styles.encode()).digest()).decode()
    g.style_source = f"'sha256-{digest}'"
    return render_template(
        "widget/wall.html",
        project={
            "name": project.name,
            "page_url": collection_page_url(project.slug),
            "share_url": share_picture_url(project.slug),
            "logo_url": image_url(project.logo_id),
            "is_active": project.is_active,
        },
        canonical=wall_url(project.slug),
        theme=theme,
        # Made from the program's own files; it contains nothing that people typed.
        styles=Markup(styles),  # noqa: S704
        still=still,
        is_wall=is_wall,
        structured_data=describe_ratings(project, still.items),
        **values,
    )


def _render_fragment(project: Project, selection: Selection, still: Still) -> str:
    return render_template(
        "widget/fragment.html",
        still=still,
        styles=Markup(shadow_styles(project.widget_config, selection.theme, still.total)),  # noqa: S704
        wall_url=wall_url(project.slug),
        structured_data=describe_ratings(project, still.items),
    )


def _script() -> Markup:
    return Markup('<script src="{}" async></script>').format(script_url())


def _next_url(endpoint: str, still: Still, selection: Selection, **values: str) -> str | None:
    if still.next is None:
        return None
    arguments: dict[str, Any] = {"after": still.next} | values | selection.query
    return url_for(endpoint, **arguments)
