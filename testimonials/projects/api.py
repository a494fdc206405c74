"""The API of projects: their settings, designs and host names."""

import io
from typing import Any

from flask import Response

from testimonials.auth.api_auth import require_access, require_all_projects
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import projects
from testimonials.core.http.idempotency import begin_call, commit_answer, require_match
from testimonials.core.http.pagination import add_link, link_to
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.resource import answer, endpoint
from testimonials.core.images.uploads import LOGO, UPLOADED_TYPES, UPLOADS_PER_ACCOUNT, read_image
from testimonials.projects import domains
from testimonials.projects import projects as services
from testimonials.projects.access import find_project
from testimonials.projects.change_calls import carry_out, keep_picture
from testimonials.projects.domains import look_at
from testimonials.projects.models import Project
from testimonials.projects.proposal_schemas import ReasonQuerySchema
from testimonials.projects.schemas import (
    DomainSchema,
    DomainUpdateSchema,
    PageConfigSchema,
    PageConfigUpdateSchema,
    ProjectCreateSchema,
    ProjectSchema,
    ProjectsQuerySchema,
)

# Projects in the API.


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
    project = services.create_project(caller.id, body)
    return commit_answer("Project created", _PROJECT.dump(project))


@projects.get("/v1/projects/<project_id>")
@require_access(Scope.READ, by_key=True)
@endpoint(data=ProjectSchema, raises=(404,))
def get_project(caller: Caller, project_id: str) -> Response:
    """Read a project."""
    return answer("OK", _PROJECT.dump(find_project(caller, project_id)))


# The API's doors to the collection page's settings and the widget's design.


_PAGE = PageConfigSchema()


@projects.get("/v1/projects/<project_id>/page-config")
@require_access(Scope.READ, by_key=True)
@endpoint(data=PageConfigSchema, raises=(404,))
def get_page_config(caller: Caller, project_id: str) -> Response:
    """Read the settings of the collection page."""
    return answer("OK", _describe(find_project(caller, project_id)))


@projects.patch("/v1/projects/<project_id>/page-config")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=PageConfigSchema,
    body=PageConfigUpdateSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "headline": "How was your visit?",
        "buttonColor": "#0F766E",
        "collectFields": {"company": False},
    },
)
def update_page_config(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Change the collection page.

    Only the fields sent are changed, also within ``collectFields``. The page always asks for the
    name. The logo is changed by ``PUT logo``.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    return carry_out(caller, project, "page", body, describe=lambda: _describe(project), **query)


@projects.put("/v1/projects/<project_id>/logo")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=PageConfigSchema,
    content_types=UPLOADED_TYPES,
    max_bytes=LOGO.max_bytes,
    query=ReasonQuerySchema,
    raises=(404, 429, 503),
)
def set_logo(caller: Caller, project_id: str, content: bytes, query: dict[str, Any]) -> Response:
    """Upload the logo.

    The body is the picture itself: PNG, JPEG or WebP of at most 2 MB. It is scaled down to 640 by
    320 pixels at most, and nothing else of the file is kept.
    """
    find_project(caller, project_id)
    limiter.count(UPLOADS_PER_ACCOUNT, caller.id)
    # Decoded before the lock is taken, so that no submission waits for it.
    image = read_image(io.BytesIO(content), LOGO)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values = {"image_id": keep_picture(caller, project, "logo", image)}
    return carry_out(caller, project, "logo", values, describe=lambda: _describe(project), **query)


@projects.delete("/v1/projects/<project_id>/logo")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(data=PageConfigSchema, query=ReasonQuerySchema, raises=(404,))
def remove_logo(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """Remove the logo."""
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_describe(project))
    values = {"image_id": None}
    return carry_out(caller, project, "logo", values, describe=lambda: _describe(project), **query)


def _describe(project: Project) -> Any:
    return _PAGE.dump(project.whole_page_config)


# The API's doors to a project's own host name.


CHECKS_PER_ACCOUNT = Limit("domain-check", 60, "of one account")

_DOMAIN = DomainSchema()


@projects.get("/v1/projects/<project_id>/domain")
@require_access(Scope.READ)
@endpoint(data=DomainSchema, raises=(404,))
def get_domain(caller: Caller, project_id: str) -> Response:
    """Read the project’s own host name.

    404 ``NO_DOMAIN`` if it has none.
    """
    project = find_project(caller, project_id)
    return answer("OK", _DOMAIN.dump(domains.get_domain(project)))


@projects.put("/v1/projects/<project_id>/domain")
@require_access(Scope.CONFIGURE)
@endpoint(
    data=DomainSchema,
    body=DomainUpdateSchema,
    raises=(404,),
    example={"host": "reviews.example.com"},
)
def set_domain(caller: Caller, project_id: str, body: dict[str, Any]) -> Response:
    """Set the project’s own host name.

    The answer says which ``records`` the name’s zone needs. They are looked up every few minutes;
    once this service answers there, links to the collection page, the wall and testimonials use the
    name. Another name takes the place of the one before; the same again changes nothing.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    known = domains.find_domain(project)
    require_match(_DOMAIN.dump(known) if known else None)
    return commit_answer("Host name set", _DOMAIN.dump(domains.set_domain(project, body["host"])))


@projects.post("/v1/projects/<project_id>/domain/check")
@require_access(Scope.CONFIGURE)
@endpoint(data=DomainSchema, raises=(404, 429))
def check_domain(caller: Caller, project_id: str) -> Response:
    """Look the project’s own host name up now.

    Takes some seconds. At most 60 times an hour.
    """
    host = domains.get_domain(find_project(caller, project_id)).host
    limiter.count(CHECKS_PER_ACCOUNT, caller.id)
    # Before the lock is taken, so that nobody waits for the DNS.
    finding = look_at(host)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    domains.note_finding(project, host, finding)
    return commit_answer("Looked up", _DOMAIN.dump(domains.get_domain(project)))


@projects.delete("/v1/projects/<project_id>/domain")
@require_access(Scope.CONFIGURE)
@endpoint(data=DomainSchema, raises=(404,))
def remove_domain(caller: Caller, project_id: str) -> Response:
    """Remove the project’s own host name.

    Links use the service’s address again, which never stopped working.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    data = _DOMAIN.dump(domains.get_domain(project))
    require_match(data)
    domains.remove_domain(project)
    return commit_answer("Host name removed", data)
