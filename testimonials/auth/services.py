"""The rules of accounts: starting one, its key, its magic link, claiming and removing it."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, delete, or_, select

from testimonials.auth.models import Account, FormerAddress
from testimonials.core import clock
from testimonials.core.data.database import Timestamp, insert_if_missing
from testimonials.core.data.identifiers import (
    hash_secret,
    is_api_key,
    is_identifier,
    new_api_key,
    new_identifier,
)
from testimonials.core.web.errors import CredentialsInvalid, NotFound
from testimonials.extensions import db
from testimonials.settings.current import current_settings

# For how long an account can be taken back to an address that it left.
TAKE_BACK = timedelta(days=7)
UNKNOWN_KEY_HASH = hash_secret(new_api_key())


@dataclass(frozen=True)
class Identity:
    """The caller, as plain values that outlive the transaction they were read in."""

    id: str
    email: str


@dataclass(frozen=True)
class NewAccess:
    """An account with the secrets that are known only now: its new key and its new claim nonce."""

    account: Account
    api_key: str
    claim_nonce: str


def _now() -> datetime:
    # Looked up with each use, so that a statement built once still asks the clock of the moment.
    return clock.now()


def is_live() -> ColumnElement[bool]:
    """Return the condition under which an account counts: claimed, or within its days."""
    return or_(
        Account.claimed_at.is_not(None),
        Account.claim_expires_at > bindparam("now", callable_=_now, type_=Timestamp),
    )


# Built once: it is asked with every call of the API.
_FIND_CREDENTIALS = select(Account.id, Account.email, Account.key_hash).where(
    Account.id == bindparam("account_id"), is_live()
)


def check_credentials(account_id: str, api_key: str) -> Identity:
    """Return whose pair this is (spec, "Authentication").

    Raises `CredentialsInvalid` when it doesn't match. An unknown account costs what a known one
    does: the same hash, and a comparison in constant time.
    """
    row, values = None, {"account_id": account_id}
    if is_identifier(account_id):
        # On the connection itself: there is no model to load.
        row = db.session.connection().execute(_FIND_CREDENTIALS, values).one_or_none()
    stored = row.key_hash if row else UNKNOWN_KEY_HASH
    is_match = hmac.compare_digest(stored, hash_secret(api_key))
    if row is None or not is_match or not is_api_key(api_key):
        raise CredentialsInvalid
    return Identity(row.id, row.email)


def is_known_email(email: str) -> bool:
    """Return whether a live account has this address; then sign-up needn't be open."""
    query = select(select(Account.id).where(Account.email == email, is_live()).exists())
    return bool(db.session.scalar(query))


def start_signup(email: str) -> tuple[Account, str] | None:
    """Start an account for a person who signs up without an agent, and renew its magic link.

    No key is issued, and a key that an agent holds already stays. Returns the account and the
    nonce of the link, or None when the account is claimed.
    """
    account = _open_account(email)
    if account is None:
        return None
    return account, renew_own_nonce(account)


def start_account(email: str) -> NewAccess | None:
    """Start an account for `email`, or start the days of an unclaimed one anew.

    Either way there is a new key and a new claim nonce, and the earlier ones stop working; a link
    that the person asked for works on, so that no stranger can stop them from signing up. Returns
    None when the account is claimed. An unclaimed account past its days is removed first, with all
    it had (spec, "POST /v1/auth/agent-init").
    """
    account = _open_account(email)
    if account is None:
        return None
    return NewAccess(account, replace_key(account), renew_agent_nonce(account))


def claim_deadline() -> datetime:
    return clock.now() + timedelta(days=current_settings().claim_days)


def replace_key(account: Account) -> str:
    """Give the account a new key and return it, this one time; the old one stops now."""
    api_key = new_api_key()
    account.key_hash = hash_secret(api_key)
    account.key_last_four = api_key[-4:]
    account.key_created_at = clock.now()
    return api_key


def drop_key(account: Account) -> None:
    """Take the key away from whoever holds it; there is none until a new one is made."""
    account.key_hash = ""
    account.key_last_four = ""


