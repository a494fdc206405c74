"""Signing in: how safe it is, the password, browsers that are signed in, what everybody needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import redirect, request, url_for
from marshmallow import fields
from werkzeug import Response

from testimonials.auth import events, step_up
from testimonials.auth.accounts import get_account, replace_key
from testimonials.auth.cookies import clear_session_cookie, know_browser, replace_session_cookie
from testimonials.auth.credentials import change_password, judge_password
from testimonials.auth.emails import send_password_changed_mail, send_security_mail
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import find_identity
from testimonials.auth.passkeys import has_passkeys, list_passkeys
from testimonials.auth.schemas import GoOnForm
from testimonials.auth.sessions import (
    SignedIn,
    end_session,
    end_sessions,
    list_sessions,
    lock_owner,
    note_proof,
)
from testimonials.auth.tokens import revoke_all_tokens
from testimonials.core.audit import record
from testimonials.core.http.blueprints import account
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.fields import Choice
from testimonials.core.http.forms import FormSchema, Secret
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import ngettext
from testimonials.core.http.security import safe_target
from testimonials.core.passwords import hash_password
from testimonials.dashboard.framework import AccountPage, Done, Values
from testimonials.projects.access import is_asked_for_more

# Fewer recovery codes than this are soon gone.
FEW_CODES = 3


@dataclass(frozen=True)
class Lack:
    """What keeps an account from being well protected, and whether a passkey is what it needs."""

    title: str
    text: str
    needs_passkey: bool = False


def find_lack(ways: step_up.WaysIn, *, is_asked: bool) -> Lack | None:
    """Return what is missing; `is_asked` if a project needs more than a password."""
    if ways.strong == 0:
        return _describe_weak(is_asked=is_asked)
    if ways.app and ways.recovery_codes < FEW_CODES:
        text = _("They are for the day on which phone and laptop are gone. Make new ones.")
        return Lack(_describe_codes(ways.recovery_codes), text)
    if ways.count == 1 and ways.passkeys == 1:
        text = _("If that device is lost, you get in by a link to your mail. Add a second passkey.")
        return Lack(_("One passkey is your only way in"), text, needs_passkey=True)
    if ways.has_password and ways.app is None and ways.passkeys:
        text = ngettext(
            "You have a passkey, but the password alone lets in, too. Do without it, or connect an "
            "app that is asked after it.",
            "You have %(num)s passkeys, but the password alone lets in, too. Do without it, or "
            "connect an app that is asked after it.",
            ways.passkeys,
        )
        return Lack(_("The password is the weak way in"), text)
    return None


def _describe_weak(*, is_asked: bool) -> Lack:
    if is_asked:
        text = _("A project you work on asks for more. Add a passkey, or connect an app.")
        return Lack(_("A password isn’t enough"), text, needs_passkey=True)
    text = _("A passkey takes a minute and can’t be phished.")
    return Lack(_("Only a password protects you"), text, needs_passkey=True)


def _describe_codes(number: int) -> str:
    if number == 0:
        return _("No recovery codes left")
    return ngettext("One recovery code left", "%(num)s recovery codes left", number)


def _list_ways(ways: step_up.WaysIn) -> Iterator[str]:
    if ways.has_password:
        yield _("Password")
    if ways.passkeys:
        yield ngettext("One passkey", "%(num)s passkeys", ways.passkeys)
    if ways.app:
        yield _("An authenticator app")
    if ways.companies:
        yield _("The company’s account")


def describe_security(owner: SignedIn) -> Values:
    """Return what protects the account, in a word for each, and what is missing."""
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


# Account, Signing in: the password, passkeys and the rest, and what colleagues are asked for.

security = AccountPage(account, "/dashboard/account/security", "account/security.html")


@security.show
def show_security(owner: SignedIn) -> Values:
    return describe_security(owner) | {
        "company": find_identity(owner.account_id),
        "passkeys": list_passkeys(owner.account_id),
        "is_strong": owner.is_strong,
    }


sessions = AccountPage(account, "/dashboard/account/security/sessions", "account/sessions.html")


@sessions.show
def show_sessions(owner: SignedIn) -> Values:
    return {"sessions": list_sessions(owner.account_id), "session_id": owner.session_id}


needed = AccountPage(account, "/dashboard/account/security/needed", "account/needed.html")


@needed.show
def show_needed(owner: SignedIn) -> Values | Response:
    """Say what to set up, or to sign in with, before a project opens; then lead to it."""
    target = safe_target(request.args.get("next", "")) or url_for("dashboard.home.show_start")
    if owner.is_strong:
        return redirect(target, 303)
    return {"ways": step_up.find_ways_in(get_account(owner.account_id)), "target": target}


@needed.save(GoOnForm, step_up="go on", changes_ways_in=True)
def prove_needed(owner: SignedIn, next: str, **rest: Any) -> Done:
    """Go on to the project, once the person has proved more than a password."""
    target = next or url_for("dashboard.home.show_start")
    return Done(to=target if owner.is_strong else url_for(".show_needed", next=target))


class PasswordForm(FormSchema):
    current = Secret()
    password = Secret()
    replace_key = fields.String()


def _check_both(owner: SignedIn, current: str, password: str, **rest: Any) -> str:
    """Return the hash of the new password, if both are right."""
    if errors := step_up.check_own_password(owner, current, "current"):
        raise ValidationFailed.of(errors)
    return _check_new(owner, password)


def _check_new(owner: SignedIn, password: str, **rest: Any) -> str:
    if problem := judge_password(password, owner.email):
        raise ValidationFailed.of({"password": [problem]})
    return hash_password(password)


@security.save(PasswordForm, at="/password", prepare=_check_both)
def set_password(owner: SignedIn, prepared: str, replace_key: str | None, **rest: Any) -> Done:
    """Change the password and sign every other browser out."""
    text = _("Your password is changed.")
    return _set_password(owner, prepared, text, with_key=replace_key is not None)


@security.save(
    PasswordForm,
    at="/password/new",
    step_up="set a password",
    changes_ways_in=True,
    prepare=_check_new,
)
def add_password(owner: SignedIn, prepared: str, replace_key: str | None, **rest: Any) -> Done:
    if step_up.find_ways_in(get_account(owner.account_id)).has_password:
        return Done()
    text = _("You have a password.")
    return _set_password(owner, prepared, text, with_key=replace_key is not None)


@security.save(at="/password/remove", step_up="do without a password", changes_ways_in=True)
def drop_password(owner: SignedIn) -> Done:
    changed = lock_owner(owner)
    step_up.remove_password(changed, but=owner.session_id)
    send_security_mail(changed.email, "Your account does without a password from now on.")
    record(events.PASSWORD_REMOVED, changed.id)
    return Done(_("Your password is gone."), finish=partial(know_browser, account=changed))


@sessions.save(at="/<session_id>/end", step_up="sign a browser out")
def end_one_session(owner: SignedIn, session_id: str) -> Done:
    if browser := end_session(owner.account_id, session_id):
        record(events.SESSION_ENDED, owner.account_id, which=browser)
    return Done()


@sessions.save(at="/end/others", step_up="sign out everywhere else")
def end_other_sessions(owner: SignedIn) -> Done:
    changed = lock_owner(owner)
    end_sessions(owner.account_id, but=owner.session_id)
    record(events.SESSION_ENDED, owner.account_id, which="every other browser")
    text = _("Every other browser is signed out.")
    return Done(text, finish=partial(know_browser, account=changed))


@sessions.save(at="/end", step_up="sign out everywhere")
def end_every_session(owner: SignedIn) -> Done:
    end_sessions(owner.account_id)
    record(events.SESSION_ENDED, owner.account_id, which="every browser")
    target = url_for("auth.show_login", notice="signed-out")
    return Done(to=target, finish=clear_session_cookie)


@security.save(at="/company/unlink", step_up="unlink your company account", changes_ways_in=True)
def unlink_company_here(owner: SignedIn) -> Done:
    if (who := step_up.unlink_company(lock_owner(owner))) is not None:
        record(events.COMPANY_UNLINKED, owner.account_id, who=who)
    return Done(_("Your company account is unlinked."))


@security.save(
    {"strong": Choice("on", "off", load_default="off")},
    at="/team",
    step_up="change what everybody signs in with",
    changes_ways_in=True,
)
def require_strong(owner: SignedIn, strong: str) -> Done:
    """Ask everybody who opens the owner's projects for more than a password, or no longer."""
    changed, wanted = lock_owner(owner), strong == "on"
    if not owner.is_strong:
        raise step_up.StrongNeeded(
            _("Sign in with a passkey, your app or the company’s account first.")
        )
    if changed.requires_strong != wanted:
        changed.requires_strong = wanted
        _tell_of_strong(changed)
    more, enough = _("Everybody needs more than a password."), _("A password is enough again.")
    return Done(more if wanted else enough)


def _set_password(owner: SignedIn, password_hash: str, text: str, *, with_key: bool) -> Done:
    """Set it, and replace the API key too if wanted; the key is shown this once."""
    changed, token = note_proof(owner)
    change_password(changed, password_hash, but=owner.session_id)
    new_key = replace_key(changed) if with_key else None
    send_password_changed_mail(changed.email, with_key=with_key)
    record(events.PASSWORD_CHANGED, changed.id)
    if new_key:
        record(events.KEY_REPLACED, changed.id)
        revoke_all_tokens(changed.id)

    def finish(response: Response) -> None:
        replace_session_cookie(token)
        know_browser(response, changed)

    shown = {"notice": {"text": text}, "new_key": new_key}
    return Done(page=security, shown=shown, finish=finish)


def _tell_of_strong(changed: Account) -> None:
    if changed.requires_strong:
        what, event = "needs more than a password", events.STRONG_REQUIRED
    else:
        what, event = "may sign in with a password alone", events.STRONG_NOT_REQUIRED
    send_security_mail(changed.email, f"Everybody in your projects {what} from now on.")
    record(event, changed.id)
