"""Proposals in the API: making, reading and withdrawing them. Only a person decides."""

from typing import Any

from flask import Response

from testimonials.auth.api_auth import require_access
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.http.blueprints import projects
from testimonials.core.http.idempotency import begin_call, commit_answer, require_match
from testimonials.core.http.pagination import answer_page
from testimonials.core.http.resource import answer, endpoint
from testimonials.projects import proposals as services
from testimonials.projects.access import find_project
from testimonials.projects.change_calls import WAITS
from testimonials.projects.projects import lock_account
from testimonials.projects.proposal_schemas import (
    ProposalQuerySchema,
    ProposalSchema,
    ProposeSchema,
)

_PROPOSAL = ProposalSchema()
_PROPOSALS = ProposalSchema(many=True)


@projects.get("/v1/projects/<project_id>/proposals")
@require_access(None, by_key=True)
@endpoint(data=ProposalSchema, is_paged=True, query=ProposalQuerySchema, raises=(404,))
def list_proposals(caller: Caller, project_id: str, query: dict[str, Any]) -> Response:
    """List proposals.

    Newest first, with what became of each: ``status``, the owner’s ``note``, and ``result``. The
    account’s key sees those made with a key; a token those of its projects with the scope read, or
    else its own.
    """
    project = find_project(caller, project_id)
    return answer_page(_PROPOSALS, services.list_proposals(caller, project, **query))


@projects.post("/v1/projects/<project_id>/proposals")
@require_access(Scope.DRAFT, by_key=True)
@endpoint(
    data=ProposalSchema,
    body=ProposeSchema,
    raises=(404, 409, 422),
    example={
        "kind": "page",
        "values": {"buttonColor": "#9A3412", "thankYouMessage": "Thank you! See you soon."},
        "reason": "The button has the orange of your website.",
    },
)
def propose_change(caller: Caller, project_id: str, body: dict[str, Any]) -> Response:
    """Propose a change.

    It waits until the owner accepts or declines it in the dashboard, or while claiming the account;
    nothing of it is public before. ``kind`` says what changes, and ``values`` are that kind’s
    fields; what can’t be done is refused at once, with the reason. The same proposal twice is one.
    At most 500 may wait in a project (409 TOO_MANY_PROPOSALS).
    """
    begin_call(caller.id)
    # Asking people by mail counts for the whole account.
    lock_account(caller.id)
    project = find_project(caller, project_id, for_update=True)
    return commit_answer(WAITS, _PROPOSAL.dump(services.propose(caller, project, **body)))


@projects.get("/v1/projects/<project_id>/proposals/<proposal_id>")
@require_access(None, by_key=True)
@endpoint(data=ProposalSchema, raises=(404,))
def get_proposal(caller: Caller, project_id: str, proposal_id: str) -> Response:
    """Read a proposal, and what became of it."""
    proposal = services.find_proposal(caller, find_project(caller, project_id), proposal_id)
    return answer("OK", _PROPOSAL.dump(proposal))


@projects.delete("/v1/projects/<project_id>/proposals/<proposal_id>")
@require_access(Scope.DRAFT, by_key=True)
@endpoint(data=ProposalSchema, raises=(403, 404, 409))
def withdraw_proposal(caller: Caller, project_id: str, proposal_id: str) -> Response:
    """Withdraw a proposal.

    One that was made with the same credential and still waits; 409 PROPOSAL_DECIDED once it is
    decided.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    require_match(_PROPOSAL.dump(services.find_proposal(caller, project, proposal_id)))
    proposal = services.withdraw(caller, project, proposal_id)
    return commit_answer("Withdrawn", _PROPOSAL.dump(proposal))
