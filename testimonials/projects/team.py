"""The members of a project, and of an owner's workspace, which is all of their projects."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, CompoundSelect, Row, delete, func, or_, select, union_all

from testimonials.auth.accounts import shown_name
from testimonials.auth.credentials import find_claimed_account, known_names
from testimonials.auth.events import COMPANY_ROLE_CHANGED
from testimonials.auth.models import AccessToken, Account
from testimonials.auth.oidc.accounts import awaited, signed_in
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.auth.tokens import revoke_tokens_made_by
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.table import current_settings
from testimonials.projects.access import (
    ROLES,
    Access,
    Role,
    RoleTooLow,
    has_role,
    lock_before_roles,
    role_of,
)
from testimonials.projects.models import Member, NotificationChoice, Project, TeamInvitation
from testimonials.projects.projects import lock_account

# Admins manage moderators; only the owner manages admins. Functions that change something take the
# locked project, or the owner's locked account.

# One project, or the owner of several.
Place = Project | Account
# Who granted a role.
OWNER, COMPANY = "owner", "company"

T = TypeVar("T")


class OwnerStays(ServiceError):
    status = 409
    default_message = gettext_noop(
        "The owner can’t leave a project. You can delete it in its settings."
    )


class InAllProjects(ServiceError):
    status = 409
    default_message = gettext_noop(
        "Nothing was changed. This role is for all of the owner’s projects: only the owner can "
        "change it, in People."
    )


@dataclass(frozen=True)
class TeamMember:
    account_id: str
    email: str
    display_name: str | None
    # The higher of the roles in the project (`here`) and in all of the owner's (`everywhere`).
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
    # The owner's name.
    owner: str


def place_key(place: Place) -> dict[str, str]:
    """Return the column and value by which members and invitations refer to a place."""
    return {"project_id" if isinstance(place, Project) else "owner_id": place.id}


def is_at(model: type[Member] | type[TeamInvitation], place: Place) -> ColumnElement[bool]:
    (column, place_id), *_ = place_key(place).items()
    return model.__table__.columns[column] == place_id


def find_role(place: Place, account_id: str) -> Member | None:
    """Return the account's role in a locked place, read from the database again."""
    query = select(Member).where(is_at(Member, place), Member.account_id == account_id)
    return db.session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def set_role(place: Place, account_id: str, role: str | None, source: str = OWNER) -> bool:
    """Set somebody's role in a locked place, or end it (None); return whether it changed.

    The company's groups can't change a role that the owner granted; the owner can change theirs.
    Owners have no other role.
    """
    row = find_role(place, account_id)
    is_kept = row is not None and source == COMPANY and row.source != COMPANY
    owner_id = place.account_id if isinstance(place, Project) else place.id
    if is_kept or account_id == owner_id or (row.role if row else None) == role:
        return False
    if row is None:
        values = {"account_id": account_id, "role": role, "source": source}
        db.session.add(Member(**place_key(place), **values))
        db.session.flush()
        return True
    if role is None:
        db.session.delete(row)
    else:
        row.role, row.source = role, source
    column = Project.id if isinstance(place, Project) else Project.account_id
    settle_roles(account_id, column == place.id)
    return True


def settle_roles(account_id: str, *conditions: ColumnElement[bool]) -> None:
    """End what somebody's role in projects no longer allows; call this after a role has changed.

    This ends the notifications of former members, and the tokens and invitations with which former
    admins could get back in. It locks the projects, so that no new ones are made meanwhile.
    """
    db.session.flush()
    lock_before_roles(*conditions, key_share=True)
    is_in, is_admin = (has_role(account_id, role) for role in (Role.READER, Role.ADMIN))
    rows = db.session.execute(select(Project.id, is_in, is_admin).where(*conditions)).all()
    left = [project_id for project_id, is_in, _ in rows if not is_in]
    ended = [project_id for project_id, _, is_admin in rows if not is_admin]
    choice, sent = NotificationChoice, TeamInvitation
    choices = delete(choice).where(choice.account_id == account_id, choice.project_id.in_(left))
    invitations = delete(sent).where(sent.invited_by_id == account_id, sent.project_id.in_(ended))
    db.session.execute(choices)
    db.session.execute(invitations)
    revoke_tokens_made_by(account_id, ended)


def may_manage(actor: Role, role: Role) -> bool:
    return actor >= Role.ADMIN and actor > role


def require_over(actor: Role, role: Role) -> None:
    if not may_manage(actor, role):
        raise RoleTooLow


