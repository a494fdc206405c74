"""What only an owner does to a project: rename its address, pause, delete and take it back."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import is_identifier
from testimonials.core.web.errors import NotFound
from testimonials.extensions import db
from testimonials.projects.models import OldSlug, Project
from testimonials.projects.services import (
    SlugTaken,
    choose_slug,
    is_held,
    is_shown,
    lock_account,
    mark_changed,
    require_room,
)

GRACE = timedelta(days=7)


def rename_slug(project: Project, text: str) -> None:
    """Return the locked project a new address; the old one redirects and is kept for it.

    Raises `ValidationFailed`, `SlugReserved` and `SlugTaken`.
    """
    slug = choose_slug(text, "")
    if slug is None or slug == project.slug:
        return
    if is_held(slug, project.id):
        raise SlugTaken
    old = project.slug
    db.session.execute(delete(OldSlug).where(OldSlug.slug == slug))
    try:
        with db.session.begin_nested():
            project.slug = slug
            db.session.merge(OldSlug(slug=old, project_id=project.id, renamed_at=clock.now()))
    except IntegrityError:
        raise SlugTaken from None
    _touch(project)


def set_active(project: Project, *, is_active: bool) -> None:
    """Resume or pause the locked project."""
    project.status = "active" if is_active else "inactive"
    _touch(project)


def move_to_trash(project: Project) -> None:
    """Delete the locked project; it can be taken back for 7 days."""
    project.deleted_at = clock.now()
    _touch(project)


def take_back(account_id: str, project_id: str) -> Project:
    """Undo the deletion of a project.

    Raises `NotFound` once its days have passed, and `ProjectLimitReached` when another project has
    its place.
    """
    account = lock_account(account_id)
    project = None
    if is_identifier(project_id):
        project = db.session.scalars(
            select(Project)
            .where(
                Project.id == project_id,
                Project.account_id == account_id,
                Project.deleted_at > clock.now() - GRACE,
            )
            .with_for_update()
        ).one_or_none()
    if project is None:
        raise NotFound("This project can’t be taken back any more.")
    require_room(account)
    project.deleted_at = None
    _touch(project)
    return project


def list_deleted(account_id: str) -> Sequence[Project]:
    """Return the projects that can still be taken back."""
    return db.session.scalars(
        select(Project)
        .where(Project.account_id == account_id, Project.deleted_at > clock.now() - GRACE)
        .order_by(Project.deleted_at.desc())
    ).all()


def delete_projects(account_id: str) -> Sequence[Project]:
    """Remove every project of the account at once and for good; return what they were."""
    gone = db.session.scalars(select(Project).where(Project.account_id == account_id)).all()
    db.session.execute(delete(Project).where(Project.account_id == account_id))
    return gone


def delete_trashed_projects() -> int:
    """Remove for good the projects whose days of grace have passed; return how many."""
    removed = db.session.scalars(
        delete(Project).where(Project.deleted_at <= clock.now() - GRACE).returning(Project.id)
    ).all()
    return len(removed)


def find_renamed(slug: str) -> str | None:
    """Return the present slug of the project that had this one before."""
    query = (
        select(Project.slug)
        .join(OldSlug, OldSlug.project_id == Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(OldSlug.slug == slug, is_shown())
    )
    return db.session.scalar(query) if "\0" not in slug else None


def _touch(project: Project) -> None:
    project.updated_at = max(clock.now(), project.updated_at + clock.MILLISECOND)
    mark_changed(project)
    db.session.flush()
