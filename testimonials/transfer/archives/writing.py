"""Writing the archive of a project or of an account."""

import json
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import selectinload

from testimonials import __version__
from testimonials.auth.models import AccessToken, Account, BillingSubscription, Session
from testimonials.collection.models import MailedRequest, UnsubscribedAddress, is_unsubscribed
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Event
from testimonials.core.db.engine import list_columns, to_name, write_columns, write_value
from testimonials.core.event_lists import list_events
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.images.uploads import Image
from testimonials.projects.models import PICTURES, Member, NotificationChoice, Project
from testimonials.projects.team import list_colleagues, list_members
from testimonials.testimonials.history import from_json
from testimonials.testimonials.media.recordings import path_of, size_of
from testimonials.testimonials.models import Recording, Testimonial
from testimonials.testimonials.record import begin_record
from testimonials.testimonials.record_heads import find_head, read_head, write_log
from testimonials.transfer.archives.format import (
    CHANGE,
    FORMAT,
    IMAGE,
    LISTS,
    PROJECT,
    RECORDING,
    REQUEST,
    TESTIMONIAL,
    VERSION,
    Part,
    Row,
)
from testimonials.transfer.tables.export import find_names, write_events

# The archive of a project is a zip file with `project.json`, and with images and recordings.

JSON_NAME = "project.json"
# How many testimonials, and how many images, are in memory at a time.
ROWS_AT_ONCE, IMAGES_AT_ONCE = 500, 100


@contextmanager
def reading_snapshot() -> Iterator[None]:
    """Read in a transaction that sees one snapshot, as every transaction on SQLite does."""
    db.session.expunge_all()
    db.session.rollback()
    options = (
        {"isolation_level": "REPEATABLE READ"} if db.engine.dialect.name == "postgresql" else {}
    )
    db.session.connection(execution_options=options)
    try:
        yield
    finally:
        db.session.expunge_all()
        db.session.rollback()


def spool(write: Callable[[IO[bytes]], None]) -> tempfile.SpooledTemporaryFile[bytes]:
    """Return a temporary file with the output of `write`, which stays in memory if it is small."""
    out = tempfile.SpooledTemporaryFile(max_size=8 * 1024 * 1024)  # noqa: SIM115
    try:
        write(out)
    except ServiceError:
        out.close()
        raise
    out.seek(0)
    return out


def finish_records(condition: ColumnElement[bool]) -> None:
    """Complete the public records of projects before exporting them."""
    for project_id in db.session.scalars(select(Project.id).where(condition)).all():
        begin_record(project_id)
        find_head(project_id)


def write_archive(project: Project, out: IO[bytes]) -> None:
    """Write a project's archive within `reading_snapshot`, with only part of it in memory."""
    images: set[str | None] = {getattr(project, name) for name in PICTURES}
    entry = zipfile.ZipInfo(JSON_NAME, clock.now().timetuple()[:6])
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    with zipfile.ZipFile(out, "w") as archive:
        with archive.open(entry, "w", force_zip64=True) as file:
            write_members(_describe_project(project, images), file)
        for image in _list_images(images, Image.id, Image.content):
            # Images and recordings are compressed already.
            archive.writestr(image_file(image.id), image.content, zipfile.ZIP_STORED)
        for recording in _list_recordings(project):
            archive.write(path_of(recording.id), recording_file(recording.id), zipfile.ZIP_STORED)


def recording_file(recording_id: str) -> str:
    return f"recordings/{recording_id}"


def image_file(image_id: str) -> str:
    return f"images/{image_id}.webp"


def write_members(members: Iterable[tuple[str, Any]], file: IO[bytes]) -> None:
    """Write a JSON object member by member; iterators become lists.

    The items of these aren't indented, since that would take five times as long.
    """
    mark = "{"
    for name, value in members:
        file.write(f"{mark}\n{json.dumps(name)}: ".encode())
        if isinstance(value, Iterator):
            item_mark = "["
            for item in value:
                file.write(f"{item_mark}\n{json.dumps(item, ensure_ascii=False)}".encode())
                item_mark = ","
            file.write(b"\n]" if item_mark == "," else b"[]")
        else:
            file.write(json.dumps(value, ensure_ascii=False, indent=1).encode())
        mark = ","
    file.write(b"\n}\n")


def _describe_project(project: Project, images: set[str | None]) -> Iterator[tuple[str, Any]]:
    """Yield the members of `project.json`, to consume in order; add image ids to `images`."""
    yield "format", FORMAT
    yield "version", VERSION
    yield "program", __version__
    yield "exportedAt", clock.iso(clock.now())
    yield "project", PROJECT.write(project)
    for name in ("oldSlugs", "widgetSightings", "savedWidgets", "forms"):
        yield name, describe_all(LISTS[name], project)
    yield "testimonials", _describe_testimonials(project, images)
    head = read_head(project.id)
    yield "record", write_log(head) if head else []
    yield "keptRatings", describe_all(LISTS["keptRatings"], project)
    yield "recordings", _describe_recordings(project, images)
    yield "invitationBatches", describe_all(LISTS["invitationBatches"], project)
    yield "invitations", describe_requests(project)
    members = list_members(project)
    yield "team", [{"email": each.email, "role": each.role.name.lower()} for each in members]
    columns = (getattr(Image, name) for name in IMAGE.columns)
    yield "images", (IMAGE.write(row) for row in _list_images(images, *columns))


