"""The second step of signing in with a password: a code of the app, or a recovery code.

What passed the first step is a signed token in the page, so a browser that stops here has nothing.
"""

from flask import render_template, request
from werkzeug import Response

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.emails import send_security_mail
from testimonials.auth.limits import CODES_PER_ACCOUNT, CODES_PER_BROWSER
from testimonials.auth.models import Account
from testimonials.auth.proofs.authenticator import (
    CodeRefused,
    count_recovery_codes,
    find_app,
    take_code,
)
from testimonials.auth.proofs.challenges import has_passkeys
from testimonials.auth.proofs.passkeys import count_passkeys
from testimonials.auth.sign_in.cookies import describe_visitor, set_cookie, trusted_cookie
from testimonials.auth.sign_in.services import fingerprint, lock_claimed
from testimonials.core.data.identifiers import hash_secret
from testimonials.core.web.errors import RateLimited, ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.core.web.rate_limits import Limit
from testimonials.core.web.signing import TokenPurpose
from testimonials.extensions import begin_write, db, limiter

STEP_SECONDS = 10 * 60
TRUSTED_SECONDS = 30 * 86_400

step_purpose = TokenPurpose("second-step")
trusted_purpose = TokenPurpose("trusted-browser")


class StepOver(ServiceError):
    """The first step was too long ago, or the password has changed since."""

    status = 422
    code = "STEP_OVER"
    default_message = gettext_noop("That took longer than ten minutes. Sign in again.")


def begin_step(account: Account) -> str:
    return step_purpose.sign([account.id, fingerprint(account)])


def is_trusted(account: Account) -> bool:
    """Return whether this browser showed a code lately and asked not to be asked again."""
    token = request.cookies.get(trusted_cookie(account.id), "")
    return trusted_purpose.find(token, 3, TRUSTED_SECONDS) == _describe_trust(account)


def trust_browser(response: Response, account: Account) -> None:
    """Ask this browser for no code for 30 days, or until it is signed out from elsewhere."""
    token = trusted_purpose.sign(list(_describe_trust(account)))
    set_cookie(response, trusted_cookie(account.id), token, TRUSTED_SECONDS)


def pass_step(token: str, typed: str) -> tuple[Account, bool]:
    """Return the account, locked, whose second step this is, and whether a recovery code was used.

    Begins the write. Raises `StepOver`, `CodeRefused` and `RateLimited`.
    """
    found = step_purpose.find(token, 2, STEP_SECONDS)
    account = db.session.get(Account, found[0]) if found else None
    if found is None or account is None:
        raise StepOver
    return check_code(account, typed, str(found[1]))


def check_code(account: Account, typed: str, mark: str = "") -> tuple[Account, bool]:
    """Use up a code of the account, counting wrong ones; as `pass_step`.

    With `mark`, address and password must still be those of that fingerprint.
    """
    account_id, (limit, key) = account.id, _find_limit(account)
    # Counted before the check, so that simultaneous attempts can't get past the limit.
    limiter.count(limit, key)
    begin_write()
    locked = lock_claimed(account_id)
    if locked is None or (mark and fingerprint(locked) != mark):
        raise StepOver
    try:
        was_recovery = take_code(locked, typed)
    except CodeRefused:
        record_event(EventType.CODE_REFUSED, account_id)
        db.session.commit()
        raise
    if was_recovery:
        _tell_of_recovery(locked)
    return locked, was_recovery


def forget_wrong_codes(account: Account) -> None:
    """Begin to count anew after a right code; for the door, once it has committed."""
    limiter.forget(*_find_limit(account))


def render_step(
    account: Account, token: str, error: ServiceError | None = None, *, recovery: bool = False
) -> str:
    """Return the page that asks for the code."""
    return render_template(
        "auth/sign_in/second_step.html",
        email=account.email,
        step=token,
        next=request.form.get("next", ""),
        draft=request.form.get("draft", ""),
        recovery=recovery,
        trusts="trust" in request.form,
        has_passkeys=has_passkeys() and count_passkeys(account.id) > 0,
        wait=find_wait(error),
        errors={"code": [error.shown]} if error else {},
    )


def find_wait(error: ServiceError | None) -> int:
    """Return for how many minutes no code is taken, 0 if there were not too many."""
    if not isinstance(error, RateLimited):
        return 0
    return -(-int(error.headers["Retry-After"]) // 60)


def _find_limit(account: Account) -> tuple[Limit, str]:
    browser = describe_visitor(account.email).browser
    return (CODES_PER_BROWSER, browser) if browser else (CODES_PER_ACCOUNT, account.id)


def _describe_trust(account: Account) -> tuple[str, int, str]:
    """Return what a trusted browser's cookie says; a new app or signing out everywhere voids it."""
    app = find_app(account.id)
    return account.id, account.browser_generation, hash_secret(app.secret)[:16] if app else ""


def _tell_of_recovery(account: Account) -> None:
    left = count_recovery_codes(account.id)
    record_event(EventType.RECOVERY_CODE_USED, account.id, left=left)
    words = f"{left} recovery codes are" if left != 1 else "One recovery code is"
    send_security_mail(
        account.email,
        f"A recovery code was used instead of the authenticator app. {words} left. "
        "Under Account, Security you can make new ones.",
    )
