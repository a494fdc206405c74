"""How the API's views make a change that may also be a proposal."""

from collections.abc import Callable
from typing import Any

from flask import Response

from testimonials.auth.callers import Caller
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import commit_answer
from testimonials.core.images.uploads import Image
from testimonials.projects.changes import CHANGES
from testimonials.projects.models import Project
from testimonials.projects.proposal_schemas import ProposalSchema
from testimonials.projects.proposals import find_waiting_picture, propose

WAITS = "Waits for the owner"

_PROPOSAL = ProposalSchema()


def carry_out(
    caller: Caller,
    project: Project,
    kind: str,
    values: dict[str, Any],
    target_id: str | None = None,
    reason: str = "",
    describe: Callable[[], Any] | None = None,
) -> Response:
    """Make a change of the locked project at once (200), or a proposal if the caller drafts (202).

    `values` are as the kind's schema loads them. Where people are asked by mail, the account is
    locked before the project. `describe` returns what is answered when it was done at once, if that
    is another thing than the kind's own. Commits.
    """
    if caller.drafts_only:
        proposal = propose(caller, project, kind, values, target_id, reason)
        return commit_answer(WAITS, _PROPOSAL.dump(proposal), status=202)
    outcome = CHANGES[kind].apply(project, target_id, values, caller.label)
    return commit_answer(CHANGES[kind].done, describe() if describe else outcome.data)


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
