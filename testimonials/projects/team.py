"""The members of a project, or of a whole workspace."""

import logging
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, select, union

from testimonials.auth.accounts import called
from testimonials.auth.credentials import find_claimed_account
from testimonials.auth.events import COMPANY_ROLE_CHANGED
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import awaited, signed_in
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.auth.tokens import revoke_tokens_made_by
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.current import current_settings
from testimonials.projects.access import (
    ROLES,
    Access,
    Role,
    RoleTooLow,
    has_role,
    lock_before_roles,
    read_role,
    select_with_roles,
)
from testimonials.projects.models import (
    MemberInvitation,
    NotificationChoice,
    Project,
    ProjectMember,
    WorkspaceInvitation,
    WorkspaceMember,
)
from testimonials.projects.projects import lock_account

# A project's team: its owner and members, and who may change them.
#
# Admins manage moderators; only the owner manages admins. Every change locks the project first.


class OwnerStays(ServiceError):
    status = 409
    code = "OWNER_STAYS"
    default_message = gettext_noop(
        "The owner can’t leave a project. If you no longer need it, delete it in its settings."
    )


class InAllProjects(ServiceError):
    status = 409
    code = "IN_ALL_PROJECTS"
    default_message = gettext_noop(
        "This role is one in all projects of the owner, who changes it under Account, Team. "
        "Nothing was changed."
    )


@dataclass(frozen=True)
class TeamMember:
    account_id: str
    email: str
    display_name: str | None
    # The higher of both roles, and the two.
    role: Role
    since: datetime
    here: Role | None = None
    everywhere: Role | None = None

    @property
    def name(self) -> str:
        return self.display_name or self.email


@dataclass(frozen=True)
class Membership:
    """An account's role in somebody else's project."""

    role: Role
    # How the owner is called.
    owner: str


def list_members(project: Project) -> list[TeamMember]:
    """Return the owner, then the members in the order they joined."""
    owner = db.session.get_one(Account, project.account_id)
    is_here = and_(ProjectMember.account_id == Account.id, ProjectMember.project_id == project.id)
    is_everywhere = and_(
        WorkspaceMember.account_id == Account.id, WorkspaceMember.owner_id == owner.id
    )
    ids = union(
        select(ProjectMember.account_id).where(ProjectMember.project_id == project.id),
        select(WorkspaceMember.account_id).where(WorkspaceMember.owner_id == owner.id),
    )
    here, everywhere = ProjectMember, WorkspaceMember
    rows = db.session.execute(
        select(
            *(Account.id, Account.email, Account.display_name),
            *(here.role, here.created_at, everywhere.role, everywhere.created_at),
        )
        .outerjoin(ProjectMember, is_here)
        .outerjoin(WorkspaceMember, is_everywhere)
        .where(Account.id.in_(ids), Account.id != owner.id)
    )
    people = [_describe_member(row) for row in rows]
    return [
        TeamMember(owner.id, owner.email, owner.display_name, Role.OWNER, project.created_at),
        *sorted(people, key=lambda each: (each.since, each.account_id)),
    ]


def _describe_member(row: Any) -> TeamMember:
    account_id, email, name, here, here_since, everywhere, everywhere_since = row
    roles = [ROLES[each] if each else None for each in (here, everywhere)]
    since = min(each for each in (here_since, everywhere_since) if each)
    return TeamMember(account_id, email, name, max(filter(None, roles)), since, *roles)


def count_places(members: Iterable[TeamMember]) -> int:
    """Return how many of a project's places are taken; the owner and who is in all have none."""
    return sum(member.here is not None for member in members)


def list_memberships(account_id: str, projects: Iterable[Project]) -> dict[str, Membership]:
    """Return the account's roles in those of the projects that are others', by project id."""
    rows = db.session.execute(
        select_with_roles(account_id, Project.id, called())
        .join(Account, Account.id == Project.account_id)
        .where(
            Project.id.in_([project.id for project in projects]),
            Project.account_id != account_id,
        )
    )
    found = ((row[0], row[1], read_role(*row[2:])) for row in rows)
    return {row: Membership(role, owner) for row, owner, role in found if role is not None}


def find_member(project: Project, account_id: str) -> TeamMember:
    """Return a person of the project; raise `NotFound`."""
    for member in list_members(project):
        if member.account_id == account_id:
            return member
    raise NotFound(gettext_noop("Nobody in this project has this id."))


