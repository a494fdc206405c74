"""Links to an author's testimonials by mail, and thanking authors."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from testimonials.auth.models import Account
from testimonials.collection.author_rights import (
    AUTHOR_MAIL,
    OwnTestimonial,
    erase,
    forget_email,
    is_unwanted,
    record_erased,
    send_author_mail,
)
from testimonials.collection.models import MailedRequest
from testimonials.collection.request_mail import PURPOSES
from testimonials.core import clock
from testimonials.core.db.erasure import note_erased_person
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import db
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange
from testimonials.testimonials.moderation import ActionRefused

# Find and delete everything stored about an author's e-mail address, in all projects.


@dataclass(frozen=True)
class AboutAddress:
    """What is kept about an address."""

    testimonials: Sequence[Testimonial]
    # Slug to number of testimonials.
    projects: dict[str, int]
    requests: int
    mails: int
    # Changes of other testimonials that remember the address.
    changes: int
    has_account: bool

    @property
    def pictures(self) -> int:
        return sum(row.avatar_id is not None for row in self.testimonials)

    @property
    def is_empty(self) -> bool:
        return not (self.testimonials or self.requests or self.mails or self.changes)


def find_about(email: str) -> AboutAddress:
    """Return what is kept about an address.

    A testimonial belongs to the address when its author gave it, or answered a request sent there.
    """
    rows = db.session.execute(
        select(Testimonial, Project.slug)
        .join(Project, Project.id == Testimonial.project_id)
        .where(is_written_by(email))
        .order_by(Testimonial.created_at, Testimonial.id)
    ).all()
    return AboutAddress(
        testimonials=[row for row, _ in rows],
        projects=dict(sorted(Counter(slug for _, slug in rows).items())),
        requests=_count(MailedRequest.id, MailedRequest.email == email),
        mails=_count(OutboxMail.id, is_mailed_to(email)),
        changes=_count(TestimonialChange.id, remembers(email)),
        has_account=bool(_count(Account.id, Account.email == email)),
    )


def forget_address(email: str) -> AboutAddress:
    """Permanently delete everything stored about an address; return what that was.

    An account stays, and so does the hash that keeps an address unsubscribed.
    """
    project_ids = select(Testimonial.project_id).where(is_written_by(email))
    # Always in this order, so that two runs can't deadlock.
    projects = db.session.scalars(
        select(Project).where(Project.id.in_(project_ids)).order_by(Project.id).with_for_update()
    ).all()
    found = find_about(email)
    by_id = {project.id: project for project in projects}
    erased = [
        OwnTestimonial(row, by_id[row.project_id], is_mailed=False) for row in found.testimonials
    ]
    for own in erased:
        erase(own)
    db.session.execute(delete(MailedRequest).where(MailedRequest.email == email))
    db.session.execute(delete(OutboxMail).where(is_mailed_to(email)))
    forget_email(remembers(email))
    note_erased_person(db.session(), email)
    db.session.flush()
    for own in erased:
        record_erased(own)
    return found


def is_written_by(email: str) -> ColumnElement[bool]:
    """Return the condition for testimonials that belong to an address."""
    answers = select(MailedRequest.testimonial_id).where(
        MailedRequest.email == email, MailedRequest.testimonial_id.is_not(None)
    )
    return or_(Testimonial.author_email == email, Testimonial.id.in_(answers))


def is_mailed_to(email: str) -> ColumnElement[bool]:
    """Return the condition for mails to an author at an address, if they aren't on their way."""
    return and_(
        OutboxMail.recipient == email,
        OutboxMail.purpose.in_((AUTHOR_MAIL, *PURPOSES)),
        OutboxMail.state != MailState.SENDING,
    )


def remembers(email: str) -> ColumnElement[bool]:
    """Return the condition for changes of testimonials that once had an address."""
    remembered: ColumnElement[bool] = TestimonialChange.before["author_email"].as_string() == email
    return remembered


def _count(column: InstrumentedAttribute[str], condition: ColumnElement[bool]) -> int:
    return int(db.session.scalar(select(func.count(column)).where(condition)) or 0)


# Thanking an author by mail: once, at the address they have proven to be theirs.

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