def renew_agent_nonce(account: Account) -> str:
    """Return the secret part of a new link of an agent's; its earlier one stops working."""
    nonce = secrets.token_urlsafe(18)
    account.claim_nonce_hash = hash_secret(nonce)
    return nonce


def renew_own_nonce(account: Account) -> str:
    """Return the secret part of a magic link for the person; every earlier link stops working."""
    nonce = secrets.token_urlsafe(18)
    account.own_nonce_hash = hash_secret(nonce)
    account.claim_nonce_hash = None
    return nonce


def find_key_problem(account: Account, choice: str, other: str, seen: str) -> str | None:
    """Return what is wrong with a person's decision about the key an agent holds, if anything.

    The choice is `keep` or `other`. `seen` is the end of the key that the person was shown: they
    can't have meant to keep one that was issued since.
    """
    if not account.has_key:
        return None
    if choice not in ("keep", other):
        return "Choose whether the agent keeps its key."
    if choice == "keep" and seen != account.key_last_four:
        return "An agent got a new key while this page was open. Look at it, and choose again."
    return None


def find_claimable_account(email: str) -> Account | None:
    return db.session.scalars(
        select(Account)
        .where(Account.email == email, Account.claimed_at.is_(None), is_live())
        .with_for_update()
    ).one_or_none()


def claim_account(account: Account, password_hash: str) -> None:
    """Make the account its owner's: a password, no more expiry, and the link is used up."""
    account.password_hash = password_hash
    account.claimed_at = clock.now()
    account.claim_nonce_hash = account.own_nonce_hash = None


def delete_account(account: Account) -> None:
    db.session.delete(account)
    db.session.flush()


def delete_expired_accounts() -> int:
    expired = db.session.scalars(
        delete(Account)
        .where(Account.claimed_at.is_(None), Account.claim_expires_at <= clock.now())
        .returning(Account.id)
    ).all()
    return len(expired)


def get_account(reference: str) -> Account:
    """Return the live account with this id or email address, locked; raise `NotFound`."""
    account = db.session.scalars(
        select(Account)
        .where(or_(Account.id == reference, Account.email == reference.lower()), is_live())
        .with_for_update()
    ).one_or_none()
    if account is None:
        raise NotFound(f"There is no account with the id or e-mail address {reference}.")
    return account


def list_accounts() -> Sequence[Account]:
    return db.session.scalars(
        select(Account).where(is_live()).order_by(Account.created_at.desc(), Account.id.desc())
    ).all()


def find_former_address(email: str) -> FormerAddress | None:
    """Return the newest of an account that left this address and can still be taken back to it."""
    return db.session.scalars(
        select(FormerAddress)
        .where(FormerAddress.email == email, FormerAddress.left_at > clock.now() - TAKE_BACK)
        .order_by(FormerAddress.left_at.desc())
        .limit(1)
    ).one_or_none()


def delete_old_former_addresses() -> int:
    """Delete the addresses to which no account can be taken back any more; return how many."""
    old = delete(FormerAddress).where(FormerAddress.left_at <= clock.now() - TAKE_BACK)
    return len(db.session.scalars(old.returning(FormerAddress.id)).all())


def _open_account(email: str) -> Account | None:
    """Return the unclaimed account of `email`, its days started anew; None when it is claimed.

    None also where an account that left the address can still be taken back to it.
    """
    if find_former_address(email) is not None:
        return None
    db.session.execute(
        delete(Account).where(Account.email == email, ~is_live()),
        execution_options={"synchronize_session": False},
    )
    account = _insert_or_lock(email)
    if account.is_claimed:
        return None
    account.claim_expires_at = claim_deadline()
    return account


def _insert_or_lock(email: str) -> Account:
    """Return the account of `email`, created if there is none; two requests at once create one."""
    values = {
        "id": new_identifier(),
        "email": email,
        "key_hash": "",
        "key_last_four": "",
        "claim_expires_at": claim_deadline(),
    }
    while True:
        insert_if_missing(db.session(), Account, **values)
        account = db.session.scalars(
            select(Account).where(Account.email == email).with_for_update()
        ).one_or_none()
        # None when somebody removed it between the two statements; then there is room for ours.
        if account is not None:
            return account
