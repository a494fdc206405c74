"""The API's door to what was counted."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.insights.schemas import MOST_LISTED, InsightsQuerySchema, InsightsSchema
from testimonials.insights.services import describe_insights
from testimonials.projects.reach import find_project

counted = Blueprint("counted", __name__)

_INSIGHTS = InsightsSchema()


@counted.get("/v1/projects/<project_id>/insights")
@require_access(Scope.READ)
@endpoint(data=InsightsSchema, query=InsightsQuerySchema, raises=(404,))
def get_insights(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Read what was seen, read and sent.

    Views of widget and wall by day, the testimonials that were read most, websites, the way from
    opening the collection page to being shown, and ratings over time; of the last ``days``, today
    included. Counts are of views, not of people, and up to a minute late.
    """
    project = find_project(caller, project_id)
    return answer("OK", _INSIGHTS.dump(describe_insights(project, query["days"], top=MOST_LISTED)))
