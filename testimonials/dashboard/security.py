"""The security page: password, sessions, what a team must have."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.accounts import get_account, replace_key
from testimonials.auth.cookies import clear_session_cookie, know_browser, replace_session_cookie
from testimonials.auth.credentials import change_password, judge_password
from testimonials.auth.emails import send_password_changed_mail, send_security_mail
from testimonials.auth.events import (
    KEY_REPLACED,
    PASSWORD_CHANGED,
    PASSWORD_REMOVED,
    SESSION_ENDED,
    STRONG_NOT_REQUIRED,
    STRONG_REQUIRED,
)
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import find_identity
from testimonials.auth.passkeys import has_passkeys, list_passkeys
from testimonials.auth.sessions import (
    SignedIn,
    end_session,
    end_sessions,
    list_sessions,
    lock_owner,
    note_proof,
)
from testimonials.auth.step_up import (
    LastWayIn,
    StrongNeeded,
    WaysIn,
    check_own_password,
    find_ways_in,
    remove_password,
)
from testimonials.auth.tokens import revoke_all_tokens
from testimonials.core.audit import record
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import account
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import ngettext
from testimonials.core.http.resource import View
from testimonials.core.http.security import answer_privately, safe_target
from testimonials.core.passwords import hash_password
from testimonials.dashboard.framework import require_proof, require_session
from testimonials.dashboard.shell import build_shell
from testimonials.projects.access import is_asked_for_more

# The one sentence on top of Account, Security: how safe an account is, or the one thing to do.

# Fewer recovery codes than this are soon gone.
FEW_CODES = 3


@dataclass(frozen=True)
class Safety:
    is_well: bool
    title: str
    text: str


def describe_safety(ways: WaysIn, *, is_asked: bool) -> Safety:
    """Return what to say; `is_asked` if a project needs more than a password."""
    if ways.strong == 0:
        return _describe_weak(ways, is_asked=is_asked)
    if ways.app and ways.recovery_codes < FEW_CODES:
        text = _("They are for the day on which phone and laptop are gone. Make new ones.")
        return Safety(False, _describe_codes(ways.recovery_codes), text)
    if ways.count == 1 and ways.passkeys == 1:
        text = _("If that device is lost, you get in by a link to your mail. Add a second passkey.")
        return Safety(False, _("One passkey is your only way in"), text)
    if ways.has_password and ways.app is None and ways.passkeys:
        text = ngettext(
            "You have a passkey, but the password alone lets in, too. Do without it, or connect an "
            "app that is asked after it.",
            "You have %(num)s passkeys, but the password alone lets in, too. Do without it, or "
            "connect an app that is asked after it.",
            ways.passkeys,
        )
        return Safety(False, _("The password is the weak way in"), text)
    text = _("%(ways)s. Nothing to do.", ways=" · ".join(_list(ways)))
    return Safety(True, _("Well protected"), text)


def _describe_weak(ways: WaysIn, *, is_asked: bool) -> Safety:
    if is_asked:
        text = _("A project you work on asks for more. Add a passkey, or connect an app.")
        return Safety(False, _("A password isn’t enough"), text)
    text = _("Whoever learns it is in. A passkey can’t be phished or forgotten: add one.")
    return Safety(False, _("Only a password protects this account"), text)


def _describe_codes(number: int) -> str:
    if number == 0:
        return _("No recovery codes left")
    return ngettext("One recovery code left", "%(num)s recovery codes left", number)


def _list(ways: WaysIn) -> list[str]:
    parts = []
    if ways.passkeys:
        parts.append(ngettext("One passkey", "%(num)s passkeys", ways.passkeys))
    if ways.app:
        parts.append(_("An authenticator app"))
        codes = ngettext("One recovery code", "%(num)s recovery codes", ways.recovery_codes)
        parts.append(codes)
    if ways.companies:
        parts.append(_("The company’s account"))
    return parts


# What Account, Security shows.

HERE = "dashboard.account.show_security"


def explain_refusal(view: View) -> View:
    """Show the page again with the reason if the view would lock the person or their team out."""

    @functools.wraps(view)
    def wrapper(*, owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        try:
            return view(owner=owner, **arguments)
        except (LastWayIn, StrongNeeded) as error:
            db.session.rollback()
            page = render_security(owner, errors=to_form_errors(error))
            return answer_privately(page, error.status)

    return wrapper


def render_security(
    owner: SignedIn,
    *,
    notice: Mapping[str, str | None] | None = None,
    new_key: str | None = None,
    errors: Errors | None = None,
) -> str:
    """Return the page."""
    found = get_account(owner.account_id)
    ways = find_ways_in(found)
    return render_template(
        "dashboard/account/security.html",
        shell=build_shell(owner, "account"),
        notice=notice,
        account=found,
        ways=ways,
        safety=describe_safety(ways, is_asked=is_asked_for_more(owner.account_id)),
        company=find_identity(owner.account_id),
        passkeys=list_passkeys(owner.account_id),
        can_have_passkeys=has_passkeys(),
        new_key=new_key,
        errors=errors or {},
        sessions=list_sessions(owner.account_id),
        session_id=owner.session_id,
        is_strong=owner.is_strong,
    )


# Account, Security: the password, browsers that are signed in, and what a team is asked for.


@account.get("/dashboard/account/security")
@require_session
def show_security(owner: SignedIn) -> ResponseReturnValue:
    return answer_privately(render_security(owner, notice=read_notice()))


@account.get("/dashboard/account/security/needed")
@require_session
def show_needed(owner: SignedIn) -> ResponseReturnValue:
    """Say what to set up, or to sign in with, before a project opens; then lead to it."""
    target = safe_target(request.args.get("next", "")) or url_for("dashboard.home.show_start")
    if owner.is_strong:
        return redirect(target, 303)
    ways = find_ways_in(get_account(owner.account_id))
    page = "dashboard/account/needed.html"
    return render_template(page, shell=build_shell(owner, "account"), ways=ways, target=target)


@account.post("/dashboard/account/security/needed")
@require_session
@require_proof("go on", HERE, changes_ways_in=True)
def prove_needed(owner: SignedIn) -> ResponseReturnValue:
    """Go on to the project, once the person has proved more than a password."""
    target = safe_target(request.form.get("next", "")) or url_for("dashboard.home.show_start")
    return redirect(target if owner.is_strong else url_for(".show_needed", next=target), 303)


@account.post("/dashboard/account/password")
@require_session
def set_password(owner: SignedIn) -> ResponseReturnValue:
    """Change the password and sign every other browser out."""
    if errors := check_own_password(owner, "current") or _judge_new_password(owner):
        return answer_privately(render_security(owner, errors=errors), 422)
    return _set_password(owner, _("Your password is changed."))


@account.post("/dashboard/account/password/new")
@require_session
@require_proof("set a password", HERE, changes_ways_in=True)
def add_password(owner: SignedIn) -> ResponseReturnValue:
    """Set a password where there is none."""
    if find_ways_in(get_account(owner.account_id)).has_password:
        return redirect(url_for(HERE), 303)
    if errors := _judge_new_password(owner):
        return answer_privately(render_security(owner, errors=errors), 422)
    return _set_password(owner, _("You have a password."))


@account.post("/dashboard/account/password/remove")
@require_session
@require_proof("do without a password", HERE, changes_ways_in=True)
@explain_refusal
def drop_password(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    changed = lock_owner(owner)
    remove_password(changed, but=owner.session_id)
    send_security_mail(changed.email, "Your account does without a password from now on.")
    record(PASSWORD_REMOVED, changed.id)
    db.session.commit()
    response = redirect(add_notice(url_for(HERE), _("Your password is gone.")), 303)
    know_browser(response, changed)
    return response


@account.post("/dashboard/account/sessions/<session_id>/end")
@require_session
@require_proof("sign a browser out", HERE)
def end_one_session(owner: SignedIn, session_id: str) -> ResponseReturnValue:
    begin_write()
    if browser := end_session(owner.account_id, session_id):
        record(SESSION_ENDED, owner.account_id, which=browser)
    db.session.commit()
    return redirect(url_for(HERE), 303)


@account.post("/dashboard/account/sessions/end/others")
@require_session
@require_proof("sign out everywhere else", HERE)
def end_other_sessions(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    account = lock_owner(owner)
    end_sessions(owner.account_id, but=owner.session_id)
    record(SESSION_ENDED, owner.account_id, which="every other browser")
    db.session.commit()
    response = redirect(add_notice(url_for(HERE), _("Every other browser is signed out.")), 303)
    know_browser(response, account)
    return response


@account.post("/dashboard/account/sessions/end")
@require_session
@require_proof("sign out everywhere", HERE)
def end_every_session(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    end_sessions(owner.account_id)
    record(SESSION_ENDED, owner.account_id, which="every browser")
    db.session.commit()
    response = redirect(url_for("auth.show_login", notice="signed-out"), 303)
    clear_session_cookie(response)
    return response


@account.post("/dashboard/account/security/team")
@require_session
@require_proof("change what your team is asked for", HERE, changes_ways_in=True)
@explain_refusal
def require_strong(owner: SignedIn) -> ResponseReturnValue:
    """Ask everybody who opens the owner's projects for more than a password, or no longer."""
    wanted = request.form.get("strong") == "on"
    begin_write()
    changed = lock_owner(owner)
    if not owner.is_strong:
        raise StrongNeeded(_("Sign in with a passkey, your app or the company’s account first."))
    if changed.requires_strong != wanted:
        changed.requires_strong = wanted
        _tell_of_strong(changed)
    db.session.commit()
    text = (
        _("Your team needs more than a password.") if wanted else _("A password is enough again.")
    )
    return redirect(add_notice(url_for(HERE), text), 303)


