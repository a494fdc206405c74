"""Inviting, answering and withdrawing."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select

from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.rate_limits import Limit
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.http.urls import invitation_url
from testimonials.projects.access import ROLES, Access
from testimonials.projects.models import (
    MemberInvitation,
    Project,
    ProjectMember,
    WorkspaceInvitation,
    WorkspaceMember,
)
from testimonials.projects.projects import lock_account
from testimonials.projects.team import (
    count_places,
    list_colleagues,
    list_members,
    require_over,
    set_workspace_role,
)

# Invitations to a project's team: sending and withdrawing them.

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


# An owner's invitations to all of their projects, or to some of them.

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
    return _renew_in_workspace(invitation)


def name_invited(invitation: Invitation) -> list[str]:
    """Return the names of the projects that an invitation names; none for all."""
    ids = invitation.project_ids if isinstance(invitation, WorkspaceInvitation) else None
    query = select(Project).where(Project.id.in_(ids or ()), Project.deleted_at.is_(None))
    return [each.name for each in db.session.scalars(query.order_by(Project.created_at))]


def resend_to_colleague(owner: SignedIn, email: str) -> NewInvitation:
    """Make a new link for an invitation; the earlier one stops working. Raises `NotFound`."""
    return _renew_in_workspace(_find(owner, email))


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


def _renew_in_workspace(invitation: WorkspaceInvitation) -> NewInvitation:
    return make_link(invitation, [WORKSPACE, invitation.owner_id, invitation.email])


# Answering an invitation: to one project, or to an owner's workspace.

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
