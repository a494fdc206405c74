"""The API's doors to requests by mail."""

from typing import Any

from flask import Blueprint, Response

from testimonials.access.callers import Caller
from testimonials.access.guards import require_access
from testimonials.access.scopes import Scope
from testimonials.collection.requests.asked_people import find_asked, read_asked, remove_asked
from testimonials.collection.requests.schemas import (
    AskedPersonSchema,
    AskedQuerySchema,
    AskedSchema,
)
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.paging import answer_page
from testimonials.core.web.writes import begin_call, commit_answer, require_match
from testimonials.projects.reach import find_project
from testimonials.projects.services import lock_account
from testimonials.proposals.calls import carry_out
from testimonials.proposals.changes import tell_nobody_left
from testimonials.proposals.schemas import ReasonQuerySchema
from testimonials.proposals.values import RequestSchema
from testimonials.testimonials.schemas import DeletedCountSchema

asked = Blueprint("asked", __name__)

_PERSON = AskedPersonSchema()
_PEOPLE = AskedPersonSchema(many=True)


@asked.get("/v1/projects/<project_id>/requests")
@require_access(Scope.CONFIGURE)
@endpoint(data=AskedPersonSchema, is_paged=True, query=AskedQuerySchema, raises=(404,))
def list_requests(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List who was asked by mail.

    Newest first, each with what came of it. An unanswered request is kept for a year.
    """
    project = find_project(caller, project_id)
    page = read_asked(project, query["state"], query["limit"], query["after"])
    return answer_page(_PEOPLE, page)


@asked.post("/v1/projects/<project_id>/requests")
@require_access(Scope.CONFIGURE, drafts=True)
@endpoint(
    data=AskedSchema,
    body=RequestSchema,
    query=ReasonQuerySchema,
    raises=(404,),
    example={
        "people": [{"email": "maya@example.com", "name": "Maya"}],
        "language": "en",
        "remindAfterDays": 5,
    },
)
def ask_by_mail(
    caller: Caller, project_id: str, body: dict[str, Any], query: dict[str, Any]
) -> Response:
    """Ask people for a testimonial by mail.

    Up to 100 in one call, in the owner’s name. ``subject`` and ``message`` have suggested words
    when they are left out, and fields such as ``{first_name}``. Nobody is asked
    twice in a project, so the call can be repeated. The account’s limit for 24 hours is that of the
    dashboard: 422 past it.
    """
    begin_call(caller.id)
    # The account first: its daily limit covers all of its projects.
    lock_account(caller.id)
    project = find_project(caller, project_id, for_update=True)
    if not caller.drafts_only and (told := tell_nobody_left(project, body)):
        return commit_answer("Nobody is left to ask", told)
    return carry_out(caller, project, "request", body, **query)


@asked.get("/v1/projects/<project_id>/requests/<asked_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=AskedPersonSchema, raises=(404,))
def get_request(caller: Caller, project_id: str, asked_id: str) -> Response:
    """Read what came of a request."""
    return answer("OK", _PERSON.dump(find_asked(find_project(caller, project_id), asked_id)))


@asked.delete("/v1/projects/<project_id>/requests/<asked_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=DeletedCountSchema, raises=(404,))
def delete_request(caller: Caller, project_id: str, asked_id: str) -> Response:
    """Delete a request.

    With its mail, if that has not left; a link that was mailed opens the plain form. The person can
    be asked again.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_PERSON.dump(find_asked(project, asked_id)))
    remove_asked(project, asked_id)
    return commit_answer("Request deleted", {"deletedCount": 1})
