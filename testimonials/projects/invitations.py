"""Inviting somebody to a project's team or an owner's; answering and withdrawing."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import link_url
from testimonials.projects import team
from testimonials.projects.access import ROLES, Role
from testimonials.projects.models import Member, Project, TeamInvitation
from testimonials.projects.projects import lock_account, lock_project

# Functions that invite or withdraw take the locked project, or the owner's locked account.

INVITE_PER_ACCOUNT = Limit("invite-account", 30, "from one account")
INVITE_PER_EMAIL = Limit("invite-email", 5, "for one email address")
INVITATION_PER_ADDRESS = Limit("invitation-ip", 60, "from one IP address")
MAX_TEAM = 20
LIFETIME = timedelta(days=7)
# How long an expired invitation is listed, so that it can be sent again.
EXPIRED_KEPT = timedelta(days=30)
TEAM_FULL = gettext_noop(
    "A project can have %(most)s colleagues, including invitations. Remove one first."
)
WORKSPACE_FULL = (
    f"All of your projects have room for {MAX_TEAM} colleagues, including invitations. Remove one "
    "that you no longer need."
)
# The first part of a token for all projects of an owner; others begin with a project's id.
WORKSPACE = "workspace"

invitation_purpose = TokenPurpose("member-invitation")


@dataclass(frozen=True)
class NewInvitation:
    """An invitation with its link, which isn't stored."""

    invitation: TeamInvitation
    link: str


def list_invitations(place: team.Place) -> Sequence[TeamInvitation]:
    """Return the unanswered invitations, oldest first, including expired ones."""
    query = select(TeamInvitation).where(team.is_at(TeamInvitation, place))
    return db.session.scalars(query.order_by(TeamInvitation.created_at, TeamInvitation.email)).all()


def invite(
    place: team.Place,
    inviter: SignedIn,
    actor: Role,
    email: str,
    role: str,
    project_ids: Sequence[str] | None = None,
) -> NewInvitation:
    """Invite a normalized address to a locked place, or only to some of an owner's projects.

    Somebody who was invited before gets a new link, and the old one stops working. `actor` is the
    inviter's role. Raises `RoleTooLow`, and `ValidationFailed` for an address that can't be
    invited.
    """
    team.require_over(actor, ROLES[role])
    invitations = {each.email: each for each in list_invitations(place)}
    invitation = invitations.get(email)
    if invitation is not None:
        team.require_over(actor, ROLES[invitation.role])
    problem, member_count, full = _check_members(place, email, ROLES[role])
    if invitation is None and member_count + len(invitations) >= MAX_TEAM:
        problem = problem or full
    if problem is not None:
        raise ValidationFailed.of({"email": [problem]})
    chosen = None if project_ids is None else _filter_owned(place.id, project_ids)
    invitation = invitation or TeamInvitation(**team.place_key(place), email=email)
    invitation.role, invitation.project_ids = role, chosen
    db.session.add(invitation)
    return _renew(invitation, inviter)


def list_invited_projects(invitation: TeamInvitation) -> list[str]:
    """Return the names of the projects that an owner's invitation is limited to."""
    ids = invitation.project_ids or ()
    query = select(Project).where(Project.id.in_(ids), Project.deleted_at.is_(None))
    return [each.name for each in db.session.scalars(query.order_by(Project.created_at))]


def revoke_invitation(place: team.Place, actor: Role, email: str) -> None:
    """Withdraw an invitation to a locked place. Raises `NotFound` and `RoleTooLow`."""
    # PostgreSQL rejects NUL in queries.
    invitation = _find(place, email.replace("\0", ""))
    if invitation is None:
        raise NotFound(gettext_noop("This invitation was already answered or withdrawn."))
    team.require_over(actor, ROLES[invitation.role])
    db.session.delete(invitation)
    db.session.flush()


def delete_expired_invitations() -> int:
    """Delete the invitations that expired 30 days ago; return how many."""
    return delete_rows(TeamInvitation, TeamInvitation.expires_at <= clock.now() - EXPIRED_KEPT)


def _check_members(place: team.Place, email: str, role: Role) -> tuple[str | None, int, str]:
    """Return why the address can't be invited, the member count, and the text for a full team."""
    if isinstance(place, Project):
        members, full = team.list_members(place), gettext(TEAM_FULL, most=MAX_TEAM)
        # A member of all projects may get a higher role here.
        is_in = any(each.email == email and (each.here or each.role >= role) for each in members)
        problem = f"{email} is already in this project."
        return problem if is_in else None, team.count_places(members), full
    colleagues = team.list_colleagues(place.id)
    is_in = email == place.email or any(each.email == email and each.role for each in colleagues)
    problem = f"{email} is already in all of your projects."
    return problem if is_in else None, team.count_workspace_places(colleagues), WORKSPACE_FULL


