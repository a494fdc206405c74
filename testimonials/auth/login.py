"""The pages for signing in, out and up, a new password, and a new address."""

from functools import partial

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import IntegrityError
from werkzeug import Response

from testimonials.auth import accounts, cookies, credentials, events, passkeys, schemas, two_factor
from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.email_addresses import read_email
from testimonials.auth.emails import send_address_changed_mail, send_password_changed_mail
from testimonials.auth.magic_links import LinkPurpose, request_link
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn, SignInMethod, end_session, find_session, lock_owner
from testimonials.auth.tokens import revoke_all_tokens
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import RateLimited, ServiceError
from testimonials.core.http.forms import UnsentForm, add_notice, read_unsent_form, say_what
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop, ngettext, translate
from testimonials.core.http.security import answer_privately, safe_target
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import current_path, link_url
from testimonials.core.settings.table import current_settings

# If a session ended before a form was sent, the sign-in page keeps what was typed as a signed
# draft. After signing in, the person confirms it before it is sent, since it may be somebody else,
# or much later.

DRAFT_SECONDS = 60 * 60
NOTICES = {
    "signed-out": gettext_noop("You are signed out."),
    "expired": gettext_noop("Sign in to continue."),
    "needed": gettext_noop("Sign in to continue."),
    "address": gettext_noop("Sign in with your current address to change it."),
    "kept": gettext_noop("You were signed out. Sign in again: what you typed is kept."),
}

draft_purpose = TokenPurpose("draft")


def render_login(
    target: str = "", *, email: str = "", problem: str = "", notice: str = "", draft: str = ""
) -> str:
    """Return the sign-in page; `notice` is a key of NOTICES, `draft` a token of `keep_draft`."""
    return render_template(
        "auth/sign_in/login.html",
        errors={"form": [problem]} if problem else {},
        email=email,
        next=target,
        draft=draft,
        is_signup_open=current_settings().signup != "closed",
        notice=translate(NOTICES.get(notice, "")),
        has_passkeys=passkeys.has_passkeys(),
    )


def show_login_again(error: ServiceError, problem: str = "", email: str = "") -> Response:
    values, problem = schemas.GoOnForm().read().values, problem or error.shown
    page = render_login(values["next"], email=email, problem=problem, draft=values["draft"])
    return answer_privately(page, error.status, error.headers)


def keep_draft() -> str:
    """Return a signed draft of this request's form, or "" if nothing is worth keeping."""
    form = read_unsent_form()
    return draft_purpose.sign([form.path, form.fields, form.had_file]) if form else ""


def read_draft(token: str) -> UnsentForm | None:
    """Return the draft in a token, or None if the token has expired or is invalid."""
    if (payload := draft_purpose.find(token, 3, DRAFT_SECONDS)) is None:
        return None
    path, fields, had_file = payload
    return UnsentForm(safe_target(path), [(name, text) for name, text in fields], had_file)


def go_on(next: str, draft: str, page: str = "auth/sign_in/resume.html") -> Response:
    """Redirect to `next` after signing in, or first offer to send the draft."""
    if unsent := read_draft(draft):
        return answer_privately(render_template(page, unsent=unsent))
    return redirect(next or _home(), 303)


@auth.get("/login")
def show_login() -> ResponseReturnValue:
    target = safe_target(request.args.get("next", ""))
    if find_session(cookies.read_session_cookie()) is not None:
        return redirect(target or _home(), 303)
    return render_login(target, notice=request.args.get("notice", ""))


@auth.post("/login")
def sign_in() -> ResponseReturnValue:
    """Sign a browser in; an unknown address gets the same response as a wrong password."""
    values = schemas.LoginForm().read().values
    email = read_email(values["email"].strip())
    try:
        checked = credentials.try_password(
            email, values["password"], cookies.describe_visitor(email)
        )
        has_app = two_factor.find_app(checked.id) is not None
        if has_app and not two_factor.is_trusted(checked):
            return answer_privately(two_factor.render_step(checked, two_factor.begin_step(checked)))
        with write(partial(credentials.lock_checked, checked)) as account:
            how = SignInMethod.PASSWORD_AND_APP if has_app else SignInMethod.PASSWORD
            token = cookies.sign_browser_in(account, how)
    except (credentials.SignInRefused, RateLimited) as error:
        return _refuse(values["email"].strip(), email, error)
    return _finish(account, token)


@auth.post("/login/passkey/begin")
def begin_passkey() -> ResponseReturnValue:
    return jsonify(passkeys.describe_use(passkeys.Reason.SIGN_IN, "", []))


@auth.post("/login/passkey")
@limiter.per_address(credentials.SIGN_IN_PER_ADDRESS)
def sign_in_with_passkey() -> ResponseReturnValue:
    values = schemas.PasskeyAnswerForm().read().values
    try:
        with write(keep=passkeys.PasskeyRefused):
            account, passkey = passkeys.use_passkey(
                passkeys.Reason.SIGN_IN, values["passkey_token"], values["passkey"]
            )
            means = f"the passkey {passkey.name}"
            cookie = cookies.sign_browser_in(account, SignInMethod.PASSKEY, means)
    except passkeys.PasskeyRefused as error:
        return show_login_again(error)
    return _finish(account, cookie)


