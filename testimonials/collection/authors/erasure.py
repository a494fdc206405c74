"""Removing what an author wrote, or the address of somebody who wrote nothing, from every table."""

import re

from sqlalchemy import delete, exists, select, update

from testimonials.collection.authors.services import (
    DISOWNED,
    AuthorLinkInvalid,
    AuthorRefused,
    OwnTestimonial,
    read_author_token,
)
from testimonials.collection.models import UnsubscribedAddress, hash_email
from testimonials.core.data.identifiers import new_identifier
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.pictures.images import Image
from testimonials.core.urls import project_url
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation.services import change_testimonial

AUTHOR_MAIL = "author-link"
SUBMISSIONS_MAIL = "submissions"
# What the history names when the holder of the address took it away.
ADDRESS = "Whoever reads mail at that address"

_LINK = re.compile(r"/yours/([\w.-]+)")


def erase(own: OwnTestimonial) -> None:
    """Remove the testimonial for good, at once: history, picture and mails. The project is locked.

    Mails that have left are out of reach, but no copy of them is kept.
    """
    row = own.row
    mark_changed(own.project)
    pictures = _list_pictures(row)
    _remove_author_mails(row)
    _blank_submission_mails(own.project, row)
    db.session.delete(row)
    db.session.flush()
    _delete_pictures(pictures)


def disown(own: OwnTestimonial) -> None:
    """Take the address away for the person who reads mail there and wrote nothing.

    The testimonial is held for the owner to look at, and the project's account sends no more mail
    to the address. The project is locked. Raises `AuthorRefused` for a link that wasn't mailed.
    """
    row, email = own.row, own.row.author_email
    if not own.is_mailed or email is None:
        raise AuthorRefused
    _remove_author_mails(row)
    for change in db.session.scalars(
        select(TestimonialChange).where(TestimonialChange.testimonial_id == row.id)
    ):
        change.before = {name: old for name, old in change.before.items() if name != "author_email"}
    row.author_email, row.email_verified_at = None, None
    held = {} if row.status == "withdrawn" else {"status": "spam", "held_for": DISOWNED}
    change_testimonial(row, held, new_identifier(), ADDRESS, "disown")
    address = UnsubscribedAddress(
        account_id=own.project.account_id, email_hash=hash_email(own.project.account_id, email)
    )
    db.session.merge(address)
    mark_changed(own.project)
    db.session.flush()


def is_unwanted(project: Project, email: str) -> bool:
    """Tell whether an address wants no mail of the project's account."""
    key = (project.account_id, hash_email(project.account_id, email))
    return db.session.get(UnsubscribedAddress, key) is not None


def _list_pictures(row: Testimonial) -> list[str]:
    """Name the pictures that it has, and had before."""
    befores = db.session.scalars(
        select(TestimonialChange.before).where(TestimonialChange.testimonial_id == row.id)
    )
    return [name for name in (row.avatar_id, *(old.get("avatar_id") for old in befores)) if name]


def _delete_pictures(ids: list[str]) -> None:
    db.session.execute(
        delete(Image).where(
            Image.id.in_(ids),
            ~exists().where(Testimonial.avatar_id == Image.id),
            ~exists().where(Project.logo_id == Image.id),
        )
    )


def _remove_author_mails(row: Testimonial) -> None:
    """Remove the mails with its link from the outbox, but for one that is being sent just now.

    One that has left no longer tells which testimonial it was about; it goes too.
    """
    mails = db.session.scalars(
        select(OutboxMail).where(
            OutboxMail.purpose == AUTHOR_MAIL,
            OutboxMail.recipient == row.author_email,
            OutboxMail.state != MailState.SENDING,
        )
    )
    for mail in mails:
        if not mail.text or _find_testimonial_id(mail) == row.id:
            db.session.delete(mail)


def _find_testimonial_id(mail: OutboxMail) -> str | None:
    found = _LINK.search(mail.text)
    try:
        return read_author_token(found[1])[0] if found else None
    except AuthorLinkInvalid:
        return None


def _blank_submission_mails(project: Project, row: Testimonial) -> None:
    """Take the words out of the mails that told of them; one that waits only leads to the inbox."""
    inbox = project_url(project.id, "inbox")
    note = f"An author has deleted a testimonial that this mail told of. The inbox: {inbox}"
    db.session.execute(
        update(OutboxMail)
        .where(
            OutboxMail.purpose == SUBMISSIONS_MAIL,
            # Commands may know another address of the service than the one that wrote the mail.
            OutboxMail.text.contains(f"/testimonials/{row.id}", autoescape=True),
        )
        .values(subject="News in your inbox", text=note, html=f"<p>{note}</p>")
        .execution_options(synchronize_session=False)
    )
