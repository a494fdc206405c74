"""A project's team: its owner and members, and who may change them.

Admins manage moderators; only the owner manages admins. Every change locks the project first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select

from testimonials.access.tokens import revoke_tokens_made_by
from testimonials.auth.display_names import called
from testimonials.auth.models import Account
from testimonials.core.passwords import find_password_problem
from testimonials.core.urls import app_url, base_url
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.extensions import db
from testimonials.projects.access import ROLES, Access, Role, RoleTooLow
from testimonials.projects.models import (
    MemberInvitation,
    NotificationChoice,
    Project,
    ProjectMember,
)


class OwnerStays(ServiceError):
    status = 409
    code = "OWNER_STAYS"
    default_message = (
        "The owner can’t leave a project. If you no longer need it, delete it in its settings."
    )


@dataclass(frozen=True)
class TeamMember:
    account_id: str
    email: str
    display_name: str | None
    role: Role
    since: datetime

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
    rows = db.session.execute(
        select(ProjectMember, Account.email, Account.display_name)
        .join(Account, Account.id == ProjectMember.account_id)
        .where(ProjectMember.project_id == project.id)
        .order_by(ProjectMember.created_at, ProjectMember.account_id)
    )
    return [
        TeamMember(owner.id, owner.email, owner.display_name, Role.OWNER, project.created_at),
        *(
            TeamMember(row.account_id, email, name, ROLES[row.role], row.created_at)
            for row, email, name in rows
        ),
    ]


def list_memberships(account_id: str, projects: Iterable[Project]) -> dict[str, Membership]:
    """Return the account's roles in those of the projects that are others', by project id."""
    rows = db.session.execute(
        select(ProjectMember.project_id, ProjectMember.role, called())
        .join(Project, Project.id == ProjectMember.project_id)
        .join(Account, Account.id == Project.account_id)
        .where(
            ProjectMember.account_id == account_id,
            ProjectMember.project_id.in_([project.id for project in projects]),
        )
    )
    return {row[0]: Membership(ROLES[row[1]], row[2]) for row in rows}


def find_member(project: Project, account_id: str) -> TeamMember:
    """Return a person of the project; raise `NotFound`."""
    for member in list_members(project):
        if member.account_id == account_id:
            return member
    raise NotFound("Nobody in this project has this id.")


def change_role(access: Access, account_id: str, role: str) -> TeamMember:
    """Give a member of the locked project another role; return who they were.

    Raises `NotFound`, and `RoleTooLow` for everybody but the owner.
    """
    member = find_member(access.project, account_id)
    require_over(access.role, Role.ADMIN)
    require_over(access.role, member.role)
    row = db.session.get_one(ProjectMember, (access.project.id, account_id))
    row.role = role
    if ROLES[role] < Role.ADMIN:
        _end_admin(access.project, account_id)
    db.session.flush()
    return member


def remove_member(access: Access, account_id: str) -> TeamMember:
    """End a member's access to the locked project and return who they were.

    Raises `NotFound` and `RoleTooLow`.
    """
    member = find_member(access.project, account_id)
    require_over(access.role, member.role)
    _end_membership(access.project, account_id)
    return member


def leave_project(access: Access) -> None:
    """End the user's own access to the locked project; raise `OwnerStays`."""
    if access.role == Role.OWNER:
        raise OwnerStays
    _end_membership(access.project, access.user.account_id)


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


def _end_membership(project: Project, account_id: str) -> None:
    for model in (ProjectMember, NotificationChoice):
        db.session.execute(
            delete(model).where(model.project_id == project.id, model.account_id == account_id)
        )
    _end_admin(project, account_id)


def _end_admin(project: Project, account_id: str) -> None:
    """Withdraw the invitations and revoke the tokens that a former admin could come back by."""
    revoke_tokens_made_by(project.id, account_id)
    db.session.execute(
        delete(MemberInvitation).where(
            MemberInvitation.project_id == project.id,
            MemberInvitation.invited_by_id == account_id,
        )
    )
