"""How a resource of the API makes a change that may also be a proposal."""

from typing import Any

from testimonials.auth.callers import Caller
from testimonials.auth.models import Account
from testimonials.core.extensions import db
from testimonials.core.http.answers import Answer
from testimonials.core.http.resource import Operation
from testimonials.core.images.uploads import Image
from testimonials.projects.changes import CHANGES
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_account
from testimonials.projects.proposal_schemas import ProposalSchema
from testimonials.projects.proposals import find_waiting_picture, propose

WAITS = "Waits for the owner"

_PROPOSAL = ProposalSchema()


def carry_out(
    operation: Operation,
    caller: Caller,
    project: Project,
    path: dict[str, str],
    values: dict[str, Any],
    query: dict[str, Any],
) -> Answer:
    """Make the operation's change of the locked project, or a proposal if the caller drafts (202).

    `values` are as the schema of the kind loads them.
    """
    kind = operation.change or ""
    change = CHANGES[kind]
    target_id = path["testimonial_id"] if change.needs_target else None
    if caller.drafts_only:
        proposal = propose(caller, project, kind, values, target_id, query["reason"])
        return Answer(WAITS, _PROPOSAL.dump(proposal), 202)
    outcome = change.apply(project, target_id, values, caller.label)
    return Answer(change.done, operation.dump(outcome.data))


def lock_callers_account(caller: Caller) -> Account:
    return lock_account(caller.id)


def keep_picture(
    caller: Caller, project: Project, kind: str, image: Image, target_id: str | None = None
) -> str:
    """Store an uploaded picture and return its id; what is only proposed isn't public.

    The same picture again, while its proposal waits, is the one that is stored already.
    """
    if caller.drafts_only:
        same = find_waiting_picture(caller, project, kind, target_id, image.content)
        if same is not None:
            return same
    image.is_held = caller.drafts_only
    db.session.add(image)
    db.session.flush()
    return image.id