@auth.post("/login/code")
def sign_in_with_code() -> ResponseReturnValue:
    """Finish signing in with a code, or show the field for a recovery code."""
    values = schemas.StepForm().read().values
    step, (account, mark) = values["step"], two_factor.read_step(values["step"])
    if values["show"]:
        return answer_privately(two_factor.render_step(account, step))
    try:
        with two_factor.taking_code(account, values["code"], mark) as (account, was_recovery):
            means = "password and a recovery code" if was_recovery else ""
            cookie = cookies.sign_browser_in(account, SignInMethod.PASSWORD_AND_APP, means)
    except (two_factor.CodeRefused, RateLimited) as error:
        page = two_factor.render_step(account, step, error)
        return answer_privately(page, error.status, error.headers)
    response = _finish(account, cookie)
    if values["trust"]:
        two_factor.trust_browser(response, account)
    return response


@auth.errorhandler(two_factor.StepOver)
def begin_again(error: two_factor.StepOver) -> ResponseReturnValue:
    return show_login_again(error)


@auth.post("/logout")
def sign_out() -> ResponseReturnValue:
    """Sign this browser out, and go to `next`, for example to sign in as somebody else."""
    signed_in = find_session(cookies.read_session_cookie())
    if signed_in is not None:
        with write():
            end_session(signed_in.account_id, signed_in.session_id)
            act_as(ActorKind.PERSON, signed_in.account_id)
            record(events.SESSION_ENDED, signed_in.account_id)
    target = schemas.GoOnForm().read().values["next"]
    response = redirect(target or url_for(".show_login", notice="signed-out"), 303)
    cookies.clear_session_cookie(response)
    return response


@auth.get("/signup")
def show_signup() -> ResponseReturnValue:
    if not current_settings().has_passwords:
        return redirect(url_for(".show_login"), 303)
    return render_template("auth/sign_in/signup.html")


@auth.post("/signup")
def sign_up() -> ResponseReturnValue:
    """Email a magic link; the response is the same if the address has an account."""
    accounts.require_passwords()
    sent = schemas.SignupForm().read()
    if sent.errors:
        return render_template("auth/sign_in/signup.html", errors=sent.errors, **sent.typed), 422
    email = sent.values["email"]
    request_link(LinkPurpose.SIGN_UP, email, cookies.describe_visitor(email))
    text = _("Open the link in the email to choose a password. It may take a minute to arrive.")
    return render_template("auth/sign_in/mail_sent.html", text=text, email=email)


@auth.get("/forgot")
def show_forgot() -> ResponseReturnValue:
    if not current_settings().has_passwords:
        return redirect(url_for(".show_login"), 303)
    return render_template("auth/sign_in/forgot.html")


@auth.post("/forgot")
def send_reset_link() -> ResponseReturnValue:
    """Email a link for a new password; the response is the same for an unknown address."""
    accounts.require_passwords()
    sent = schemas.ForgotForm().read()
    if sent.errors:
        return render_template("auth/sign_in/forgot.html", errors=sent.errors, **sent.typed), 422
    email = sent.values["email"]
    request_link(LinkPurpose.RESET, email, cookies.describe_visitor(email))
    text = _("If this address has an account, a link to choose a new password is on its way.")
    operator = accounts.operator_address()
    return render_template("auth/sign_in/mail_sent.html", text=text, email=email, operator=operator)


@auth.get("/reset/<token>")
def show_reset(token: str) -> ResponseReturnValue:
    return _reset_form(credentials.find_account_to_reset(token))


@auth.post("/reset/<token>")
@limiter.per_address(credentials.SIGN_IN_PER_ADDRESS)
def reset_password(token: str) -> ResponseReturnValue:
    """Set the new password, sign out all other browsers, and sign in this one."""
    account, sent = credentials.find_account_to_reset(token), schemas.ResetForm().read().values
    if problem := credentials.judge_password(sent["password"], account.email):
        return _reset_form(account, problem)
    password_hash = credentials.hash_password(sent["password"])
    has_app = two_factor.find_app(account.id) is not None
    # With an authenticator app, access to the mailbox isn't enough.
    how = SignInMethod.PASSWORD_AND_APP if has_app else SignInMethod.LINK
    try:
        with two_factor.taking_code(account, sent["code"]) if has_app else write():
            account = credentials.find_account_to_reset(token)
            new_key = _reset(account, password_hash, with_key=sent["replace_key"] is not None)
            cookie = cookies.sign_browser_in(account, how, "reset link")
    except (two_factor.CodeRefused, RateLimited) as error:
        return _reset_form(credentials.find_account_to_reset(token), code_problem=error.shown)
    return _answer_reset(account, cookie, new_key)


@auth.errorhandler(credentials.ResetLinkInvalid)
def show_reset_problem(error: credentials.ResetLinkInvalid) -> ResponseReturnValue:
    page = render_template("auth/sign_in/reset_problem.html", operator=accounts.operator_address())
    return answer_privately(page, error.status)