def list_members(project: Project) -> list[TeamMember]:
    """Return the owner, then the members in the order they joined."""
    owner = db.session.get_one(Account, project.account_id)
    is_in = or_(Member.project_id == project.id, Member.owner_id == owner.id)
    query = select(Member, Account.email, Account.display_name).order_by(Member.created_at)
    query = query.join(Account, Account.id == Member.account_id).where(is_in)
    rows = db.session.execute(query.where(Account.id != owner.id)).all()
    people: dict[str, TeamMember] = {}
    for row, email, name in rows:
        role, first = ROLES[row.role], people.get(row.account_id)
        here, everywhere = (role, None) if row.project_id else (None, role)
        if first is not None:
            here, everywhere = here or first.here, everywhere or first.everywhere
            role = max(role, first.role)
        since = first.since if first else row.created_at
        people[row.account_id] = TeamMember(
            row.account_id, email, name, role, since, here, everywhere
        )
    members = sorted(people.values(), key=lambda each: (each.since, each.account_id))
    created = project.created_at
    return [TeamMember(owner.id, owner.email, owner.display_name, Role.OWNER, created), *members]


def count_places(members: Iterable[TeamMember]) -> int:
    """Count the members who count towards the limit: those with a role in the project itself."""
    return sum(member.here is not None for member in members)


def list_memberships(account_id: str, projects: Iterable[Project]) -> dict[str, Membership]:
    ids = [each.id for each in projects if each.account_id != account_id]
    if not ids:
        return {}
    role = role_of(account_id)
    query = select(Project.id, shown_name(), role).where(Project.id.in_(ids))
    rows = db.session.execute(query.join(Account, Account.id == Project.account_id))
    return {row[0]: Membership(Role(row[2]), row[1]) for row in rows if row[2]}


def find_member(project: Project, account_id: str) -> TeamMember:
    return _first(each for each in list_members(project) if each.account_id == account_id)


def _first(matches: Iterator[T]) -> T:
    return require_found(next(matches, None), gettext_noop("Nobody here has this id."))


def change_role(access: Access, account_id: str, role: str) -> TeamMember:
    """Give a member of the locked project another role; return the member as they were.

    Raises `NotFound`, `InAllProjects`, and `RoleTooLow` for anybody but the owner.
    """
    member = _find_here(access, account_id)
    require_over(access.role, Role.ADMIN)
    set_role(access.project, account_id, role)
    return member


def remove_member(access: Access, account_id: str) -> TeamMember:
    """End a member's access to the locked project; return the member as they were.

    Raises `NotFound`, `InAllProjects` and `RoleTooLow`.
    """
    member = _find_here(access, account_id)
    _end_membership(access.project, account_id)
    return member


def has_granted_access(project: Project, account_id: str) -> bool:
    """Return whether somebody made tokens or invitations here, which would end with their role."""
    token, invitation = AccessToken, TeamInvitation
    tokens = select(token.id).where(
        token.project_id == project.id, token.revoked_at.is_(None), token.made_by_id == account_id
    )
    invitations = select(invitation.id).where(
        invitation.project_id == project.id, invitation.invited_by_id == account_id
    )
    return db.session.scalar(select(or_(tokens.exists(), invitations.exists()))) or False


def restore_member(access: Access, account_id: str, role: str) -> TeamMember:
    """Restore the role of somebody who was removed from the locked project.

    Raises `NotFound` if their account was deleted, and `RoleTooLow`.
    """
    require_over(access.role, ROLES[role])
    require_found(db.session.get(Account, account_id), gettext_noop("Nobody here has this id."))
    if find_role(access.project, account_id) is None:
        set_role(access.project, account_id, role)
    return find_member(access.project, account_id)


def leave_project(access: Access) -> None:
    """End the user's own access to the locked project. Raises `OwnerStays` and `InAllProjects`."""
    if access.role == Role.OWNER:
        raise OwnerStays
    if find_member(access.project, access.user.account_id).everywhere is not None:
        raise InAllProjects
    _end_membership(access.project, access.user.account_id)


def _end_membership(project: Project, account_id: str) -> None:
    is_theirs = Member.account_id == account_id
    db.session.execute(delete(Member).where(is_at(Member, project), is_theirs))
    settle_roles(account_id, Project.id == project.id)


def _find_here(access: Access, account_id: str) -> TeamMember:
    """Return a member of the locked project whom the user may change."""
    member = find_member(access.project, account_id)
    require_over(access.role, member.role)
    if member.here is None:
        raise InAllProjects
    return member


@dataclass
class Colleague:
    """Somebody with a role in all of an owner's projects, in some of them, or both."""

    account_id: str
    email: str
    name: str
    # The role in all projects, and who granted that: `owner` or `company`.
    role: str | None = None
    source: str | None = None
    # Roles in single projects.
    projects: list[tuple[Project, str]] = field(default_factory=list)


