"""Writing the archive of a project: a zip with `project.json` and the pictures as files."""

import json
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from testimonials import __version__
from testimonials.collection.models import Invitation, InvitationBatch, UnsubscribedAddress
from testimonials.core import clock
from testimonials.core.pictures.images import Image
from testimonials.extensions import db
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.projects.team.services import list_members
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.changes import in_chunks
from testimonials.transfer.archives.contents import (
    BATCH,
    CHANGE,
    FORMAT,
    IMAGE,
    INVITATION,
    OLD_SLUG,
    PROJECT,
    SIGHTING,
    TESTIMONIAL,
    VERSION,
    to_name,
    write_value,
)

JSON_NAME, IMAGE_FOLDER = "project.json", "images"
# So many testimonials are in memory at a time.
ROWS_AT_ONCE = 500
# Kept in memory up to this size, and in a temporary file beyond.
SPOOLED_BYTES = 8 * 1024 * 1024


def make_archive(project: Project) -> IO[bytes]:
    """Return the archive of a project as a temporary file at its beginning."""
    out = tempfile.SpooledTemporaryFile(max_size=SPOOLED_BYTES)  # noqa: SIM115
    write_archive(project, out)
    out.seek(0)
    return out


def write_archive(project: Project, out: IO[bytes]) -> None:
    """Write the archive of a project; `reading_one_moment` makes it consistent.

    Only a part of it is in memory at a time, however large the project is.
    """
    images: list[str] = []
    entry = zipfile.ZipInfo(JSON_NAME, clock.now().timetuple()[:6])
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
    with zipfile.ZipFile(out, "w") as archive:
        with archive.open(entry, "w", force_zip64=True) as file:
            write_json(_describe_project(project, images), file)
        for part in in_chunks_of(100, images):
            for image in db.session.scalars(select(Image).where(Image.id.in_(part))):
                # WebP is compressed already.
                archive.writestr(image_file(image.id), image.content, zipfile.ZIP_STORED)
            db.session.expunge_all()


def write_json(members: Iterable[tuple[str, Any]], file: IO[bytes]) -> None:
    """Write an object member by member; the value of one may be an iterator, written as a list."""
    mark = "{"
    for name, value in members:
        file.write(f"{mark}\n{json.dumps(name)}: ".encode())
        if isinstance(value, Iterator):
            _write_list(value, file)
        else:
            file.write(json.dumps(value, ensure_ascii=False, indent=1).encode())
        mark = ","
    file.write(b"\n}\n")


def _write_list(values: Iterator[Any], file: IO[bytes]) -> None:
    mark = "["
    for value in values:
        file.write(f"{mark}\n{json.dumps(value, ensure_ascii=False, indent=1)}".encode())
        mark = ","
    file.write(b"\n]" if mark == "," else b"[]")


def image_file(image_id: str) -> str:
    """Return the name of a picture's file in an archive."""
    return f"{IMAGE_FOLDER}/{image_id}.webp"


def _describe_project(project: Project, images: list[str]) -> Iterator[tuple[str, Any]]:
    """Return all of a project but the pictures' bytes, as `project.json` holds it, in its order.

    Each value is to be used up before the next; the ids of the pictures are added to `images`.
    """
    project_id, named = project.id, {project.logo_id}
    yield "format", FORMAT
    yield "version", VERSION
    yield "program", __version__
    yield "exportedAt", clock.iso(clock.now())
    yield "project", PROJECT.write(project)
    yield "oldSlugs", [OLD_SLUG.write(row) for row in _list(OldSlug, project_id)]
    yield "widgetSightings", [SIGHTING.write(row) for row in _list(WidgetSighting, project_id)]
    yield "testimonials", _describe_testimonials(project_id, named)
    yield "invitationBatches", [BATCH.write(row) for row in _list(InvitationBatch, project_id)]
    yield "invitations", _describe_invitations(project)
    yield (
        "team",
        [
            {"email": member.email, "role": member.role.name.lower()}
            for member in list_members(project)
        ],
    )
    described = list(_describe_images(sorted(filter(None, named))))
    images += [each["id"] for each in described]
    yield "images", described


def in_chunks_of(size: int, values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Return the values in parts of a size."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def write_before(before: dict[str, Any]) -> dict[str, Any]:
    """Return what a change remembers as a testimonial is written: with names and times as there."""
    written: dict[str, Any] = {}
    for column, value in before.items():
        kind = TESTIMONIAL.columns.get(column)
        if isinstance(value, int) and column.endswith("_at"):
            value = clock.from_milliseconds(value)
        written[to_name(column)] = write_value(kind, value) if kind else value
    return written


def _list(model: Any, project_id: str) -> Iterable[Any]:
    keys = model.__table__.primary_key.columns
    query = select(model).where(model.project_id == project_id).order_by(*keys)
    return db.session.scalars(query).all()


def _describe_testimonials(project_id: str, named: set[str | None]) -> Iterator[dict[str, Any]]:
    """Return each testimonial with tags and history; add the pictures that they name to `named`."""
    rows = db.session.scalars(
        select(Testimonial)
        .where(Testimonial.project_id == project_id)
        .order_by(Testimonial.created_at, Testimonial.id)
        .options(selectinload(Testimonial.tag_rows))
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    for part in rows.partitions():
        changes = _describe_changes([row.id for row in part])
        for row in part:
            found = changes[row.id]
            named |= {row.avatar_id, *(change["before"].get("avatarId") for change in found)}
            yield TESTIMONIAL.write(row) | {"tags": row.tags, "changes": found}


def _describe_changes(ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    query = (
        select(TestimonialChange)
        .where(TestimonialChange.testimonial_id.in_(ids))
        .order_by(TestimonialChange.created_at, TestimonialChange.id)
    )
    for change in db.session.scalars(query):
        written = CHANGE.write(change) | {"before": write_before(change.before)}
        changes[change.testimonial_id].append(written)
    return changes


def _describe_invitations(project: Project) -> Iterator[dict[str, Any]]:
    rows = db.session.execute(
        select(Invitation, UnsubscribedAddress.created_at)
        .outerjoin(
            UnsubscribedAddress,
            (UnsubscribedAddress.account_id == project.account_id)
            & (UnsubscribedAddress.email_hash == Invitation.email_hash),
        )
        .where(Invitation.project_id == project.id)
        .order_by(Invitation.created_at, Invitation.id)
    )
    for invitation, unsubscribed_at in rows:
        told = None if unsubscribed_at is None else clock.iso(unsubscribed_at)
        yield INVITATION.write(invitation) | {"unsubscribedAt": told}


def _describe_images(ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Describe those of the pictures that are still there."""
    for part in in_chunks(ids):
        columns = [getattr(Image, name) for name in IMAGE.columns]
        for row in db.session.execute(
            select(*columns).where(Image.id.in_(part)).order_by(Image.id)
        ):
            yield IMAGE.write(row)
