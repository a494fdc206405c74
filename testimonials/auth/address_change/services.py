"""Changing an account's address."""

from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError

from testimonials.auth.models import Account
from testimonials.auth.services import delete_expired_accounts
from testimonials.auth.sign_in.services import (
    ResetLinkInvalid,
    fingerprint,
    lock_claimed,
    read_link,
)
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner
from testimonials.core.urls import email_change_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import db

change_purpose = TokenPurpose("email-change")


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


def change_address(change: AddressChange, owner: SignedIn) -> str:
    """Give the account of the person signed in its new address; return the one it left.

    Raises `AddressTaken` and `SessionEnded`.
    """
    account = lock_owner(owner)
    left = account.email
    # An expired account no longer holds its address.
    delete_expired_accounts()
    try:
        with db.session.begin_nested():
            account.email = change.email
    except IntegrityError:
        raise AddressTaken from None
    return left
