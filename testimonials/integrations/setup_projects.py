"""The project that a setup is about: by the caller's own key, made if there is none."""

from typing import Any

from sqlalchemy import select

from testimonials.auth.api_auth import MissingScope, OneProjectOnly
from testimonials.auth.tokens import Caller, Scope
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.projects.access import find_project
from testimonials.projects.models import Project
from testimonials.projects.projects import create_project, lock_account

Values = dict[str, Any]


class ProjectInTrash(ServiceError):
    status = 409
    meaning = "The owner deleted the project with this `externalId`."
    remedy = "Ask them to restore it, or send another `externalId`."
    default_message = (
        "The project with this externalId is in the trash. The owner can restore it in the "
        "dashboard for 7 days after it was deleted. For another project, send another externalId."
    )


class ExternalIdTaken(ServiceError):
    status = 409
    meaning = "The project has another `externalId`, or another project has this one."
    remedy = "Send the one that `message` names, or another."


class _MadeMeanwhileError(Exception):
    """Somebody else made the project while this waited for the account."""


def find_or_create(
    caller: Caller, external_id: str, project_id: str | None, values: Values, *, has_words: bool
) -> tuple[Project, bool]:
    """Return the locked project with this key of the caller's, and whether it was made now.

    `values` are those of a new project; it gets samples if it is the account's first, unless they
    say otherwise or it `has_words` of its own. Raises what `create_project` does, `MissingScope`,
    `OneProjectOnly`, `ProjectInTrash` and `ExternalIdTaken`; and `NotFound` for a `project_id`
    that the caller doesn't reach.
    """
    if project_id is not None:
        return _adopt(caller, external_id, project_id), False
    if (project := _find(caller, external_id)) is not None:
        return project, False
    try:
        # Leaving it by an error lets go of the account, for which the holder of a project may wait.
        with db.session.begin_nested():
            lock_account(caller.id)
            if _find(caller, external_id, for_update=False) is not None:
                raise _MadeMeanwhileError
            return _create(caller, external_id, values, has_words=has_words), True
    except _MadeMeanwhileError:
        return find_or_create(caller, external_id, None, values, has_words=has_words)


def _find(caller: Caller, external_id: str, *, for_update: bool = True) -> Project | None:
    query = select(Project).where(
        Project.account_id == caller.id, Project.external_id == external_id
    )
    if for_update:
        query = query.with_for_update().execution_options(populate_existing=True)
    project = db.session.scalars(query).one_or_none()
    if project is None:
        return None
    if caller.project_id not in (None, project.id):
        raise OneProjectOnly
    if project.deleted_at is not None:
        raise ProjectInTrash
    return project


def _adopt(caller: Caller, external_id: str, project_id: str) -> Project:
    """Return the locked project with this id, which has the caller's key from now on."""
    project = find_project(caller, project_id, is_locked=True)
    if project.external_id == external_id:
        return project
    if project.external_id is not None:
        raise ExternalIdTaken(
            f"This project has the externalId {project.external_id} already. Send that one."
        )
    other = select(Project.id).where(
        Project.account_id == caller.id, Project.external_id == external_id
    )
    if db.session.scalar(other) is not None:
        raise ExternalIdTaken("Another project of the account has this externalId.")
    project.external_id = external_id
    db.session.flush()
    return project


def _create(caller: Caller, external_id: str, values: Values, *, has_words: bool) -> Project:
    if caller.project_id is not None:
        raise OneProjectOnly
    if not caller.is_key and Scope.CONFIGURE not in caller.scopes:
        raise MissingScope(
            "There is no project with this externalId, and making one needs the scope configure. "
            f"The token “{caller.name}” can only suggest changes of a project that is there: send "
            "its projectId, or ask the owner for another token."
        )
    project = create_project(caller.id, values, skips_samples=has_words)
    project.external_id = external_id
    return project
