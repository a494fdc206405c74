"""Putting the archive of a project into the database, whole or not at all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select

from testimonials.auth.models import Account
from testimonials.collection.models import Invitation, InvitationBatch, UnsubscribedAddress
from testimonials.collection.requests.hashed_addresses import hash_email
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.pictures.images import Image
from testimonials.extensions import db
from testimonials.projects.models import OldSlug, Project, WidgetSighting
from testimonials.projects.services import (
    SlugReserved,
    SlugTaken,
    is_held,
    mark_changed,
    require_room,
)
from testimonials.projects.slugs import is_reserved
from testimonials.testimonials.models import Testimonial, TestimonialChange, TestimonialTag
from testimonials.testimonials.moderation.changes import in_chunks
from testimonials.transfer.archives.opening import Archive
from testimonials.transfer.tables.importing import finish_import

# Pictures are larger than other rows; so many are held in memory at a time.
IMAGES_AT_ONCE = 50

Row = dict[str, Any]


@dataclass
class Restored:
    """What was put into the database, and what could not be taken as it was."""

    project: Project
    testimonials: int
    images: int
    # How many ids were taken already, so that new ones were made.
    renewed: int
    # Former addresses that belong to somebody else here.
    lost_slugs: list[str] = field(default_factory=list)
    # Requests that waited to be sent.
    waiting: int = 0


class _Ids:
    """The new id of each old one; the same, unless it is taken."""

    def __init__(self) -> None:
        self.renewed = 0
        self._new: dict[Any, dict[str, str]] = {}

    def reserve(self, column: Any, ids: Iterable[str]) -> None:
        """Find out which of the ids of a column are taken, and make others for them."""
        wanted, new = list(dict.fromkeys(ids)), self._new.setdefault(column, {})
        for part in in_chunks(wanted):
            for taken in db.session.scalars(select(column).where(column.in_(part)).distinct()):
                new[taken] = new_identifier()
                self.renewed += 1

    def of(self, column: Any, old: str) -> str:
        """Return the id under which something of the archive is stored."""
        return self._new[column].get(old, old)


def restore_project(
    archive: Archive,
    account: Account,
    *,
    slug: str | None,
    has_limit: bool = True,
    resumes_requests: bool = False,
) -> Restored:
    """Add the archive's project to the locked account.

    `slug` is another one than the archive's. Requests that waited are sent from here only if they
    are to be resumed. Raises `SlugTaken`, `SlugReserved` and `ProjectLimitReached`.
    """
    if has_limit:
        require_room(account)
    slug = slug or archive.project["slug"]
    _require_free(slug)
    ids = _reserve_ids(archive)
    _insert_images(archive, ids)
    project = _insert_project(archive, account, slug, ids)
    restored = Restored(project, len(archive.testimonials), len(archive.images), ids.renewed)
    restored.lost_slugs = _insert_old_slugs(archive, project)
    _insert(WidgetSighting, [{**row, "project_id": project.id} for row in archive.sightings])
    _insert_testimonials(archive, project, ids)
    restored.waiting = _insert_invitations(archive, project, ids, resumes=resumes_requests)
    account.has_created_project = True
    mark_changed(project)
    db.session.flush()
    finish_import(restored.testimonials)
    return restored


def _require_free(slug: str) -> None:
    if is_reserved(slug):
        raise SlugReserved(f"The slug {slug} is reserved for the service. Name another: --slug.")
    query = select(Project.id).where(Project.slug == slug)
    if db.session.scalar(query) is not None or is_held(slug, None):
        raise SlugTaken(f"The slug {slug} is taken here. Name another: --slug {slug}-2.")


def _reserve_ids(archive: Archive) -> _Ids:
    ids = _Ids()
    changes = [change for each in archive.changes.values() for change in each]
    ids.reserve(Project.id, [archive.project["id"]])
    ids.reserve(Image.id, [row["id"] for row in archive.images])
    ids.reserve(Testimonial.id, [row["id"] for row in archive.testimonials])
    ids.reserve(TestimonialChange.id, [row["id"] for row in changes])
    # Changes of a batch are undone together, so two projects never share one.
    ids.reserve(TestimonialChange.batch_id, [row["batch_id"] for row in changes])
    ids.reserve(InvitationBatch.id, [row["id"] for row in archive.batches])
    ids.reserve(Invitation.id, [row["id"] for row in archive.invitations])
    return ids


def _insert_images(archive: Archive, ids: _Ids) -> None:
    for start in range(0, len(archive.images), IMAGES_AT_ONCE):
        part = archive.images[start : start + IMAGES_AT_ONCE]
        rows = [
            {**row, "id": ids.of(Image.id, row["id"]), "content": archive.read_image(row["id"])}
            for row in part
        ]
        _insert(Image, rows)


def _insert_project(archive: Archive, account: Account, slug: str, ids: _Ids) -> Project:
    columns = archive.project
    times = [row["created_at"] for row in archive.testimonials]
    times += [row["returned_at"] for row in archive.testimonials if row["returned_at"]]
    project = Project(
        **columns
        | {
            "id": ids.of(Project.id, columns["id"]),
            "account_id": account.id,
            "slug": slug,
            "logo_id": columns["logo_id"] and ids.of(Image.id, columns["logo_id"]),
            "last_testimonial_at": max(times, default=None),
        }
    )
    db.session.add(project)
    db.session.flush()
    return project


def _insert_old_slugs(archive: Archive, project: Project) -> list[str]:
    """Keep the former addresses that are free; return the others."""
    slugs = [row["slug"] for row in archive.old_slugs]
    taken = set(db.session.scalars(select(OldSlug.slug).where(OldSlug.slug.in_(slugs))))
    taken |= set(db.session.scalars(select(Project.slug).where(Project.slug.in_(slugs))))
    taken |= {slug for slug in slugs if is_reserved(slug)}
    rows = [row for row in archive.old_slugs if row["slug"] not in taken]
    _insert(OldSlug, [{**row, "project_id": project.id} for row in rows])
    return sorted(taken)


def _insert_testimonials(archive: Archive, project: Project, ids: _Ids) -> None:
    keys = [row["submission_key"] for row in archive.testimonials if row["submission_key"]]
    taken: set[str | None] = set()
    for part in in_chunks(keys):
        column = Testimonial.submission_key
        taken |= set(db.session.scalars(select(column).where(column.in_(part))))
    pictures = {row["id"]: ids.of(Image.id, row["id"]) for row in archive.images}
    rows, tags, changes = [], [], []
    for row in archive.testimonials:
        new_id = ids.of(Testimonial.id, row["id"])
        avatar_id = pictures.get(row["avatar_id"])
        # The act of sending made its row here already; this is a copy of that.
        key = None if row["submission_key"] in taken else row["submission_key"]
        columns = {"project_id": project.id, "avatar_id": avatar_id, "submission_key": key}
        rows.append(row | columns | {"id": new_id})
        tags += [
            {"testimonial_id": new_id, "name": name, "project_id": project.id}
            for name in archive.tags[row["id"]]
        ]
        for change in archive.changes[row["id"]]:
            changes.append(_renew_change(change, ids, pictures) | {"testimonial_id": new_id})
    _insert(Testimonial, rows)
    _insert(TestimonialTag, tags)
    _insert(TestimonialChange, changes)


def _renew_change(change: Row, ids: _Ids, pictures: dict[str, str]) -> Row:
    before = change["before"]
    if before.get("avatar_id"):
        # A picture that was gone already; here its id might be somebody else's.
        before = before | {"avatar_id": pictures.get(before["avatar_id"])}
    return change | {
        "id": ids.of(TestimonialChange.id, change["id"]),
        "batch_id": ids.of(TestimonialChange.batch_id, change["batch_id"]),
        "before": before,
    }


def _insert_invitations(archive: Archive, project: Project, ids: _Ids, *, resumes: bool) -> int:
    """Add who was asked, and who wants no more mail; return how many requests wait to be sent."""
    account_id = project.account_id
    _insert(
        InvitationBatch,
        [
            {**row, "id": ids.of(InvitationBatch.id, row["id"]), "project_id": project.id}
            for row in archive.batches
        ],
    )
    rows = []
    for row in archive.invitations:
        answer = row["testimonial_id"] and ids.of(Testimonial.id, row["testimonial_id"])
        columns = {
            "id": ids.of(Invitation.id, row["id"]),
            "batch_id": ids.of(InvitationBatch.id, row["batch_id"]),
            "project_id": project.id,
            "email_hash": hash_email(account_id, row["email"]),
            "next_mail_at": row["next_mail_at"] if resumes else None,
            "testimonial_id": answer,
        }
        rows.append(row | columns)
    _insert(Invitation, rows)
    for email, time in archive.unsubscribed.items():
        key = (account_id, hash_email(account_id, email))
        if db.session.get(UnsubscribedAddress, key) is None:
            db.session.add(
                UnsubscribedAddress(account_id=key[0], email_hash=key[1], created_at=time)
            )
    return sum(row["next_mail_at"] is not None for row in archive.invitations)


def _insert(model: Any, rows: Sequence[Row]) -> None:
    """Add many rows in few statements, in their order."""
    for part in in_chunks(rows):
        db.session.connection().execute(insert(model.__table__), part)
