"""Proposals in the API: making, reading and withdrawing them. Only a person decides."""

from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.http.blueprints import projects
from testimonials.core.http.pagination import Page
from testimonials.projects import proposals as services
from testimonials.projects.change_calls import WAITS
from testimonials.projects.changes import Values
from testimonials.projects.models import Project, Proposal
from testimonials.projects.proposal_schemas import (
    ProposalQuerySchema,
    ProposalSchema,
    ProposeSchema,
)

projects.find(proposal=services.find_proposal)


@projects.resource(
    "GET /v1/projects/<project_id>/proposals",
    by_key=True,
    query=ProposalQuerySchema,
    data=ProposalSchema,
    is_paged=True,
)
def list_proposals(caller: Caller, project: Project, query: Values) -> Page:
    """List proposals.

    Newest first, with what became of each: ``status``, the owner’s ``note``, and ``result``. The
    account’s key sees those made with a key; a token those of its projects with the scope read, or
    else its own.
    """
    return services.list_proposals(caller, project, **query)


@projects.resource(
    "POST /v1/projects/<project_id>/proposals",
    scope=Scope.DRAFT,
    by_key=True,
    body=ProposeSchema,
    example={
        "kind": "page",
        "values": {"buttonColor": "#9A3412", "thankYouMessage": "Thank you! See you soon."},
        "reason": "The button has the orange of your website.",
    },
    locks_account=True,
    data=ProposalSchema,
    done=WAITS,
    raises=(409,),
)
def propose_change(caller: Caller, project: Project, body: Values) -> Proposal:
    """Propose a change.

    It waits until the owner accepts or declines it in the dashboard, or while claiming the account;
    nothing of it is public before. ``kind`` says what changes, and ``values`` are that kind’s
    fields; what can’t be done is refused at once, with the reason. The same proposal twice is one.
    At most 500 may wait in a project (409 TOO_MANY_PROPOSALS).
    """
    return services.propose(caller, project, **body)


@projects.resource(
    "GET /v1/projects/<project_id>/proposals/<proposal_id>", by_key=True, data=ProposalSchema
)
def get_proposal(proposal: Proposal) -> Proposal:
    """Read a proposal, and what became of it."""
    return proposal


@projects.resource(
    "DELETE /v1/projects/<project_id>/proposals/<proposal_id>",
    scope=Scope.DRAFT,
    by_key=True,
    match=get_proposal,
    data=ProposalSchema,
    done="Withdrawn",
    raises=(409,),
)
def withdraw_proposal(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Withdraw a proposal.

    One that was made with the same credential and still waits; 409 PROPOSAL_DECIDED once it is
    decided.
    """
    return services.withdraw(caller, project, proposal_id)
