"""Changing an account's address, and taking the account back to a former one."""

from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from testimonials.auth.models import Account, FormerAddress
from testimonials.auth.proofs.ways_in import reset_ways_in
from testimonials.auth.services import TAKE_BACK, delete_expired_accounts, find_former_address
from testimonials.auth.sign_in.services import (
    ResetLinkInvalid,
    fingerprint,
    lock_claimed,
    read_link,
)
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner
from testimonials.core import clock
from testimonials.core.urls import email_change_url, take_back_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenInvalid, TokenPurpose
from testimonials.extensions import db

change_purpose = TokenPurpose("email-change")
take_back_purpose = TokenPurpose("take-back")


class AddressLinkInvalid(ServiceError):
    """The link has expired, was used, or was never ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = gettext_noop("This link doesn’t work any more.")


class AddressTaken(ServiceError):
    code = "EMAIL_TAKEN"
    default_message = gettext_noop("Another account has this address.")


@dataclass(frozen=True)
class AddressChange:
    """A requested change: the account, locked, and its new address."""

    account: Account
    email: str


def make_change_link(account: Account, new_email: str) -> str:
    return email_change_url(change_purpose.sign([account.id, fingerprint(account), new_email]))


def find_change(token: str) -> AddressChange:
    """Return the change that a link confirms; raise `AddressLinkInvalid`.

    A new password or address invalidates the link: it may have locked out an intruder who asked.
    """
    try:
        account_id, mark, new_email = read_link(change_purpose, token, 3)
    except ResetLinkInvalid:
        raise AddressLinkInvalid from None
    account = lock_claimed(account_id)
    if account is None or fingerprint(account) != mark:
        raise AddressLinkInvalid
    return AddressChange(account, new_email)


def change_address(change: AddressChange, owner: SignedIn) -> FormerAddress:
    """Give the account of the person signed in its new address; return the one it left.

    Raises `AddressTaken` and `SessionEnded`.
    """
    account = lock_owner(owner)
    former = find_former_address(change.email)
    if former is not None and former.account_id != account.id:
        raise AddressTaken
    left = FormerAddress(account=account, email=account.email)
    db.session.add(left)
    # An expired account no longer holds its address.
    delete_expired_accounts()
    _set_email(account, change.email)
    return left


def make_take_back_link(former: FormerAddress) -> str:
    return take_back_url(take_back_purpose.sign(former.id))


def find_take_back(token: str) -> FormerAddress:
    """Return the former address of a link, locked with its account; raise `AddressLinkInvalid`."""
    try:
        former_id, _ = take_back_purpose.read(token)
    except TokenInvalid:
        raise AddressLinkInvalid from None
    former = db.session.scalars(
        select(FormerAddress)
        .join(Account)
        .where(FormerAddress.id == former_id, FormerAddress.left_at > clock.now() - TAKE_BACK)
        .with_for_update()
    ).one_or_none()
    if former is None:
        raise AddressLinkInvalid
    return former


def take_back(former: FormerAddress) -> Account:
    """Restore the former address, remove password and sessions, and return the account.

    Addresses that it had later can no longer take it back, earlier ones still can: the owner's
    comes first, an intruder's later. Raises `AddressTaken`.
    """
    account, email = former.account, former.email
    db.session.execute(
        delete(FormerAddress).where(
            FormerAddress.account_id == account.id, FormerAddress.left_at >= former.left_at
        )
    )
    # An agent may have started an unclaimed one in the instant of the change.
    db.session.execute(delete(Account).where(Account.email == email, Account.claimed_at.is_(None)))
    _set_email(account, email)
    # The intruder may have added a passkey or an app, or linked their own company account.
    reset_ways_in(account)
    account.password_hash = account.password_set_at = None
    return account


def _set_email(account: Account, email: str) -> None:
    try:
        with db.session.begin_nested():
            account.email = email
    except IntegrityError:
        raise AddressTaken from None