def list_colleagues(owner_id: str) -> list[Colleague]:
    """Return everybody in any of an owner's projects, by name; those in all projects first."""
    owned = select(Project.id).where(Project.account_id == owner_id, Project.deleted_at.is_(None))
    rows = db.session.execute(
        select(Member, Project, Account.email, shown_name())
        .join(Account, Account.id == Member.account_id)
        .outerjoin(Project, Project.id == Member.project_id)
        .where(or_(Member.owner_id == owner_id, Member.project_id.in_(owned)))
        .order_by(Project.created_at, Project.id)
    )
    people: dict[str, Colleague] = {}
    for row, project, email, name in rows:
        colleague = people.setdefault(row.account_id, Colleague(row.account_id, email, name))
        if row.project_id is None:
            colleague.role, colleague.source = row.role, row.source
        else:
            colleague.projects.append((project, row.role))
    return sorted(people.values(), key=lambda each: (each.role is None, each.name.casefold()))


def count_workspace_places(colleagues: Iterable[Colleague]) -> int:
    """Count the people who count towards the limit: the owner gave them a role in all projects."""
    return sum(each.source == OWNER for each in colleagues)


def find_colleague(owner_id: str, account_id: str) -> Colleague:
    return _first(each for each in list_colleagues(owner_id) if each.account_id == account_id)


def change_colleague(owner_id: str, account_id: str, role: str) -> Colleague:
    """Give a colleague a role in all of an owner's projects; return them as they were."""
    owner, colleague = lock_account(owner_id), find_colleague(owner_id, account_id)
    set_role(owner, account_id, role)
    return colleague


def remove_colleague(owner_id: str, account_id: str) -> Colleague:
    """End a colleague's roles in an owner's projects; return them as they were."""
    lock_account(owner_id)
    colleague = find_colleague(owner_id, account_id)
    owned = select(Project.id).where(Project.account_id == owner_id)
    is_in = or_(Member.owner_id == owner_id, Member.project_id.in_(owned))
    db.session.execute(delete(Member).where(Member.account_id == account_id, is_in))
    settle_roles(account_id, Project.account_id == owner_id)
    return colleague


def list_workspaces(account_id: str) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return other people's workspaces that an account is in, by the owner's name.

    Each has `owner_id`, `owner`, `role` and the `number` of its projects.
    """
    is_live = (Project.account_id == Member.owner_id, Project.deleted_at.is_(None))
    number = select(func.count(Project.id)).where(*is_live).scalar_subquery()
    query = (
        select(Member.owner_id, shown_name().label("owner"), Member.role, number.label("number"))
        .join(Account, Account.id == Member.owner_id)
        .where(Member.account_id == account_id)
    )
    return db.session.execute(query.order_by(shown_name(), Member.owner_id)).all()


def find_workspace(account_id: str, owner_id: str) -> Row[*tuple[Any, ...]]:
    return _first(each for each in list_workspaces(account_id) if each.owner_id == owner_id)


@known_names.connect
def list_names(email: str) -> list[str]:
    """Return names of the projects that somebody owns, is in, or is invited to."""
    own = select(Account.id).where(Account.email == email)
    invited, member = TeamInvitation.email == email, Member.account_id == own.scalar_subquery()
    owners: CompoundSelect[Any] = union_all(
        own, select(TeamInvitation.owner_id).where(invited), select(Member.owner_id).where(member)
    )
    ids: CompoundSelect[Any] = union_all(
        select(TeamInvitation.project_id).where(invited), select(Member.project_id).where(member)
    )
    is_theirs = or_(Project.account_id.in_(owners), Project.id.in_(ids))
    query = select(Project).where(Project.deleted_at.is_(None), is_theirs)
    names = []
    for project in db.session.scalars(query.order_by(Project.id.desc()).limit(50)):
        names += [project.name, project.slug, project.page_config["website"]]
    return names


# Roles given by somebody's groups in the company, checked at sign-in.

logger = logging.getLogger("testimonials.company")


def choose_role(groups: AbstractSet[str]) -> str | None:
    """Return the highest role given by these groups, if any."""
    roles = [pair.role for pair in current_settings().oidc_groups if pair.group in groups]
    return max(roles, key=lambda role: ROLES[role], default=None)


@awaited.connect
def is_awaited(person: CompanyPerson) -> bool:
    """Return whether somebody was invited to a team, or one of their groups has a role."""
    if choose_role(person.groups) is not None:
        return True
    invitation = TeamInvitation
    query = select(invitation.id).where(
        invitation.email == person.email, invitation.expires_at > clock.now()
    )
    return db.session.scalar(query.limit(1)) is not None


@signed_in.connect
def follow_groups(account_id: str, *, who: str, groups: AbstractSet[str]) -> None:
    """Set or end the role given by the groups of somebody who signs in.

    A change is recorded for the owner, with the person's address.
    """
    settings = current_settings()
    if not settings.oidc_groups:
        return
    owner = find_claimed_account(settings.oidc_workspace.lower())
    if owner is None:
        logger.warning("OIDC_WORKSPACE names no account, so groups have no roles.")
        return
    role = choose_role(groups)
    if set_role(lock_account(owner.id), account_id, role, COMPANY):
        record(COMPANY_ROLE_CHANGED, owner.id, email=who, role=role or "none")