def change_role(access: Access, account_id: str, role: str) -> TeamMember:
    """Give a member of the locked project another role; return who they were.

    Raises `NotFound`, `InAllProjects`, and `RoleTooLow` for everybody but the owner.
    """
    member = _find_here(access, account_id)
    require_over(access.role, Role.ADMIN)
    row = db.session.get_one(ProjectMember, (access.project.id, account_id))
    row.role = role
    settle_roles(account_id, Project.id == access.project.id)
    return member


def remove_member(access: Access, account_id: str) -> TeamMember:
    """End a member's access to the locked project and return who they were.

    Raises `NotFound`, `InAllProjects` and `RoleTooLow`.
    """
    member = _find_here(access, account_id)
    _end_membership(access.project, account_id)
    return member


def leave_project(access: Access) -> None:
    """End the user's own access to the locked project; raise `OwnerStays` and `InAllProjects`."""
    if access.role == Role.OWNER:
        raise OwnerStays
    if find_member(access.project, access.user.account_id).everywhere is not None:
        raise InAllProjects
    _end_membership(access.project, access.user.account_id)


def _find_here(access: Access, account_id: str) -> TeamMember:
    """Return a member of the locked project whom the user may change."""
    member = find_member(access.project, account_id)
    require_over(access.role, member.role)
    if member.here is None:
        raise InAllProjects
    return member


def may_manage(actor: Role, role: Role) -> bool:
    """Return whether `actor` may invite, change and remove colleagues with this role."""
    return actor >= Role.ADMIN and actor > role


def require_over(actor: Role, role: Role) -> None:
    if not may_manage(actor, role):
        raise RoleTooLow


def settle_roles(account_id: str, *conditions: ColumnElement[bool]) -> None:
    """End what somebody has in projects where the role for it is gone; call it after each change.

    That is the choice of mails of who isn't in a project any more, and the tokens and invitations
    that a former admin could come back by. Locks the projects, so that none is made meanwhile.
    """
    db.session.flush()
    lock_before_roles(*conditions, key_share=True)
    rows = db.session.execute(
        select(
            Project.id, has_role(account_id, Role.READER), has_role(account_id, Role.ADMIN)
        ).where(*conditions)
    ).all()
    left = [project_id for project_id, is_in, _ in rows if not is_in]
    ended = [project_id for project_id, _, is_admin in rows if not is_admin]
    choice, sent = NotificationChoice, MemberInvitation
    db.session.execute(
        delete(choice).where(choice.account_id == account_id, choice.project_id.in_(left))
    )
    db.session.execute(
        delete(sent).where(sent.invited_by_id == account_id, sent.project_id.in_(ended))
    )
    revoke_tokens_made_by(account_id, ended)


def _end_membership(project: Project, account_id: str) -> None:
    member = ProjectMember
    db.session.execute(
        delete(member).where(member.project_id == project.id, member.account_id == account_id)
    )
    settle_roles(account_id, Project.id == project.id)


# Roles in all projects of an owner: a workspace is everything that an account owns.

OWNER, COMPANY = "owner", "company"


