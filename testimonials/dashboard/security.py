"""Signing in: password, passkeys, app and codes, sessions, and what the team needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields
from werkzeug import Response

from testimonials.auth import events, passkeys, step_up, two_factor
from testimonials.auth.accounts import get_account, replace_key
from testimonials.auth.cookies import clear_session_cookie, know_browser, replace_session_cookie
from testimonials.auth.credentials import change_password, hash_password, judge_password
from testimonials.auth.emails import send_password_changed_mail, send_security_mail
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import find_identity
from testimonials.auth.passkeys import has_passkeys, list_passkeys
from testimonials.auth.schemas import GoOnForm, PasskeyAnswerForm
from testimonials.auth.sessions import (
    SignedIn,
    SignInMethod,
    end_session,
    end_sessions,
    list_sessions,
    lock_owner,
    record_proof,
)
from testimonials.auth.step_up import remove_app, remove_passkey
from testimonials.auth.tokens import revoke_all_tokens
from testimonials.core.audit import EventType, record
from testimonials.core.event_lists import describe_browser, translate_browser
from testimonials.core.http.blueprints import account
from testimonials.core.http.errors import NotFound, ValidationFailed
from testimonials.core.http.fields import Choice, OneLine
from testimonials.core.http.forms import FormSchema, Secret, say_what
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import ngettext
from testimonials.core.http.security import safe_target
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url
from testimonials.core.images.colors import draw_inline
from testimonials.dashboard.framework import AccountPage, Done, Values, require_session
from testimonials.projects.access import is_asked_for_more
from testimonials.projects.team import list_colleagues

# Below this number of recovery codes, a page warns about it.
FEW_CODES = 3


@dataclass(frozen=True)
class Lack:
    """A weakness in an account's sign-in, and whether a passkey would fix it."""

    title: str
    text: str
    needs_passkey: bool = False


def find_lack(ways: step_up.WaysIn, *, is_asked: bool) -> Lack | None:
    """Return the worst weakness; a project may require more than a password (`is_asked`)."""
    if ways.strong == 0:
        if is_asked:
            text = _("A project you work on requires more. Add a passkey or an authenticator app.")
            return Lack(_("A password isn’t enough"), text, needs_passkey=True)
        text = _("A passkey takes a minute and can’t be phished.")
        return Lack(_("Your account has only a password"), text, needs_passkey=True)
    if ways.app and ways.recovery_codes < FEW_CODES:
        text = _("You need them if you lose your devices. Create new ones.")
        left = ngettext(
            "One recovery code left", "%(num)s recovery codes left", ways.recovery_codes
        )
        return Lack(left, text)
    return None


def _list_ways(ways: step_up.WaysIn) -> Iterator[str]:
    if ways.has_password:
        yield _("Password")
    if ways.passkeys:
        yield ngettext("One passkey", "%(num)s passkeys", ways.passkeys)
    if ways.app:
        yield _("Authenticator app")
    if ways.companies:
        yield _("Company account")


def describe_security(owner: SignedIn) -> Values:
    """Return the ways in to the account, and its worst weakness."""
    account = get_account(owner.account_id)
    ways = step_up.find_ways_in(account)
    is_asked = ways.strong == 0 and is_asked_for_more(owner.account_id)
    return {
        "account": account,
        "ways": ways,
        "way_names": " · ".join(_list_ways(ways)),
        "lack": find_lack(ways, is_asked=is_asked),
        "can_have_passkeys": has_passkeys(),
    }


security = AccountPage(account, "/dashboard/account/security", "account/security.html")


@security.show
def show_security(owner: SignedIn) -> Values:
    return describe_security(owner) | {
        "company": find_identity(owner.account_id),
        "passkeys": list_passkeys(owner.account_id),
        "is_strong": owner.is_strong,
        "has_others": bool(list_colleagues(owner.account_id)),
    }


sessions = AccountPage(account, "/dashboard/account/security/sessions", "account/sessions.html")


