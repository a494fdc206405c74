"""The rules of proposals: making, listing and withdrawing them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, exists, func, or_, select

from testimonials.access.callers import Caller
from testimonials.access.scopes import Scope
from testimonials.activity.actors import ActorKind, current_actor
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.pictures.images import Image
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.paging import Cursor, Page, read_page
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.proposals.deciding import count_waiting
from testimonials.proposals.kinds import KINDS
from testimonials.proposals.models import Proposal
from testimonials.settings.current import current_settings
from testimonials.testimonials.models import Testimonial

STATUSES = ("waiting", "accepted", "declined", "withdrawn")
MOST_WAITING = 500
# What names an uploaded picture in the values of a proposal.
PICTURES = ("imageId", "avatarId")


class TooManyProposals(ServiceError):
    status = 409
    code = "TOO_MANY_PROPOSALS"
    meaning = "As many proposals wait for the owner of this project as may."
    remedy = "Withdraw some of yours, or wait until some are decided."
    default_message = (
        f"{MOST_WAITING} proposals wait for the owner of this project, the most there may be. "
        "Withdraw some of yours, or wait until some are decided."
    )


class ProposalDecided(ServiceError):
    """It no longer waits."""

    status = 409
    code = "PROPOSAL_DECIDED"
    meaning = "The proposal no longer waits: it was decided or withdrawn."
    remedy = "Read it to see what became of it."


class NotYours(ServiceError):
    status = 403
    code = "NOT_YOURS"
    meaning = "The proposal was made with another credential."
    remedy = "Leave it to whoever made it, or to the owner."
    default_message = gettext_noop("Only who made a proposal can withdraw it.")


def propose(
    caller: Caller,
    project: Project,
    kind: str,
    values: dict[str, Any],
    target_id: str | None = None,
    reason: str = "",
) -> Proposal:
    """Add a proposal to the locked project, from values as the kind's schema loads them.

    The same one again, by the same credential, is the one that waits already. What can't be done is
    refused with the reason that accepting it would have; raises `TooManyProposals` too. Where
    people are asked by mail, the account is locked before the project.
    """
    before = KINDS[kind].read_before(project, target_id, values)
    stored = KINDS[kind].schema.dump(values)
    if (same := _find_same(caller, project, kind, stored, target_id)) is not None:
        return same
    if count_waiting(project.id) >= MOST_WAITING:
        raise TooManyProposals
    _try_out(project, kind, values, target_id)
    actor = current_actor()
    proposal = Proposal(
        project_id=project.id,
        kind=kind,
        target_id=target_id,
        values=stored,
        before=before,
        reason=reason,
        actor_kind=str(actor.kind),
        actor_name=actor.name,
        token_id=caller.token_id,
    )
    db.session.add(proposal)
    db.session.flush()
    title = KINDS[kind].title
    record_project_event(EventType.PROPOSAL_MADE, project, proposal=proposal.id, title=title)
    return proposal


def withdraw(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Take back a waiting proposal of the locked project.

    Raises `NotFound`, `NotYours` and `ProposalDecided`.
    """
    proposal = find_proposal(caller, project, proposal_id)
    if proposal.token_id != caller.token_id:
        raise NotYours
    if proposal.status != "waiting":
        raise ProposalDecided(f"It is {proposal.status} already.")
    proposal.status, proposal.decided_at = "withdrawn", clock.now()
    title = KINDS[proposal.kind].title
    record_project_event(EventType.PROPOSAL_WITHDRAWN, project, proposal=proposal.id, title=title)
    return proposal


def find_proposal(caller: Caller, project: Project, proposal_id: str) -> Proposal:
    """Return a proposal that the caller may see; raise `NotFound`."""
    proposal: Proposal | None = None
    if is_identifier(proposal_id):
        proposal = db.session.scalars(
            _of_project(project).where(Proposal.id == proposal_id, _is_seen_by(caller))
        ).one_or_none()
    if proposal is None:
        raise NotFound("There is no such proposal in this project.")
    return proposal


