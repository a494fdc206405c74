"""The API's doors to a project's own host name."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.writes import begin_call, commit_answer, require_match
from testimonials.domains import services
from testimonials.domains.looking import look_at
from testimonials.domains.schemas import DomainSchema, DomainUpdateSchema
from testimonials.extensions import limiter
from testimonials.projects.reach import find_project

domain = Blueprint("domain", __name__)

CHECKS_PER_ACCOUNT = Limit("domain-check", 60, "of one account")

_DOMAIN = DomainSchema()


@domain.get("/v1/projects/<project_id>/domain")
@require_access(Scope.READ)
@endpoint(data=DomainSchema, raises=(404,))
def get_domain(caller: Caller, project_id: str) -> Response:
    """Read the project’s own host name.

    404 ``NO_DOMAIN`` if it has none.
    """
    project = find_project(caller, project_id)
    return answer("OK", _DOMAIN.dump(services.get_domain(project)))


@domain.put("/v1/projects/<project_id>/domain")
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
    known = services.find_domain(project)
    require_match(_DOMAIN.dump(known) if known else None)
    return commit_answer("Host name set", _DOMAIN.dump(services.set_domain(project, body["host"])))


@domain.post("/v1/projects/<project_id>/domain/check")
@require_access(Scope.CONFIGURE)
@endpoint(data=DomainSchema, raises=(404, 429))
def check_domain(caller: Caller, project_id: str) -> Response:
    """Look the project’s own host name up now.

    Takes some seconds. At most 60 times an hour.
    """
    host = services.get_domain(find_project(caller, project_id)).host
    limiter.count(CHECKS_PER_ACCOUNT, caller.id)
    # Before the lock is taken, so that nobody waits for the DNS.
    finding = look_at(host)
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    services.note_finding(project, host, finding)
    return commit_answer("Looked up", _DOMAIN.dump(services.get_domain(project)))


@domain.delete("/v1/projects/<project_id>/domain")
@require_access(Scope.CONFIGURE)
@endpoint(data=DomainSchema, raises=(404,))
def remove_domain(caller: Caller, project_id: str) -> Response:
    """Remove the project’s own host name.

    Links use the service’s address again, which never stopped working.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    data = _DOMAIN.dump(services.get_domain(project))
    require_match(data)
    services.remove_domain(project)
    return commit_answer("Host name removed", data)
