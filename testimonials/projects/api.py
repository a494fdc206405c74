"""Projects in the API."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access, require_all_projects
from testimonials.access.scopes import Scope
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.agents.schemas import SummarySchema
from testimonials.agents.summary import summarize
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.paging import add_link, link_to
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.projects import services
from testimonials.projects.reach import find_project
from testimonials.projects.schemas import ProjectCreateSchema, ProjectSchema, ProjectsQuerySchema
from testimonials.testimonials.services import seed_demos

projects = Blueprint("projects", __name__)

_SUMMARY = SummarySchema()
_PROJECT = ProjectSchema()
_PROJECTS = ProjectSchema(many=True)


@projects.get("/v1/projects")
@require_access(Scope.READ, by_key=True)
@endpoint(data=ProjectSchema, many=True, query=ProjectsQuerySchema)
def list_projects(caller: Caller, query: dict[str, Any]) -> Response:
    """List projects.

    The account's own, most recent first, at most 50. While there are more, the header ``Link`` has
    the URL of the next ones.
    """
    page = services.read_projects(caller.id, caller.project_id, query["after"])
    response = answer("OK", _PROJECTS.dump(page.items))
    add_link(response, link_to(page.next))
    return response


@projects.post("/v1/projects")
@require_access(Scope.CONFIGURE, by_key=True)
@endpoint(
    data=ProjectSchema,
    body=ProjectCreateSchema,
    raises=(402,),
    example={
        "businessName": "Fern & Fable Salon",
        "website": "fernandfable.example",
        "headline": "How was your visit?",
    },
)
def create_project(caller: Caller, body: dict[str, Any]) -> Response:
    """Create a project.

    The collection page is at ``/<slug>``, with ``data.publicPageConfig.slug``. The slug is
    normalized to lower case with dashes, derived from ``businessName`` when left out, and random
    when both are missing. The account's very first project starts with six demo testimonials
    unless ``skipDemoTestimonials`` is true. 402 with ``code`` PROJECT_LIMIT_REACHED at the limit.
    """
    require_all_projects(caller)
    begin_call(caller.id)
    project, is_first = services.create_project(caller.id, body)
    if is_first and not body.get("skipDemoTestimonials", False):
        seed_demos(project)
    record_project_event(EventType.PROJECT_CREATED, project, name=project.name)
    return commit_answer("Project created", _PROJECT.dump(project))


@projects.get("/v1/projects/<project_id>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=ProjectSchema, raises=(404,))
def get_project(caller: Caller, project_id: str) -> Response:
    """Read a project."""
    return answer("OK", _PROJECT.dump(find_project(caller, project_id)))


@projects.get("/v1/projects/<project_id>/summary")
@require_access(Scope.READ)
@endpoint(data=SummarySchema, raises=(404,))
def get_summary(caller: Caller, project_id: str) -> Response:
    """Read how a project stands.

    What waits for the owner, how many testimonials and stars there are, what came of requests by
    mail, and which websites show the widget.
    """
    return answer("OK", _SUMMARY.dump(summarize(find_project(caller, project_id))))
