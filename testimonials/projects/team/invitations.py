"""Invitations to a project's team: sending and withdrawing them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.urls import invitation_url
from testimonials.core.web.errors import NotFound, ValidationFailed
from testimonials.core.web.languages import gettext, gettext_noop
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db
from testimonials.projects.access import ROLES, Access
from testimonials.projects.models import MemberInvitation, Project, WorkspaceInvitation
from testimonials.projects.team.services import count_places, list_members, require_over

INVITE_PER_ACCOUNT = Limit("invite-account", 30, "from one account")
INVITE_PER_EMAIL = Limit("invite-email", 5, "for one e-mail address")
INVITATION_PER_ADDRESS = Limit("invitation-ip", 60, "from one IP address")
MAX_TEAM = 20
LIFETIME = timedelta(days=7)
# How long an expired invitation stays in the list, so that it can be sent again.
EXPIRED_KEPT = timedelta(days=30)
TEAM_FULL = gettext_noop(
    "A project has room for %(most)s colleagues, including invitations. Remove one that you no "
    "longer need."
)

invitation_purpose = TokenPurpose("member-invitation")

Invitation = MemberInvitation | WorkspaceInvitation


@dataclass(frozen=True)
class NewInvitation:
    """An invitation with its link, which isn't stored."""

    invitation: Invitation
    link: str


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
    # Somebody with a lower role in all projects may get a higher one here.
    if any(each.email == email and (each.here or each.role >= ROLES[role]) for each in members):
        raise ValidationFailed.of({"email": [f"{email} is already in this project."]})
    if any(invitation.email == email for invitation in invitations):
        problem = f"{email} is already invited. Send the mail again from the list."
        raise ValidationFailed.of({"email": [problem]})
    if count_places(members) + len(invitations) >= MAX_TEAM:
        raise ValidationFailed.of({"email": [gettext(TEAM_FULL, most=MAX_TEAM)]})
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


def delete_expired_invitations() -> int:
    """Delete the invitations that expired 30 days ago; return how many."""
    count = 0
    for model in (MemberInvitation, WorkspaceInvitation):
        old = delete(model).where(model.expires_at <= clock.now() - EXPIRED_KEPT)
        count += len(db.session.scalars(old.returning(model.email)).all())
    return count


def _find_manageable(access: Access, email: str) -> MemberInvitation:
    # PostgreSQL refuses queries with this character.
    key = (access.project.id, email.replace("\0", ""))
    invitation = db.session.get(MemberInvitation, key)
    if invitation is None:
        raise NotFound(gettext_noop("This invitation was already answered or withdrawn."))
    require_over(access.role, ROLES[invitation.role])
    return invitation


def _renew(invitation: MemberInvitation, inviter: SignedIn) -> NewInvitation:
    invitation.invited_by, invitation.invited_by_id = inviter.email, inviter.account_id
    return make_link(invitation, [invitation.project_id, invitation.email])


def make_link(invitation: Invitation, parts: list[str]) -> NewInvitation:
    """Give an invitation the one link that works from now on; `parts` say in it what it is."""
    nonce = secrets.token_urlsafe(18)
    invitation.nonce_hash = hash_secret(nonce)
    invitation.expires_at = clock.now() + LIFETIME
    db.session.flush()
    return NewInvitation(invitation, invitation_url(invitation_purpose.sign([*parts, nonce])))
