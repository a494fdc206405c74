"""Links that somebody asks for by mail.

The page that is asked only writes the request down, so its answer takes the same time whether the
address has an account or not; `operations.link_mail` looks a moment later.
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
    """Note that a link is to be mailed, unless as many were asked for lately as may be.

    Nobody is told of the latter: else anybody could keep an owner from choosing a new password.
    Begins the write. Raises `RateLimited` for what one address asks, whoever it is about.
    """
    is_within = _count(_limit_key(purpose, email), visitor)
    begin_write()
    if is_within:
        db.session.add(LinkRequest(purpose=purpose, email=email))


def _limit_key(purpose: LinkPurpose, email: str) -> str:
    """Return what requests are counted under, so that those that send nothing use up no other.

    Anybody may sign up, so any spelling of a mailbox gets a mail then; the other links go only to
    an address that an account has.
    """
    subject = hash_mailbox(email) if purpose == LinkPurpose.SIGN_UP else hash_secret(email)
    return f"{purpose} {subject}"


def _count(key: str, visitor: Visitor) -> bool:
    if visitor.browser is not None:
        return limiter.allows(LINK_PER_BROWSER, visitor.browser)
    limiter.count(LINK_PER_ADDRESS, visitor.address)
    is_within = limiter.allows(LINK_PER_NETWORK, f"{key} {visitor.network}")
    return is_within and limiter.allows(LINK_PER_MAILBOX, key)
