"""Passwords at work: signing in, choosing a new one, changing the address."""

from flask import current_app
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from testimonials.auth.models import Account
from testimonials.auth.services import delete_expired_accounts
from testimonials.auth.sessions import end_sessions
from testimonials.core.errors import ServiceError
from testimonials.core.identifiers import hash_secret
from testimonials.core.passwords import hash_password, is_password
from testimonials.core.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.extensions import db

RESET_SECONDS = 60 * 60

reset_purpose = TokenPurpose("reset")
email_purpose = TokenPurpose("email-change")

# What an unknown address is checked against, so that it costs what a known one does.
_nobody: list[str] = []


class SignInRefused(ServiceError):
    """Address and password do not match; the same for an address that nobody has."""

    status = 422
    code = "SIGN_IN_REFUSED"
    default_message = "The address and the password don’t match. Try again, or choose a new one."


class ResetLinkInvalid(ServiceError):
    """The link is too old, was used, or was never ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = "This link doesn’t work any more."


class EmailLinkInvalid(ServiceError):
    """The link to a new address is too old, was used, or was never ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = "This link doesn’t work any more."


class EmailTaken(ServiceError):
    """Another account has the address."""

    code = "EMAIL_TAKEN"
    default_message = "Another account has this address."


def check_password(email: str, password: str) -> Account:
    """Give the claimed account with this address and password; raise `SignInRefused`."""
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
    locked = _lock(account.id)
    if locked is None or locked.password_hash != account.password_hash:
        raise SignInRefused
    return locked


def find_claimed_account(email: str) -> Account | None:
    """Give the claimed account with this address."""
    return db.session.scalars(
        select(Account).where(Account.email == email, Account.claimed_at.is_not(None))
    ).one_or_none()


def make_reset_link(account: Account) -> str:
    """Give the link with which the owner chooses a new password."""
    token = reset_purpose.sign([account.id, _fingerprint(account)])
    return f"{current_app.config['APP_URL']}/reset/{token}"


def find_account_to_reset(token: str) -> Account:
    """Give the account, locked, whose password the link may change; raise `ResetLinkInvalid`.

    The link holds a fingerprint of the present address and password, so using it once uses it up.
    """
    account_id, fingerprint = _read(reset_purpose, token, 2)
    account = _lock(account_id)
    if account is None or _fingerprint(account) != fingerprint:
        raise ResetLinkInvalid
    return account


def change_password(account: Account, password_hash: str, *, but: str | None = None) -> None:
    """Set a new password and sign every browser out, `but` the one that did it."""
    account.password_hash = password_hash
    end_sessions(account.id, but=but)


def make_email_link(account: Account, new_email: str) -> str:
    """Give the link that confirms a new address."""
    token = email_purpose.sign([account.id, _fingerprint(account), new_email])
    return f"{current_app.config['APP_URL']}/email/{token}"


def confirm_email(token: str) -> tuple[Account, str]:
    """Give the account the address of the link; raise `EmailLinkInvalid` or `EmailTaken`.

    Gives the account and its old address. A new password or address uses the link up: whoever
    asked for it may have been locked out since.
    """
    try:
        account_id, fingerprint, new_email = _read(email_purpose, token, 3)
    except ResetLinkInvalid:
        raise EmailLinkInvalid from None
    account = _lock(account_id)
    if account is None or _fingerprint(account) != fingerprint:
        raise EmailLinkInvalid
    # An account whose days have passed is gone for the world, and so is its hold on an address.
    delete_expired_accounts()
    old_email = account.email
    try:
        with db.session.begin_nested():
            account.email = new_email
    except IntegrityError:
        raise EmailTaken from None
    return account, old_email


def _read(purpose: TokenPurpose, token: str, length: int) -> list[str]:
    try:
        payload, _ = purpose.read(token, RESET_SECONDS)
    except (TokenInvalid, TokenExpired):
        raise ResetLinkInvalid from None
    if not isinstance(payload, list) or len(payload) != length:
        raise ResetLinkInvalid
    return payload


def _lock(account_id: str) -> Account | None:
    return db.session.scalars(
        select(Account)
        .where(Account.id == account_id, Account.claimed_at.is_not(None))
        .with_for_update()
    ).one_or_none()


def _fingerprint(account: Account) -> str:
    return hash_secret(f"{account.email} {account.password_hash}")[:16]
