"""Magic links: making and checking them."""

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.urls import claim_url, not_me_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenInvalid, TokenPurpose
from testimonials.extensions import db

claim_purpose = TokenPurpose("claim")
not_me_purpose = TokenPurpose("not-me")


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


class KeyGone(ServiceError):
    """The key that a link would revoke is not the account's any more."""

    status = 410
    code = "KEY_GONE"
    title = gettext_noop("This link no longer works")
    default_message = gettext_noop(
        "The key that it is about was revoked or replaced already, or the account was claimed or "
        "removed. Nothing was changed."
    )


def make_not_me_link(account: Account) -> str:
    """Return the link by which the address revokes the key that the account has now."""
    return not_me_url(not_me_purpose.sign([account.id, _name_key(account)]))


def find_account_of_key(token: str) -> Account:
    """Return the unclaimed account, locked, whose key a link is about; raise `KeyGone`."""
    account_id, key = not_me_purpose.find(token, 2) or ("", "")
    query = select(Account).where(Account.id == account_id, Account.claimed_at.is_(None))
    account = db.session.scalars(query.with_for_update()).one_or_none()
    if account is None or account.is_expired or not account.has_key or key != _name_key(account):
        raise KeyGone
    return account


def _name_key(account: Account) -> str:
    return f"{clock.to_milliseconds(account.key_created_at)} {account.key_last_four}"


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
