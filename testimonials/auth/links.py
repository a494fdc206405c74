"""Magic links: making and checking them."""

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.urls import claim_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.signing import TokenInvalid, TokenPurpose
from testimonials.extensions import db

claim_purpose = TokenPurpose("claim")


class LinkInvalid(ServiceError):
    """The link was cut off, changed, or never ours."""

    code = "LINK_INVALID"
    reason = "invalid"


class LinkExpired(LinkInvalid):
    code = "LINK_EXPIRED"
    reason = "expired"


class LinkReplaced(LinkInvalid):
    code = "LINK_REPLACED"
    reason = "replaced"


class LinkUsed(LinkInvalid):
    code = "LINK_USED"
    reason = "used"


def make_claim_link(account: Account, nonce: str) -> str:
    return claim_url(claim_purpose.sign([account.id, nonce]))


def find_account_of_link(token: str) -> Account:
    """Return the account that a link may claim, locked; raise `LinkInvalid` or a subclass.

    A link expires with the account's own deadline, which each new link extends.
    """
    try:
        (account_id, nonce), _ = claim_purpose.read(token)
    except (TokenInvalid, TypeError, ValueError):
        raise LinkInvalid from None
    account = db.session.scalars(
        select(Account).where(Account.id == account_id).with_for_update()
    ).one_or_none()
    if account is None or account.is_expired:
        raise LinkExpired
    if account.is_claimed:
        raise LinkUsed
    if hash_secret(nonce) not in (account.claim_nonce_hash, account.own_nonce_hash):
        raise LinkReplaced
    return account
