"""Roles in all projects of an owner: a workspace is everything that an account owns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import delete, func, select

from testimonials.auth.display_names import called
from testimonials.auth.models import Account
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.access import ROLES
from testimonials.projects.models import Project, ProjectMember, WorkspaceMember
from testimonials.projects.services import lock_account
from testimonials.projects.team.services import settle_roles

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
