"""The archive of an account: its own data, and an archive of each project."""

import json
import shutil
import zipfile
from functools import partial
from typing import IO, Any

from sqlalchemy import func, select

from testimonials import __version__
from testimonials.access.models import AccessToken
from testimonials.activity.services import EventFilter, list_events
from testimonials.auth.models import Account, BillingSubscription, Session
from testimonials.collection.models import UnsubscribedAddress
from testimonials.core import clock
from testimonials.core.data.database import Base
from testimonials.extensions import db
from testimonials.projects.models import (
    NotificationChoice,
    Project,
    ProjectMember,
    WorkspaceMember,
)
from testimonials.projects.team.workspace import list_colleagues
from testimonials.transfer.archives.contents import write_columns
from testimonials.transfer.archives.writing import spool, write_archive
from testimonials.transfer.tables.activity_table import find_names, write_events

FORMAT, VERSION = "testimonials-account", 1
LISTS = {
    "sessions": Session,
    "accessTokens": AccessToken,
    "subscriptions": BillingSubscription,
    "notifications": NotificationChoice,
}


def write_account_archive(account: Account, out: IO[bytes]) -> None:
    """Write all of an account: `account.json`, `activity.csv`, and each project in `projects`."""
    described = describe_account(account)
    account_id = account.id
    with zipfile.ZipFile(out, "w") as archive:
        text = json.dumps(described, ensure_ascii=False, indent=1)
        archive.writestr("account.json", text, zipfile.ZIP_DEFLATED)
        for each in described["projects"]:
            project = db.session.get_one(Project, each["id"])
            with (
                spool(partial(write_archive, project)) as inner,
                archive.open(each["file"], "w", force_zip64=True) as entry,
            ):
                shutil.copyfileobj(inner, entry)
            db.session.expunge_all()
        with archive.open("activity.csv", "w", force_zip64=True) as entry:
            write_events(list_events(EventFilter(account_id)), *find_names(account_id), entry)


def list_columns(model: type[Base]) -> list[str]:
    """Return the columns of a table without hashes of secrets.

    Owners have no use for those, but somebody who finds the file might.
    """
    return [each.name for each in model.__table__.columns if not each.name.endswith("_hash")]


def describe_account(account: Account) -> dict[str, Any]:
    """Return what is stored about an account itself, and which projects it has."""
    projects = db.session.scalars(
        select(Project).where(Project.account_id == account.id).order_by(Project.created_at)
    )
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": __version__,
        "exportedAt": clock.iso(clock.now()),
        "account": write_columns(account, list_columns(Account)),
        **{name: _describe_rows(model, account.id) for name, model in LISTS.items()},
        "memberships": _describe_memberships(account.id),
        "workspaces": _describe_workspaces(account.id),
        "team": _describe_team(account.id),
        # Only hashes of these addresses are kept.
        "unsubscribedAddresses": db.session.scalar(
            select(func.count()).where(UnsubscribedAddress.account_id == account.id)
        ),
        "projects": [
            {
                "id": project.id,
                "slug": project.slug,
                "isDeleted": project.deleted_at is not None,
                "file": f"projects/{project.slug}.zip",
            }
            for project in projects
        ],
    }


def _describe_rows(model: Any, account_id: str) -> list[dict[str, Any]]:
    keys = model.__table__.primary_key.columns
    rows = db.session.scalars(select(model).where(model.account_id == account_id).order_by(*keys))
    return [write_columns(row, list_columns(model)) for row in rows]


def _describe_memberships(account_id: str) -> list[dict[str, Any]]:
    rows = db.session.execute(
        select(Project.id, Project.slug, ProjectMember.role, ProjectMember.created_at)
        .join(Project, Project.id == ProjectMember.project_id)
        .where(ProjectMember.account_id == account_id)
        .order_by(ProjectMember.created_at)
    )
    return [
        {"projectId": row[0], "slug": row[1], "role": row[2], "since": clock.iso(row[3])}
        for row in rows
    ]


def _describe_workspaces(account_id: str) -> list[dict[str, Any]]:
    """Return the roles that others gave the account in all of their projects."""
    rows = db.session.scalars(
        select(WorkspaceMember)
        .where(WorkspaceMember.account_id == account_id)
        .order_by(WorkspaceMember.created_at, WorkspaceMember.owner_id)
    )
    return [
        {"accountId": row.owner_id, "role": row.role, "since": clock.iso(row.created_at)}
        for row in rows
    ]


def _describe_team(account_id: str) -> list[dict[str, Any]]:
    """Return who has a role in all projects of the account."""
    return [
        {"accountId": each.account_id, "email": each.email, "role": each.role}
        for each in list_colleagues(account_id)
        if each.role is not None
    ]
