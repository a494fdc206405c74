"""Pictures that are no longer used."""

from collections.abc import Set
from datetime import timedelta

from sqlalchemy import delete, select

from testimonials.core import clock
from testimonials.core.pictures.images import Image
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Recording, Testimonial, TestimonialChange

# Longer than a change can be undone (undoing.UNDO_SECONDS), so that the picture is still there.
KEPT = timedelta(days=2)


def delete_unused_images(proposed: Set[str]) -> int:
    """Delete the pictures that no testimonial and no project uses; return how many.

    A replaced picture is kept while that can be undone, a new one until its form is sent, and those
    that are `proposed`.
    """
    since = clock.now() - KEPT
    avatar = TestimonialChange.before["avatar_id"].as_string()
    replaced = select(avatar).where(TestimonialChange.created_at > since, avatar.is_not(None))
    kept = proposed | set(db.session.scalars(replaced))
    unused = db.session.scalars(
        select(Image.id).where(
            Image.created_at <= since,
            ~select(Testimonial.id).where(Testimonial.avatar_id == Image.id).exists(),
            *(
                ~select(Project.id).where(column == Image.id).exists()
                for column in (Project.logo_id, Project.cover_id, Project.portrait_id)
            ),
            ~select(Recording.id).where(Recording.poster_id == Image.id).exists(),
        )
    ).all()
    gone = [image_id for image_id in unused if image_id not in kept]
    for start in range(0, len(gone), 500):
        db.session.execute(delete(Image).where(Image.id.in_(gone[start : start + 500])))
    return len(gone)
