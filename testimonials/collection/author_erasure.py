"""Erasing and exporting what an author wrote, or what is stored about an address."""

import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, and_, cast, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute

from testimonials import __version__
from testimonials.auth.models import Account
from testimonials.collection.author_rights import AUTHOR_MAIL, AuthorRefused, OwnTestimonial
from testimonials.collection.models import MailedRequest, UnsubscribedAddress, hash_email
from testimonials.collection.request_mail import PURPOSES
from testimonials.core import clock
from testimonials.core.audit import IS_HISTORY, Actor, ActorKind, Event, record
from testimonials.core.db.engine import insert_if_missing, list_columns, to_name, write_columns
from testimonials.core.db.erasure import ADDRESS as ERASED_ADDRESS
from testimonials.core.db.erasure import REQUEST, TESTIMONIAL, note_erased, note_erased_person
from testimonials.core.extensions import db
from testimonials.core.http.idempotency import forget_answers
from testimonials.core.http.urls import image_url, project_url
from testimonials.core.images.uploads import Image
from testimonials.core.jobs import enqueue_anew
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.projects.models import Project, Proposal
from testimonials.projects.projects import mark_changed
from testimonials.testimonials.events import (
    ADDRESS,
    AUTHOR,
    BY_AUTHOR,
    DISOWNED,
    TESTIMONIAL_DELETED,
    is_held,
)
from testimonials.testimonials.history import change_all, list_history
from testimonials.testimonials.media.playback import describe_recording, make_key
from testimonials.testimonials.media.uploads import remove_after_commit
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.record import note, write_entry
from testimonials.testimonials.testimonials import is_unused
from testimonials.testimonials.word_index import MERGE_WORDS


def erase(own: OwnTestimonial) -> None:
    """Permanently delete the testimonial with its history, files and emails, and the request that
    it answers; the project is locked.

    Call `record_erased` afterwards.
    """
    row = own.row
    mark_changed(own.project)
    pictures = [row.avatar_id, *(each.before.get("avatar_id") for each in list_history(row.id))]
    if row.recording is not None:
        pictures.append(row.recording.poster_id)
        remove_after_commit([row.recording.id])
    forget_answers(db.session(), own.project.account_id)
    _remove_author_mails(row)
    _blank_submission_mails(own.project, row)
    answered = select(MailedRequest).where(MailedRequest.testimonial_id == row.id)
    for request in db.session.scalars(answered).all():
        erase_request(own.project, request)
    note_erased(db.session(), TESTIMONIAL, [row.id])
    # Unlike a deletion by others, this withdraws the rating too.
    row.set_aside = row.set_aside or "withdrawn"
    db.session.flush()
    db.session.delete(row)
    db.session.flush()
    enqueue_anew(MERGE_WORDS, [MERGE_WORDS])
    if any(pictures):
        is_own = Image.id.in_([each for each in pictures if each])
        db.session.execute(delete(Image).where(is_own, is_unused()))


def erase_request(project: Project, request: MailedRequest) -> None:
    """Permanently delete a request, and send no more mail to its address."""
    _unsubscribe(project, request.email)
    mail = OutboxMail
    is_own = (mail.id == request.mail_id, mail.state != MailState.SENDING)
    db.session.execute(delete(mail).where(*is_own))
    note_erased(db.session(), REQUEST, [request.id])
    db.session.delete(request)


def _unsubscribe(project: Project, email: str) -> None:
    key = {"account_id": project.account_id, "email_hash": hash_email(project.account_id, email)}
    insert_if_missing(db.session(), UnsubscribedAddress, **key)


def record_erased(own: OwnTestimonial) -> None:
    """Record that a testimonial is gone; if it was held as spam, only in the public record."""
    if is_held(own.row) and own.row.status == "spam":
        note(own.project, own.row, "erased", BY_AUTHOR)
    elif own.row.status != "demo":
        # The page How we collect still counts it.
        entry = write_entry(own.row, "erased") | {"reason": own.row.set_aside}
        record(TESTIMONIAL_DELETED, own.project, BY_AUTHOR, testimonial=own.row.id, entry=entry)