def describe_all(part: Part, project: Project) -> Iterator[Row]:
    query = select(part.model).where(part.table.c.project_id == project.id)
    for row in db.session.scalars(query.order_by(*part.table.primary_key.columns)):
        yield part.write(row)


def _describe_testimonials(project: Project, images: set[str | None]) -> Iterator[Row]:
    rows = db.session.scalars(
        select(Testimonial)
        .where(Testimonial.project_id == project.id)
        .order_by(Testimonial.created_at, Testimonial.id)
        .options(selectinload(Testimonial.tag_rows))
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    for part in rows.partitions():
        changes, salts = _describe_changes([row.id for row in part])
        for row in part:
            own = changes[row.id]
            images |= {row.avatar_id, *(change["before"].get("avatarId") for change in own)}
            beside = {"tags": row.tags, "changes": own, "salts": salts[row.id]}
            yield TESTIMONIAL.write(row) | beside


def _describe_recordings(project: Project, images: set[str | None]) -> Iterator[Row]:
    for row in _list_recordings(project):
        images.add(row.poster_id)
        yield RECORDING.write(row)


def _list_recordings(project: Project) -> Iterator[Recording]:
    """Yield the submitted recordings whose files exist."""
    query = select(Recording).where(
        Recording.project_id == project.id,
        Recording.testimonial_id.is_not(None),
        Recording.state == "ready",
    )
    for row in db.session.scalars(query.order_by(Recording.id)):
        if size_of(row.id):
            yield row


def _describe_changes(ids: Sequence[str]) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
    """Return the history of each testimonial, and the salts of its entries in the record."""
    changes, salts = defaultdict[str, list[Row]](list), defaultdict[str, list[str]](list)
    query = (
        select(Event, IS_HISTORY)
        .where(Event.testimonial_id.in_(ids), or_(IS_HISTORY, Event.salt.is_not(None)))
        .order_by(Event.created_at, Event.id)
    )
    events = db.session.execute(query).all()
    for event, _ in sorted(events, key=lambda each: each[0].number or 0):
        if event.salt:
            salts[event.testimonial_id or ""].append(event.salt)
    for event in (each for each, is_history in events if is_history):
        before = {
            to_name(name): write_value(from_json(name, old)) for name, old in event.before.items()
        }
        changes[event.testimonial_id or ""].append(CHANGE.write(event) | {"before": before})
    return changes, salts


def describe_requests(project: Project, *conditions: ColumnElement[bool]) -> Iterator[Row]:
    rows = db.session.execute(
        select(MailedRequest, UnsubscribedAddress.created_at)
        .outerjoin(UnsubscribedAddress, is_unsubscribed(project.account_id))
        .where(MailedRequest.project_id == project.id, *conditions)
        .order_by(MailedRequest.created_at, MailedRequest.id)
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    for request, time in rows:
        yield REQUEST.write(request) | {"unsubscribedAt": write_value(time)}


def _list_images(ids: set[str | None], *columns: Any) -> Iterator[Any]:
    chosen = sorted(filter(None, ids))
    for start in range(0, len(chosen), IMAGES_AT_ONCE):
        part = chosen[start : start + IMAGES_AT_ONCE]
        yield from db.session.execute(select(*columns).where(Image.id.in_(part)).order_by(Image.id))


# The archive of an account: its own data, and an archive of each project.

OF_ACCOUNT: dict[str, Any] = {
    "sessions": Session,
    "accessTokens": AccessToken,
    "subscriptions": BillingSubscription,
    "notifications": NotificationChoice,
    # In one project, or in all projects of an owner.
    "memberships": Member,
}


def write_account_archive(account: Account, out: IO[bytes]) -> None:
    """Write `account.json`, `activity.csv`, and an archive of each project in `projects`."""
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
            write_events(list_events(account_id=account_id), *find_names(account_id), entry)


def describe_account(account: Account) -> dict[str, Any]:
    """Return what is stored about an account itself, and a list of its projects."""
    projects = db.session.scalars(
        select(Project).where(Project.account_id == account.id).order_by(Project.created_at)
    )
    return {
        "format": "testimonials-account",
        "version": 1,
        "program": __version__,
        "exportedAt": clock.iso(clock.now()),
        "account": write_columns(account, list_columns(Account)),
        **{
            name: describe_rows(model, model.account_id == account.id)
            for name, model in OF_ACCOUNT.items()
        },
        "team": [
            {"accountId": each.account_id, "email": each.email, "role": each.role}
            for each in list_colleagues(account.id)
            if each.role is not None
        ],
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


def find_rows(model: Any, condition: ColumnElement[bool]) -> list[Any]:
    keys = model.__table__.primary_key.columns
    return list(db.session.scalars(select(model).where(condition).order_by(*keys)))


def describe_rows(
    model: Any, condition: ColumnElement[bool], columns: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the columns (by default all) of the rows that meet a condition."""
    columns = columns or list_columns(model)
    return [write_columns(row, columns) for row in find_rows(model, condition)]
