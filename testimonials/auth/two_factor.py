"""Authenticator apps, recovery codes, and the second step of signing in."""

import base64
import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from flask import render_template
from sqlalchemy import delete, func, select
from werkzeug import Response

from testimonials.auth.accounts import operator_address
from testimonials.auth.cookies import TRUSTED, describe_visitor, read_cookie, set_cookie
from testimonials.auth.credentials import (
    CODES_PER_ACCOUNT,
    CODES_PER_BROWSER,
    fingerprint,
    lock_claimed,
)
from testimonials.auth.emails import send_security_mail
from testimonials.auth.events import CODE_REFUSED, RECOVERY_CODE_USED
from testimonials.auth.models import Account, AuthenticatorApp, RecoveryCode
from testimonials.auth.passkeys import count_passkeys, has_passkeys
from testimonials.auth.schemas import StepForm
from testimonials.core import clock
from testimonials.core.audit import record
from testimonials.core.db.identifiers import hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.errors import RateLimited, ServiceError
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

# The parameters of RFC 6238 that all apps support; the hash is SHA-1.
SECONDS = 30
DIGITS = 6
# A phone's clock may be off by this many steps.
DRIFT = 1


def new_secret() -> str:
    return base64.b32encode(secrets.token_bytes(20)).decode()  # 160 bits, as RFC 4226 advises


def make_code(secret: str, step: int) -> str:
    return _totp(secret).generate(step * SECONDS).decode()


def find_step(secret: str, code: str, after: int = 0) -> int | None:
    """Return the time step of a code, if the code is valid now and the step later than `after`."""
    now = int(clock.now().timestamp()) // SECONDS
    for step in range(now - DRIFT, now + DRIFT + 1):
        if step > after and hmac.compare_digest(make_code(secret, step).encode(), code.encode()):
            return step
    return None


def make_otpauth_url(secret: str, issuer: str, email: str) -> str:
    return _totp(secret).get_provisioning_uri(email, issuer)


def _totp(secret: str) -> "TOTP":
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), SECONDS)  # noqa: S303


RECOVERY_CODES = 10
# Without characters that look alike.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
HALF = 4


class CodeRefused(ServiceError):
    status = 422
    default_message = gettext_noop(
        "This code doesn’t work. Each code works once: use the next one."
    )


def find_app(account_id: str) -> AuthenticatorApp | None:
    return db.session.get(AuthenticatorApp, account_id)


def connect_app(account: Account, secret: str, code: str) -> list[str]:
    """Connect an app that shows `code` to the locked account; return its recovery codes.

    The previous app and its recovery codes stop working. Raises `CodeRefused`.
    """
    step = find_step(secret, normalize_code(code))
    if step is None:
        raise CodeRefused
    drop_app(account.id)
    db.session.add(AuthenticatorApp(account_id=account.id, secret=secret, last_step=step))
    db.session.flush()
    return make_recovery_codes(account)


def drop_app(account_id: str) -> None:
    """Disconnect the app, and delete its recovery codes."""
    for model in (RecoveryCode, AuthenticatorApp):
        db.session.execute(delete(model).where(model.account_id == account_id))
    db.session.expire_all()


def make_recovery_codes(account: Account) -> list[str]:
    """Replace the recovery codes of the locked account; return the new ones."""
    codes = [
        "".join(secrets.choice(LETTERS) for _ in range(2 * HALF)) for _ in range(RECOVERY_CODES)
    ]
    db.session.execute(delete(RecoveryCode).where(RecoveryCode.account_id == account.id))
    for code in codes:
        db.session.add(RecoveryCode(account_id=account.id, code_hash=_hash(account.id, code)))
    db.session.get_one(AuthenticatorApp, account.id).codes_made_at = clock.now()
    return codes


def count_recovery_codes(account_id: str) -> int:
    query = select(func.count()).select_from(RecoveryCode)
    return db.session.scalar(query.where(RecoveryCode.account_id == account_id)) or 0


def take_code(account: Account, typed: str) -> bool:
    """Use one of the app's codes or a recovery code; return whether it was a recovery code.

    The account must be locked, so that a code can't be used twice. Raises `CodeRefused` after
    recording an event.
    """
    code = normalize_code(typed)
    app = db.session.get(AuthenticatorApp, account.id, populate_existing=True)
    step = find_step(app.secret, code, after=app.last_step) if app else None
    if app and step is not None:
        app.last_step = step
        return False
    used = delete(RecoveryCode).where(
        RecoveryCode.account_id == account.id, RecoveryCode.code_hash == _hash(account.id, code)
    )
    if app is None or db.session.scalar(used.returning(RecoveryCode.code_hash)) is None:
        record(CODE_REFUSED, account.id)
        raise CodeRefused
    return True


