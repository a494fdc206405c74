"""The API's endpoints for the widget's settings and its snippet."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.writes import begin_call, require_match
from testimonials.projects.reach import find_project
from testimonials.projects.schemas import ProjectSchema, WidgetConfigUpdateSchema
from testimonials.proposals.calls import carry_out
from testimonials.proposals.schemas import ReasonQuerySchema
from testimonials.widget.content.saved_widgets import describe_widgets, find_widget
from testimonials.widget.schemas import (
    EmbedSnippetQuerySchema,
    EmbedSnippetSchema,
    WidgetSchema,
)
from testimonials.widget.selection import Selection
from testimonials.widget.snippet import build_snippet

widget = Blueprint("widget", __name__)

_PROJECT = ProjectSchema()
_WIDGETS = WidgetSchema(many=True)


@widget.patch("/v1/projects/<project_id>/widget-config")
@require_access(Scope.CONFIGURE, by_key=True, drafts=True)
@endpoint(
    data=ProjectSchema,
    body=WidgetConfigUpdateSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={"layout": "carousel", "palette": "indigo", "initialCount": 6},
)
def update_widget_config(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change the widget.

    Only the fields sent are changed. Gives the full project. ``widgetDesign`` there is changed by
    ``PATCH widget-design``; ``layout`` and ``animation`` here go before its own layout.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_PROJECT.dump(project))
    return carry_out(caller, project, "widget", body, **query)


@widget.get("/v1/projects/<project_id>/widgets")
@require_access(Scope.READ, by_key=True)
@endpoint(data=WidgetSchema, many=True, raises=(404,))
def list_widgets(caller: Caller, project_id: str) -> Response:
    """List the widgets.

    The project's own first, then the saved ones by name, at most 20. They are made and changed in
    the dashboard.
    """
    widgets = describe_widgets(find_project(caller, project_id))
    return answer("OK", _WIDGETS.dump(widgets))


@widget.get("/v1/projects/<project_id>/embed-snippet")
@require_access(Scope.READ, by_key=True)
@endpoint(data=EmbedSnippetSchema, query=EmbedSnippetQuerySchema, raises=(400, 404))
def get_embed_snippet(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Get the embed snippet.

    Place ``container`` where the testimonials should show, and ``script`` once on the page.
    """
    project = find_project(caller, project_id)
    find_widget(project, query["widget"])
    return answer("OK", build_snippet(project, Selection(widget=query["widget"])))
