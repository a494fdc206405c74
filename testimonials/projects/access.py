"""Access to projects: their owner, and the colleagues invited to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sqlalchemy import and_, or_, select

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
