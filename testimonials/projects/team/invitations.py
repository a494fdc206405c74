"""Invitation links: what is in one, what may be wrong with it, and answering it."""

from dataclasses import dataclass

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.urls import invitation_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import MemberInvitation, Project, ProjectMember
from testimonials.projects.team.services import INVITATION_LIFETIME, NewInvitation

invitation_purpose = TokenPurpose("member-invitation")


class InvitationInvalid(ServiceError):
    """The link was cut off, changed, or never ours; also the base of the others."""

    status = 404
    code = "INVITATION_INVALID"
    reason = "invalid"


class InvitationExpired(InvitationInvalid):
    """Its days have passed."""

    status = 410
    code = "INVITATION_EXPIRED"
    reason = "expired"


class InvitationReplaced(InvitationInvalid):
    """A newer mail was sent for the same invitation."""

    code = "INVITATION_REPLACED"
    reason = "replaced"


class InvitationWithdrawn(InvitationInvalid):
    """It was taken back or declined, or the project is gone."""

    status = 410
    code = "INVITATION_WITHDRAWN"
    reason = "withdrawn"


class InvitationUsed(InvitationInvalid):
    """Whoever was invited is in the project."""

    status = 410
    code = "INVITATION_USED"
    reason = "used"


class InvitationForOther(ServiceError):
    """The account that answers is not the one that was invited."""

    status = 403
    code = "INVITATION_FOR_OTHER"
    title = "This invitation is for another address"
    default_message = "Sign in as the account it was sent to, and open the link again."


@dataclass(frozen=True)
class OpenInvitation:
    """An invitation that can be answered, and its project."""

    project: Project
    invitation: MemberInvitation


def make_invitation_link(new: NewInvitation) -> str:
    """Return the address of the page on which an invitation is answered."""
    values = [new.invitation.project_id, new.invitation.email, new.nonce]
    return invitation_url(invitation_purpose.sign(values))


def find_invitation(token: str, *, for_update: bool = False) -> OpenInvitation:
    """Return the invitation of a link, its project locked if it is to be answered.

    Raises `InvitationInvalid` or one of its kinds.
    """
    project_id, email, nonce = _read(token)
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None))
    # The project is locked before the invitation, as those do who change the team.
    project = db.session.scalars(query.with_for_update() if for_update else query).one_or_none()
    invitation = db.session.get(MemberInvitation, (project_id, email))
    if project is None:
        raise InvitationWithdrawn
    if invitation is None:
        raise InvitationUsed if _is_member(project_id, email) else InvitationWithdrawn
    if invitation.nonce_hash != hash_secret(nonce):
        raise InvitationReplaced
    if invitation.expires_at <= clock.now():
        raise InvitationExpired
    return OpenInvitation(project, invitation)


def accept_invitation(found: OpenInvitation, account: Account) -> None:
    """Let the account in that the locked invitation is for, and use the link up.

    Raises `InvitationForOther`.
    """
    project, invitation = found.project, found.invitation
    if account.email != invitation.email:
        raise InvitationForOther
    # Whoever took this address since may be in the project already, and keeps the role they have.
    key = (project.id, account.id)
    if project.account_id != account.id and db.session.get(ProjectMember, key) is None:
        member = ProjectMember(project_id=project.id, account_id=account.id, role=invitation.role)
        db.session.add(member)
    db.session.delete(invitation)
    db.session.flush()


def decline_invitation(found: OpenInvitation) -> None:
    """Remove a locked invitation that its address doesn't want."""
    db.session.delete(found.invitation)
    db.session.flush()


def _read(token: str) -> tuple[str, str, str]:
    try:
        payload, _ = invitation_purpose.read(token, int(INVITATION_LIFETIME.total_seconds()))
        project_id, email, nonce = payload
    except TokenExpired:
        raise InvitationExpired from None
    except (TokenInvalid, TypeError, ValueError):
        raise InvitationInvalid from None
    return project_id, email, nonce


def _is_member(project_id: str, email: str) -> bool:
    query = (
        select(ProjectMember.account_id)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(ProjectMember.project_id == project_id, Account.email == email)
    )
    return db.session.scalar(query) is not None
