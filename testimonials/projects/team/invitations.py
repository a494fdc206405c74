"""Invitations to a project's team: sending, withdrawing and answering them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from testimonials.auth.models import Account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.urls import invitation_url
from testimonials.core.web.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.access import ROLES, Access
from testimonials.projects.models import MemberInvitation, Project, ProjectMember
from testimonials.projects.team.services import list_members, require_over

INVITE_PER_ACCOUNT = Limit("invite-account", 30, "from one account")
INVITE_PER_EMAIL = Limit("invite-email", 5, "for one e-mail address")
INVITATION_PER_ADDRESS = Limit("invitation-ip", 60, "from one IP address")
MAX_TEAM = 20
LIFETIME = timedelta(days=7)
# How long an expired invitation stays in the list, so that it can be sent again.
EXPIRED_KEPT = timedelta(days=30)
TEAM_FULL = (
    f"A project has room for {MAX_TEAM} colleagues, including invitations. "
    "Remove one that you no longer need."
)
# The status of the page for each reason why a link can't be used.
STATUSES = {"invalid": 404, "replaced": 404, "expired": 410, "withdrawn": 410, "used": 410}

invitation_purpose = TokenPurpose("member-invitation")


class InvitationInvalid(ServiceError):
    """The link can't be used, for one of the reasons in `STATUSES`."""

    code = "INVITATION_INVALID"

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason, self.status = reason, STATUSES[reason]


@dataclass(frozen=True)
class NewInvitation:
    """An invitation with its link, which isn't stored."""

    invitation: MemberInvitation
    link: str


@dataclass(frozen=True)
class OpenInvitation:
    """An invitation that can be answered, with its project."""

    project: Project
    invitation: MemberInvitation


def list_invitations(project: Project) -> Sequence[MemberInvitation]:
    """Return the unanswered invitations, oldest first, including expired ones."""
    return db.session.scalars(
        select(MemberInvitation)
        .where(MemberInvitation.project_id == project.id)
        .order_by(MemberInvitation.created_at, MemberInvitation.email)
    ).all()


def invite_member(access: Access, email: str, role: str) -> NewInvitation:
    """Invite an address (normalized) to the locked project.

    Raises `RoleTooLow`, and `ValidationFailed` for an address that can't be invited.
    """
    project = access.project
    require_over(access.role, ROLES[role])
    members, invitations = list_members(project), list_invitations(project)
    if any(member.email == email for member in members):
        raise ValidationFailed.of({"email": [f"{email} is already in this project."]})
    if any(invitation.email == email for invitation in invitations):
        problem = f"{email} is already invited. Send the mail again from the list."
        raise ValidationFailed.of({"email": [problem]})
    # The owner doesn't count.
    if len(members) - 1 + len(invitations) >= MAX_TEAM:
        raise ValidationFailed.of({"email": [TEAM_FULL]})
    invitation = MemberInvitation(project_id=project.id, email=email, role=role)
    db.session.add(invitation)
    return _renew(invitation, access.user)


def resend_invitation(access: Access, email: str) -> NewInvitation:
    """Make a new link for an invitation to the locked project; the earlier one stops working.

    Raises `NotFound` and `RoleTooLow`.
    """
    return _renew(_find_manageable(access, email), access.user)


def revoke_invitation(access: Access, email: str) -> None:
    """Withdraw an invitation to the locked project; raise `NotFound` and `RoleTooLow`."""
    db.session.delete(_find_manageable(access, email))
    db.session.flush()


def find_invitation(token: str, *, for_update: bool = False) -> OpenInvitation:
    """Return the invitation of a link, with its project locked if asked for.

    Raises `InvitationInvalid`.
    """
    project_id, email, nonce = _read(token)
    query = select(Project).where(Project.id == project_id, Project.deleted_at.is_(None))
    project = db.session.scalars(query.with_for_update() if for_update else query).one_or_none()
    invitation = db.session.get(MemberInvitation, (project_id, email))
    if project is None:
        raise InvitationInvalid("withdrawn")
    if invitation is None:
        raise InvitationInvalid("used" if _is_member(project_id, email) else "withdrawn")
    if invitation.nonce_hash != hash_secret(nonce):
        raise InvitationInvalid("replaced")
    if invitation.expires_at <= clock.now():
        raise InvitationInvalid("expired")
    return OpenInvitation(project, invitation)


def accept_invitation(found: OpenInvitation, account: Account) -> None:
    """Add the invited account to the locked project; its invitation is used up."""
    project, invitation = found.project, found.invitation
    # Somebody who was a member under another address keeps their role.
    key = (project.id, account.id)
    if project.account_id != account.id and db.session.get(ProjectMember, key) is None:
        member = ProjectMember(project_id=project.id, account_id=account.id, role=invitation.role)
        db.session.add(member)
    db.session.delete(invitation)
    db.session.flush()


def decline_invitation(found: OpenInvitation) -> None:
    db.session.delete(found.invitation)
    db.session.flush()


def delete_expired_invitations() -> int:
    """Delete the invitations that expired 30 days ago; return how many."""
    removed = db.session.scalars(
        delete(MemberInvitation)
        .where(MemberInvitation.expires_at <= clock.now() - EXPIRED_KEPT)
        .returning(MemberInvitation.email)
    ).all()
    return len(removed)


def _find_manageable(access: Access, email: str) -> MemberInvitation:
    # PostgreSQL refuses queries with this character.
    key = (access.project.id, email.replace("\0", ""))
    invitation = db.session.get(MemberInvitation, key)
    if invitation is None:
        raise NotFound("This invitation was already answered or withdrawn.")
    require_over(access.role, ROLES[invitation.role])
    return invitation


def _renew(invitation: MemberInvitation, inviter: SignedIn) -> NewInvitation:
    invitation.invited_by, invitation.invited_by_id = inviter.email, inviter.account_id
    nonce = secrets.token_urlsafe(18)
    invitation.nonce_hash = hash_secret(nonce)
    invitation.expires_at = clock.now() + LIFETIME
    db.session.flush()
    token = invitation_purpose.sign([invitation.project_id, invitation.email, nonce])
    return NewInvitation(invitation, invitation_url(token))


def _read(token: str) -> tuple[str, str, str]:
    try:
        payload, _ = invitation_purpose.read(token, int(LIFETIME.total_seconds()))
        project_id, email, nonce = payload
    except TokenExpired:
        raise InvitationInvalid("expired") from None
    except (TokenInvalid, TypeError, ValueError):
        raise InvitationInvalid("invalid") from None
    return project_id, email, nonce


def _is_member(project_id: str, email: str) -> bool:
    query = (
        select(ProjectMember.account_id)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(ProjectMember.project_id == project_id, Account.email == email)
    )
    return db.session.scalar(query) is not None