@sessions.show
def show_sessions(owner: SignedIn) -> Values:
    return {"sessions": list_sessions(owner.account_id), "session_id": owner.session_id}


needed = AccountPage(account, "/dashboard/account/security/needed", "account/needed.html")


@needed.show
def show_needed(owner: SignedIn) -> Values | Response:
    """Show what a project requires; redirect to the project once the person has proved it."""
    target = safe_target(request.args.get("next", "")) or url_for("dashboard.home.show_start")
    if owner.is_strong:
        return redirect(target, 303)
    return {"ways": step_up.find_ways_in(get_account(owner.account_id)), "target": target}


@needed.save(GoOnForm, step_up="Continue", changes_ways_in=True)
def prove_needed(owner: SignedIn, next: str, **rest: Any) -> Done:
    target = next or url_for("dashboard.home.show_start")
    return Done(to=target if owner.is_strong else url_for(".show_needed", next=target))


class PasswordForm(FormSchema):
    current = Secret()
    password = Secret()
    replace_key = fields.String()


def _check_both(owner: SignedIn, current: str, password: str, **rest: Any) -> str:
    """Return the hash of the new password if both are valid."""
    if errors := step_up.check_own_password(owner, current, "current"):
        raise ValidationFailed.of(errors)
    return _check_new(owner, password)


def _check_new(owner: SignedIn, password: str, **rest: Any) -> str:
    if problem := judge_password(password, owner.email):
        raise ValidationFailed.of({"password": [problem]})
    return hash_password(password)


@security.save(PasswordForm, at="/password", prepare=_check_both)
def set_password(owner: SignedIn, prepared: str, replace_key: str | None, **rest: Any) -> Done:
    """Change the password, and sign out every other browser."""
    text = _("Password changed")
    return _set_password(owner, prepared, text, with_key=replace_key is not None)


@security.save(
    PasswordForm,
    at="/password/new",
    step_up="Password",
    changes_ways_in=True,
    prepare=_check_new,
)
def add_password(owner: SignedIn, prepared: str, replace_key: str | None, **rest: Any) -> Done:
    if step_up.find_ways_in(get_account(owner.account_id)).has_password:
        return Done()
    text = _("Saved")
    return _set_password(owner, prepared, text, with_key=replace_key is not None)


@security.save(at="/password/remove", step_up="Password", changes_ways_in=True)
def drop_password(owner: SignedIn) -> Done:
    account = lock_owner(owner)
    step_up.remove_password(account, but=owner.session_id)
    send_security_mail(account.email, "Your account no longer has a password.")
    record(events.PASSWORD_REMOVED, account.id)
    return Done(_("Removed"), finish=partial(know_browser, account=account))


@sessions.save(at="/<session_id>/end", step_up="Sign out")
def end_one_session(owner: SignedIn, session_id: str) -> Done:
    if browser := end_session(owner.account_id, session_id):
        record(events.SESSION_ENDED, owner.account_id, which=browser)
    return Done()


@sessions.save(at="/end/others", step_up="Sign out everywhere else")
def end_other_sessions(owner: SignedIn) -> Done:
    account = lock_owner(owner)
    end_sessions(owner.account_id, but=owner.session_id)
    record(events.SESSION_ENDED, owner.account_id, which="every other browser")
    text = _("You are signed out everywhere else.")
    return Done(text, finish=partial(know_browser, account=account))


@sessions.save(at="/end", step_up="Sign out everywhere")
def end_every_session(owner: SignedIn) -> Done:
    end_sessions(owner.account_id)
    record(events.SESSION_ENDED, owner.account_id, which="every browser")
    target = url_for("auth.show_login", notice="signed-out")
    return Done(to=target, finish=clear_session_cookie)


@security.save(at="/company/unlink", step_up="Company account", changes_ways_in=True)
def unlink_company_here(owner: SignedIn) -> Done:
    if (who := step_up.unlink_company(lock_owner(owner))) is not None:
        record(events.COMPANY_UNLINKED, owner.account_id, who=who)
    return Done(_("Removed"))


