"""Changing, pausing, deleting, restoring and suspending a project."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, delete, select, update
from sqlalchemy.exc import IntegrityError

from testimonials.auth.accounts import get_account
from testimonials.auth.emails import send_restored_mail, send_suspended_mail
from testimonials.auth.events import ACCOUNT_RESTORED, ACCOUNT_SUSPENDED
from testimonials.auth.models import Account
from testimonials.auth.sessions import end_sessions
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.erasure import PROJECT, note_erased
from testimonials.core.db.transactions import find_row
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError, ValidationFailed, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.images.uploads import Image
from testimonials.core.settings.table import current_settings
from testimonials.projects import projects
from testimonials.projects.models import OldSlug, Project

GRACE = timedelta(days=7)


def update_page_config(project: Project, changes: dict[str, Any]) -> None:
    """Change the locked project's page, given values of `PageConfigUpdateSchema`.

    Raises `ValidationFailed` for a website that isn't an http(s) URL.
    """
    config = {name: value for name, value in changes.items() if name != "businessName"}
    if "website" in config:
        config["website"] = projects.complete_website(config["website"])
    if "collectFields" in config:
        config["collectFields"] = project.page_config["collectFields"] | config["collectFields"]
    name = changes.get("businessName", project.business_name)
    merged = project.page_config | config
    if merged == project.page_config and name == project.business_name:
        return
    project.page_config, project.business_name = merged, name
    projects.mark_edited(project)


def set_picture(project: Project, name: str, image: Image | None) -> None:
    """Set the locked project's `logo`, `cover` or `portrait`, or remove it."""
    if image is not None:
        db.session.add(image)
        db.session.flush()
    setattr(project, f"{name}_id", None if image is None else image.id)
    projects.mark_edited(project)


def rename_slug(project: Project, text: str) -> None:
    """Give the locked project a new slug; the old one redirects, and stays reserved for 90 days.

    Raises `ValidationFailed`, `SlugReserved` and `SlugTaken`.
    """
    slug = projects.choose_slug(text, "")
    if slug is None or slug == project.slug:
        return
    if projects.is_held(slug, project.id):
        raise projects.SlugTaken
    old = project.slug
    db.session.execute(delete(OldSlug).where(OldSlug.slug == slug))
    try:
        with db.session.begin_nested():
            project.slug = slug
            db.session.merge(OldSlug(slug=old, project_id=project.id, renamed_at=clock.now()))
    except IntegrityError:
        raise projects.SlugTaken from None
    # A project may only reserve so many slugs.
    own = select(OldSlug.slug).where(OldSlug.project_id == project.id)
    oldest = own.order_by(OldSlug.renamed_at.desc()).offset(projects.MOST_OLD_SLUGS)
    db.session.execute(delete(OldSlug).where(OldSlug.slug.in_(oldest)))
    projects.mark_edited(project)


def set_active(project: Project, *, is_active: bool) -> None:
    project.status = "active" if is_active else "inactive"
    projects.mark_edited(project)


def move_to_trash(project: Project) -> None:
    """Delete the locked project; its owner can restore it for 7 days."""
    project.deleted_at = clock.now()
    projects.mark_edited(project)


def restore_from_trash(account_id: str, project_id: str) -> Project:
    """Restore a deleted project. Raises `NotFound` after 7 days, and `ProjectLimitReached`."""
    account = projects.lock_account(account_id)
    conditions = (Project.account_id == account_id, Project.deleted_at > clock.now() - GRACE)
    project = require_found(
        find_row(Project, project_id, *conditions, for_update=True),
        gettext_noop("This project can no longer be restored."),
    )
    projects.require_room(account)
    project.deleted_at = None
    projects.mark_edited(project)
    return project


def list_deleted(account_id: str) -> Sequence[Project]:
    """Return the deleted projects that can still be restored, last deleted first."""
    row, since = Project, clock.now() - GRACE
    query = select(row).where(row.account_id == account_id, row.deleted_at > since)
    return db.session.scalars(query.order_by(row.deleted_at.desc())).all()


def delete_projects(account_id: str) -> Sequence[Project]:
    owned = db.session.scalars(select(Project).where(Project.account_id == account_id)).all()
    note_erased(db.session(), PROJECT, [project.id for project in owned])
    db.session.execute(delete(Project).where(Project.account_id == account_id))
    return owned


def hide_for_good(*conditions: ColumnElement[bool]) -> None:
    """Hide projects for good, before they are deleted in several transactions."""
    values = {"deleted_at": clock.EPOCH, "feed_version": Project.feed_version + 1}
    hide = update(Project).where(*conditions).values(values)
    db.session.execute(hide, execution_options={"synchronize_session": False})


def is_past_grace() -> ColumnElement[bool]:
    return Project.deleted_at <= clock.now() - GRACE


def delete_trashed_projects() -> int:
    """Permanently delete the projects that were deleted 7 days ago; return how many."""
    removed = db.session.scalars(delete(Project).where(is_past_grace()).returning(Project.id)).all()
    note_erased(db.session(), PROJECT, removed)
    return len(removed)


def find_renamed(slug: str) -> str | None:
    """Return the current slug of the project that used to have this one."""
    query = (
        select(Project.slug)
        .join(OldSlug, OldSlug.project_id == Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(OldSlug.slug == slug, projects.is_shown())
    )
    return db.session.scalar(query) if "\0" not in slug else None


# Suspending accounts and restoring them; nothing is deleted.

MAX_REASON = 500


class NotPossible(ServiceError):
    status = 409


def suspend_account(reference: str, reason: str, *, hides_widgets: bool) -> Account:
    """Suspend an account, mail its owner the reason, and end its sessions; return it, locked.

    Raises `NotFound`, `ValidationFailed` without a reason, and `NotPossible`.
    """
    reason = " ".join(reason.split())
    if not reason or len(reason) > MAX_REASON:
        problem = f"Give a reason of at most {MAX_REASON} characters: it is emailed to the owner."
        raise ValidationFailed.of({"reason": [problem]})
    # More sentences follow it where it is shown.
    reason += "." * reason[-1].isalnum()
    account = get_account(reference)
    if account.email in current_settings().operators:
        raise NotPossible(f"{account.email} is an operator. Take it out of OPERATORS first.")
    if account.is_suspended:
        raise NotPossible(f"{account.email} is suspended already.")
    account.suspended_at, account.suspended_reason = clock.now(), reason
    account.hides_widgets = hides_widgets
    end_sessions(account.id)
    _raise_versions(account)
    send_suspended_mail(account)
    record(ACCOUNT_SUSPENDED, account.id, reason=reason, hidden=hides_widgets)
    return account


def restore_account(reference: str) -> Account:
    """End an account's suspension, and email its owner; return it, locked.

    Raises `NotFound` and `NotPossible`.
    """
    account = get_account(reference)
    if not account.is_suspended:
        raise NotPossible(f"{account.email} is not suspended.")
    account.suspended_at = account.suspended_reason = None
    account.hides_widgets = False
    _raise_versions(account)
    send_restored_mail(account)
    record(ACCOUNT_RESTORED, account.id)
    return account


def _raise_versions(account: Account) -> None:
    """Raise the feed versions of the account's projects, so that nothing of them stays cached."""
    db.session.flush()
    now = clock.to_milliseconds(clock.now())
    version = case((Project.feed_version < now, now), else_=Project.feed_version + 1)
    db.session.execute(
        update(Project).where(Project.account_id == account.id).values(feed_version=version),
        execution_options={"synchronize_session": False},
    )