def _finish(account: Account, cookie: str) -> Response:
    response = go_on(**schemas.GoOnForm().read().values)
    cookies.set_session_cookie(response, account, cookie)
    return response


def _home() -> str:
    return url_for("dashboard.home.show_start")


def _refuse(typed: str, email: str, error: credentials.SignInRefused | RateLimited) -> Response:
    """Show the form again with the reason."""
    problem = error.shown
    if minutes := two_factor.find_wait(error):
        problem = ngettext(
            "Too many attempts. Try again in %(num)s minute, or choose “Forgot your password?”.",
            "Too many attempts. Try again in %(num)s minutes, or choose “Forgot your password?”.",
            minutes,
        )
    else:
        # For an unknown address too, which must not be faster.
        with write():
            account = credentials.find_claimed_account(email)
            record(events.SESSION_REFUSED, account.id if account else None)
    return show_login_again(error, problem, typed)


def _reset_form(account: Account, problem: str = "", code_problem: str = "") -> Response:
    problems = {"password": [problem], "code": [code_problem]}
    errors = {field: texts for field, texts in problems.items() if texts[0]}
    page = render_template(
        "auth/sign_in/reset.html",
        email=account.email,
        has_key=account.has_key,
        replace_key=schemas.ResetForm().read().values["replace_key"],
        asks_for_code=two_factor.find_app(account.id) is not None,
        errors=errors,
    )
    return answer_privately(page, 422 if errors else 200)


def _reset(account: Account, password_hash: str, *, with_key: bool) -> str | None:
    """Change the password; with `with_key`, also replace the key and revoke the access tokens."""
    credentials.change_password(account, password_hash)
    new_key = accounts.replace_key(account) if with_key else None
    send_password_changed_mail(account.email, with_key=with_key)
    act_as(ActorKind.PERSON, account.id)
    record(events.PASSWORD_RESET, account.id)
    if new_key:
        record(events.KEY_REPLACED, account.id)
        revoke_all_tokens(account.id)
    return new_key


def _answer_reset(account: Account, cookie: str, new_key: str | None) -> Response:
    page = "auth/new_key.html"
    response: Response = (
        answer_privately(render_template(page, new_key=new_key, account_id=account.id))
        if new_key
        else redirect(_home(), 303)
    )
    cookies.set_session_cookie(response, account, cookie)
    return response


change_purpose = TokenPurpose("email-change")


class AddressLinkInvalid(credentials.ResetLinkInvalid):
    """The link for confirming a new address is invalid."""


class AddressTaken(ServiceError):
    code = "EMAIL_TAKEN"
    default_message = gettext_noop("Another account has this address.")


def make_change_link(account: Account, new_email: str) -> str:
    token = change_purpose.sign([account.id, credentials.fingerprint(account), new_email])
    return link_url("email", token)


def find_change(token: str) -> tuple[Account, str]:
    """Return the locked account of a link, and the new address that the link confirms.

    A new password invalidates it, since an intruder may have requested it. Raises
    `AddressLinkInvalid`.
    """
    if (change := credentials.open_link(change_purpose, token, 3)) is None:
        raise AddressLinkInvalid
    return change


def change_address(owner: SignedIn, email: str) -> str:
    """Change the address of the signed-in person's account; return the old one.

    Raises `AddressTaken` and `SessionEnded`.
    """
    account = lock_owner(owner)
    old = account.email
    # An expired account no longer reserves its address.
    accounts.delete_expired_accounts()
    try:
        with db.session.begin_nested():
            account.email = email
    except IntegrityError:
        raise AddressTaken from None
    return old


# A GET changes nothing, since mail scanners open links. Confirming requires a session of the
# account, since somebody who reads mail at the new address needn't be the owner.


@auth.get("/email/<token>")
def show_email_change(token: str) -> ResponseReturnValue:
    (account, email), owner = find_change(token), find_session(read_session_cookie())
    if owner is None:
        return redirect(url_for("auth.show_login", next=current_path(), notice="address"), 303)
    page = render_template(
        "auth/address_change/confirm_email.html",
        email=email,
        old_email=account.email,
        signed_in_as=owner.email,
        is_owner=owner.account_id == account.id,
    )
    return answer_privately(page)


@auth.post("/email/<token>")
@limiter.per_address(credentials.SIGN_IN_PER_ADDRESS)
def confirm_email_change(token: str) -> ResponseReturnValue:
    """Change the account's address, and notify the old one."""
    owner = find_session(read_session_cookie())
    with write(partial(find_change, token)) as (account, email):
        if owner is None or owner.account_id != account.id:
            # The page explains why.
            return redirect(current_path(), 303)
        old = change_address(owner, email)
        send_address_changed_mail(old, email)
        act_as(ActorKind.PERSON, owner.account_id)
        record(events.ADDRESS_CHANGED, owner.account_id, old=old, email=email)
    said = say_what(_("New address"), email)
    return redirect(add_notice(url_for("dashboard.account.show_account"), said), 303)


@auth.errorhandler(AddressLinkInvalid)
def show_problem(error: AddressLinkInvalid) -> ResponseReturnValue:
    return answer_privately(render_template("auth/address_change/email_problem.html"), error.status)
