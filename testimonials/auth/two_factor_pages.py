"""Signing in with a passkey, and the second step after a password."""

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from testimonials.auth.cookies import set_session_cookie, sign_browser_in
from testimonials.auth.events import PASSKEY_REFUSED
from testimonials.auth.limits import SIGN_IN_PER_ADDRESS
from testimonials.auth.login import go_on, render_login
from testimonials.auth.models import Account
from testimonials.auth.passkeys import PasskeyRefused, Reason, describe_use, use_passkey
from testimonials.auth.sessions import SignInMethod
from testimonials.auth.two_factor import (
    STEP_SECONDS,
    CodeRefused,
    StepOver,
    forget_wrong_codes,
    pass_step,
    render_step,
    step_purpose,
    trust_browser,
)
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import RateLimited, ServiceError
from testimonials.core.http.security import answer_privately, safe_target


@auth.post("/login/passkey/begin")
def begin_passkey() -> ResponseReturnValue:
    """Return a challenge for any passkey of this service; it keeps nothing."""
    return jsonify(describe_use(Reason.SIGN_IN, "", []))


@auth.post("/login/passkey")
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def sign_in_with_passkey() -> ResponseReturnValue:
    token, answer = request.form.get("passkey_token", ""), request.form.get("passkey", "")
    begin_write()
    try:
        account, passkey = use_passkey(Reason.SIGN_IN, token, answer)
    except PasskeyRefused as error:
        record(PASSKEY_REFUSED, None)
        db.session.commit()
        return _show_login(error)
    cookie = sign_browser_in(account, SignInMethod.PASSKEY, f"the passkey {passkey.name}")
    db.session.commit()
    response = go_on()
    set_session_cookie(response, account, cookie)
    return response


@auth.post("/login/code")
def sign_in_with_code() -> ResponseReturnValue:
    """Finish signing in with a code, or show the field for a recovery code."""
    token = request.form.get("step", "")
    if "show" in request.form:
        return _show_step(token, None)
    try:
        account, was_recovery = pass_step(token, request.form.get("code", ""))
    except (CodeRefused, RateLimited) as error:
        return _show_step(token, error)
    means = "password and a recovery code" if was_recovery else ""
    cookie = sign_browser_in(account, SignInMethod.PASSWORD_AND_APP, means)
    db.session.commit()
    return _let_in(account, cookie)


@auth.errorhandler(StepOver)
def begin_again(error: StepOver) -> ResponseReturnValue:
    db.session.rollback()
    return _show_login(error)


def _let_in(account: Account, cookie: str) -> ResponseReturnValue:
    response = go_on()
    set_session_cookie(response, account, cookie)
    if "trust" in request.form:
        trust_browser(response, account)
    forget_wrong_codes(account)
    return response


def _show_step(token: str, error: ServiceError | None) -> ResponseReturnValue:
    found = step_purpose.find(token, 2, STEP_SECONDS)
    account = db.session.get(Account, found[0]) if found else None
    if account is None:
        raise StepOver
    wants = request.form.get("show") or request.form.get("kind")
    page = render_step(account, token, error, recovery=wants == "recovery")
    response = answer_privately(page, error.status if error else 200)
    response.headers.update(error.headers if error else {})
    return response


def _show_login(error: ServiceError) -> ResponseReturnValue:
    target, draft = safe_target(request.form.get("next", "")), request.form.get("draft", "")
    return answer_privately(render_login(target, problem=error.shown, draft=draft), error.status)
