"""The API's endpoints for the widget's settings and its snippet."""

from typing import Any

from flask import Blueprint, Response

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.auth.guards import require_credentials
from testimonials.auth.services import Identity
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.extensions import begin_write, db
from testimonials.projects.schemas import ProjectSchema, WidgetConfigUpdateSchema
from testimonials.projects.services import find_project
from testimonials.widget import services
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
@require_credentials
@endpoint(
    data=ProjectSchema,
    body=WidgetConfigUpdateSchema,
    raises=(404,),
    example={"layout": "carousel", "palette": "indigo", "initialCount": 6},
)
def update_widget_config(account: Identity, project_id: str, body: dict[str, Any]) -> Response:
    """Change the widget.

    Only the fields sent are changed. Gives the full project. ``widgetDesign`` there is the design
    that the owner made in the dashboard; ``layout`` and ``animation`` go before its own layout, and
    nothing else of it can be changed with a key.
    """
    begin_write()
    project = find_project(account.id, project_id, for_update=True)
    services.update_widget_config(project, body)
    if body:
        record_project_event(EventType.WIDGET_CHANGED, project)
    db.session.commit()
    return answer("Widget configuration updated", _PROJECT.dump(project))


@widget.get("/v1/projects/<project_id>/widgets")
@require_credentials
@endpoint(data=WidgetSchema, many=True, raises=(404,))
def list_widgets(account: Identity, project_id: str) -> Response:
    """List the widgets.

    The project's own first, then the saved ones by name, at most 20. They are made and changed in
    the dashboard.
    """
    widgets = describe_widgets(find_project(account.id, project_id))
    return answer("OK", _WIDGETS.dump(widgets))


@widget.get("/v1/projects/<project_id>/embed-snippet")
@require_credentials
@endpoint(data=EmbedSnippetSchema, query=EmbedSnippetQuerySchema, raises=(400, 404))
def get_embed_snippet(account: Identity, project_id: str, query: dict[str, Any]) -> Response:
    """Get the embed snippet.

    Place ``container`` where the testimonials should show, and ``script`` once on the page.
    """
    project = find_project(account.id, project_id)
    find_widget(project, query["widget"])
    return answer("OK", build_snippet(project, Selection(widget=query["widget"])))
