"""Ways into an account, and step-up: a fresh proof of identity before dangerous actions."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flask import request
from marshmallow import fields
from sqlalchemy import delete, func, select

from testimonials.auth import two_factor
from testimonials.auth.accounts import get_account
from testimonials.auth.cookies import replace_session_cookie
from testimonials.auth.credentials import (
    CONFIRM_PER_SESSION,
    LINK_PER_MAILBOX,
    SignInRefused,
    check_password,
)
from testimonials.auth.emails import send_proof_mail
from testimonials.auth.events import PASSWORD_REFUSED
from testimonials.auth.login import draft_purpose
from testimonials.auth.models import Account, AuthenticatorApp, Passkey
from testimonials.auth.oidc.accounts import find_identity, unlink_account
from testimonials.auth.passkeys import PasskeyRefused, Reason, get_passkey, use_passkey
from testimonials.auth.sessions import (
    SignedIn,
    SignInMethod,
    end_sessions,
    lock_owner,
    record_proof,
)
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import Errors, RateLimited, ServiceError
from testimonials.core.http.forms import MAX_LENGTH, SECRETS, FormSchema, Secret, list_sent
from testimonials.core.http.i18n import gettext, gettext_noop, ngettext
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import current_path, proof_url
from testimonials.core.late import Signal


class LastWayIn(ServiceError):
    status = 409
    default_message = gettext_noop(
        "This is the only way into your account. Add a passkey or set a password first; then you "
        "can remove it."
    )


class StrongNeeded(ServiceError):
    status = 409
    default_message = gettext_noop(
        "You require more than a password from everyone, and this is your last way to comply. "
        "Turn that off first, or add another."
    )


@dataclass(frozen=True)
class WaysIn:
    has_password: bool
    passkeys: int
    app: AuthenticatorApp | None
    recovery_codes: int
    # Linked SSO identities.
    companies: int = 0

    @property
    def is_any(self) -> bool:
        """Whether the person can prove who they are here, without a provider or an email."""
        return self.has_password or self.passkeys > 0 or self.app is not None

    @property
    def count(self) -> int:
        """The number of ways to start signing in."""
        return self.has_password + self.passkeys + self.companies

    @property
    def strong(self) -> int:
        """The number of ways that take more than a password."""
        return self.passkeys + self.companies + (self.app is not None and self.has_password)


def find_ways_in(account: Account) -> WaysIn:
    passkeys = select(func.count()).where(Passkey.account_id == account.id).scalar_subquery()
    has_app = AuthenticatorApp.account_id == Account.id
    query = select(AuthenticatorApp, passkeys).select_from(Account)
    query = query.outerjoin(AuthenticatorApp, has_app).where(Account.id == account.id)
    app, count = db.session.execute(query).one()
    return WaysIn(
        has_password=account.has_password,
        passkeys=count,
        app=app,
        recovery_codes=two_factor.count_recovery_codes(account.id) if app else 0,
        companies=1 if find_identity(account.id) else 0,
    )


def remove_passkey(account: Account, passkey_id: str) -> str:
    """Remove a passkey of the locked account; return its name. Raises what `_require_rest` does."""
    passkey = get_passkey(account.id, passkey_id)
    ways = find_ways_in(account)
    _require_rest(account, ways.count - 1, ways.strong - 1)
    db.session.delete(passkey)
    return passkey.name


def remove_app(account: Account) -> None:
    """Disconnect the app of the locked account. Raises `StrongNeeded`."""
    ways = find_ways_in(account)
    if ways.app is not None:
        _require_rest(account, ways.count, ways.strong - ways.has_password)
        two_factor.drop_app(account.id)


def remove_password(account: Account, *, but: str) -> None:
    """Remove the locked account's password, and sign out all browsers but the session `but`.

    Raises `LastWayIn` and `StrongNeeded`.
    """
    ways = find_ways_in(account)
    _require_rest(account, ways.count - ways.has_password, ways.passkeys + ways.companies)
    account.password_hash = account.password_set_at = None
    end_sessions(account.id, but=but)


def unlink_company(account: Account) -> str | None:
    """Unlink SSO from the locked account; return the identity's address, if there was one.

    Raises `LastWayIn` and `StrongNeeded`.
    """
    ways = find_ways_in(account)
    if ways.companies:
        _require_rest(account, ways.count - ways.companies, ways.strong - ways.companies)
    return unlink_account(account)


def reset_ways_in(account: Account) -> None:
    """Remove all passkeys, the app and its codes, unlink SSO, and sign all browsers out."""
    db.session.execute(delete(Passkey).where(Passkey.account_id == account.id))
    two_factor.drop_app(account.id)
    unlink_account(account)
    end_sessions(account.id)


def _require_rest(account: Account, ways: int, strong: int) -> None:
    if ways < 1:
        raise LastWayIn
    if account.requires_strong and strong < 1:
        raise StrongNeeded


# People who can't prove who they are here may do so with a link in an email. It works only in the
# browser that requested it, so neither a stolen session nor the mailbox is enough alone, and any
# later proof invalidates it.

MINUTES = 15

proof_purpose = TokenPurpose("proof")


class ProofLinkInvalid(ServiceError):
    """The link is invalid, expired or used, or was opened in another browser."""

    status = 404
    code = "LINK_INVALID"
    title = gettext_noop("This link doesn’t work")
    default_message = gettext_noop(
        "Open it within 15 minutes, in the browser in which you asked for it. It works once. To "
        "get another, go back to the page that asked you to confirm it’s you."
    )


def _mail_proof(owner: SignedIn) -> None:
    """Email a link, unless too many were sent. Raises `SessionEnded`."""
    is_within = limiter.allows(LINK_PER_MAILBOX, f"proof {owner.account_id}")
    with write(partial(lock_owner, owner)) as account:
        if is_within:
            send_proof_mail(account.email, proof_url(proof_purpose.sign(_describe(owner))), MINUTES)


def check_proof(owner: SignedIn, token: str) -> None:
    """Raise `ProofLinkInvalid` unless the link is for this session and there was no proof since."""
    payload = proof_purpose.find(token, 2, MINUTES * 60)
    if payload is None or list(payload) != _describe(owner):
        raise ProofLinkInvalid


def _describe(owner: SignedIn) -> list[str | int]:
    proved_at = owner.proved_at
    return [owner.session_id, clock.to_milliseconds(proved_at) if proved_at else 0]


class ProofForm(FormSchema):
    """A password, a code, a passkey's answer with its challenge, or a request for a link."""

    proof = Secret()
    proof_code = Secret()
    proof_passkey = fields.String(load_default="")
    proof_token = fields.String(load_default="")
    proof_mail = fields.String()