@security.save(
    {"strong": Choice("on", "off", load_default="off")},
    at="/team",
    step_up="Require more than a password",
    changes_ways_in=True,
)
def require_strong(owner: SignedIn, strong: str) -> Done:
    """Set whether everybody in the owner's projects needs more than a password."""
    account, is_on = lock_owner(owner), strong == "on"
    if not owner.is_strong:
        raise step_up.StrongNeeded(
            _(
                "To require more, sign in with a passkey, an authenticator app or the company "
                "account first."
            )
        )
    if account.requires_strong != is_on:
        account.requires_strong = is_on
        _announce_strong(account)
    return Done(_("Saved"))


def _set_password(owner: SignedIn, password_hash: str, text: str, *, with_key: bool) -> Done:
    """Set the password; `with_key` also replaces the API key, which is then shown once."""
    account, token = record_proof(owner)
    change_password(account, password_hash, but=owner.session_id)
    new_key = replace_key(account) if with_key else None
    send_password_changed_mail(account.email, with_key=with_key)
    record(events.PASSWORD_CHANGED, account.id)
    if new_key:
        record(events.KEY_REPLACED, account.id)
        revoke_all_tokens(account.id)

    def finish(response: Response) -> None:
        replace_session_cookie(token)
        know_browser(response, account)

    shown = {"notice": {"text": text}, "new_key": new_key}
    return Done(page=security, shown=shown, finish=finish)


def _announce_strong(account: Account) -> None:
    if account.requires_strong:
        what, event = "needs more than a password", events.STRONG_REQUIRED
    else:
        what, event = "may sign in with a password alone", events.STRONG_NOT_REQUIRED
    send_security_mail(account.email, f"From now on, everybody in your projects {what}.")
    record(event, account.id)


# Passkeys, the authenticator app and its recovery codes.

SETUP_SECONDS = 60 * 60

HERE = "dashboard.account.show_security"

setup_purpose = TokenPurpose("app-setup")


class PasskeyForm(FormSchema):
    name = OneLine(60, required=True)


class NewPasskeyForm(PasskeyForm, PasskeyAnswerForm):
    pass


class AppForm(FormSchema):
    setup = fields.String(load_default="")
    code = Secret()


@account.post("/dashboard/account/security/begin")
@require_session
def begin_proof(owner: SignedIn) -> ResponseReturnValue:
    """Return a challenge for the person's passkeys."""
    ids = passkeys.list_credential_ids(owner.account_id)
    return jsonify(passkeys.describe_use(passkeys.Reason.PROVE, owner.session_id, ids))


@account.post("/dashboard/account/security/passkeys/begin")
@require_session
def begin_addition(owner: SignedIn) -> ResponseReturnValue:
    """Return the options for creating a passkey; adding it requires a proof."""
    return jsonify(
        passkeys.offer_passkey(owner.account_id, owner.email, owner.name, owner.session_id)
    )


new_passkey = AccountPage(
    account, "/dashboard/account/security/passkeys", "account/new_passkey.html", part_of=HERE
)


@security.save(at="/passkeys/new", step_up="Add a passkey", changes_ways_in=True)
def show_new_passkey(owner: SignedIn) -> Done:
    name = translate_browser(describe_browser(request.user_agent.string))
    return Done(page=new_passkey, shown={"typed": {"name": name}})


@new_passkey.save(NewPasskeyForm, step_up="Add a passkey", changes_ways_in=True)
def add_one_passkey(owner: SignedIn, name: str, **answer: str) -> Done:
    account, cookie = record_proof(owner, SignInMethod.PASSKEY)
    passkey = passkeys.add_passkey(account, owner.session_id, answer, name)
    _notify(owner, events.PASSKEY_ADDED, f"The passkey “{passkey.name}” was added.", passkey.name)
    text = _("Added")
    return Done(text, url_for(HERE), finish=partial(_replace_cookie, cookie))


