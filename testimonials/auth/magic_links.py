"""Magic links: requesting, creating and checking them."""

from enum import StrEnum

from testimonials.auth import credentials
from testimonials.auth.accounts import lock_where
from testimonials.auth.email_addresses import hash_mailbox
from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import link_url
from testimonials.core.jobs import enqueue

claim_purpose = TokenPurpose("claim")
not_me_purpose = TokenPurpose("not-me")


class LinkInvalid(ServiceError):
    """The link is `invalid`, `expired`, `replaced` or `used`."""

    def __init__(self, reason: str = "invalid") -> None:
        super().__init__()
        self.reason, self.code = reason, f"LINK_{reason.upper()}"


class KeyGone(ServiceError):
    """The account no longer has the key that the link would revoke."""

    status = 410
    title = gettext_noop("This link doesn’t work")
    default_message = gettext_noop(
        "The key was already revoked or replaced, or the account was claimed or removed. "
        "Nothing was changed."
    )


def make_not_me_link(account: Account) -> str:
    """Return a link with which the reader of the email can revoke the account's current key."""
    return link_url("not-me", not_me_purpose.sign([account.id, _name_key(account)]))


def find_account_of_key(token: str) -> Account:
    """Lock and return the unclaimed account whose key a link revokes. Raises `KeyGone`."""
    account_id, key = not_me_purpose.find(token, 2) or ("", "")
    account = lock_where(Account.id == account_id, Account.claimed_at.is_(None))
    if account is None or account.is_expired or not account.has_key or key != _name_key(account):
        raise KeyGone
    return account


def _name_key(account: Account) -> str:
    return f"{clock.to_milliseconds(account.key_created_at)} {account.key_last_four}"


def make_claim_link(account: Account, nonce: str) -> str:
    return link_url("claim", claim_purpose.sign([account.id, nonce]))


def find_account_of_link(token: str) -> Account:
    """Lock and return the account that a link may claim. Raises `LinkInvalid`.

    A link expires with the account, whose deadline each new link extends.
    """
    if (payload := claim_purpose.find(token, 2)) is None:
        raise LinkInvalid
    account_id, nonce = payload
    account = lock_where(Account.id == account_id)
    if account is None or account.is_expired:
        raise LinkInvalid("expired")
    if account.is_claimed:
        raise LinkInvalid("used")
    if hash_secret(nonce) not in (account.claim_nonce_hash, account.own_nonce_hash):
        raise LinkInvalid("replaced")
    return account


# Pages only store a request for a link, which a job answers a moment later, so that the response
# time doesn't reveal whether the address has an account.


class LinkPurpose(StrEnum):
    SIGN_UP = "sign-up"
    CLAIM = "claim"
    RESET = "reset"


def request_link(purpose: LinkPurpose, email: str, visitor: credentials.Visitor) -> None:
    """Store a request for a link. Too many from one IP address raise `RateLimited`.

    Beyond the other limits, nothing is sent, without an error: the mailbox already has valid links.
    """
    is_within = _count(_limit_key(purpose, email), visitor)
    with write():
        if is_within:
            enqueue("mail.link", purpose=purpose, email=email)


def _limit_key(purpose: LinkPurpose, email: str) -> str:
    """Return the key for counting requests.

    Anybody may sign up with any spelling of a mailbox, so all spellings count together. Other links
    only go to an account's exact address, against which other spellings must not count.
    """
    subject = hash_mailbox(email) if purpose == LinkPurpose.SIGN_UP else hash_secret(email)
    return f"{purpose} {subject}"


def _count(key: str, visitor: credentials.Visitor) -> bool:
    if visitor.browser is not None:
        return limiter.allows(credentials.LINK_PER_BROWSER, visitor.browser)
    limiter.count(credentials.LINK_PER_ADDRESS, visitor.address)
    is_within = limiter.allows(credentials.LINK_PER_NETWORK, f"{key} {visitor.network}")
    return is_within and limiter.allows(credentials.LINK_PER_MAILBOX, key)