@dataclass
class Colleague:
    """Somebody in an owner's team: with a role in all projects, in some, or both."""

    account_id: str
    email: str
    name: str
    # In all projects, if any, and who gave it: `owner` or `company`.
    role: str | None = None
    source: str | None = None
    # Roles in single projects.
    projects: list[tuple[Project, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Workspace:
    """Somebody else's workspace that an account is in."""

    owner_id: str
    owner: str
    role: str
    count: int


def set_workspace_role(
    owner_id: str, account_id: str, role: str | None, source: str = OWNER
) -> bool:
    """Give somebody a role in all projects of an owner, or with None end it; say if it changed.

    What the owner gave stays when the company's groups say otherwise; what these gave, the owner
    may change. Locks the owner's account. Raises `NotFound` for an owner who is gone.
    """
    if role is not None and role not in ROLES:
        raise ValueError(f"{role} is no role")
    lock_account(owner_id)
    key = (owner_id, account_id)
    row = db.session.get(WorkspaceMember, key, populate_existing=True)
    is_kept = row is not None and source == COMPANY and row.source != COMPANY
    if is_kept or account_id == owner_id or (row.role if row else None) == role:
        return False
    if row is None:
        values = {"role": role, "source": source}
        db.session.add(WorkspaceMember(owner_id=owner_id, account_id=account_id, **values))
    elif role is None:
        db.session.delete(row)
    else:
        row.role, row.source = role, source
    settle_roles(account_id, Project.account_id == owner_id)
    return True


def list_colleagues(owner_id: str) -> list[Colleague]:
    """Return everybody in any project of an owner, those in all of them first, by name."""
    everywhere = db.session.execute(
        select(WorkspaceMember, Account.email, called())
        .join(Account, Account.id == WorkspaceMember.account_id)
        .where(WorkspaceMember.owner_id == owner_id)
    )
    found = {
        row.account_id: Colleague(row.account_id, email, name, row.role, row.source)
        for row, email, name in everywhere
    }
    somewhere = db.session.execute(
        select(Project, ProjectMember.role, Account.id, Account.email, called())
        .join(ProjectMember, ProjectMember.project_id == Project.id)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(Project.account_id == owner_id, Project.deleted_at.is_(None))
        .order_by(Project.created_at, Project.id)
    )
    for project, role, account_id, email, name in somewhere:
        colleague = found.setdefault(account_id, Colleague(account_id, email, name))
        colleague.projects.append((project, role))
    return sorted(found.values(), key=lambda each: (each.role is None, each.name.casefold()))


def find_colleague(owner_id: str, account_id: str) -> Colleague:
    """Return somebody of an owner's team; raise `NotFound`."""
    for colleague in list_colleagues(owner_id):
        if colleague.account_id == account_id:
            return colleague
    raise NotFound(gettext_noop("Nobody in this team has this id."))


def change_colleague(owner_id: str, account_id: str, role: str) -> Colleague:
    """Give somebody of an owner's team a role in all projects; return who they were."""
    lock_account(owner_id)
    colleague = find_colleague(owner_id, account_id)
    set_workspace_role(owner_id, account_id, role)
    return colleague


def remove_colleague(owner_id: str, account_id: str) -> Colleague:
    """End somebody's roles in all and in each of an owner's projects; return who they were.

    Raises `NotFound`.
    """
    lock_account(owner_id)
    colleague = find_colleague(owner_id, account_id)
    owned = select(Project.id).where(Project.account_id == owner_id)
    member = ProjectMember
    db.session.execute(
        delete(member).where(member.account_id == account_id, member.project_id.in_(owned))
    )
    if not set_workspace_role(owner_id, account_id, None):
        settle_roles(account_id, Project.account_id == owner_id)
    return colleague


def list_workspaces(account_id: str) -> Sequence[Workspace]:
    """Return the workspaces of others that an account is in, by how their owners are called."""
    count = (
        select(func.count(Project.id))
        .where(Project.account_id == WorkspaceMember.owner_id, Project.deleted_at.is_(None))
        .scalar_subquery()
    )
    rows = db.session.execute(
        select(WorkspaceMember.owner_id, called(), WorkspaceMember.role, count)
        .join(Account, Account.id == WorkspaceMember.owner_id)
        .where(WorkspaceMember.account_id == account_id)
        .order_by(called(), WorkspaceMember.owner_id)
    )
    return [Workspace(*row) for row in rows]


def find_workspace(account_id: str, owner_id: str) -> Workspace:
    """Return one of the workspaces of others that an account is in; raise `NotFound`."""
    for workspace in list_workspaces(account_id):
        if workspace.owner_id == owner_id:
            return workspace
    raise NotFound(gettext_noop("You are not in this team."))


# Roles by the groups that somebody has in the company, which are looked at when they sign in.

logger = logging.getLogger("testimonials.company")


def choose_role(groups: AbstractSet[str]) -> str | None:
    """Return the highest role that one of these groups has, if any has one."""
    roles = [pair.role for pair in current_settings().oidc_groups if pair.group in groups]
    return max(roles, key=lambda role: ROLES[role], default=None)


@awaited.connect
def is_awaited(person: CompanyPerson) -> bool:
    """Return whether somebody was invited to a team, or one of their groups has a role."""
    if choose_role(person.groups) is not None:
        return True
    return person.email is not None and any(
        db.session.scalar(
            select(table.email).where(table.email == person.email, table.expires_at > now)
        )
        for table in (MemberInvitation, WorkspaceInvitation)
        for now in [clock.now()]
    )


@signed_in.connect
def follow_groups(account_id: str, *, who: str, groups: AbstractSet[str]) -> None:
    """Give the role of their groups to somebody who signs in, or take back what groups gave.

    What changes is recorded at the owner, with the person's address.
    """
    settings = current_settings()
    if not settings.oidc_groups:
        return
    owner = find_claimed_account(settings.oidc_workspace.lower())
    if owner is None:
        logger.warning("OIDC_WORKSPACE names no account, so groups have no roles.")
        return
    role = choose_role(groups)
    if set_workspace_role(owner.id, account_id, role, COMPANY):
        record(COMPANY_ROLE_CHANGED, owner.id, email=who, role=role or "none")
