"""Sessions: a browser is signed in while its row exists and hasn't expired."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, select, update

from testimonials.auth.accounts import get_account, may_act
from testimonials.auth.models import Account, Session
from testimonials.core import clock
from testimonials.core.db.identifiers import hash_secret, is_identifier
from testimonials.core.db.transactions import delete_rows, write
from testimonials.core.event_lists import describe_browser
from testimonials.core.extensions import db
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.table import current_settings

LIFETIME = timedelta(days=30)
# `last_seen_at` is updated at most this often.
SEEN_INTERVAL = timedelta(hours=1)
# For this long after a proof, dangerous actions don't ask for another.
PROOF_LIFETIME = timedelta(minutes=10)


class SignInMethod(StrEnum):
    """How somebody proved who they are."""

    PASSWORD = "password"  # noqa: S105
    PASSWORD_AND_APP = "password and app"  # noqa: S105
    PASSKEY = "passkey"
    COMPANY = "company"
    # A link in an email.
    LINK = "link"
    # For work that continues without a browser, such as an import.
    EARLIER = "earlier"


WEAK = (SignInMethod.PASSWORD, SignInMethod.LINK)


@dataclass(frozen=True)
class SignedIn:
    """A person who is signed in, and their session."""

    session_id: str
    account_id: str
    email: str
    # When the person last proved who they are.
    proved_at: datetime | None
    display_name: str | None = None
    # The session was just extended, so its cookie must be too.
    is_renewed: bool = False
    method: str = SignInMethod.PASSWORD
    # A code in `LANGUAGES`. None: the browser's.
    language: str | None = None

    @property
    def is_strong(self) -> bool:
        """Whether signing in took more than a password or a mailbox."""
        return self.method not in WEAK

    @property
    def name(self) -> str:
        """The name that others see."""
        return self.display_name or self.email


class SessionEnded(ServiceError):
    status = 401
    code = "SIGNED_OUT"
    default_message = gettext_noop("You are signed out. Nothing was changed.")


def start_session(
    account: Account,
    user_agent: str,
    method: SignInMethod = SignInMethod.PASSWORD,
    *,
    replaces: str = "",
    is_proved: bool = True,
) -> str:
    """Sign a browser in; return the token for its cookie, of which only a hash is stored.

    `replaces` is the browser's previous token, whose session ends. `is_proved` is false if the
    person was perhaps still signed in at a provider, and so has proved nothing just now.
    """
    if replaces:
        db.session.execute(delete(Session).where(Session.token_hash == hash_secret(replaces)))
    token = secrets.token_urlsafe(32)
    db.session.add(
        Session(
            account_id=account.id,
            token_hash=hash_secret(token),
            label=describe_browser(user_agent),
            method=method,
            proved_at=clock.now() if is_proved else None,
            expires_at=_end_of(clock.now()),
        )
    )
    return token


def find_session(token: str) -> SignedIn | None:
    """Return who is signed in with this token, if anybody. Commits if it extends the session."""
    now = clock.now()
    row = db.session.execute(
        select(
            Session.id,
            Session.account_id,
            Session.proved_at,
            Session.method,
            Session.created_at,
            Session.last_seen_at,
            Account.email,
            Account.display_name,
            Account.language,
        )
        .join(Account)
        .where(Session.token_hash == hash_secret(token), Session.expires_at > now, may_act())
    ).one_or_none()
    if row is None:
        return None
    is_renewed = row.last_seen_at < now - SEEN_INTERVAL
    if is_renewed:
        changes = {"last_seen_at": now, "expires_at": _end_of(row.created_at)}
        with write():
            db.session.execute(update(Session).where(Session.id == row.id).values(changes))
    who = (row.id, row.account_id, row.email, row.proved_at, row.display_name)
    return SignedIn(*who, is_renewed, row.method, row.language)


def find_chosen_language(token: str) -> str | None:
    """Return the language that the person with this session chose, if any."""
    is_own = (Session.token_hash == hash_secret(token), Session.expires_at > clock.now())
    query = select(Account.language).join(Session).where(*is_own)
    return db.session.scalar(query)


def lock_owner(owner: SignedIn) -> Account:
    """Lock and return the account of the signed-in person.

    Raises `SessionEnded` if they were signed out during the request, for example by a new password.
    """
    account = get_account(owner.account_id)
    if db.session.scalar(select(Session.id).where(Session.id == owner.session_id)) is None:
        raise SessionEnded
    return account


def has_fresh_proof(owner: SignedIn, lasts: timedelta = PROOF_LIFETIME) -> bool:
    """Return whether the person's last proof is less than `lasts` ago."""
    return owner.proved_at is not None and abs(clock.now() - owner.proved_at) < lasts


def record_proof(owner: SignedIn, how: SignInMethod | None = None) -> tuple[Account, str]:
    """Record that the person has just proved who they are; return the account and a new token.

    `how` becomes the session's method unless that is strong already. The old token stops working,
    since somebody else may have it. The account is locked. Raises `SessionEnded`.
    """
    account = lock_owner(owner)
    token = secrets.token_urlsafe(32)
    changes = {"proved_at": clock.now(), "token_hash": hash_secret(token)}
    if how is not None and not owner.is_strong:
        changes["method"] = how
    db.session.execute(update(Session).where(Session.id == owner.session_id).values(changes))
    return account, token


def list_sessions(account_id: str) -> Sequence[Session]:
    row = Session
    query = select(row).where(row.account_id == account_id, row.expires_at > clock.now())
    return db.session.scalars(query.order_by(row.last_seen_at.desc(), row.id.desc())).all()


def end_session(account_id: str, session_id: str) -> str | None:
    """Sign one of the account's browsers out; return its label, or None if there is no session."""
    if not is_identifier(session_id):
        return None
    own = delete(Session).where(Session.id == session_id, Session.account_id == account_id)
    return db.session.scalar(own.returning(Session.label))


def end_sessions(account_id: str, *, but: str | None = None) -> None:
    """Sign out all browsers of the account but `but`; none of them counts as known any more."""
    statement = delete(Session).where(Session.account_id == account_id)
    if but is not None:
        statement = statement.where(Session.id != but)
    db.session.execute(statement)
    own = update(Account).where(Account.id == account_id)
    db.session.execute(own.values(browser_generation=Account.browser_generation + 1))


def delete_expired_sessions() -> int:
    return delete_rows(Session, Session.expires_at <= clock.now())


def _end_of(started_at: datetime) -> datetime:
    longest = timedelta(days=current_settings().session_days)
    return min(clock.now() + LIFETIME, started_at + longest)