def disown(own: OwnTestimonial) -> None:
    """Remove the address of somebody who denies having written the testimonial.

    It is held as spam, and the account sends no more mail to the address. The project is locked.
    Raises `AuthorRefused` for a link that wasn't emailed.
    """
    row, email = own.row, own.row.author_email
    if not own.is_mailed or email is None:
        raise AuthorRefused
    _remove_author_mails(row)
    forget_email(Event.testimonial_id == row.id)
    forget_answers(db.session(), own.project.account_id)
    row.author_email, row.email_verified_at, row.shows_earlier = None, None, False
    reasons = f"{row.held_for},{DISOWNED}" if row.status == "spam" else DISOWNED
    changes = {}
    if row.status != "withdrawn":
        changes = {"status": "spam", "held_for": reasons, "set_aside": "spam"}
    _unsubscribe(own.project, email)
    note_erased(db.session(), ERASED_ADDRESS, [row.id])
    by = Actor(ActorKind.VISITOR, ADDRESS)
    change_all(own.project, [(row, changes)], ADDRESS, "disown", by=by)


def forget_email(condition: ColumnElement[bool]) -> None:
    """Remove the author's address from the matching history."""
    for change in db.session.scalars(select(Event).where(IS_HISTORY, condition)):
        change.before = {name: old for name, old in change.before.items() if name != "author_email"}


def _remove_author_mails(row: Testimonial) -> None:
    """Remove emails with the author's link to it from the outbox, except one that is being sent.

    One that was sent has lost its text, so it goes too.
    """
    mail = OutboxMail
    is_to_author = (mail.purpose == AUTHOR_MAIL, mail.recipient == row.author_email)
    # The tokens in its links begin with the id, as JSON in Base64.
    start = urlsafe_b64encode(f'["{row.id}'.encode())[:32].decode()
    is_own = or_(mail.text == "", mail.text.contains(start, autoescape=True))
    db.session.execute(delete(mail).where(*is_to_author, is_own, mail.state != MailState.SENDING))


def _blank_submission_mails(project: Project, row: Testimonial) -> None:
    """Remove the text from notifications that quote it."""
    inbox = project_url(project.id, "inbox")
    note = f"An author has deleted a testimonial that was in this email. Your inbox: {inbox}"
    db.session.execute(
        update(OutboxMail)
        .where(
            OutboxMail.purpose == "submissions",
            # Matched by path, since a command may know the server by a different origin.
            OutboxMail.text.contains(f"/{row.id}", autoescape=True),
        )
        .values(subject="News in your inbox", text=note, html=f"<p>{note}</p>")
        .execution_options(synchronize_session=False)
    )


@dataclass(frozen=True)
class AboutAddress:
    """What is stored about an email address, in all projects."""

    testimonials: Sequence[Testimonial]
    # The number of testimonials by slug.
    projects: dict[str, int]
    requests: int
    mails: int
    # Changes to other testimonials that contain the address.
    changes: int
    proposals: int
    has_account: bool

    @property
    def pictures(self) -> int:
        return sum(row.avatar_id is not None for row in self.testimonials)

    @property
    def is_empty(self) -> bool:
        counts = (self.requests, self.mails, self.changes, self.proposals)
        return not (self.testimonials or any(counts))


def find_about(email: str) -> AboutAddress:
    """Return what is stored about an address.

    A testimonial belongs to it if the author entered the address, or answered a request sent to it.
    """
    query = select(Testimonial, Project.slug).join(Project, Project.id == Testimonial.project_id)
    query = query.where(is_written_by(email)).order_by(Testimonial.created_at, Testimonial.id)
    rows = db.session.execute(query).all()
    return AboutAddress(
        testimonials=[row for row, _ in rows],
        projects=dict(sorted(Counter(slug for _, slug in rows).items())),
        requests=_count(MailedRequest.id, MailedRequest.email == email),
        mails=_count(OutboxMail.id, is_mailed_to(email)),
        changes=_count(Event.id, remembers(email)),
        proposals=_count(Proposal.id, proposes(email)),
        has_account=bool(_count(Account.id, Account.email == email)),
    )


