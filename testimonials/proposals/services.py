"""The rules of proposals: making them, and deciding about them."""

from typing import Any

from testimonials.access.callers import Caller
from testimonials.activity.actors import current_actor
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal


def propose(
    caller: Caller,
    project: Project,
    kind: str,
    values: dict[str, Any],
    target_id: str | None = None,
    reason: str = "",
) -> Proposal:
    """Add a proposal to the locked project, from values as the kind's schema loads them."""
    actor = current_actor()
    proposal = Proposal(
        project_id=project.id,
        kind=kind,
        target_id=target_id,
        values=KINDS[kind].schema.dump(values),
        reason=reason,
        actor_kind=str(actor.kind),
        actor_name=actor.name,
        token_id=caller.token_id,
    )
    db.session.add(proposal)
    db.session.flush()
    return proposal