def _filter_owned(owner_id: str, project_ids: Sequence[str]) -> list[str]:
    """Return the ids of those projects that the owner has. Raises `ValidationFailed` if none."""
    row = Project
    query = select(row.id).where(row.id.in_(project_ids[:50]), row.account_id == owner_id)
    query = query.where(row.deleted_at.is_(None))
    owned = list(db.session.scalars(query.order_by(Project.id)))
    if not owned:
        raise ValidationFailed.of({"projects": [gettext_noop("Choose at least one option.")]})
    return owned


def _find(place: team.Place, email: str) -> TeamInvitation | None:
    query = select(TeamInvitation).where(team.is_at(TeamInvitation, place))
    return db.session.scalars(query.where(TeamInvitation.email == email)).one_or_none()


def _renew(invitation: TeamInvitation, inviter: SignedIn) -> NewInvitation:
    nonce = secrets.token_urlsafe(18)
    invitation.invited_by, invitation.invited_by_id = inviter.email, inviter.account_id
    invitation.nonce_hash = hash_secret(nonce)
    invitation.expires_at = clock.now() + LIFETIME
    db.session.flush()
    to = [invitation.project_id] if invitation.project_id else [WORKSPACE, invitation.owner_id]
    link = link_url("invite", invitation_purpose.sign([*to, invitation.email, nonce]))
    return NewInvitation(invitation, link)


USED = gettext_noop("This link was already used. Your account is safe.")
REPLACED = gettext_noop("Look for our newest email, or ask for another.")


class InvitationInvalid(ServiceError):
    """The link is incomplete, expired or replaced, or the invitation was answered or withdrawn."""

    status = 410
    title = gettext_noop("This invitation no longer works")
    default_message = gettext_noop(
        "Invitations work for seven days. Ask the person who invited you to send it again."
    )


@dataclass(frozen=True)
class OpenInvitation:
    """An invitation that can be answered, with its place and projects (empty: all projects)."""

    invitation: TeamInvitation
    place: team.Place
    projects: Sequence[Project]

    @property
    def project(self) -> Project | None:
        return self.place if isinstance(self.place, Project) else None

    @property
    def invited_by(self) -> str:
        return self.place.email if isinstance(self.place, Account) else self.invitation.invited_by


def find_invitation(token: str, *, for_update: bool = False) -> OpenInvitation:
    """Return a link's invitation; lock its place if `for_update`. Raises `InvitationInvalid`."""
    seconds = int(LIFETIME.total_seconds())
    payload = invitation_purpose.find(token, 3, seconds) or invitation_purpose.find(
        token, 4, seconds
    )
    if payload is None:
        raise InvitationInvalid
    place_id, email, nonce = payload[-3:]
    kind = Account if payload[0] == WORKSPACE else Project
    place = _find_place(kind, place_id, for_update=for_update)
    invitation = _find(place, email) if place else None
    if place is None or invitation is None:
        raise InvitationInvalid(USED if place and _is_in(place, email) else None)
    _require_usable(invitation, nonce)
    if isinstance(place, Project):
        return OpenInvitation(invitation, place, [place])
    query = select(Project).where(Project.id.in_(invitation.project_ids or ()))
    query = query.where(Project.account_id == place.id, Project.deleted_at.is_(None))
    query = query.order_by(Project.id)
    projects = db.session.scalars(query.with_for_update() if for_update else query).all()
    if invitation.project_ids is not None and not projects:
        raise InvitationInvalid
    return OpenInvitation(invitation, place, projects)


def accept_invitation(opened: OpenInvitation, account: Account) -> None:
    """Give the account its role in the locked place or projects, and delete the invitation."""
    places: Sequence[team.Place] = opened.projects or [opened.place]
    for place in places:
        # Somebody who is a member under another address keeps their role.
        if team.find_role(place, account.id) is None:
            team.set_role(place, account.id, opened.invitation.role)
    decline_invitation(opened)


def decline_invitation(opened: OpenInvitation) -> None:
    db.session.delete(opened.invitation)
    db.session.flush()


def _find_place(kind: type[team.Place], place_id: str, *, for_update: bool) -> team.Place | None:
    try:
        if for_update:
            return lock_project(place_id) if kind is Project else lock_account(place_id)
    except NotFound:
        return None
    if kind is Account:
        return db.session.get(Account, place_id)
    project = db.session.get(Project, place_id)
    return None if project is None or project.deleted_at else project


def _require_usable(invitation: TeamInvitation, nonce: str) -> None:
    inviter = db.session.get(Account, invitation.invited_by_id or "")
    is_suspended = inviter is not None and inviter.is_suspended
    if is_suspended or invitation.expires_at <= clock.now():
        raise InvitationInvalid
    if invitation.nonce_hash != hash_secret(nonce):
        raise InvitationInvalid(REPLACED)


def _is_in(place: team.Place, email: str) -> bool:
    query = select(Member.id).join(Account, Account.id == Member.account_id)
    query = query.where(team.is_at(Member, place), Account.email == email)
    return db.session.scalar(query) is not None
