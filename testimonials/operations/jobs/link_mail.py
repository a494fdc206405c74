"""Answering requests for a link by mail (`auth.link_requests`)."""

from collections.abc import Callable

from sqlalchemy import exists, select

from testimonials.auth.emails import (
    send_account_exists_mail,
    send_claim_mail,
    send_reset_mail,
    send_signup_mail,
)
from testimonials.auth.link_requests import LinkPurpose
from testimonials.auth.links import make_claim_link
from testimonials.auth.models import LinkRequest
from testimonials.auth.services import (
    find_claimable_account,
    renew_own_nonce,
    start_signup,
)
from testimonials.auth.sign_in.services import find_claimed_account, make_reset_link
from testimonials.extensions import begin_write, db
from testimonials.testimonials.services import summarize_projects


def answer_link_requests() -> None:
    """Mail the requested links; commits after each."""
    while db.session.scalar(select(exists().select_from(LinkRequest))):
        begin_write()
        oldest = select(LinkRequest).order_by(LinkRequest.id).limit(1)
        request = db.session.scalars(oldest.with_for_update(skip_locked=True)).one_or_none()
        if request is None:
            # Another process is answering it.
            break
        ANSWERS[LinkPurpose(request.purpose)](request.email)
        db.session.delete(request)
        db.session.commit()
    db.session.rollback()


def _answer_sign_up(email: str) -> None:
    if (started := start_signup(email)) is not None:
        account, nonce = started
        send_signup_mail(account, make_claim_link(account, nonce))
    else:
        send_account_exists_mail(email)


def _answer_claim(email: str) -> None:
    if (account := find_claimable_account(email)) is None:
        return
    link = make_claim_link(account, renew_own_nonce(account))
    if account.has_key:
        send_claim_mail(account, link, summarize_projects(account.id), is_resend=True)
    else:
        send_signup_mail(account, link)


def _answer_reset(email: str) -> None:
    if (account := find_claimed_account(email)) is not None:
        send_reset_mail(email, make_reset_link(account))


ANSWERS: dict[LinkPurpose, Callable[[str], None]] = {
    LinkPurpose.SIGN_UP: _answer_sign_up,
    LinkPurpose.CLAIM: _answer_claim,
    LinkPurpose.RESET: _answer_reset,
}
