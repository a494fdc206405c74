"""What somebody who was asked by mail can do: open the link, answer, decline, unsubscribe."""

from dataclasses import dataclass

from sqlalchemy import delete, select, update

from testimonials.auth.models import Account
from testimonials.collection.models import MailedRequest, RequestBatch, UnsubscribedAddress
from testimonials.collection.verified_purchases import Purchase
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound
from testimonials.core.http.i18n import PARAMETER, gettext_noop
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.http.urls import collection_page_url, form_url, request_url
from testimonials.projects.models import Project
from testimonials.projects.projects import is_shown, lock_account
from testimonials.testimonials.models import Testimonial

LINK_SECONDS = 60 * 24 * 60 * 60
LINK_BROKEN = gettext_noop("This link is incomplete. Copy all of it from the mail.")
LINK_GONE = gettext_noop("The account that asked you is gone, so it sends no more mail.")

link_purpose = TokenPurpose("request")
answer_purpose = TokenPurpose("request-answer")


@dataclass(frozen=True)
class Asked:
    """Who was asked, and by which account, according to a mailed link.

    With the hash, the link can unsubscribe even after the request is deleted.
    """

    request_id: str
    account_id: str
    email_hash: str


def make_form_url(project: Project, request: MailedRequest, batch: RequestBatch) -> str:
    page = (
        form_url(project.slug, batch.form_name, project.own_host)
        if batch.form_name
        else collection_page_url(project.slug, project.own_host)
    )
    return f"{page}?{PARAMETER}={batch.language}&invitation={link_purpose.sign(request.id)}"


def make_answer_url(project: Project, request: MailedRequest, answer: str) -> str:
    token = answer_purpose.sign([request.id, project.account_id, request.email_hash])
    return request_url(token, answer, project.own_host)


def find_request(token: str, project_id: str, *, for_update: bool = False) -> MailedRequest | None:
    """Return the request of a mailed link to the project's form, locked if it is to change.

    None for an invalid link.
    """
    try:
        request_id, _ = link_purpose.read(token, LINK_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    query = select(MailedRequest).where(
        MailedRequest.id == str(request_id), MailedRequest.project_id == project_id
    )
    return db.session.scalars(query.with_for_update() if for_update else query).one_or_none()


def is_unanswered(request: MailedRequest | None) -> bool:
    """Tell whether a submission would be the request's answer, which is never held as spam."""
    return request is not None and request.answered_at is None


def prefill(known: MailedRequest | Purchase | None) -> dict[str, str]:
    """Return what a link says of the person who opened it, by field of the form."""
    if known is None:
        return {}
    values = {"name": known.name, "company": known.company or "", "email": known.email}
    return {name: value for name, value in values.items() if value}


def note_opened(request: MailedRequest) -> None:
    """Note that the form was opened in a browser, the first time."""
    if request.opened_at is None:
        request.opened_at = clock.now()


def note_started(request: MailedRequest) -> None:
    """Note that somebody began to write, the first time."""
    note_opened(request)
    if request.started_at is None:
        request.started_at = clock.now()


def note_answered(request: MailedRequest, testimonial: Testimonial, *, asks_email: bool) -> None:
    """Tie the first submission by a mailed link to its request.

    This verifies the author's address, unless they gave another one.
    """
    if not is_unanswered(request):
        return
    now = clock.now()
    note_opened(request)
    request.answered_at, request.next_mail_at = now, None
    request.testimonial_id = testimonial.id
    if not asks_email or testimonial.author_email == request.email:
        testimonial.email_verified_at = now


def read_answer_token(token: str) -> tuple[Asked, Project | None]:
    """Return who was asked, and the project if it is still there; raise `NotFound`."""
    named = answer_purpose.find(token, 3)
    if named is None:
        raise NotFound(LINK_BROKEN)
    request_id, account_id, email_hash = named
    project = db.session.scalars(
        select(Project)
        .join(MailedRequest, MailedRequest.project_id == Project.id)
        .join(Account, Account.id == Project.account_id)
        .where(MailedRequest.id == request_id, is_shown())
    ).one_or_none()
    return Asked(request_id, account_id, email_hash), project


def decline(asked: Asked) -> None:
    """Note that somebody doesn't want to write, and cancel the reminder."""
    request = db.session.get(MailedRequest, asked.request_id, with_for_update=True)
    if request is not None and request.answered_at is None:
        request.declined_at = request.declined_at or clock.now()
        request.next_mail_at = None


def is_unsubscribed(asked: Asked) -> bool:
    return db.session.get(UnsubscribedAddress, (asked.account_id, asked.email_hash)) is not None


def unsubscribe(asked: Asked) -> None:
    """End all requests of the account to the address."""
    _lock_account(asked)
    if is_unsubscribed(asked):
        return
    db.session.add(UnsubscribedAddress(account_id=asked.account_id, email_hash=asked.email_hash))
    db.session.execute(
        update(MailedRequest)
        .where(MailedRequest.email_hash == asked.email_hash)
        .values(next_mail_at=None)
    )


def subscribe_again(asked: Asked) -> None:
    """Let the account ask the address again, and send what was held back."""
    _lock_account(asked)
    db.session.execute(
        delete(UnsubscribedAddress).where(
            UnsubscribedAddress.account_id == asked.account_id,
            UnsubscribedAddress.email_hash == asked.email_hash,
        )
    )
    db.session.execute(
        update(MailedRequest)
        .where(
            MailedRequest.email_hash == asked.email_hash,
            MailedRequest.sent_at.is_(None),
            MailedRequest.answered_at.is_(None),
            MailedRequest.declined_at.is_(None),
        )
        .values(next_mail_at=clock.now())
    )


def _lock_account(asked: Asked) -> None:
    try:
        lock_account(asked.account_id)
    except NotFound:
        raise NotFound(LINK_GONE) from None
