"""The pages of signing in, signing out, and a new password."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth.accounts import replace_key, require_passwords
from testimonials.auth.cookies import (
    clear_session_cookie,
    describe_visitor,
    read_session_cookie,
    set_session_cookie,
    sign_browser_in,
    use_persons_language,
)
from testimonials.auth.credentials import (
    ResetLinkInvalid,
    SignInRefused,
    change_password,
    find_account_to_reset,
    find_claimed_account,
    judge_password,
    lock_checked,
)
from testimonials.auth.email_addresses import read_email
from testimonials.auth.emails import send_password_changed_mail
from testimonials.auth.events import KEY_REPLACED, PASSWORD_RESET, SESSION_ENDED, SESSION_REFUSED
from testimonials.auth.limits import SIGN_IN_PER_ADDRESS
from testimonials.auth.lockout import try_password
from testimonials.auth.magic_links import LinkPurpose, request_link
from testimonials.auth.models import Account
from testimonials.auth.passkeys import has_passkeys
from testimonials.auth.schemas import ForgotForm, SignupForm
from testimonials.auth.sessions import SignInMethod, end_session, find_session
from testimonials.auth.tokens import revoke_all_tokens
from testimonials.auth.two_factor import (
    CodeRefused,
    begin_step,
    check_code,
    find_app,
    forget_wrong_codes,
    is_trusted,
    render_step,
)
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import RateLimited
from testimonials.core.http.forms import UnsentForm, read_unsent_form
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.security import answer_privately, safe_target
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.passwords import hash_password
from testimonials.core.settings.current import current_settings

# The sign-in page, with which every page that needs a session may answer.
#
# When a session ended before its form was sent, the page carries what was typed, signed, so that
# the server needn't store it. After signing in, the person has to confirm before anything is sent:
# somebody else may have signed in, or hours may have passed.

DRAFT_SECONDS = 60 * 60
NOTICES = {
    "signed-out": gettext_noop("You are signed out."),
    "expired": gettext_noop("Please sign in again."),
    "needed": gettext_noop("Sign in to go on."),
    "address": gettext_noop("Sign in with your current address to use the new one."),
    "kept": gettext_noop("You were signed out. Sign in again; what you typed has been kept."),
}

draft_purpose = TokenPurpose("draft")


def render_login(
    target: str = "", *, email: str = "", problem: str = "", notice: str = "", draft: str = ""
) -> str:
    """Return the page; `notice` is a key of NOTICES, `draft` a token of `keep_draft`."""
    return render_template(
        "auth/sign_in/login.html",
        errors={"form": [problem]} if problem else {},
        email=email,
        next=target,
        draft=draft,
        is_signup_open=current_settings().signup != "closed",
        notice=translate(NOTICES.get(notice, "")),
        has_passkeys=has_passkeys(),
    )


def keep_draft() -> str:
    """Return the signed draft of this request's form, empty if there is nothing to keep."""
    form = read_unsent_form()
    return draft_purpose.sign([form.path, form.fields, form.had_file]) if form else ""


