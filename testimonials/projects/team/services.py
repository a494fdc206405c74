"""A project's team: who is in it, who is invited, and who may change that.

The owner stands in the project's own row. Colleagues are members, as admin or moderator: an admin
manages moderators, and only the owner manages admins. Every function that changes something takes
a locked project, so that two changes of one team wait for each other.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select

from testimonials.auth.models import Account
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import NotFound, ServiceError, ValidationFailed
from testimonials.extensions import db
from testimonials.projects.access import ROLES, Access, Role, RoleTooLow
from testimonials.projects.models import (
    MemberInvitation,
    NotificationChoice,
    Project,
    ProjectMember,
)

MAX_TEAM = 20
INVITATION_LIFETIME = timedelta(days=7)
# How long an invitation that ran out stays in the list, so that it can be sent again.
EXPIRED_KEPT = timedelta(days=30)


class AlreadyInTeam(ServiceError):
    """The address belongs to the owner or to a member."""

    code = "ALREADY_IN_TEAM"


class AlreadyInvited(ServiceError):
    """The address has an invitation that waits for an answer."""

    code = "ALREADY_INVITED"


class TeamFull(ServiceError):
    """The project has all the members and invitations it may have."""

    code = "TEAM_FULL"
    default_message = (
        f"A project has room for {MAX_TEAM} colleagues, invitations among them. "
        "Remove one that you no longer need."
    )


class OwnerStays(ServiceError):
    """A project always has its owner."""

    status = 409
    code = "OWNER_STAYS"
    default_message = (
        "The owner can’t leave a project. Whoever no longer needs it can delete it in its settings."
    )


@dataclass(frozen=True)
class TeamMember:
    """One person of a team."""

    account_id: str
    email: str
    role: Role
    since: datetime


@dataclass(frozen=True)
class Membership:
    """What an account is in somebody else's project."""

    role: Role
    owner_email: str


@dataclass(frozen=True)
class NewInvitation:
    """An invitation with what is known only at this moment: the secret part of its link."""

    invitation: MemberInvitation
    nonce: str


def read_role(text: str) -> str:
    """Return the name of the role that a form asks for; raise `ValidationFailed` for none of
    them."""
    if text not in ROLES:
        raise ValidationFailed.of({"role": ["Choose moderator or admin."]})
    return text


def list_members(project: Project) -> list[TeamMember]:
    """Return the people of a project, its owner first, then in the order in which they joined."""
    owner = db.session.get_one(Account, project.account_id)
    rows = db.session.execute(
        select(ProjectMember, Account.email)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(ProjectMember.project_id == project.id)
        .order_by(ProjectMember.created_at, ProjectMember.account_id)
    )
    return [
        TeamMember(owner.id, owner.email, Role.OWNER, project.created_at),
        *(
            TeamMember(row.account_id, email, ROLES[row.role], row.created_at)
            for row, email in rows
        ),
    ]


def list_invitations(project: Project) -> Sequence[MemberInvitation]:
    """Return the invitations without an answer, oldest first, those that ran out among them."""
    return db.session.scalars(
        select(MemberInvitation)
        .where(MemberInvitation.project_id == project.id)
        .order_by(MemberInvitation.created_at, MemberInvitation.email)
    ).all()


def list_memberships(account_id: str) -> dict[str, Membership]:
    """Return what the account is in other people's projects, by the project's id."""
    rows = db.session.execute(
        select(ProjectMember.project_id, ProjectMember.role, Account.email)
        .join(Project, Project.id == ProjectMember.project_id)
        .join(Account, Account.id == Project.account_id)
        .where(ProjectMember.account_id == account_id)
    )
    return {row[0]: Membership(ROLES[row[1]], row[2]) for row in rows}


def invite_member(access: Access, email: str, role: str) -> NewInvitation:
    """Invite an address (normalized) to the locked project.

    Raises `RoleTooLow`, `AlreadyInTeam`, `AlreadyInvited` and `TeamFull`.
    """
    project = access.project
    _require_over(access.role, ROLES[role])
    members, invitations = list_members(project), list_invitations(project)
    if any(member.email == email for member in members):
        raise AlreadyInTeam(errors={"email": [f"{email} is already in this project."]})
    if any(invitation.email == email for invitation in invitations):
        raise AlreadyInvited(
            errors={"email": [f"{email} is already invited. Send the mail again from the list."]}
        )
    # The owner takes no place.
    if len(members) - 1 + len(invitations) >= MAX_TEAM:
        raise TeamFull(errors={"email": [TeamFull.default_message]})
    invitation = MemberInvitation(project_id=project.id, email=email, role=role)
    db.session.add(invitation)
    return _renew(invitation, access.user)


