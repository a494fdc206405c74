"""What somebody who was asked by mail does: opens the link, answers, declines, wants no more.

Not to be confused with colleagues invited to a project (`projects/team/invitations.py`).
"""

from dataclasses import dataclass

from sqlalchemy import delete, select, update

from testimonials.auth.models import Account
from testimonials.collection.models import Invitation, UnsubscribedAddress
from testimonials.core import clock
from testimonials.core.urls import collection_page_url, request_url
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import PARAMETER, gettext_noop
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import is_shown, lock_account
from testimonials.testimonials.models import Testimonial

LINK_SECONDS = 60 * 24 * 60 * 60
LINK_BROKEN = gettext_noop("This link is not whole. Copy all of it from the mail.")
LINK_GONE = gettext_noop("Who asked you is no longer here, so no more mail comes.")

link_purpose = TokenPurpose("request")
answer_purpose = TokenPurpose("request-answer")


@dataclass(frozen=True)
class Asked:
    """What a link in a mail says: who was asked, and by whose account.

    It names the address by its hash, so that the link still ends all mails when the row is gone.
    """

    invitation_id: str
    account_id: str
    email_hash: str


def make_form_url(project: Project, invitation: Invitation, language: str) -> str:
    """Return the address of the form as it was mailed; it knows for 60 days who was asked."""
    token = link_purpose.sign(invitation.id)
    return f"{collection_page_url(project.slug)}?{PARAMETER}={language}&invitation={token}"


def make_answer_url(account_id: str, invitation: Invitation, answer: str) -> str:
    """Return the address of a page in the mail, `decline` or `unsubscribe`; it never expires."""
    token = answer_purpose.sign([invitation.id, account_id, invitation.email_hash])
    return request_url(token, answer)


def find_invitation(token: str, project_id: str, *, for_update: bool = False) -> Invitation | None:
    """Return who came by the link to the project's form, locked if the row is to change.

    None for a link that says nothing (any more): who comes by it is a visitor as any other.
    """
    try:
        invitation_id, _ = link_purpose.read(token, LINK_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    query = select(Invitation).where(
        Invitation.id == str(invitation_id), Invitation.project_id == project_id
    )
    return db.session.scalars(query.with_for_update() if for_update else query).one_or_none()


def is_invited(invitation: Invitation | None) -> bool:
    """Tell whether a submission answers a request; only the first one by a link does.

    What comes so was asked for: it is no flood, however many come from one network.
    """
    return invitation is not None and invitation.answered_at is None


def prefill(invitation: Invitation | None) -> dict[str, str]:
    """Return the values with which the form opens for who was asked."""
    if invitation is None:
        return {}
    values = {
        "name": invitation.name,
        "company": invitation.company or "",
        "email": invitation.email,
    }
    return {name: value for name, value in values.items() if value}


def note_opened(invitation: Invitation) -> None:
    """Note that the form was opened in a browser; the first time counts."""
    if invitation.opened_at is None:
        invitation.opened_at = clock.now()


def note_answered(invitation: Invitation, testimonial: Testimonial, *, asks_email: bool) -> None:
    """Tie the first submission by a link to who was asked; their address is proven by the link.

    Where the form asks for an address, only the invited one is proven.
    """
    if not is_invited(invitation):
        return
    now = clock.now()
    note_opened(invitation)
    invitation.answered_at, invitation.next_mail_at = now, None
    invitation.testimonial_id = testimonial.id
    if not asks_email or testimonial.author_email == invitation.email:
        testimonial.email_verified_at = now


def read_answer_token(token: str) -> tuple[Asked, Project | None]:
    """Return what a link to decline says, and its project while there is one; raise `NotFound`."""
    try:
        (invitation_id, account_id, email_hash), _ = answer_purpose.read(token)
    except (TokenInvalid, TypeError, ValueError):
        raise NotFound(LINK_BROKEN) from None
    project = db.session.scalars(
        select(Project)
        .join(Invitation, Invitation.project_id == Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(Invitation.id == invitation_id, is_shown())
    ).one_or_none()
    return Asked(invitation_id, account_id, email_hash), project


def decline(asked: Asked) -> None:
    """Note that somebody doesn't want to write; no reminder follows."""
    invitation = _lock(asked)
    if invitation is not None and invitation.answered_at is None:
        invitation.declined_at = invitation.declined_at or clock.now()
        invitation.next_mail_at = None


def is_unsubscribed(asked: Asked) -> bool:
    """Tell whether the address wants no more requests of the account."""
    return db.session.get(UnsubscribedAddress, (asked.account_id, asked.email_hash)) is not None


def unsubscribe(asked: Asked) -> None:
    """Send the address no more requests of any project of the account; doing it twice is once."""
    _lock_account(asked)
    if is_unsubscribed(asked):
        return
    db.session.add(UnsubscribedAddress(account_id=asked.account_id, email_hash=asked.email_hash))
    db.session.execute(
        update(Invitation)
        .where(Invitation.email_hash == asked.email_hash)
        .values(next_mail_at=None)
    )


def subscribe_again(asked: Asked) -> None:
    """Let the account ask the address again; what was never sent to it goes out now."""
    _lock_account(asked)
    db.session.execute(
        delete(UnsubscribedAddress).where(
            UnsubscribedAddress.account_id == asked.account_id,
            UnsubscribedAddress.email_hash == asked.email_hash,
        )
    )
    db.session.execute(
        update(Invitation)
        .where(
            Invitation.email_hash == asked.email_hash,
            Invitation.sent_at.is_(None),
            Invitation.answered_at.is_(None),
            Invitation.declined_at.is_(None),
        )
        .values(next_mail_at=clock.now())
    )


def _lock_account(asked: Asked) -> None:
    """Keep two answers of one person at once from meeting; raise `NotFound` for no account."""
    try:
        lock_account(asked.account_id)
    except NotFound:
        raise NotFound(LINK_GONE) from None


def _lock(asked: Asked) -> Invitation | None:
    return db.session.scalars(
        select(Invitation).where(Invitation.id == asked.invitation_id).with_for_update()
    ).one_or_none()
