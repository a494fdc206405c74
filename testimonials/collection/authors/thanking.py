"""Thanking an author by mail: once, at the address they have proven to be theirs."""

from sqlalchemy import select

from testimonials.collection.authors.erasure import is_unwanted
from testimonials.collection.emails import send_author_mail
from testimonials.core import clock
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.services import ActionRefused

THANK = "thank"
WHY_NOT = gettext_noop(
    "No mail was sent: it can be sent once, to an address that its author has proven to be theirs, "
    "as long as they want mail and the testimonial isn’t withdrawn."
)


def can_thank(project: Project, row: Testimonial) -> bool:
    email = row.author_email
    if email is None or row.email_verified_at is None or row.deleted_at is not None:
        return False
    if row.status not in ("pending", "approved", "rejected") or is_unwanted(project, email):
        return False
    return find_thanks(row) is None


def find_thanks(row: Testimonial) -> TestimonialChange | None:
    """Return when and by whom the author was thanked."""
    return db.session.scalars(
        select(TestimonialChange)
        .where(TestimonialChange.testimonial_id == row.id, TestimonialChange.action == THANK)
        .limit(1)
    ).first()


def thank_author(project: Project, row: Testimonial, words: str, actor: str) -> None:
    """Mail the words to the author, and note it; `project` is locked. Raises `ActionRefused`."""
    if not can_thank(project, row):
        raise ActionRefused(WHY_NOT)
    send_author_mail(project, row, words=words)
    note = TestimonialChange(
        testimonial_id=row.id,
        project_id=project.id,
        batch_id=new_identifier(),
        actor=actor,
        action=THANK,
        before={},
        # It changes nothing of the testimonial, so what was done before can still be undone.
        undone_at=clock.now(),
    )
    db.session.add(note)
