"""Everything of one account as a file: what is kept of the person, and each of their projects."""

import json
import shutil
import tempfile
import zipfile
from typing import IO, Any

from sqlalchemy import func, select

from testimonials import __version__
from testimonials.activity.services import EventFilter, list_events
from testimonials.auth.models import Account, BillingSubscription, FormerAddress, Session
from testimonials.collection.models import UnsubscribedAddress
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.projects.models import NotificationChoice, Project, ProjectMember
from testimonials.transfer.archives.contents import to_name
from testimonials.transfer.archives.writing import SPOOLED_BYTES, make_archive
from testimonials.transfer.tables.activity_table import find_names, write_events

FORMAT, VERSION = "testimonials-account", 1
JSON_NAME, ACTIVITY_NAME = "account.json", "activity.csv"

# Nobody needs these to have their data, and whoever finds the file could misuse them.
SECRETS = {
    Account: {"key_hash", "claim_nonce_hash", "own_nonce_hash", "password_hash"},
    Session: {"token_hash"},
    FormerAddress: set(),
    BillingSubscription: set(),
    NotificationChoice: set(),
}


def make_account_archive(account: Account) -> IO[bytes]:
    """Return all of an account as a temporary file at its beginning."""
    out = tempfile.SpooledTemporaryFile(max_size=SPOOLED_BYTES)  # noqa: SIM115
    write_account_archive(account, out)
    out.seek(0)
    return out


def write_account_archive(account: Account, out: IO[bytes]) -> None:
    """Write all of an account: `account.json`, `activity.csv`, and each project in `projects`."""
    described = describe_account(account)
    ids = [each["id"] for each in described["projects"]]
    with zipfile.ZipFile(out, "w") as archive:
        text = json.dumps(described, ensure_ascii=False, indent=1)
        archive.writestr(JSON_NAME, text, zipfile.ZIP_DEFLATED)
        for each, project_id in zip(described["projects"], ids, strict=True):
            with (
                make_archive(db.session.get_one(Project, project_id)) as inner,
                archive.open(each["file"], "w", force_zip64=True) as entry,
            ):
                shutil.copyfileobj(inner, entry)
            db.session.expunge_all()
        with archive.open(ACTIVITY_NAME, "w", force_zip64=True) as entry:
            events = list_events(EventFilter(account.id))
            write_events(events, *find_names(account.id), entry)


def describe_account(account: Account) -> dict[str, Any]:
    """Return what is kept of an account, but for what its projects hold."""
    projects = db.session.scalars(
        select(Project).where(Project.account_id == account.id).order_by(Project.created_at)
    ).all()
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": __version__,
        "exportedAt": clock.iso(clock.now()),
        "account": _describe(account),
        "sessions": _list(Session, account.id),
        "formerAddresses": _list(FormerAddress, account.id),
        "subscriptions": _list(BillingSubscription, account.id),
        "notifications": _list(NotificationChoice, account.id),
        "memberships": _list_memberships(account.id),
        # Of these addresses only hashes are kept.
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


def _describe(row: Any) -> dict[str, Any]:
    names = [column.name for column in row.__table__.columns]
    shown = [name for name in names if name not in SECRETS[type(row)]]
    return {to_name(name): _write(getattr(row, name)) for name in shown}


def _list(model: Any, account_id: str) -> list[dict[str, Any]]:
    keys = model.__table__.primary_key.columns
    rows = db.session.scalars(select(model).where(model.account_id == account_id).order_by(*keys))
    return [_describe(row) for row in rows]


def _list_memberships(account_id: str) -> list[dict[str, Any]]:
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


def _write(value: Any) -> Any:
    return clock.iso(value) if hasattr(value, "tzinfo") else value