def read_draft(token: str) -> UnsentForm | None:
    """Return a token's draft, None if the token has expired or was not made here."""
    try:
        (path, fields, had_file), _ = draft_purpose.read(token, DRAFT_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return UnsentForm(safe_target(path), [(name, text) for name, text in fields], had_file)


def go_on() -> Response:
    """Answer who just signed in: offer to send what was typed before, or go to `next`."""
    if draft := read_draft(request.form.get("draft", "")):
        return answer_privately(render_template("auth/sign_in/resume.html", unsent=draft))
    target = safe_target(request.form.get("next", ""))
    return redirect(target or url_for("dashboard.home.show_start"), 303)


# The pages on which a person signs up, signs in and out, and chooses a new password.

auth.before_request(use_persons_language)


@auth.get("/login")
def show_login() -> ResponseReturnValue:
    target = safe_target(request.args.get("next", ""))
    if find_session(read_session_cookie()) is not None:
        return redirect(target or _home(), 303)
    return render_login(target, notice=request.args.get("notice", ""))


@auth.post("/login")
def sign_in() -> ResponseReturnValue:
    """Sign a browser in; the response doesn't tell an unknown address from a wrong password."""
    email = read_email(request.form.get("email", "").strip())
    try:
        checked = try_password(email, request.form.get("password", ""), describe_visitor(email))
        if (has_app := find_app(checked.id) is not None) and not is_trusted(checked):
            return answer_privately(render_step(checked, begin_step(checked)))
        begin_write()
        account = lock_checked(checked)
    except (SignInRefused, RateLimited) as error:
        return _refuse(email, error)
    how = SignInMethod.PASSWORD_AND_APP if has_app else SignInMethod.PASSWORD
    token = sign_browser_in(account, how)
    db.session.commit()
    response = go_on()
    set_session_cookie(response, account, token)
    return response


@auth.post("/logout")
def sign_out() -> ResponseReturnValue:
    """Sign this browser out, and go to `next`, where somebody else may sign in."""
    signed_in = find_session(read_session_cookie())
    if signed_in is not None:
        with write():
            end_session(signed_in.account_id, signed_in.session_id)
            act_as(ActorKind.PERSON, signed_in.account_id)
            record(SESSION_ENDED, signed_in.account_id)
    target = safe_target(request.form.get("next", ""))
    response = redirect(target or url_for(".show_login", notice="signed-out"), 303)
    clear_session_cookie(response)
    return response


@auth.get("/signup")
def show_signup() -> ResponseReturnValue:
    if not current_settings().has_passwords:
        return redirect(url_for(".show_login"), 303)
    return render_template("auth/sign_in/signup.html")


@auth.post("/signup")
def sign_up() -> ResponseReturnValue:
    """Mail a magic link; the response is the same for an address that has an account."""
    require_passwords()
    sent = SignupForm().read(request.form)
    if sent.errors:
        return render_template("auth/sign_in/signup.html", errors=sent.errors, **sent.typed), 422
    email = sent.values["email"]
    request_link(LinkPurpose.SIGN_UP, email, describe_visitor(email))
    text = _("Open the link in it to choose a password. It may take a minute to arrive.")
    return _mail_sent(_("A mail is on its way to %(email)s", email=email), text)


@auth.get("/forgot")
def show_forgot() -> ResponseReturnValue:
    if not current_settings().has_passwords:
        return redirect(url_for(".show_login"), 303)
    return render_template("auth/sign_in/forgot.html")


@auth.post("/forgot")
def send_reset_link() -> ResponseReturnValue:
    """Mail a link to choose a new password; the response is the same for an unknown address."""
    require_passwords()
    sent = ForgotForm().read(request.form)
    if sent.errors:
        return render_template("auth/sign_in/forgot.html", errors=sent.errors, **sent.typed), 422
    email = sent.values["email"]
    request_link(LinkPurpose.RESET, email, describe_visitor(email))
    text = _(
        "If this address has an account, a link to choose a new password is on its way. "
        "Links from the last hour still work."
    )
    return _mail_sent(_("Check your mail"), text)


@auth.get("/reset/<token>")
def show_reset(token: str) -> ResponseReturnValue:
    return _reset_form(find_account_to_reset(token))


@auth.post("/reset/<token>")
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def reset_password(token: str) -> ResponseReturnValue:
    """Set the new password, sign every other browser out and this one in."""
    account, password = find_account_to_reset(token), request.form.get("password", "")
    if problem := judge_password(password, account.email):
        return _reset_form(account, problem)
    password_hash = hash_password(password)
    try:
        how = _begin_reset(account)
    except (CodeRefused, RateLimited) as error:
        return _reset_form(find_account_to_reset(token), code_problem=error.shown)
    account = find_account_to_reset(token)
    new_key = _reset(account, password_hash)
    cookie = sign_browser_in(account, how, "reset link")
    db.session.commit()
    return _answer_reset(account, cookie, new_key)


@auth.errorhandler(ResetLinkInvalid)
def show_reset_problem(error: ResetLinkInvalid) -> ResponseReturnValue:
    return answer_privately(render_template("auth/sign_in/reset_problem.html"), error.status)


def _home() -> str:
    return url_for("dashboard.home.show_start")


def _refuse(email: str, error: SignInRefused | RateLimited) -> Response:
    """Show the form again with the reason."""
    problem = error.shown
    if isinstance(error, RateLimited):
        minutes = -(-int(error.headers["Retry-After"]) // 60)
        problem = ngettext(
            "There were too many attempts. Try again in %(num)s minute, or choose “Forgot it?” to "
            "get a link by mail.",
            "There were too many attempts. Try again in %(num)s minutes, or choose “Forgot it?” to "
            "get a link by mail.",
            minutes,
        )
    else:
        # For an unknown address too, which must not be faster.
        with write():
            account = find_claimed_account(email)
            record(SESSION_REFUSED, account.id if account else None)
    typed = request.form.get("email", "").strip()
    target, draft = safe_target(request.form.get("next", "")), request.form.get("draft", "")
    page = render_login(target, email=typed, problem=problem, draft=draft)
    response = answer_privately(page, error.status)
    response.headers.update(error.headers)
    return response


def _mail_sent(title: str, text: str) -> str:
    return render_template("auth/sign_in/mail_sent.html", title=title, text=text)


def _begin_reset(account: Account) -> SignInMethod:
    """Begin the write; a mailbox alone doesn't get past the authenticator app."""
    if find_app(account.id) is None:
        begin_write()
        return SignInMethod.LINK
    check_code(account, request.form.get("code", ""))
    return SignInMethod.PASSWORD_AND_APP


def _reset_form(account: Account, problem: str = "", code_problem: str = "") -> Response:
    problems = {"password": [problem], "code": [code_problem]}
    errors = {field: texts for field, texts in problems.items() if texts[0]}
    page = render_template(
        "auth/sign_in/reset.html",
        email=account.email,
        has_key=account.has_key,
        replace_key="replace_key" in request.form,
        asks_for_code=find_app(account.id) is not None,
        errors=errors,
    )
    return answer_privately(page, 422 if errors else 200)


def _reset(account: Account, password_hash: str) -> str | None:
    """Change the password, and the key if the form asks for it; mail and record it.

    With the key, the access tokens end too.
    """
    change_password(account, password_hash)
    new_key = replace_key(account) if "replace_key" in request.form else None
    send_password_changed_mail(account.email, with_key=new_key is not None)
    act_as(ActorKind.PERSON, account.id)
    record(PASSWORD_RESET, account.id)
    if new_key:
        record(KEY_REPLACED, account.id)
        revoke_all_tokens(account.id)
    return new_key


def _answer_reset(account: Account, cookie: str, new_key: str | None) -> Response:
    page = "auth/new_key.html"
    response: Response = (
        answer_privately(render_template(page, new_key=new_key, account_id=account.id))
        if new_key
        else redirect(_home(), 303)
    )
    set_session_cookie(response, account, cookie)
    forget_wrong_codes(account)
    return response
