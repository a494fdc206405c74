"""A project's team: its owner and members, and who may change them.

Admins manage moderators; only the owner manages admins. Every change locks the project first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select, union

from testimonials.access.tokens import revoke_tokens_made_by
from testimonials.auth.display_names import called
from testimonials.auth.models import Account
from testimonials.core.passwords import find_password_problem
from testimonials.core.urls import app_url, base_url
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
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
    WorkspaceMember,
)


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


def judge_password(password: str, email: str, projects: Iterable[Project]) -> str | None:
    """Return what is wrong with a new password of somebody in these projects, or None."""
    names = ["testimonials", app_url(), base_url()]
    for project in projects:
        names += [project.name, project.slug, project.page_config["website"]]
    return find_password_problem(password, email, names)


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