@security.save(PasskeyForm, at="/passkeys/<passkey_id>/name")
def rename_one_passkey(owner: SignedIn, passkey_id: str, name: str) -> Done:
    lock_owner(owner)
    old = passkeys.get_passkey(owner.account_id, passkey_id).name
    name = passkeys.rename_passkey(owner.account_id, passkey_id, name).name
    if old != name:
        _notify(owner, events.PASSKEY_RENAMED, f"A passkey was renamed to “{name}”.", name, old=old)
    return Done(_("Saved"))


@security.save(at="/passkeys/<passkey_id>/remove", step_up="Passkeys", changes_ways_in=True)
def remove_one_passkey(owner: SignedIn, passkey_id: str) -> Done:
    name = remove_passkey(lock_owner(owner), passkey_id)
    _notify(owner, events.PASSKEY_REMOVED, f"The passkey “{name}” was removed.", name)
    return Done(say_what(_("Removed"), name))


new_app = AccountPage(
    account, "/dashboard/account/security/app", "account/new_app.html", part_of=HERE
)


@security.save(at="/app/new", step_up="Connect an app", changes_ways_in=True)
def show_new_app(owner: SignedIn) -> Done:
    return Done(page=new_app)


@new_app.save(AppForm, step_up="Connect an app", changes_ways_in=True)
def connect_one_app(owner: SignedIn, setup: str, code: str) -> Done:
    """Connect the app if its code is right; show the recovery codes once."""
    if (secret := _find_secret(owner, setup)) is None:
        raise ValidationFailed.of({"code": [_("This page is out of date. Reload it.")]})
    account, cookie = record_proof(owner, SignInMethod.PASSWORD_AND_APP)
    try:
        codes = two_factor.connect_app(account, secret, code)
    except two_factor.CodeRefused as error:
        raise ValidationFailed.of({"code": [error.shown]}) from None
    _notify(owner, events.APP_CONNECTED, "An authenticator app was connected.")
    shown = {"codes": list(map(two_factor.format_code, codes))}
    finish = partial(_replace_cookie, cookie)
    return Done(page=shown_codes, shown=shown, finish=finish)


def _find_secret(owner: SignedIn, setup: str) -> str | None:
    """Return the secret that was shown to this browser."""
    session_id, secret = setup_purpose.find(setup, 2, SETUP_SECONDS) or ("", "")
    return secret if session_id == owner.session_id else None


def _describe_new_app(owner: SignedIn) -> Values:
    """Return the secret to connect; after a wrong code it stays the same."""
    setup = AppForm().read().values["setup"]
    secret = _find_secret(owner, setup) or two_factor.new_secret()
    issuer = app_url().split("://")[1].split("/")[0]
    return {
        "key": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "code": draw_inline(two_factor.make_otpauth_url(secret, issuer, owner.email)),
        "setup": setup_purpose.sign([owner.session_id, secret]),
    }


new_app.describe = _describe_new_app


@security.save(at="/app/remove", step_up="Authenticator app", changes_ways_in=True)
def remove_the_app(owner: SignedIn) -> Done:
    remove_app(lock_owner(owner))
    _notify(owner, events.APP_REMOVED, "The authenticator app was turned off.")
    return Done(_("Switched off"))


shown_codes = AccountPage(
    account, "/dashboard/account/security/codes", "account/codes.html", part_of=HERE
)


@shown_codes.save(step_up="Recovery codes", changes_ways_in=True)
def make_new_codes(owner: SignedIn) -> Done:
    account = lock_owner(owner)
    if two_factor.find_app(account.id) is None:
        raise NotFound
    codes = two_factor.make_recovery_codes(account)
    _notify(owner, events.RECOVERY_CODES_MADE, "New recovery codes were created.")
    return Done(page=shown_codes, shown={"codes": list(map(two_factor.format_code, codes))})


def _notify(
    owner: SignedIn, event: EventType, text: str, passkey: str = "", **details: str
) -> None:
    send_security_mail(owner.email, text)
    named = {"passkey": passkey} if passkey else {}
    record(event, owner.account_id, **named, **details)


def _replace_cookie(cookie: str, response: Response) -> None:
    replace_session_cookie(cookie)