PROOF, PROOF_CODE, PROOF_PASSKEY, _, PROOF_MAIL = FIELDS = tuple(ProofForm().fields)


def was_proof_sent() -> bool:
    return bool(ProofForm().read(is_partial=True).values)


# Sent with the id of an account; receivers return True if a team requires more than a password.
asks_for_more = Signal()


def find_proofs(owner: SignedIn, *, changes_ways_in: bool) -> WaysIn:
    """Return how the person can prove who they are.

    If a team requires more than a password, a password isn't enough to change the ways in: somebody
    who only knows it must not add a passkey or app of their own.
    """
    ways = find_ways_in(get_account(owner.account_id))
    has_more = ways.passkeys > 0 or ways.app is not None
    if changes_ways_in and has_more and not owner.is_strong:
        is_required = any(answer for _, answer in asks_for_more.send(owner.account_id))
        return replace(ways, has_password=ways.has_password and not is_required)
    return ways


def take_proof(owner: SignedIn, ways: WaysIn) -> tuple[SignedIn, Errors]:
    """Check and record the form's proof; return the updated `owner` and errors."""
    values = ProofForm().read().values
    if values[PROOF_PASSKEY]:
        return _take_passkey(owner, values["proof_token"], values[PROOF_PASSKEY])
    if values[PROOF_MAIL] and not ways.is_any:
        _mail_proof(owner)
        text = gettext("An email is on its way. Open its link in this browser, then continue here.")
        return owner, {PROOF_MAIL: [text]}
    if ways.app is not None and values[PROOF_CODE].strip():
        return _take_code(owner, values[PROOF_CODE])
    if not ways.has_password:
        return owner, {PROOF_CODE if ways.app else PROOF: [gettext("Fill in this field.")]}
    if errors := check_own_password(owner, values[PROOF], PROOF):
        return owner, errors
    with write():
        _, token = record_proof(owner)
    replace_session_cookie(token)
    return owner, {}


def check_own_password(owner: SignedIn, password: str, field: str) -> Errors:
    """Return the errors of the form's field, and record a wrong password."""
    # This isn't the limit of the sign-in form, where others may enter wrong passwords.
    limiter.count(CONFIRM_PER_SESSION, owner.session_id)
    try:
        check_password(owner.email, password)
    except SignInRefused:
        with write():
            record(PASSWORD_REFUSED, owner.account_id)
        return {field: [gettext("Wrong password.")]}
    limiter.forget(CONFIRM_PER_SESSION, owner.session_id)
    return {}


def _take_passkey(owner: SignedIn, challenge: str, answer: str) -> tuple[SignedIn, Errors]:
    try:
        with write(keep=PasskeyRefused):
            use_passkey(Reason.PROVE, challenge, answer, owner)
            _, token = record_proof(owner, SignInMethod.PASSKEY)
    except PasskeyRefused as error:
        return owner, {PROOF_PASSKEY: [error.shown]}
    return _go_on(owner, token, SignInMethod.PASSKEY), {}


def _take_code(owner: SignedIn, code: str) -> tuple[SignedIn, Errors]:
    try:
        with two_factor.taking_code(get_account(owner.account_id), code):
            _, token = record_proof(owner, SignInMethod.PASSWORD_AND_APP)
    except two_factor.CodeRefused as error:
        return owner, {PROOF_CODE: [error.shown]}
    except RateLimited as error:
        wait = two_factor.find_wait(error)
        text = ngettext(
            "Too many wrong codes. Try again in %(num)s minute.",
            "Too many wrong codes. Try again in %(num)s minutes.",
            wait,
        )
        return owner, {PROOF_CODE: [text]}
    return _go_on(owner, token, SignInMethod.PASSWORD_AND_APP), {}


def _go_on(owner: SignedIn, token: str, how: SignInMethod) -> SignedIn:
    replace_session_cookie(token)
    return owner if owner.is_strong else replace(owner, method=how)


def describe_proof(owner: SignedIn) -> dict[str, Any]:
    """Return the interrupted form's fields, its signed draft, and whether SSO can be the proof.

    A form with a file or a secret, or a very long one, can't become a draft.
    """
    pairs = [pair for pair in list_sent() if pair[0] not in FIELDS]
    is_short = sum(len(name) + len(text) for name, text in pairs) <= MAX_LENGTH
    is_kept = is_short and not request.files and not SECRETS & {name for name, _ in pairs}
    return {
        "fields": pairs,
        "asks_company": find_identity(owner.account_id) is not None,
        "draft": draft_purpose.sign([current_path(), pairs, False]) if is_kept else "",
    }
