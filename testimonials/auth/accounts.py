"""Accounts: starting, claiming and deleting them, their API keys, names and suspension."""

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import ClassVar

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, or_, select

from testimonials.auth.models import Account
from testimonials.core import clock
from testimonials.core.db import identifiers
from testimonials.core.db.engine import Timestamp, insert_if_missing
from testimonials.core.db.erasure import ACCOUNT, note_erased
from testimonials.core.db.prepared import Prepared
from testimonials.core.db.transactions import delete_rows
from testimonials.core.extensions import db, find_apart
from testimonials.core.http.errors import CredentialsInvalid, ServiceError, require_found
from testimonials.core.http.fields import OneLine
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.settings.table import current_settings

DISPLAY_NAME_LENGTH = 80


class DisplayName(OneLine):
    """A person's name, without an @, so that it can't look like a colleague's address."""

    form_messages: ClassVar[dict[str, str]] = OneLine.form_messages | {
        "address": gettext_noop("Enter a name, not an email address.")
    }

    def __init__(self) -> None:
        super().__init__(DISPLAY_NAME_LENGTH)

    def _deserialize(self, value: object, attr: object, data: object, **options: object) -> str:
        name: str = super()._deserialize(value, attr, data, **options)
        if "@" in name:
            raise self.make_error("address")
        return name


class DisplayNameForm(FormSchema):
    display_name = DisplayName()


def shown_name() -> ColumnElement[str]:
    """Return the expression for a person's name: the one they chose, or else the address."""
    return func.coalesce(Account.display_name, Account.email)


def find_display_names(emails: Iterable[str]) -> dict[str, str]:
    if not (addresses := set(emails)):
        return {}
    query = select(Account.email, Account.display_name).where(
        Account.email.in_(addresses), Account.display_name.is_not(None)
    )
    return {email: name or "" for email, name in db.session.execute(query)}


def set_display_name(account: Account, name: str | None) -> bool:
    """Set or remove the locked account's name; return whether it changed."""
    old, account.display_name = account.display_name, name or None
    return old != account.display_name


class AccountSuspended(ServiceError):
    """Nobody can use the account. Its data is kept, and its emails and webhooks wait."""

    status = 403
    title = gettext_noop("This account is suspended")
    meaning = "The operator of the service has suspended the account. Nothing was deleted."
    remedy = "Contact the operator, whom `message` names; retrying doesn’t help."
    default_message = gettext_noop(
        "This account is suspended. Nothing was deleted, and nothing can be changed until the "
        "operator restores it."
    )


def operator_address() -> str:
    """Return whom people who can't sign in should contact: the first operator, or MAIL_FROM."""
    settings = current_settings()
    return settings.operators[0] if settings.operators else parseaddr(settings.mail_from)[1]


def require_unsuspended(suspended_at: datetime | None, reason: str | None) -> None:
    if suspended_at is not None:
        raise AccountSuspended(
            gettext_noop(
                "This account was suspended on %(day)s: %(reason)s Nothing was deleted. Ask "
                "%(operator)s."
            ),
            values={
                "day": clock.day(suspended_at),
                "reason": reason,
                "operator": operator_address(),
            },
        )


UNKNOWN_KEY_HASH = identifiers.hash_secret(identifiers.new_credential(identifiers.KEY_PREFIX))


class PasswordsOff(ServiceError):
    """The operator has turned passwords off in favor of single sign-on."""

    status = 403

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "Passwords are off. Sign in with %(company)s.",
                company=current_settings().company_name,
            )
        )


@dataclass(frozen=True)
class NewAccess:
    """An account with its new key and claim nonce, which are only stored as hashes."""

    account: Account
    api_key: str
    claim_nonce: str


def require_passwords() -> None:
    if not current_settings().has_passwords:
        raise PasswordsOff


def is_live() -> ColumnElement[bool]:
    """Return the condition that an account is claimed, or still may be."""
    # A callable, so that prepared statements read the clock at each execution.
    now = bindparam("now", callable_=lambda: clock.now(), type_=Timestamp)
    return or_(Account.claimed_at.is_not(None), Account.claim_expires_at > now)


def may_act() -> ColumnElement[bool]:
    """Return the condition that an account is claimed and not suspended.

    It must also hold for anything that acts for people, or emails them, without a session.
    """
    return and_(Account.claimed_at.is_not(None), Account.suspended_at.is_(None))


# Executed by every API call with a key.
_FIND_CREDENTIALS = Prepared(
    select(Account.email, Account.key_hash, Account.suspended_at, Account.suspended_reason).where(
        Account.id == bindparam("account_id"), is_live()
    )
)


def check_credentials(account_id: str, api_key: str) -> str:
    """Return the address of the account with this id and key (spec, "Authentication").

    An unknown account takes as long as a known one. Raises `CredentialsInvalid`, or
    `AccountSuspended` if the key is right.
    """
    row = None
    if identifiers.is_identifier(account_id):
        row = find_apart(_FIND_CREDENTIALS, {"account_id": account_id})
    email, stored, suspended_at, reason = row or ("", UNKNOWN_KEY_HASH, None, None)
    is_match = hmac.compare_digest(stored, identifiers.hash_secret(api_key))
    if row is None or not is_match:
        raise CredentialsInvalid
    require_unsuspended(suspended_at, reason)
    return str(email)


