"""Delete what an author wrote, or the address of somebody who didn't write it."""

import re
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, delete, exists, select, update

from testimonials.activity.event_types import EventType
from testimonials.collection.authors.services import (
    AuthorRefused,
    OwnTestimonial,
    author_purpose,
)
from testimonials.collection.models import UnsubscribedAddress, hash_email
from testimonials.core.data.erased import ADDRESS as ERASED_ADDRESS
from testimonials.core.data.erased import TESTIMONIAL, note_erased
from testimonials.core.data.idempotency import forget_answers
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.pictures.images import Image
from testimonials.core.urls import author_url, project_url
from testimonials.extensions import db
from testimonials.media.removal import remove_after_commit
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.events import (
    ADDRESS,
    DISOWNED,
    is_held,
    name_change,
    record_by_author,
)
from testimonials.testimonials.models import Recording, Testimonial, TestimonialChange
from testimonials.testimonials.moderation.changes import change_testimonial

AUTHOR_MAIL = "author-link"
SUBMISSIONS_MAIL = "submissions"


def erase(own: OwnTestimonial) -> None:
    """Permanently delete the testimonial, history, files and mails. The project is locked.

    To be recorded by `record_erased`.
    """
    row = own.row
    mark_changed(own.project)
    pictures = _list_pictures(row)
    if row.recording is not None:
        remove_after_commit([row.recording.id])
    forget_answers(db.session(), own.project.account_id)
    _remove_author_mails(row)
    _blank_submission_mails(own.project, row)
    note_erased(db.session(), TESTIMONIAL, [row.id])
    db.session.delete(row)
    db.session.flush()
    _delete_pictures(pictures)


def record_erased(own: OwnTestimonial) -> None:
    """Record that a testimonial is gone, unless nobody has heard of it."""
    if own.row.status != "demo" and not (is_held(own.row) and own.row.status == "spam"):
        record_by_author(EventType.TESTIMONIAL_DELETED, own.project, testimonial=own.row.id)


def disown(own: OwnTestimonial) -> None:
    """Remove the address of somebody who didn't write the testimonial.

    The testimonial is held as spam, and the account sends no more mail to the address. The project
    is locked. Raises `AuthorRefused` for a link that wasn't mailed.
    """
    row, email = own.row, own.row.author_email
    if not own.is_mailed or email is None:
        raise AuthorRefused
    _remove_author_mails(row)
    forget_email(TestimonialChange.testimonial_id == row.id)
    forget_answers(db.session(), own.project.account_id)
    row.author_email, row.email_verified_at = None, None
    reasons = f"{row.held_for},{DISOWNED}" if row.status == "spam" else DISOWNED
    held = {} if row.status == "withdrawn" else {"status": "spam", "held_for": reasons}
    before = change_testimonial(row, held, new_identifier(), ADDRESS, "disown")
    address = UnsubscribedAddress(
        account_id=own.project.account_id, email_hash=hash_email(own.project.account_id, email)
    )
    db.session.merge(address)
    note_erased(db.session(), ERASED_ADDRESS, [row.id])
    mark_changed(own.project)
    db.session.flush()
    if (type := name_change(row, before)) is not None:
        where = {"action": "disown", "testimonial": row.id}
        record_by_author(type, own.project, ADDRESS, **where)


def forget_email(condition: ColumnElement[bool]) -> None:
    """Remove the author's address from the history that meets the condition."""
    for change in db.session.scalars(select(TestimonialChange).where(condition)):
        change.before = {name: old for name, old in change.before.items() if name != "author_email"}


def is_unwanted(project: Project, email: str) -> bool:
    """Tell whether the address has unsubscribed from the project's account."""
    key = (project.account_id, hash_email(project.account_id, email))
    return db.session.get(UnsubscribedAddress, key) is not None


def _list_pictures(row: Testimonial) -> list[str]:
    befores = db.session.scalars(
        select(TestimonialChange.before).where(TestimonialChange.testimonial_id == row.id)
    )
    poster = row.recording.poster_id if row.recording else None
    used = (row.avatar_id, poster, *(old.get("avatar_id") for old in befores))
    return [name for name in used if name]


def _delete_pictures(ids: list[str]) -> None:
    db.session.execute(
        delete(Image).where(
            Image.id.in_(ids),
            ~exists().where(Testimonial.avatar_id == Image.id),
            ~exists().where(Recording.poster_id == Image.id),
            ~exists().where(Project.logo_id == Image.id),
        )
    )


def _remove_author_mails(row: Testimonial) -> None:
    """Remove the mails with its link from the outbox, except one that is being sent.

    One that has been sent no longer says which testimonial it was about, so it goes too.
    """
    # The end of the path alone: the service may have moved, and projects have hosts of their own.
    own_path = re.escape(urlsplit(author_url("", host="any.host")).path)
    mails = db.session.scalars(
        select(OutboxMail).where(
            OutboxMail.purpose == AUTHOR_MAIL,
            OutboxMail.recipient == row.author_email,
            OutboxMail.state != MailState.SENDING,
        )
    )
    for mail in mails:
        link = re.search(own_path + r"([\w.-]+)", mail.text)
        named = author_purpose.find(link[1], 2) if link else None
        if not mail.text or (named and named[0] == row.id):
            db.session.delete(mail)


def _blank_submission_mails(project: Project, row: Testimonial) -> None:
    """Remove the text from notifications that quote it."""
    inbox = project_url(project.id, "inbox")
    note = f"An author has deleted a testimonial that was in this mail. Your inbox: {inbox}"
    db.session.execute(
        update(OutboxMail)
        .where(
            OutboxMail.purpose == SUBMISSIONS_MAIL,
            # By path: a command may run with another origin than the server.
            OutboxMail.text.contains(f"/{row.id}", autoescape=True),
        )
        .values(subject="News in your inbox", text=note, html=f"<p>{note}</p>")
        .execution_options(synchronize_session=False)
    )
