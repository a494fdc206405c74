"""The API's doors to requests for access."""

from typing import Any

from flask import Blueprint, Response, request

from testimonials.access import requests
from testimonials.access.callers import Caller
from testimonials.access.guards import require_access, require_all_projects
from testimonials.access.schemas import AccessAskSchema, AccessRequestSchema
from testimonials.core.web.endpoint import answer, endpoint
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.writes import begin_call, commit_answer
from testimonials.extensions import begin_write, limiter
from testimonials.projects.reach import find_project

access = Blueprint("access", __name__)

_REQUEST = AccessRequestSchema()

# Each may be a mail to the owner.
ASK_PER_ACCOUNT = Limit("access-request", 10, "for one account", hours=24)
MESSAGES = {
    "waiting": "Waits for the owner",
    "granted": "Granted, and the token was fetched before. If it is lost, ask again.",
    "declined": "Declined by the owner",
    "expired": "Expired: nobody decided, or fetched the token, within three days. Ask again.",
}


@access.post("/v1/access-requests")
@require_access(None, by_key=True)
@endpoint(
    data=AccessRequestSchema,
    body=AccessAskSchema,
    raises=(403, 404, 409, 429),
    example={
        "name": "Bakery assistant",
        "scopes": ["read", "publish"],
        "reason": "To approve the testimonials that you told me to approve.",
    },
)
def ask_for_access(caller: Caller, body: dict[str, Any]) -> Response:
    """Ask the owner for scopes.

    Give ``data.url`` to the owner, who grants or declines there within three days; once the account
    is claimed, they get a mail too. Then fetch the token: GET /v1/access-requests/:id with the same
    credential. The same request again is the one that waits already. At most 5 wait at a time, and
    at most 10 calls a day are taken.
    """
    limiter.count(ASK_PER_ACCOUNT, caller.id)
    begin_call(caller.id)
    if (project_id := body.get("projectId")) is not None:
        find_project(caller, project_id)
    else:
        require_all_projects(caller)
    asked = requests.ask_for_access(
        caller, body["name"], body["scopes"], project_id, body["reason"]
    )
    return commit_answer("Waits for the owner", _REQUEST.dump(asked))


@access.get("/v1/access-requests/<request_id>")
@require_access(None, by_key=True)
@endpoint(data=AccessRequestSchema, raises=(404,))
def get_access_request(caller: Caller, request_id: str) -> Response:
    """Read what became of a request for access.

    By the credential that made it. The first answer after the owner granted it holds the ``token``,
    which is made at that moment and never shown again: store it at once.
    """
    asked = requests.find_own_request(caller, request_id)
    if request.method == "HEAD" or not asked.is_ready:
        return answer(MESSAGES[asked.state], _REQUEST.dump(asked))
    begin_write()
    asked = requests.find_own_request(caller, request_id)
    token = {"token": found} if (found := requests.fetch_token(asked)) else {}
    return commit_answer("Granted", _REQUEST.dump(asked) | token, is_secret=True)