def normalize_code(typed: str) -> str:
    """Normalize a code: lower case, without spaces and hyphens."""
    return re.sub(r"[\s–-]", "", typed[:100]).lower()


def format_code(code: str) -> str:
    """Return a recovery code in two halves, as people see it."""
    return f"{code[:HALF]}-{code[HALF:]}"


def _hash(account_id: str, code: str) -> str:
    # The account's id serves as a salt.
    return hash_secret(f"{account_id} {code}")


# After the first step, the page has only a signed token, which is worth nothing without a code.

STEP_SECONDS = 10 * 60
TRUSTED_SECONDS = 30 * 86_400

step_purpose = TokenPurpose("second-step")
trusted_purpose = TokenPurpose("trusted-browser")


class StepOver(ServiceError):
    """The first step was too long ago, or the password has changed since."""

    status = 422
    default_message = gettext_noop("This page has expired. Sign in again.")


def begin_step(account: Account) -> str:
    return step_purpose.sign([account.id, fingerprint(account)])


def is_trusted(account: Account) -> bool:
    """Return whether the person trusts this browser, which then needs no code."""
    token = read_cookie(f"{TRUSTED}{account.id}")
    return trusted_purpose.find(token, 3, TRUSTED_SECONDS) == _describe_trust(account)


def trust_browser(response: Response, account: Account) -> None:
    """Ask for no code in this browser for 30 days, or until all browsers are signed out."""
    token = trusted_purpose.sign(list(_describe_trust(account)))
    set_cookie(response, f"{TRUSTED}{account.id}", token, TRUSTED_SECONDS)


def read_step(token: str) -> tuple[Account, str]:
    """Return the account of a `begin_step` token, and its fingerprint. Raises `StepOver`."""
    payload = step_purpose.find(token, 2, STEP_SECONDS)
    account = db.session.get(Account, payload[0]) if payload else None
    if payload is None or account is None:
        raise StepOver
    return account, str(payload[1])


@contextmanager
def taking_code(account: Account, typed: str, mark: str = "") -> Iterator[tuple[Account, bool]]:
    """Use a code within the transaction of the action that it permits; wrong codes are counted.

    Yields the locked account, and whether it was a recovery code. With `mark`, the account must
    still have that fingerprint. Raises `StepOver`, `CodeRefused` and `RateLimited`.
    """
    browser = describe_visitor(account.email).browser
    limit, key = (CODES_PER_BROWSER, browser) if browser else (CODES_PER_ACCOUNT, account.id)
    # Counted before the check, so that simultaneous attempts can't exceed the limit.
    limiter.count(limit, key)
    with write(partial(_lock, account.id, mark), keep=CodeRefused) as locked:
        if was_recovery := take_code(locked, typed):
            _notify_of_recovery(locked)
        yield locked, was_recovery
    limiter.forget(limit, key)


def _lock(account_id: str, mark: str) -> Account:
    locked = lock_claimed(account_id)
    if locked is None or (mark and fingerprint(locked) != mark):
        raise StepOver
    return locked


def render_step(account: Account, token: str, error: ServiceError | None = None) -> str:
    sent = StepForm().read().values
    return render_template(
        "auth/sign_in/second_step.html",
        email=account.email,
        step=token,
        next=sent["next"],
        draft=sent["draft"],
        recovery=(sent["show"] or sent["kind"]) == "recovery",
        trusts=sent["trust"],
        has_passkeys=has_passkeys() and count_passkeys(account.id) > 0,
        operator=operator_address(),
        wait=find_wait(error),
        errors={"code": [error.shown]} if error else {},
    )


def find_wait(error: ServiceError | None) -> int:
    """Return the minutes to wait after too many attempts, or 0 for any other error."""
    if not isinstance(error, RateLimited):
        return 0
    return -(-int(error.headers["Retry-After"]) // 60)


def _describe_trust(account: Account) -> tuple[str, int, str]:
    """Return a trusted browser's payload; a new app or signing out everywhere changes it."""
    app = find_app(account.id)
    return account.id, account.browser_generation, hash_secret(app.secret)[:16] if app else ""


def _notify_of_recovery(account: Account) -> None:
    left = count_recovery_codes(account.id)
    record(RECOVERY_CODE_USED, account.id, left=left)
    codes = f"{left} recovery codes are" if left != 1 else "One recovery code is"
    send_security_mail(
        account.email,
        f"A recovery code was used instead of the authenticator app. {codes} left. "
        "You can create new ones under Account, Signing in.",
    )
