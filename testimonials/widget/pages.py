"""The page that shows one project's widget by itself."""

from flask import Blueprint, current_app, g, render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from testimonials.core import clock
from testimonials.widget.services import (
    build_snippet,
    describe_shown,
    find_shown_project,
    list_shown,
)

wall = Blueprint("wall", __name__)

SHOWN_WITHOUT_SCRIPT = 50


@wall.get("/widget/<project_id>")
def show_wall(project_id: str) -> ResponseReturnValue:
    """Show the widget with its own snippet, and the same testimonials where there is no script."""
    project = find_shown_project(project_id)
    snippet = build_snippet(project)
    rows, _ = list_shown(project, None, SHOWN_WITHOUT_SCRIPT)
    g.is_frameable = True
    return render_template(
        "widget/wall.html",
        project={
            "id": project.id,
            "name": project.name,
            "headline": project.page_config["headline"],
            "page_url": f"{current_app.config['APP_URL']}/{project.slug}",
        },
        # The page takes the widget's own theme, so that its cards stand on their own ground.
        page_theme=project.widget_config["theme"],
        # Built by this program from its own settings and an id, never from what people typed.
        snippet={
            "script": Markup(snippet["script"]),  # noqa: S704
            "container": Markup(snippet["container"]),  # noqa: S704
        },
        items=[describe_shown(row) | {"date_label": clock.day(row.submitted_at)} for row in rows],
    )
