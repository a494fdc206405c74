"""Links that somebody asks for by mail.

The page only writes the request down, so its answer takes the same time whether the address has
an account or not; `operations.jobs.link_mail` looks a moment later.
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
    """Note that a link is to be mailed, unless too many were requested lately.

    Nobody is told of that: otherwise anybody could keep an owner from choosing a new password.
    Begins the write. Raises `RateLimited` for too many requests from one IP address.
    """
    is_within = _count(_limit_key(purpose, email), visitor)
    begin_write()
    if is_within:
        db.session.add(LinkRequest(purpose=purpose, email=email))


def _limit_key(purpose: LinkPurpose, email: str) -> str:
    """Return the key requests are counted under: those that send no mail don't use up others.

    Anybody may sign up, so every spelling of a mailbox can get a mail; other links only go to the
    address of an account.
    """
    subject = hash_mailbox(email) if purpose == LinkPurpose.SIGN_UP else hash_secret(email)
    return f"{purpose} {subject}"


def _count(key: str, visitor: Visitor) -> bool:
    if visitor.browser is not None:
        return limiter.allows(LINK_PER_BROWSER, visitor.browser)
    limiter.count(LINK_PER_ADDRESS, visitor.address)
    is_within = limiter.allows(LINK_PER_NETWORK, f"{key} {visitor.network}")
    return is_within and limiter.allows(LINK_PER_MAILBOX, key)
