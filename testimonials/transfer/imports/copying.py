"""Copies of the photos of what was imported, some at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update

from testimonials.core.pictures.images import Image
from testimonials.core.public_addresses import Check
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial
from testimonials.transfer.models import TableImport
from testimonials.transfer.tables.photos import AT_ONCE, Problems, copy_photos, is_website

# The first of these are shown.
MOST_PROBLEMS = 50


@dataclass(frozen=True)
class Copied:
    """Some photos: the testimonials that were looked at, what each linked to, and the copies."""

    links: Sequence[tuple[str, str]]
    photos: dict[str, Image]
    problems: Problems

    def write(self, row: TableImport) -> None:
        """Give the testimonials their photos, unless somebody has given them another since."""
        for testimonial_id, url in self.links:
            if (photo := self.photos.get(url)) is None:
                continue
            changed = db.session.scalars(
                update(Testimonial)
                .where(
                    Testimonial.id == testimonial_id,
                    Testimonial.author_avatar == url,
                    Testimonial.avatar_id.is_(None),
                )
                .values(author_avatar=None, avatar_id=photo.id)
                .returning(Testimonial.id)
            ).all()
            if changed:
                db.session.add(photo)
        mark_changed(db.session.get_one(Project, row.project_id))
        known = row.outcome.get("photos", [])
        row.outcome = row.outcome | {"photos": [*known, *map(list, self.problems)][:MOST_PROBLEMS]}
        row.photos_done = min(row.photos, row.photos_done + len(self.links))
        row.photos_to = self.links[-1][0]


def count_photos(import_id: str) -> int:
    return db.session.scalar(_select(import_id, func.count())) or 0


def copy_some(import_id: str, after: str, is_allowed: Check = is_website) -> Copied | None:
    """Fetch the next photos; None if there are no more. Takes no lock and ends its transaction."""
    query = _select(import_id, Testimonial.id, Testimonial.author_avatar)
    query = query.where(Testimonial.id > after).order_by(Testimonial.id).limit(2 * AT_ONCE)
    links = [(each.id, each.author_avatar) for each in db.session.execute(query)]
    db.session.rollback()
    if not links:
        return None
    photos, problems = copy_photos([url for _, url in links], is_allowed)
    return Copied(links, photos, problems)


def _select(import_id: str, *columns: Any) -> Any:
    return select(*columns).where(
        Testimonial.import_id == import_id,
        Testimonial.author_avatar.is_not(None),
        Testimonial.avatar_id.is_(None),
    )
