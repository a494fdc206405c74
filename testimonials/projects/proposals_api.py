"""Proposals in the API, and how an operation makes or proposes a change."""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from testimonials.auth.models import Account
from testimonials.auth.tokens import Caller, Scope
from testimonials.core.extensions import db
from testimonials.core.http.answers import Answer, CursorQuerySchema, Page
from testimonials.core.http.blueprints import projects
from testimonials.core.http.fields import Choice, StrictSchema, String, Time, WholeSchema
from testimonials.core.http.resource import Operation
from testimonials.core.http.urls import project_url
from testimonials.core.images.uploads import Image
from testimonials.projects import proposals as services
from testimonials.projects.changes import CHANGES, KINDS, PROPOSALS, Values
from testimonials.projects.models import Project, Proposal
from testimonials.projects.projects import lock_account
from testimonials.projects.proposals import STATUSES


class ProposeSchema(StrictSchema):
    """A change for the owner to accept: its kind, and the values for that kind."""

    # By kind; OpenAPI shows these instead of this schema.
    variants = PROPOSALS

    def check(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        kind = payload.get("kind")
        if not isinstance(kind, str) or kind not in PROPOSALS.whole():
            raise ValidationError({"kind": [f"Must be one of: {', '.join(KINDS)}."]})
        return PROPOSALS[kind].check(payload)


class ProposalQuerySchema(CursorQuerySchema):
    status = Choice(
        *STATUSES, load_default=None, allow_none=False, description="Only those in this state."
    )


class ProposalSchema(WholeSchema):
    """A change that waits for the owner, or what became of it."""

    _id = String(attribute="id")
    projectId = String(attribute="project_id")
    # Known once all kinds are declared.
    kind = String(metadata={"enum": KINDS})
    targetId = String(attribute="target_id", allow_none=True)
    values = fields.Dict()
    reason = String()
    status = Choice(*STATUSES)
    result = fields.Dict(
        allow_none=True,
        metadata={"description": "What accepting it created, such as `testimonialId`."},
    )
    note = String(allow_none=True, description="The owner’s answer to you.")
    createdAt = Time(attribute="created_at")
    decidedAt = Time(attribute="decided_at", allow_none=True)
    url = fields.Function(
        lambda proposal: project_url(proposal.project_id, "proposals"),
        metadata={"type": "string", "description": "The page on which the owner decides."},
    )


WAITS = "Waits for the owner"


def carry_out(
    operation: Operation,
    caller: Caller,
    project: Project,
    path: dict[str, str],
    values: Values,
    query: Values,
) -> Answer:
    """Change the locked project as the operation says, or propose that if the caller drafts (202).

    `values` are loaded by the kind's schema.
    """
    kind = operation.change or ""
    change = CHANGES[kind]
    target_id = path["testimonial_id"] if change.needs_target else None
    if caller.drafts_only:
        proposal = services.propose(caller, project, kind, values, target_id, query["reason"])
        return Answer(WAITS, ProposalSchema().dump(proposal), 202)
    outcome = change.apply(project, target_id, values, caller.label)
    return Answer(change.done, operation.dump(outcome.data))


def lock_callers_account(caller: Caller) -> Account:
    return lock_account(caller.id)


def keep_picture(
    caller: Caller, project: Project, kind: str, image: Image, target_id: str | None = None
) -> str:
    """Store an uploaded picture and return its id; if it is only proposed, it isn't public.

    If the same picture is part of a waiting proposal, return that.
    """
    if caller.drafts_only:
        same = services.find_waiting_picture(caller, project, kind, target_id, image.content)
        if same is not None:
            return same
    image.is_held = caller.drafts_only
    db.session.add(image)
    db.session.flush()
    return image.id


# Only people decide proposals, in the dashboard.

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

    Newest first, each with its ``status``, the owner’s ``note``, and the ``result``. The account’s
    key sees those made with a key; a token with the scope read sees all of its projects, any other
    token its own.
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
    nothing of it is public before. ``kind`` says what changes, and ``values`` are the fields of
    that kind; an impossible change is rejected at once, with the reason. Proposing the same again
    returns the existing proposal. At most 500 may wait in a project (409 TOO_MANY_PROPOSALS).
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
    done="Withdrawn",
    raises=(409,),
)
def withdraw_proposal(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Withdraw a proposal.

    It must be made with the same credential and still wait, else 409 PROPOSAL_DECIDED.
    """
    return services.withdraw(caller, project, proposal_id)
