"""Answering an invitation: to one project, or to an owner's workspace."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.core.web.signing import TokenExpired, TokenInvalid
from testimonials.extensions import db
from testimonials.projects.models import (
    MemberInvitation,
    Project,
    ProjectMember,
    WorkspaceInvitation,
    WorkspaceMember,
)
from testimonials.projects.services import lock_account
from testimonials.projects.team.invitations import LIFETIME, Invitation, invitation_purpose
from testimonials.projects.team.workspace import set_workspace_role
from testimonials.projects.team.workspace_invitations import WORKSPACE

# The status of the page for each reason why a link can't be used.
STATUSES = {"invalid": 404, "replaced": 404, "expired": 410, "withdrawn": 410, "used": 410}


class InvitationInvalid(ServiceError):
    """The link can't be used, for one of the reasons in `STATUSES`."""

    code = "INVITATION_INVALID"

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason, self.status = reason, STATUSES[reason]


@dataclass(frozen=True)
class OpenInvitation:
    """An invitation that can be answered.

    `project` is the one that it is to; an owner's own has `owner` and the `projects` that it names,
    none for all.
    """

    invitation: Invitation
    projects: Sequence[Project] = ()
    project: Project | None = None
    owner: Account | None = None

    @property
    def invited_by(self) -> str:
        if isinstance(self.invitation, MemberInvitation):
            return self.invitation.invited_by
        return self.owner.email if self.owner else ""


def find_invitation(token: str, *, for_update: bool = False) -> OpenInvitation:
    """Return the invitation of a link, with its project or its owner locked if asked for.

    Raises `InvitationInvalid`.
    """
    first, *rest = _read(token)
    if first == WORKSPACE and len(rest) == 3:
        return _find_of_owner(*rest, for_update=for_update)
    if len(rest) != 2:
        raise InvitationInvalid("invalid")
    return _find_of_project(first, *rest, for_update=for_update)


def accept_invitation(found: OpenInvitation, account: Account) -> None:
    """Give the invited account its role in what is locked; its invitation is used up."""
    invitation = found.invitation
    # Somebody who was a member under another address keeps their role.
    if (
        isinstance(invitation, WorkspaceInvitation)
        and invitation.project_ids is None
        and not _is_everywhere(invitation.owner_id, account.id)
    ):
        set_workspace_role(invitation.owner_id, account.id, invitation.role)
    for project in found.projects:
        _join(project, account, invitation.role)
    db.session.delete(invitation)
    db.session.flush()


def decline_invitation(found: OpenInvitation) -> None:
    db.session.delete(found.invitation)
    db.session.flush()


def _join(project: Project, account: Account, role: str) -> None:
    key = (project.id, account.id)
    if project.account_id != account.id and db.session.get(ProjectMember, key) is None:
        db.session.add(ProjectMember(project_id=project.id, account_id=account.id, role=role))


def _find_of_project(
    project_id: str, email: str, nonce: str, *, for_update: bool
) -> OpenInvitation:
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None))
    project = db.session.scalars(query.with_for_update() if for_update else query).one_or_none()
    invitation = db.session.get(MemberInvitation, (project_id, email))
    if project is None:
        raise InvitationInvalid("withdrawn")
    if invitation is None:
        raise InvitationInvalid("used" if _is_member(project_id, email) else "withdrawn")
    _require_works(invitation, nonce)
    return OpenInvitation(invitation, [project], project)


def _find_of_owner(owner_id: str, email: str, nonce: str, *, for_update: bool) -> OpenInvitation:
    try:
        owner = lock_account(owner_id) if for_update else db.session.get(Account, owner_id)
    except NotFound:
        owner = None
    invitation = db.session.get(WorkspaceInvitation, (owner_id, email))
    if owner is None or invitation is None:
        account = db.session.scalars(select(Account).where(Account.email == email)).one_or_none()
        is_in = account is not None and _is_everywhere(owner_id, account.id)
        raise InvitationInvalid("used" if is_in else "withdrawn")
    _require_works(invitation, nonce)
    query = select(Project).where(
        Project.id.in_(invitation.project_ids or ()),
        Project.account_id == owner_id,
        Project.deleted_at.is_(None),
    )
    query = query.order_by(Project.id)
    projects = db.session.scalars(query.with_for_update() if for_update else query).all()
    if invitation.project_ids is not None and not projects:
        raise InvitationInvalid("withdrawn")
    return OpenInvitation(invitation, projects, owner=owner)


def _require_works(invitation: Invitation, nonce: str) -> None:
    if isinstance(invitation, MemberInvitation):
        sender_id = invitation.invited_by_id or ""
    else:
        sender_id = invitation.owner_id
    inviter = db.session.get(Account, sender_id)
    if inviter is not None and inviter.is_suspended:
        raise InvitationInvalid("withdrawn")
    if invitation.nonce_hash != hash_secret(nonce):
        raise InvitationInvalid("replaced")
    if invitation.expires_at <= clock.now():
        raise InvitationInvalid("expired")


def _read(token: str) -> list[str]:
    try:
        payload, _ = invitation_purpose.read(token, int(LIFETIME.total_seconds()))
        return [*payload]
    except TokenExpired:
        raise InvitationInvalid("expired") from None
    except (TokenInvalid, TypeError, ValueError):
        raise InvitationInvalid("invalid") from None


def _is_everywhere(owner_id: str, account_id: str) -> bool:
    return db.session.get(WorkspaceMember, (owner_id, account_id)) is not None


def _is_member(project_id: str, email: str) -> bool:
    query = (
        select(ProjectMember.account_id)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(ProjectMember.project_id == project_id, Account.email == email)
    )
    return db.session.scalar(query) is not None