def resend_invitation(access: Access, email: str) -> NewInvitation:
    """Make a new link for an invitation to the locked project; the earlier one stops working.

    Raises `NotFound` and `RoleTooLow`.
    """
    return _renew(_find_manageable(access, email), access.user)


def revoke_invitation(access: Access, email: str) -> None:
    """Take an invitation to the locked project back; raise `NotFound` and `RoleTooLow`."""
    db.session.delete(_find_manageable(access, email))
    db.session.flush()


def find_member(project: Project, account_id: str) -> TeamMember:
    """Return one person of the project; raise `NotFound`."""
    for member in list_members(project):
        if member.account_id == account_id:
            return member
    raise NotFound("Nobody in this project has this id.")


def change_role(access: Access, account_id: str, role: str) -> TeamMember:
    """Give a member of the locked project another role; return who they were.

    Raises `NotFound`, and `RoleTooLow` for everybody but the owner.
    """
    member = find_member(access.project, account_id)
    _require_over(access.role, Role.ADMIN)
    _require_over(access.role, member.role)
    row = db.session.get_one(ProjectMember, (access.project.id, account_id))
    row.role = role
    if ROLES[role] < Role.ADMIN:
        _withdraw_invitations_by(access.project, account_id)
    db.session.flush()
    return member


def remove_member(access: Access, account_id: str) -> TeamMember:
    """End a member's access to the locked project and return who they were.

    Raises `NotFound` and `RoleTooLow`.
    """
    member = find_member(access.project, account_id)
    _require_over(access.role, member.role)
    _end_membership(access.project, account_id)
    return member


def leave_project(access: Access) -> None:
    """End the user's own access to the locked project; raise `OwnerStays`."""
    if access.role == Role.OWNER:
        raise OwnerStays
    _end_membership(access.project, access.user.account_id)


def delete_expired_invitations() -> int:
    """Remove the invitations that ran out long ago; return how many."""
    removed = db.session.scalars(
        delete(MemberInvitation)
        .where(MemberInvitation.expires_at <= clock.now() - EXPIRED_KEPT)
        .returning(MemberInvitation.email)
    ).all()
    return len(removed)


def may_manage(actor: Role, role: Role) -> bool:
    """Tell whether `actor` may invite, change and remove colleagues of this role."""
    return actor >= Role.ADMIN and actor > role


def _require_over(actor: Role, role: Role) -> None:
    if not may_manage(actor, role):
        raise RoleTooLow


def _find_manageable(access: Access, email: str) -> MemberInvitation:
    # PostgreSQL refuses to look for this one character.
    key = (access.project.id, email.replace("\0", ""))
    invitation = db.session.get(MemberInvitation, key)
    if invitation is None:
        raise NotFound("This invitation is gone: it was answered or taken back.")
    _require_over(access.role, ROLES[invitation.role])
    return invitation


def _renew(invitation: MemberInvitation, inviter: SignedIn) -> NewInvitation:
    invitation.invited_by, invitation.invited_by_id = inviter.email, inviter.account_id
    nonce = secrets.token_urlsafe(18)
    invitation.nonce_hash = hash_secret(nonce)
    invitation.expires_at = clock.now() + INVITATION_LIFETIME
    db.session.flush()
    return NewInvitation(invitation, nonce)


def _end_membership(project: Project, account_id: str) -> None:
    for model in (ProjectMember, NotificationChoice):
        db.session.execute(
            delete(model).where(model.project_id == project.id, model.account_id == account_id)
        )
    _withdraw_invitations_by(project, account_id)


def _withdraw_invitations_by(project: Project, account_id: str) -> None:
    """Take back what somebody sent who may invite nobody any more: it would be a way back in."""
    db.session.execute(
        delete(MemberInvitation).where(
            MemberInvitation.project_id == project.id,
            MemberInvitation.invited_by_id == account_id,
        )
    )