def list_proposals(
    caller: Caller, project: Project, status: str | None, limit: int, after: Cursor | None
) -> Page:
    """Return a page of the proposals that the caller may see, newest first."""
    query = _of_project(project, status).where(_is_seen_by(caller))
    return read_page(query, Proposal, limit, after)


def list_all(project: Project, status: str | None) -> Sequence[Proposal]:
    """Return every proposal of a project, newest first, for the operator."""
    query = _of_project(project, status).order_by(Proposal.id.desc())
    return db.session.scalars(query).all()


def is_by(caller: Caller) -> ColumnElement[bool]:
    """Return the condition for proposals made with the caller's credential, or with any key."""
    if caller.is_key:
        return Proposal.actor_kind == str(ActorKind.AGENT)
    return Proposal.token_id == caller.token_id


def find_waiting_picture(
    caller: Caller, project: Project, kind: str, target_id: str | None, content: bytes
) -> str | None:
    """Return the id of the same picture in a waiting proposal of this kind by the caller."""
    named = func.coalesce(*(Proposal.values[name].as_string() for name in PICTURES))
    query = select(Image.id).join(Proposal, Image.id == named)
    waiting = (Proposal.project_id == project.id, Proposal.status == "waiting", is_by(caller))
    same = (Proposal.kind == kind, Proposal.target_id == target_id, Image.content == content)
    return db.session.scalars(query.where(*waiting, *same)).first()


def list_held_pictures() -> set[str]:
    """Return the ids of the pictures that waiting proposals name."""
    found = set()
    for name in PICTURES:
        picture = Proposal.values[name].as_string()
        query = select(picture).where(Proposal.status == "waiting", picture.is_not(None))
        found |= set(db.session.scalars(query))
    return found


def delete_old_proposals() -> int:
    """Delete what was decided long ago or names a testimonial that is gone; return how many.

    It holds the words and the address of an author, who may have erased them.
    """
    added = Proposal.result["testimonialId"].as_string()
    about = func.coalesce(Proposal.target_id, added)
    is_gone = about.is_not(None) & ~exists().where(Testimonial.id == about)
    until = clock.expired_until(current_settings().proposal_days)
    removed = db.session.scalars(
        delete(Proposal)
        .where(or_(Proposal.decided_at < until, is_gone))
        .returning(Proposal.id)
        .execution_options(synchronize_session=False)
    ).all()
    return len(removed)


def _find_same(
    caller: Caller, project: Project, kind: str, stored: dict[str, Any], target_id: str | None
) -> Proposal | None:
    """Return the caller's own proposal of the same that waits.

    Only those about the same thing are read: a setup proposes a hundred while hundreds wait, and
    nobody else writes meanwhile.
    """
    query = _of_project(project, "waiting").where(
        is_by(caller), Proposal.kind == kind, Proposal.target_id == target_id
    )
    if "text" in stored:
        query = query.where(Proposal.values["text"].as_string() == stored["text"])
    found = (each for each in db.session.scalars(query) if each.values == stored)
    return next(found, None)


def _try_out(project: Project, kind: str, values: dict[str, Any], target_id: str | None) -> None:
    """Make the change and take it back; raise what accepting it now would."""
    trial = db.session.begin_nested()
    try:
        KINDS[kind].apply(project, target_id, values, "")
        db.session.flush()
    finally:
        trial.rollback()


def _is_seen_by(caller: Caller) -> ColumnElement[bool]:
    if not caller.is_key and Scope.READ in caller.scopes:
        return Proposal.project_id.is_not(None)
    return is_by(caller)


def _of_project(project: Project, status: str | None = None) -> Select[Any]:
    query = select(Proposal).where(Proposal.project_id == project.id)
    return query if status is None else query.where(Proposal.status == status)
