"""Checking a password, and choosing a new one."""

from functools import cache

from sqlalchemy import select

from testimonials.auth.accounts import lock_where, require_passwords
from testimonials.auth.models import Account
from testimonials.auth.sessions import end_sessions
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url, base_url, link_url
from testimonials.core.late import Signal
from testimonials.core.passwords import find_password_problem, hash_password, is_password

LINK_SECONDS = 60 * 60

reset_purpose = TokenPurpose("reset")


class SignInRefused(ServiceError):
    status = 422
    default_message = gettext_noop(
        "The address and the password don’t match. Try again, or choose a new one."
    )


class ResetLinkInvalid(ServiceError):
    """The link has expired, was used, or was never ours."""

    status = 404
    code = "LINK_INVALID"
    default_message = gettext_noop("This link doesn’t work any more.")


def check_password(email: str, password: str) -> Account:
    """Return the claimed account with this address and password.

    Raises `SignInRefused` and `PasswordsOff`.
    """
    require_passwords()
    account = find_claimed_account(email)
    stored = account.password_hash if account is not None else None
    # Unknown addresses are checked too, so that they take as long as known ones.
    is_match = is_password(stored or _unknown_hash(), password)
    if account is None or stored is None or not is_match:
        raise SignInRefused
    return account


def lock_checked(account: Account) -> Account:
    """Return the account, locked; raise `SignInRefused` if its password changed since the check.

    Checking takes a moment, in which the owner may have replaced a password that others know.
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
    return link_url("reset", reset_purpose.sign([account.id, fingerprint(account)]))


def find_account_to_reset(token: str) -> Account:
    """Return the account, locked, whose password the link may change; raise `ResetLinkInvalid`."""
    require_passwords()
    if (found := open_link(reset_purpose, token, 2)) is None:
        raise ResetLinkInvalid
    return found[0]


def change_password(account: Account, password_hash: str, *, but: str | None = None) -> None:
    """Set a new password and sign every browser out except the session `but`.

    Raises `PasswordsOff`.
    """
    require_passwords()
    account.password_hash = password_hash
    account.password_set_at = clock.now()
    end_sessions(account.id, but=but)


def open_link(purpose: TokenPurpose, token: str, length: int) -> tuple[Account, str] | None:
    """Return the account, locked, of a link that works for an hour, and the link's last part.

    The link has the account's fingerprint, so a new password or address makes it invalid.
    """
    account_id, mark, *rest = purpose.find(token, length, LINK_SECONDS) or ("", "")
    account = lock_claimed(account_id)
    if account is None or fingerprint(account) != mark:
        return None
    return account, str(rest[-1] if rest else "")


def lock_claimed(account_id: str) -> Account | None:
    return lock_where(Account.id == account_id, Account.claimed_at.is_not(None))


# Sent with an address: whoever knows names that others would try for its owner answers with them.
known_names = Signal()


def judge_password(password: str, email: str) -> str | None:
    names = ["testimonials", app_url(), base_url()]
    for _, more in known_names.send(email):
        names += more
    return find_password_problem(password, email, names)


def fingerprint(account: Account) -> str:
    """Return a mark for links, which a new address or password makes invalid."""
    return hash_secret(f"{account.email} {account.password_hash}")[:16]


@cache
def _unknown_hash() -> str:
    return hash_password("no account has this password")
