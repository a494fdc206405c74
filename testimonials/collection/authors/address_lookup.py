"""Everything about the e-mail address of an author, over all projects: finding and removing it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from testimonials.auth.models import Account
from testimonials.collection.authors.erasure import AUTHOR_MAIL, erase
from testimonials.collection.authors.services import OwnTestimonial
from testimonials.collection.models import MailedRequest
from testimonials.collection.requests.request_mail import PURPOSES
from testimonials.core.mail.outbox import MailState, OutboxMail
from testimonials.core.pictures.images import Image
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial, TestimonialChange


@dataclass(frozen=True)
class AboutAddress:
    """What is kept about an address, or was until it was removed."""

    testimonials: Sequence[Testimonial]
    # How many there are in each project, by its slug.
    projects: dict[str, int]
    requests: int
    mails: int
    # Changes of other testimonials that remember the address.
    changes: int
    pictures: int
    has_account: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing of an author was found."""
        return not (self.testimonials or self.requests or self.mails or self.changes)


def find_about(email: str) -> AboutAddress:
    """Tell what is kept about an address, without changing it.

    A testimonial belongs to the address when its author gave it, or answered a request sent there.
    """
    rows = db.session.scalars(
        select(Testimonial)
        .where(_is_written_by(email))
        .order_by(Testimonial.created_at, Testimonial.id)
    ).all()
    slugs: dict[str, int] = {}
    for slug, count in db.session.execute(
        select(Project.slug, func.count(Testimonial.id))
        .join(Testimonial, Testimonial.project_id == Project.id)
        .where(_is_written_by(email))
        .group_by(Project.slug)
        .order_by(Project.slug)
    ):
        slugs[slug] = count
    return AboutAddress(
        testimonials=rows,
        projects=slugs,
        requests=_count(MailedRequest.id, MailedRequest.email == email),
        mails=_count(OutboxMail.id, _is_mailed_to(email)),
        changes=_count(TestimonialChange.id, _remembers(email)),
        pictures=sum(row.avatar_id is not None for row in rows),
        has_account=bool(_count(Account.id, Account.email == email)),
    )


def forget_address(email: str) -> AboutAddress:
    """Remove all that is kept about an address, for good; return what that was.

    Of accounts that it asked not to write to it, the hash stays, so that they still don't. An
    account of the address itself is another matter and stays too.
    """
    project_ids = select(Testimonial.project_id).where(_is_written_by(email))
    # In one order for everybody who locks several.
    projects = db.session.scalars(
        select(Project).where(Project.id.in_(project_ids)).order_by(Project.id).with_for_update()
    ).all()
    found = find_about(email)
    pictures = _count(Image.id)
    by_id = {project.id: project for project in projects}
    for row in found.testimonials:
        erase(OwnTestimonial(row, by_id[row.project_id], is_mailed=False))
    db.session.execute(delete(MailedRequest).where(MailedRequest.email == email))
    db.session.execute(delete(OutboxMail).where(_is_mailed_to(email)))
    for change in db.session.scalars(select(TestimonialChange).where(_remembers(email))):
        change.before = {name: old for name, old in change.before.items() if name != "author_email"}
    db.session.flush()
    return AboutAddress(
        found.testimonials,
        found.projects,
        found.requests,
        found.mails,
        found.changes,
        pictures - _count(Image.id),
        found.has_account,
    )


def _is_written_by(email: str) -> ColumnElement[bool]:
    answers = select(MailedRequest.testimonial_id).where(
        MailedRequest.email == email, MailedRequest.testimonial_id.is_not(None)
    )
    return or_(Testimonial.author_email == email, Testimonial.id.in_(answers))


def _is_mailed_to(email: str) -> ColumnElement[bool]:
    """Return the mails of authors to an address, but for one that is being sent just now."""
    return and_(
        OutboxMail.recipient == email,
        OutboxMail.purpose.in_((AUTHOR_MAIL, *PURPOSES)),
        OutboxMail.state != MailState.SENDING,
    )


def _remembers(email: str) -> ColumnElement[bool]:
    remembered: ColumnElement[bool] = TestimonialChange.before["author_email"].as_string() == email
    return remembered


def _count(column: InstrumentedAttribute[str], *conditions: ColumnElement[bool]) -> int:
    return int(db.session.scalar(select(func.count(column)).where(*conditions)) or 0)
