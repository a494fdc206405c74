"""The projects that a caller of the API reaches."""

from sqlalchemy import bindparam, select

from testimonials.access.callers import Caller
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.core.web.writes import pause_call
from testimonials.extensions import db
from testimonials.projects.models import Project


def find_project(caller: Caller, project_id: str, *, for_update: bool = False) -> Project:
    """Return a project that the caller reaches, locked if it is to change; raise `NotFound`."""
    _require_reach(caller, project_id)
    query = select(Project).where(
        Project.id == project_id, Project.account_id == caller.id, Project.deleted_at.is_(None)
    )
    if for_update:
        query = query.with_for_update()
    project = db.session.scalars(query).one_or_none()
    if project is None:
        raise NotFound
    return project


def go_on_writing(caller: Caller, project_id: str) -> Project:
    """Begin the next part of a long call (`pause_call`); return the project, locked anew."""
    pause_call(caller.id)
    return find_project(caller, project_id, for_update=True)


def _require_reach(caller: Caller, project_id: str) -> None:
    if not is_identifier(project_id) or caller.project_id not in (None, project_id):
        raise NotFound


_FIND_VERSION = select(Project.feed_version).where(
    Project.id == bindparam("project_id"),
    Project.account_id == bindparam("account_id"),
    Project.deleted_at.is_(None),
)


def find_version(caller: Caller, project_id: str) -> int:
    """Return the feed version of a project that the caller reaches; raise `NotFound`.

    Reads nothing else, since every request answered from the cache needs it.
    """
    _require_reach(caller, project_id)
    values = {"project_id": project_id, "account_id": caller.id}
    version = db.session.connection().scalar(_FIND_VERSION, values)
    if version is None:
        raise NotFound
    return int(version)
