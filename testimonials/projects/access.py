"""Access to projects: their owner, and the colleagues invited to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sqlalchemy import ColumnElement, Select, and_, or_, select, true, union_all

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.extensions import db
from testimonials.projects.models import Project, ProjectMember


class Role(IntEnum):
    """A role in a project; each includes those before it."""

    MODERATOR = 1
    ADMIN = 2
    OWNER = 3


# Of the name and the address of a project.
MAX_WORDS = 5

ROLES = {"moderator": Role.MODERATOR, "admin": Role.ADMIN}


class RoleTooLow(ServiceError):
    status = 403
    code = "ROLE_TOO_LOW"
    title = "Your role doesn’t allow this"
    default_message = (
        "Your role in this project doesn’t allow this. Nothing was changed. Ask the project’s "
        "owner for another role."
    )


@dataclass(frozen=True)
class Access:
    """A signed-in user, a project, and their role in it."""

    user: SignedIn
    project: Project
    role: Role

    @property
    def is_admin(self) -> bool:
        return self.role >= Role.ADMIN


def find_access(
    user: SignedIn, project_id: str, needed: Role, *, for_update: bool = False
) -> Access:
    """Return the user's access to a project, locked if asked for.

    Raises `NotFound` for a project that isn't shared with them, and `RoleTooLow`.
    """
    if not is_identifier(project_id):
        raise NotFound
    is_member = and_(
        ProjectMember.project_id == Project.id, ProjectMember.account_id == user.account_id
    )
    query = (
        select(Project, ProjectMember.role)
        .outerjoin(ProjectMember, is_member)
        .where(Project.id == project_id, Project.deleted_at.is_(None))
        .where(or_(Project.account_id == user.account_id, ProjectMember.role.is_not(None)))
    )
    if for_update:
        query = query.with_for_update(of=Project)
    row = db.session.execute(query).one_or_none()
    if row is None:
        raise NotFound
    project, name = row
    role = Role.OWNER if project.account_id == user.account_id else ROLES[name]
    if role < needed:
        raise RoleTooLow
    return Access(user, project, role)


def list_shared_projects(account_id: str) -> Sequence[Project]:
    """Return the projects that the account owns or was invited to, most recent first."""
    shared = select(ProjectMember.project_id).where(ProjectMember.account_id == account_id)
    return db.session.scalars(
        select(Project)
        .where(
            or_(Project.account_id == account_id, Project.id.in_(shared)),
            Project.deleted_at.is_(None),
        )
        .order_by(Project.created_at.desc(), Project.id.desc())
    ).all()


def search_shared(account_id: str, q: str, skip: int, limit: int) -> Sequence[Project]:
    """Return so many of the shared projects whose name or address has all words of `q`.

    Most recent first, as `list_shared_projects`; each part of the query ends at the limit.
    """
    is_found = and_(true(), *map(_has_word, q.split()[:MAX_WORDS]))
    found = union_all(*_pick_shared(account_id, is_found, skip + limit)).subquery()
    return db.session.scalars(
        select(Project)
        .where(Project.id.in_(select(found.c.id)))
        .order_by(Project.created_at.desc(), Project.id.desc())
        .offset(skip)
        .limit(limit)
    ).all()


def list_last_shared(account_id: str, opened: Sequence[str], limit: int) -> Sequence[Project]:
    """Return the shared projects among `opened`, in that order, and then the newest `limit`."""
    parts = _pick_shared(account_id, true(), limit)
    parts += _pick_shared(account_id, Project.id.in_(opened), limit) if opened else ()
    found = union_all(*parts).subquery()
    rows = db.session.scalars(
        select(Project)
        .where(Project.id.in_(select(found.c.id)))
        .order_by(Project.created_at.desc(), Project.id.desc())
    ).all()
    places = {project_id: place for place, project_id in enumerate(opened)}
    return sorted(rows, key=lambda row: places.get(row.id, len(places)))


def _pick_shared(
    account_id: str, condition: ColumnElement[bool], limit: int
) -> tuple[Select[tuple[str]], ...]:
    """Return queries of the ids of the newest projects: the account's own, and others'."""
    newest = (Project.created_at.desc(), Project.id.desc())
    picked = select(Project.id).where(Project.deleted_at.is_(None), condition)
    member = and_(ProjectMember.project_id == Project.id, ProjectMember.account_id == account_id)
    parts = (picked.where(Project.account_id == account_id), picked.join(ProjectMember, member))
    # A part of a union can't be ordered by itself on SQLite.
    return tuple(select(part.order_by(*newest).limit(limit).subquery().c.id) for part in parts)


def _has_word(word: str) -> ColumnElement[bool]:
    columns = (Project.business_name, Project.slug)
    return or_(*(column.icontains(word, autoescape=True) for column in columns))