def is_known_email(email: str) -> bool:
    query = select(select(Account.id).where(Account.email == email, is_live()).exists())
    return bool(db.session.scalar(query))


def start_signup(email: str) -> tuple[Account, str] | None:
    """Start an account for a person who signs up without an agent, or renew its link.

    An agent's key stays. Returns the account and the link's nonce, or None if it is claimed.
    """
    account = _open_account(email)
    return None if account is None else (account, renew_own_nonce(account))


def start_account(email: str) -> NewAccess | None:
    """Start an account for `email`, or renew the deadline, key and link of an unclaimed one.

    A link that the person requested keeps working, so that strangers can't keep them from signing
    up. Returns None if the account is claimed. An expired account is deleted first, with its data
    (spec, "POST /v1/auth/agent-init").
    """
    account = _open_account(email)
    if account is None:
        return None
    return NewAccess(account, replace_key(account), renew_agent_nonce(account))


def replace_key(account: Account) -> str:
    api_key = identifiers.new_credential(identifiers.KEY_PREFIX)
    account.key_hash = identifiers.hash_secret(api_key)
    account.key_last_four = api_key[-4:]
    account.key_created_at = clock.now()
    return api_key


def drop_key(account: Account) -> None:
    account.key_hash = ""
    account.key_last_four = ""


def renew_agent_nonce(account: Account) -> str:
    """Return the nonce of a new magic link for an agent, whose earlier link stops working."""
    nonce = secrets.token_urlsafe(18)
    account.claim_nonce_hash = identifiers.hash_secret(nonce)
    return nonce


def renew_own_nonce(account: Account) -> str:
    """Return the nonce of a new magic link for the person; all earlier links stop working."""
    nonce = secrets.token_urlsafe(18)
    account.own_nonce_hash = identifiers.hash_secret(nonce)
    account.claim_nonce_hash = None
    return nonce


def find_key_problem(account: Account, choice: str, other: str, seen: str) -> str | None:
    """Return what is wrong with a person's `choice` about an agent's key, or None.

    The choice is `keep` or the alternative `other`. `seen` is the end of the key that the page
    showed: a newer key was never chosen.
    """
    if not account.has_key:
        return None
    if choice not in ("keep", other):
        return gettext("Choose whether the agent keeps its key.")
    if choice == "keep" and seen != account.key_last_four:
        return gettext("An agent got a new key while this page was open. Choose again.")
    return None


def lock_where(*conditions: ColumnElement[bool]) -> Account | None:
    # With `key_share`, rows that refer to the account, such as events, can still be written: their
    # writers hold the lock of the account's record, which this transaction may wait for.
    query = select(Account).where(*conditions).with_for_update(key_share=True)
    return db.session.scalars(query).one_or_none()


def find_claimable_account(email: str) -> Account | None:
    return lock_where(Account.email == email, Account.claimed_at.is_(None), is_live())


def claim_account(account: Account, password_hash: str | None) -> None:
    """Claim the account: it no longer expires, and its links stop working.

    The password is None for somebody who signs in another way. Raises `PasswordsOff`.
    """
    if password_hash is not None:
        require_passwords()
    account.password_hash = password_hash
    account.claimed_at = account.password_set_at = clock.now()
    account.claim_nonce_hash = account.own_nonce_hash = account.website_read = None


def delete_account(account: Account) -> None:
    note_erased(db.session(), ACCOUNT, [account.id])
    db.session.delete(account)
    db.session.flush()


def delete_expired_accounts() -> int:
    return delete_rows(Account, _is_expired())


def select_expired_accounts() -> Select[str]:
    """Return the query for the ids of the accounts that `delete_expired_accounts` deletes."""
    return select(Account.id).where(_is_expired())


def _is_expired() -> ColumnElement[bool]:
    return and_(Account.claimed_at.is_(None), Account.claim_expires_at <= clock.now())


def get_account(reference: str) -> Account:
    """Lock and return the live account with this id or email address. Raises `NotFound`."""
    matches = or_(Account.id == reference, Account.email == reference.lower())
    message = f"There is no account with the id or email address {reference}."
    return require_found(lock_where(matches, is_live()), message)


def _open_account(email: str) -> Account | None:
    """Lock or create the account of `email` and extend its deadline; None if it is claimed."""
    db.session.execute(
        delete(Account).where(Account.email == email, ~is_live()),
        execution_options={"synchronize_session": False},
    )
    deadline = clock.now() + timedelta(days=current_settings().claim_days)
    values = {"email": email, "key_hash": "", "key_last_four": "", "claim_expires_at": deadline}
    account = None
    # If it is deleted between the two statements, try again.
    while account is None:
        insert_if_missing(db.session(), Account, id=identifiers.new_identifier(), **values)
        account = lock_where(Account.email == email)
    if account.is_claimed:
        return None
    account.claim_expires_at = deadline
    return account
