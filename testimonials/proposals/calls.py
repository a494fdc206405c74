"""How the API's views make a change that may also be a proposal."""

from typing import Any

from flask import Response

from testimonials.access.callers import Caller
from testimonials.core.web.writes import commit_answer
from testimonials.projects.models import Project
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.schemas import ProposalSchema
from testimonials.proposals.services import propose

WAITS = "Waits for the owner"

_PROPOSAL = ProposalSchema()


def carry_out(
    caller: Caller,
    project: Project,
    kind: str,
    values: dict[str, Any],
    target_id: str | None = None,
    reason: str = "",
) -> Response:
    """Make a change of the locked project at once (200), or a proposal if the caller drafts (202).

    `values` are as the kind's schema loads them. Commits.
    """
    if caller.drafts_only:
        proposal = propose(caller, project, kind, values, target_id, reason)
        return commit_answer(WAITS, _PROPOSAL.dump(proposal), status=202)
    data = KINDS[kind].apply(project, target_id, values, caller.label)
    return commit_answer(KINDS[kind].done, data)