def _judge_new_password(owner: SignedIn) -> Errors:
    problem = judge_password(request.form.get("password", ""), owner.email)
    return {"password": [problem]} if problem else {}


def _set_password(owner: SignedIn, text: str) -> ResponseReturnValue:
    password_hash = hash_password(request.form["password"])
    begin_write()
    changed, token = note_proof(owner)
    change_password(changed, password_hash, but=owner.session_id)
    new_key = _replace_key_too(changed)
    db.session.commit()
    replace_session_cookie(token)
    response = answer_privately(render_security(owner, notice={"text": text}, new_key=new_key))
    know_browser(response, changed)
    return response


def _replace_key_too(changed: Account) -> str | None:
    """Replace the key if the form asks for it; mail and record the change."""
    new_key = replace_key(changed) if "replace_key" in request.form else None
    send_password_changed_mail(changed.email, with_key=new_key is not None)
    record(PASSWORD_CHANGED, changed.id)
    if new_key:
        record(KEY_REPLACED, changed.id)
        revoke_all_tokens(changed.id)
    return new_key


def _tell_of_strong(changed: Account) -> None:
    if changed.requires_strong:
        what, event = "asks everybody for more than a password", STRONG_REQUIRED
    else:
        what, event = "lets everybody in with a password alone", STRONG_NOT_REQUIRED
    send_security_mail(changed.email, f"Your workspace {what} from now on.")
    record(event, changed.id)
