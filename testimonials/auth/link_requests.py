"""Requests for a link by mail.

A page only stores the request, so that its response takes equally long whether or not the address
has an account; `operations.jobs.link_mail` answers it a moment later.
"""

from enum import StrEnum

from testimonials.auth.addresses import hash_mailbox
from testimonials.auth.limits import (
    LINK_PER_ADDRESS,
    LINK_PER_BROWSER,
    LINK_PER_MAILBOX,
    LINK_PER_NETWORK,
)
from testimonials.auth.models import LinkRequest
from testimonials.auth.sign_in.attempts import Visitor
from testimonials.core.data.identifiers import hash_secret
from testimonials.extensions import begin_write, db, limiter


class LinkPurpose(StrEnum):
    SIGN_UP = "sign-up"
    CLAIM = "claim"
    RESET = "reset"


def request_link(purpose: LinkPurpose, email: str, visitor: Visitor) -> None:
    """Store a request for a link, unless too many were made lately; begins the write.

    Only too many requests from one IP address raise `RateLimited`. Past the other limits nothing
    is sent and nothing is said: the links in the owner's mailbox work.
    """
    is_within = _count(_limit_key(purpose, email), visitor)
    begin_write()
    if is_within:
        db.session.add(LinkRequest(purpose=purpose, email=email))


def _limit_key(purpose: LinkPurpose, email: str) -> str:
    """Return the key under which requests are counted.

    Anybody may sign up, so a mail can go to any spelling of a mailbox; other links only go to the
    exact address of an account, and requests for other spellings must not use up its budget.
    """
    subject = hash_mailbox(email) if purpose == LinkPurpose.SIGN_UP else hash_secret(email)
    return f"{purpose} {subject}"


def _count(key: str, visitor: Visitor) -> bool:
    if visitor.browser is not None:
        return limiter.allows(LINK_PER_BROWSER, visitor.browser)
    limiter.count(LINK_PER_ADDRESS, visitor.address)
    is_within = limiter.allows(LINK_PER_NETWORK, f"{key} {visitor.network}")
    return is_within and limiter.allows(LINK_PER_MAILBOX, key)
