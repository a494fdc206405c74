"""The widget without its script: its own page, and a fragment for static sites."""

from typing import Any

from flask import Response, g, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from testimonials.core.http.blueprints import wall
from testimonials.core.http.urls import script_url, wall_url
from testimonials.projects.models import Project
from testimonials.widget.cache import FRAMES, keep_page
from testimonials.widget.container import Selection, read_limit, read_selection
from testimonials.widget.embed import container_attributes, script_query
from testimonials.widget.render import Still, render_page, render_still, shadow_styles
from testimonials.widget.settings import find_shown_project
from testimonials.widget.wall import describe_ratings


@wall.get("/widget/<project_id>")
def show_widget(project_id: str) -> ResponseReturnValue:
    """Show the widget by itself as complete HTML, which its script then replaces.

    Takes the parameters of `read_selection`, and ``?after=``, the cursor of a further page.
    """
    project = find_shown_project(project_id)
    keep_page(project)
    selection, after = read_selection(request.args), request.args.get("after")
    still = render_still(project, selection, after)
    g.is_frameable = True
    values: dict[str, Any] = {"is_framed": request.headers.get("Sec-Fetch-Dest") in FRAMES}
    # Only browsers without scripts get to a further page.
    if after is None:
        values |= {
            "container": container_attributes(project, selection),
            "script": _script(project, selection),
        }
    response = Response(_render_widget(project, selection, still, **values))
    response.headers["Vary"] = "Sec-Fetch-Dest, Accept-Language"
    return response


@wall.get("/widget/<project_id>/fragment")
def get_fragment(project_id: str) -> Response:
    """Serve the widget as self-contained HTML, for sites that include it when they are built.

    Takes the parameters of the widget's page, and ``?limit=``, up to 50.
    """
    project = find_shown_project(project_id)
    keep_page(project)
    selection = read_selection(request.args)
    still = render_still(project, selection, limit=read_limit(request.args))
    content = "" if still.is_empty else _render_fragment(project, selection, still)
    response = Response(content.strip() + "\n")
    response.headers["Cache-Control"] = "public, no-cache"
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.add_etag()
    response.make_conditional(request)
    return response


def _render_widget(project: Project, selection: Selection, still: Still, **values: Any) -> str:
    arguments: dict[str, Any] = {"after": still.next, "project_id": project.id} | selection.query
    return render_page(
        "widget/widget.html",
        project,
        still,
        selection.theme,
        next_url=url_for("wall.show_widget", **arguments) if still.next else None,
        structured_data=describe_ratings(project, still.items),
        **values,
    )


def _render_fragment(project: Project, selection: Selection, still: Still) -> str:
    theme, has_extras = selection.theme, still.has_extras
    styles = shadow_styles(still.settings, theme, still.kind, still.total, has_extras=has_extras)
    return render_template(
        "widget/fragment.html",
        still=still,
        # Made from the program's own files; it contains nothing that people typed.
        styles=Markup(styles),  # noqa: S704
        wall_url=wall_url(project.slug, project.own_host),
        structured_data=describe_ratings(project, still.items),
    )


def _script(project: Project, selection: Selection) -> Markup:
    source = script_url(query=script_query(project, selection))
    return Markup('<script src="{}" async></script>').format(source)
