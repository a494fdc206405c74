"""An owner's invitations to all of their projects, or to some of them."""

from collections.abc import Sequence

from sqlalchemy import select

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project, WorkspaceInvitation
from testimonials.projects.services import lock_account
from testimonials.projects.team.invitations import MAX_TEAM, Invitation, NewInvitation, make_link
from testimonials.projects.team.workspace import list_colleagues

# The first part of a link's token, where others have the id of a project.
WORKSPACE = "workspace"
MOST_CHOSEN = 50
FULL = (
    f"A team has room for {MAX_TEAM} colleagues in all projects, including invitations. Remove one "
    "that you no longer need."
)


def list_workspace_invitations(owner_id: str) -> Sequence[WorkspaceInvitation]:
    """Return the unanswered invitations, oldest first, including expired ones."""
    return db.session.scalars(
        select(WorkspaceInvitation)
        .where(WorkspaceInvitation.owner_id == owner_id)
        .order_by(WorkspaceInvitation.created_at, WorkspaceInvitation.email)
    ).all()


def count_workspace_places(owner_id: str) -> int:
    """Return how many places are taken: by colleagues in all projects, and by invitations."""
    colleagues = sum(each.source == "owner" for each in list_colleagues(owner_id))
    return colleagues + len(list_workspace_invitations(owner_id))


def invite_colleague(
    owner: SignedIn, email: str, role: str, project_ids: Sequence[str] | None
) -> NewInvitation:
    """Invite an address (normalized) to all of the owner's projects (None), or to some.

    Locks the account. Raises `ValidationFailed` for what can't be done.
    """
    lock_account(owner.account_id)
    everywhere = {each.email for each in list_colleagues(owner.account_id) if each.role}
    invited = {each.email for each in list_workspace_invitations(owner.account_id)}
    if email == owner.email or email in everywhere:
        raise ValidationFailed.of({"email": [f"{email} is already in all of your projects."]})
    if email in invited:
        problem = f"{email} is already invited. Send the mail again from the list."
        raise ValidationFailed.of({"email": [problem]})
    if count_workspace_places(owner.account_id) >= MAX_TEAM:
        raise ValidationFailed.of({"email": [FULL]})
    chosen = None if project_ids is None else _find_own(owner.account_id, project_ids)
    invitation = WorkspaceInvitation(
        owner_id=owner.account_id, email=email, role=role, project_ids=chosen
    )
    db.session.add(invitation)
    return _renew(invitation)


def name_invited(invitation: Invitation) -> list[str]:
    """Return the names of the projects that an invitation names; none for all."""
    ids = invitation.project_ids if isinstance(invitation, WorkspaceInvitation) else None
    query = select(Project).where(Project.id.in_(ids or ()), Project.deleted_at.is_(None))
    return [each.name for each in db.session.scalars(query.order_by(Project.created_at))]


def resend_to_colleague(owner: SignedIn, email: str) -> NewInvitation:
    """Make a new link for an invitation; the earlier one stops working. Raises `NotFound`."""
    return _renew(_find(owner, email))


def revoke_from_colleague(owner: SignedIn, email: str) -> None:
    """Withdraw an invitation; raise `NotFound`."""
    db.session.delete(_find(owner, email))
    db.session.flush()


def _find_own(owner_id: str, project_ids: Sequence[str]) -> list[str]:
    """Return those of the ids that are projects of the owner; raise `ValidationFailed`."""
    query = select(Project.id).where(
        Project.id.in_(project_ids[:MOST_CHOSEN]),
        Project.account_id == owner_id,
        Project.deleted_at.is_(None),
    )
    found = list(db.session.scalars(query.order_by(Project.id)))
    if not found:
        raise ValidationFailed.of({"projects": [gettext_noop("Choose at least one project.")]})
    return found


def _find(owner: SignedIn, email: str) -> WorkspaceInvitation:
    lock_account(owner.account_id)
    # PostgreSQL refuses queries with this character.
    key = (owner.account_id, email.replace("\0", ""))
    invitation = db.session.get(WorkspaceInvitation, key)
    if invitation is None:
        raise NotFound(gettext_noop("This invitation was already answered or withdrawn."))
    return invitation


def _renew(invitation: WorkspaceInvitation) -> NewInvitation:
    return make_link(invitation, [WORKSPACE, invitation.owner_id, invitation.email])