def forget_address(email: str) -> AboutAddress:
    """Permanently delete everything stored about an address; return what that was.

    An account stays, and so does the hash that keeps the address unsubscribed.
    """
    own_projects = select(Project).where(
        or_(
            Project.id.in_(select(Testimonial.project_id).where(is_written_by(email))),
            Project.id.in_(select(Proposal.project_id).where(proposes(email))),
        )
    )
    # Ordered, so that two runs can't deadlock.
    projects = db.session.scalars(own_projects.order_by(Project.id).with_for_update()).all()
    by_id = {project.id: project for project in projects}
    about = find_about(email)
    erased = [OwnTestimonial(row, by_id[row.project_id], False) for row in about.testimonials]
    for own in erased:
        erase(own)
    db.session.execute(delete(MailedRequest).where(MailedRequest.email == email))
    db.session.execute(delete(OutboxMail).where(is_mailed_to(email)))
    db.session.execute(delete(Proposal).where(proposes(email)))
    forget_email(remembers(email))
    note_erased_person(db.session(), email)
    db.session.flush()
    for own in erased:
        record_erased(own)
    return about


def is_written_by(email: str) -> ColumnElement[bool]:
    """Return the condition for testimonials that belong to an address."""
    answers = select(MailedRequest.testimonial_id).where(
        MailedRequest.email == email, MailedRequest.testimonial_id.is_not(None)
    )
    return or_(Testimonial.author_email == email, Testimonial.id.in_(answers))


def is_mailed_to(email: str) -> ColumnElement[bool]:
    """Return the condition for emails to an author's address, except those being sent."""
    mail, purposes = OutboxMail, (AUTHOR_MAIL, *PURPOSES)
    is_sending = mail.state == MailState.SENDING
    return and_(mail.recipient == email, mail.purpose.in_(purposes), ~is_sending)


def remembers(email: str) -> ColumnElement[bool]:
    """Return the condition for changes that contain an address."""
    return and_(IS_HISTORY, Event.before["author_email"].as_string() == email)


def proposes(email: str) -> ColumnElement[bool]:
    """Return the condition for proposals of agents that contain an address."""
    parts = (cast(each, Text) for each in (Proposal.values, Proposal.before))
    return or_(*(part.contains(json.dumps(email), autoescape=True) for part in parts))


def _count(column: InstrumentedAttribute[str], condition: ColumnElement[bool]) -> int:
    return int(db.session.scalar(select(func.count(column)).where(condition)) or 0)


# What is stored about authors, as JSON for them. It doesn't reveal that spam was detected.

FORMAT, VERSION = "testimonials-person", 1
HIDDEN = ("held_for", "text_fingerprint", "submission_key", "is_visible", "rank", "standing")
# What is shown in place of `spam`.
SHOWN = {"status": "pending", "set_aside": None}


def describe_own_data(row: Testimonial) -> dict[str, Any]:
    return begin_person(row.author_email) | {"testimonials": [describe_written(row)]}


def describe_written(row: Testimonial) -> dict[str, Any]:
    """Return a testimonial with its history and the URLs of its files."""
    changes, recording = reversed(list_history(row.id)), row.recording
    columns = [name for name in list_columns(Testimonial) if name not in HIDDEN]
    shown = _replace_spam({name: getattr(row, name) for name in SHOWN})
    return write_columns(row, columns) | {
        **{to_name(name): value for name, value in shown.items()},
        "project": {"id": row.project_id, "slug": row.project.slug, "name": row.project.name},
        "tags": row.tags,
        "pictureUrl": image_url(row.avatar_id),
        "recording": describe_recording(recording, make_key(recording.id)) if recording else None,
        "changes": [_describe_change(each) for each in changes],
    }


def begin_person(email: str | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": __version__,
        "exportedAt": clock.iso(clock.now()),
        "email": email,
    }


def _describe_change(change: Event) -> dict[str, Any]:
    before = {name: old for name, old in change.before.items() if name not in HIDDEN}
    # The names of other people are their own data.
    by = "author" if change.actor in (AUTHOR, ADDRESS) else "business"
    columns = ["action", "before", "created_at", "undone_at"]
    return write_columns(change, columns) | {"before": _replace_spam(before), "by": by}


def _replace_spam(values: dict[str, Any]) -> dict[str, Any]:
    spam = {name: SHOWN[name] for name in SHOWN.keys() & values.keys() if values[name] == "spam"}
    return values | spam
