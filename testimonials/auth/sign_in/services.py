"""Checking a password, and choosing a new one."""

from sqlalchemy import select

from testimonials.auth.models import Account
from testimonials.auth.sign_in.sessions import end_sessions
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.passwords import hash_password, is_password
from testimonials.core.urls import reset_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db

RESET_SECONDS = 60 * 60

reset_purpose = TokenPurpose("reset")

# Unknown addresses are checked against this hash, so that they take as long as known ones.
_nobody: list[str] = []


class SignInRefused(ServiceError):
    """Address and password do not match, or nobody has the address."""

    status = 422
    code = "SIGN_IN_REFUSED"
    default_message = "The address and the password don’t match. Try again, or choose a new one."


class ResetLinkInvalid(ServiceError):
    """The link is too old, was used, or was never ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = "This link doesn’t work any more."


def check_password(email: str, password: str) -> Account:
    """Return the claimed account with this address and password; raise `SignInRefused`."""
    account = find_claimed_account(email)
    if account is None or account.password_hash is None:
        if not _nobody:
            _nobody.append(hash_password("no account has this password"))
        is_password(_nobody[0], password)
        raise SignInRefused
    if not is_password(account.password_hash, password):
        raise SignInRefused
    return account


def lock_checked(account: Account) -> Account:
    """Return the account, locked, if its password is still the one that was checked.

    Checking takes a moment, in which the owner may have changed the password because somebody else
    knows the old one. Raises `SignInRefused`.
    """
    locked = lock_claimed(account.id)
    if locked is None or locked.password_hash != account.password_hash:
        raise SignInRefused
    return locked


def find_claimed_account(email: str) -> Account | None:
    return db.session.scalars(
        select(Account).where(Account.email == email, Account.claimed_at.is_not(None))
    ).one_or_none()


def make_reset_link(account: Account) -> str:
    return reset_url(reset_purpose.sign([account.id, fingerprint(account)]))


def find_account_to_reset(token: str) -> Account:
    """Return the account, locked, whose password the link may change; raise `ResetLinkInvalid`.

    The link holds a fingerprint of the present address and password, so using it once uses it up.
    """
    account_id, mark = read_link(reset_purpose, token, 2)
    account = lock_claimed(account_id)
    if account is None or fingerprint(account) != mark:
        raise ResetLinkInvalid
    return account


def change_password(account: Account, password_hash: str, *, but: str | None = None) -> None:
    """Set a new password and sign every browser out, `but` the one that did it."""
    account.password_hash = password_hash
    end_sessions(account.id, but=but)


def read_link(purpose: TokenPurpose, token: str, length: int) -> list[str]:
    """Return the parts of a link that works for an hour; raise `ResetLinkInvalid`."""
    try:
        payload, _ = purpose.read(token, RESET_SECONDS)
    except (TokenInvalid, TokenExpired):
        raise ResetLinkInvalid from None
    if not isinstance(payload, list) or len(payload) != length:
        raise ResetLinkInvalid
    return payload


def lock_claimed(account_id: str) -> Account | None:
    return db.session.scalars(
        select(Account)
        .where(Account.id == account_id, Account.claimed_at.is_not(None))
        .with_for_update()
    ).one_or_none()


def fingerprint(account: Account) -> str:
    """Return what a link holds that a new address or password is to use up."""
    return hash_secret(f"{account.email} {account.password_hash}")[:16]
