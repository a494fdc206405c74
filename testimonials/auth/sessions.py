"""Sessions: a browser is signed in while its row exists and has not expired."""

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
from testimonials.core.settings.current import current_settings

LIFETIME = timedelta(days=30)
# How old `last_seen_at` may get before it is written again.
SEEN_INTERVAL = timedelta(hours=1)
# For how long after a password was entered irreversible actions don't ask for it again.
PROOF_LIFETIME = timedelta(minutes=10)


class SignInMethod(StrEnum):
    """How somebody proved who they are."""

    PASSWORD = "password"  # noqa: S105
    PASSWORD_AND_APP = "password and app"  # noqa: S105
    PASSKEY = "passkey"
    COMPANY = "company"
    # One that was mailed.
    LINK = "link"
    # What goes on without a browser, such as an import that somebody began.
    EARLIER = "earlier"


WEAK = (SignInMethod.PASSWORD, SignInMethod.LINK)


@dataclass(frozen=True)
class SignedIn:
    """Who is signed in, as plain values."""

    session_id: str
    account_id: str
    email: str
    # When the person last proved who they are, such as with the password.
    proved_at: datetime | None
    display_name: str | None = None
    # The session was just extended, so its cookie must be too.
    is_renewed: bool = False
    method: str = SignInMethod.PASSWORD
    # Of `LANGUAGES`; None: as the browser says.
    language: str | None = None

    @property
    def is_strong(self) -> bool:
        """Whether more than a password or a mailbox was needed."""
        return self.method not in WEAK

    @property
    def name(self) -> str:
        """How others read of them."""
        return self.display_name or self.email


class SessionEnded(ServiceError):
    status = 401
    code = "SIGNED_OUT"
    default_message = gettext_noop("You have been signed out. Nothing was changed.")


def start_session(
    account: Account,
    user_agent: str,
    method: SignInMethod = SignInMethod.PASSWORD,
    *,
    replaces: str = "",
    is_proved: bool = True,
) -> str:
    """Sign a browser in; return the token for its cookie, of which only a hash is kept.

    `replaces` is the token that the browser had until now; its session ends. Without `is_proved`
    the person may have proved who they are long ago, to somebody who knew them on.
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
    """Return who is signed in with this token, if anybody is; commits when it extends a session."""
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
        .where(
            Session.token_hash == hash_secret(token),
            Session.expires_at > now,
            may_act(),
        )
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
    """Return the language that the person signed in with this token chose, if any."""
    query = (
        select(Account.language)
        .join(Session)
        .where(Session.token_hash == hash_secret(token), Session.expires_at > clock.now())
    )
    return db.session.scalar(query)


def lock_owner(owner: SignedIn) -> Account:
    """Return the account, locked, of the person signed in.

    Raises `SessionEnded` if they were signed out since the request began, as by a new password.
    """
    account = get_account(owner.account_id)
    if db.session.scalar(select(Session.id).where(Session.id == owner.session_id)) is None:
        raise SessionEnded
    return account


def has_fresh_proof(owner: SignedIn, lasts: timedelta = PROOF_LIFETIME) -> bool:
    """Return whether the person signed in proved who they are within the time that it `lasts`."""
    return owner.proved_at is not None and abs(clock.now() - owner.proved_at) < lasts


def note_proof(owner: SignedIn, how: SignInMethod | None = None) -> tuple[Account, str]:
    """Record that the person just proved who they are; return the locked account and a new token.

    `how` is noted where it is more than what the session began with. The old token stops working:
    anybody else who has it has proved nothing. Raises `SessionEnded`.
    """
    account = lock_owner(owner)
    token = secrets.token_urlsafe(32)
    changes = {"proved_at": clock.now(), "token_hash": hash_secret(token)}
    if how is not None and not owner.is_strong:
        changes["method"] = how
    db.session.execute(update(Session).where(Session.id == owner.session_id).values(changes))
    return account, token


def list_sessions(account_id: str) -> Sequence[Session]:
    return db.session.scalars(
        select(Session)
        .where(Session.account_id == account_id, Session.expires_at > clock.now())
        .order_by(Session.last_seen_at.desc(), Session.id.desc())
    ).all()


def end_session(account_id: str, session_id: str) -> str | None:
    """Sign one browser of the account out; return its label, None if there is no such session."""
    if not is_identifier(session_id):
        return None
    return db.session.scalar(
        delete(Session)
        .where(Session.id == session_id, Session.account_id == account_id)
        .returning(Session.label)
    )


def end_sessions(account_id: str, *, but: str | None = None) -> None:
    """Sign every browser of the account out, except `but`, and treat all of them as unknown."""
    statement = delete(Session).where(Session.account_id == account_id)
    if but is not None:
        statement = statement.where(Session.id != but)
    db.session.execute(statement)
    db.session.execute(
        update(Account)
        .where(Account.id == account_id)
        .values(browser_generation=Account.browser_generation + 1)
    )


def delete_expired_sessions() -> int:
    return delete_rows(Session, Session.expires_at <= clock.now())


def _end_of(started_at: datetime) -> datetime:
    longest = timedelta(days=current_settings().session_days)
    return min(clock.now() + LIFETIME, started_at + longest)
