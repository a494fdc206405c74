"""Signing in with a passkey, and the second step after a password."""

from flask import jsonify
from flask.typing import ResponseReturnValue

from testimonials.auth.cookies import set_session_cookie, sign_browser_in
from testimonials.auth.limits import SIGN_IN_PER_ADDRESS
from testimonials.auth.login import go_on, show_login_again
from testimonials.auth.passkeys import PasskeyRefused, Reason, describe_use, use_passkey
from testimonials.auth.schemas import GoOnForm, PasskeyAnswerForm, StepForm
from testimonials.auth.sessions import SignInMethod
from testimonials.auth.two_factor import (
    CodeRefused,
    StepOver,
    read_step,
    render_step,
    taking_code,
    trust_browser,
)
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.security import answer_privately


@auth.post("/login/passkey/begin")
def begin_passkey() -> ResponseReturnValue:
    """Return a challenge for any passkey of this service; it keeps nothing."""
    return jsonify(describe_use(Reason.SIGN_IN, "", []))


@auth.post("/login/passkey")
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def sign_in_with_passkey() -> ResponseReturnValue:
    sent = PasskeyAnswerForm().read().values
    try:
        with write(keep=PasskeyRefused):
            account, passkey = use_passkey(Reason.SIGN_IN, sent["passkey_token"], sent["passkey"])
            means = f"the passkey {passkey.name}"
            cookie = sign_browser_in(account, SignInMethod.PASSKEY, means)
    except PasskeyRefused as error:
        return show_login_again(error)
    response = go_on(**GoOnForm().read().values)
    set_session_cookie(response, account, cookie)
    return response


@auth.post("/login/code")
def sign_in_with_code() -> ResponseReturnValue:
    """Finish signing in with a code, or show the field for a recovery code."""
    sent = StepForm().read().values
    step, (account, mark) = sent["step"], read_step(sent["step"])
    if sent["show"]:
        return answer_privately(render_step(account, step))
    try:
        with taking_code(account, sent["code"], mark) as (account, was_recovery):
            means = "password and a recovery code" if was_recovery else ""
            cookie = sign_browser_in(account, SignInMethod.PASSWORD_AND_APP, means)
    except (CodeRefused, RateLimited) as error:
        return answer_privately(render_step(account, step, error), error.status, error.headers)
    response = go_on(**GoOnForm().read().values)
    set_session_cookie(response, account, cookie)
    if sent["trust"]:
        trust_browser(response, account)
    return response


@auth.errorhandler(StepOver)
def begin_again(error: StepOver) -> ResponseReturnValue:
    return show_login_again(error)
