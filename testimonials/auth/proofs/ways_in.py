"""How a person gets into their account, and that they always can."""

from dataclasses import dataclass

from sqlalchemy import delete

from testimonials.auth.company.services import find_identity, unlink_account
from testimonials.auth.models import Account
from testimonials.auth.proofs.authenticator import count_recovery_codes, drop_app, find_app
from testimonials.auth.proofs.models import AuthenticatorApp, Passkey
from testimonials.auth.proofs.passkeys import count_passkeys, get_passkey
from testimonials.auth.sign_in.sessions import end_sessions
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.settings.current import current_settings


class LastWayIn(ServiceError):
    status = 409
    code = "LAST_WAY_IN"
    default_message = gettext_noop(
        "This is the only way into your account. Add a passkey or set a password first; then you "
        "can remove it."
    )


class StrongNeeded(ServiceError):
    status = 409
    code = "STRONG_NEEDED"
    default_message = gettext_noop(
        "You ask your team for more than a password, and this is your last of that kind. Turn that "
        "off first, or add another."
    )


@dataclass(frozen=True)
class WaysIn:
    """What an account can sign in with."""

    has_password: bool
    passkeys: int
    app: AuthenticatorApp | None
    recovery_codes: int
    # How many accounts of a company are linked.
    companies: int = 0

    @property
    def is_any(self) -> bool:
        """Whether there is anything here to prove who one is with."""
        return self.has_password or self.passkeys > 0 or self.app is not None

    @property
    def count(self) -> int:
        """How many ways there are to begin to sign in."""
        return self.has_password + self.passkeys + self.companies

    @property
    def strong(self) -> int:
        """How many of them ask for more than a password."""
        return self.passkeys + self.companies + (self.app is not None and self.has_password)


def find_ways_in(account: Account) -> WaysIn:
    app = find_app(account.id)
    return WaysIn(
        has_password=account.password_hash is not None and current_settings().has_passwords,
        passkeys=count_passkeys(account.id),
        app=app,
        recovery_codes=count_recovery_codes(account.id) if app else 0,
        companies=1 if find_identity(account.id) else 0,
    )


def remove_passkey(account: Account, passkey_id: str) -> str:
    """Remove a passkey of the locked account; return its name.

    Raises `NotFound`, `LastWayIn` and `StrongNeeded`.
    """
    passkey = get_passkey(account.id, passkey_id)
    ways = find_ways_in(account)
    _require_rest(account, ways.count - 1, ways.strong - 1)
    db.session.delete(passkey)
    return passkey.name


def remove_app(account: Account) -> None:
    """Disconnect the app of the locked account; raise `StrongNeeded`."""
    ways = find_ways_in(account)
    if ways.app is not None:
        _require_rest(account, ways.count, ways.strong - ways.has_password)
        drop_app(account.id)


def remove_password(account: Account, *, but: str) -> None:
    """Let the locked account do without a password; raise `LastWayIn` and `StrongNeeded`.

    As with a new one, every browser but the session `but` is signed out.
    """
    ways = find_ways_in(account)
    _require_rest(account, ways.count - ways.has_password, ways.passkeys + ways.companies)
    account.password_hash = account.password_set_at = None
    end_sessions(account.id, but=but)


def unlink_company(account: Account) -> str | None:
    """Unlink the company's account from the locked account; return the address, None if none was.

    Raises `LastWayIn` and `StrongNeeded`.
    """
    ways = find_ways_in(account)
    if ways.companies:
        _require_rest(account, ways.count - ways.companies, ways.strong - ways.companies)
    return unlink_account(account)


def reset_ways_in(account: Account) -> None:
    """Remove passkeys, the app and its codes, unlink the company, and sign every browser out."""
    db.session.execute(delete(Passkey).where(Passkey.account_id == account.id))
    drop_app(account.id)
    unlink_account(account)
    end_sessions(account.id)


def _require_rest(account: Account, ways: int, strong: int) -> None:
    if ways < 1:
        raise LastWayIn
    if account.requires_strong and strong < 1:
        raise StrongNeeded
