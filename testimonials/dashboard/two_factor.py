"""Account, Signing in: passkeys, the authenticator app and its recovery codes."""

from functools import partial

from flask import jsonify, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields
from werkzeug import Response

from testimonials.auth import events, passkeys, two_factor
from testimonials.auth.cookies import replace_session_cookie
from testimonials.auth.emails import send_security_mail
from testimonials.auth.schemas import PasskeyAnswerForm
from testimonials.auth.sessions import SignedIn, SignInMethod, lock_owner, note_proof
from testimonials.auth.step_up import remove_app, remove_passkey
from testimonials.core.audit import EventType, record
from testimonials.core.event_lists import describe_browser, translate_browser
from testimonials.core.http.blueprints import account
from testimonials.core.http.errors import NotFound, ValidationFailed
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, Secret
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import app_url
from testimonials.core.images.qr import draw_inline
from testimonials.dashboard.framework import AccountPage, Done, Values, require_session
from testimonials.dashboard.security import security

SETUP_SECONDS = 60 * 60

HERE = "dashboard.account.show_security"

setup_purpose = TokenPurpose("app-setup")


class PasskeyForm(FormSchema):
    name = Text(60, one_line=True, missing=gettext_noop("Give it a name."))


class NewPasskeyForm(PasskeyForm, PasskeyAnswerForm):
    pass


class AppForm(FormSchema):
    setup = fields.String(load_default="")
    code = Secret()


@account.post("/dashboard/account/security/begin")
@require_session
def begin_proof(owner: SignedIn) -> ResponseReturnValue:
    """Return a challenge for one of the person's passkeys, to prove that it's them."""
    known = passkeys.list_credential_ids(owner.account_id)
    return jsonify(passkeys.describe_use(passkeys.Reason.PROVE, owner.session_id, known))


@account.post("/dashboard/account/security/passkeys/begin")
@require_session
def begin_addition(owner: SignedIn) -> ResponseReturnValue:
    """Return what the browser makes a passkey of; adding it needs a proof."""
    who = owner.account_id, owner.email, owner.name
    return jsonify(passkeys.offer_passkey(*who, owner.session_id))


new_passkey = AccountPage(
    account, "/dashboard/account/security/passkeys", "account/new_passkey.html", part_of=HERE
)


@security.save(at="/passkeys/new", step_up="add a passkey", changes_ways_in=True)
def show_new_passkey(owner: SignedIn) -> Done:
    name = translate_browser(describe_browser(request.user_agent.string))
    return Done(page=new_passkey, shown={"typed": {"name": name}})


@new_passkey.save(NewPasskeyForm, step_up="add a passkey", changes_ways_in=True)
def add_one_passkey(owner: SignedIn, name: str, **answer: str) -> Done:
    account, cookie = note_proof(owner, SignInMethod.PASSKEY)
    passkey = passkeys.add_passkey(account, owner.session_id, answer, name)
    _tell(owner, events.PASSKEY_ADDED, f"The passkey “{passkey.name}” was added.", passkey.name)
    text = _("%(name)s is a passkey now.", name=passkey.name)
    return Done(text, url_for(HERE), finish=partial(_replace_cookie, cookie))


@security.save(PasskeyForm, at="/passkeys/<passkey_id>/name")
def rename_one_passkey(owner: SignedIn, passkey_id: str, name: str) -> Done:
    lock_owner(owner)
    old = passkeys.get_passkey(owner.account_id, passkey_id).name
    name = passkeys.rename_passkey(owner.account_id, passkey_id, name).name
    if old != name:
        _tell(owner, events.PASSKEY_RENAMED, f"A passkey’s name is now “{name}”.", name, old=old)
    return Done(_("Saved"))


@security.save(at="/passkeys/<passkey_id>/remove", step_up="remove a passkey", changes_ways_in=True)
def remove_one_passkey(owner: SignedIn, passkey_id: str) -> Done:
    name = remove_passkey(lock_owner(owner), passkey_id)
    _tell(owner, events.PASSKEY_REMOVED, f"The passkey “{name}” was removed.", name)
    return Done(_("%(name)s is removed.", name=name))


new_app = AccountPage(
    account, "/dashboard/account/security/app", "account/new_app.html", part_of=HERE
)


@security.save(at="/app/new", step_up="connect an app", changes_ways_in=True)
def show_new_app(owner: SignedIn) -> Done:
    return Done(page=new_app)


@new_app.save(AppForm, step_up="connect an app", changes_ways_in=True)
def connect_one_app(owner: SignedIn, setup: str, code: str) -> Done:
    """Connect the app whose code proves that it has the secret; show the recovery codes once."""
    if (secret := _find_secret(owner, setup)) is None:
        raise ValidationFailed.of({"code": [_("That took too long.")]})
    account, cookie = note_proof(owner, SignInMethod.PASSWORD_AND_APP)
    try:
        codes = two_factor.connect_app(account, secret, code)
    except two_factor.CodeRefused as error:
        raise ValidationFailed.of({"code": [error.shown]}) from None
    _tell(owner, events.APP_CONNECTED, "An authenticator app was connected.")
    shown = {"codes": [two_factor.show_code(each) for each in codes]}
    finish = partial(_replace_cookie, cookie)
    return Done(page=shown_codes, shown=shown, finish=finish)


def _find_secret(owner: SignedIn, setup: str) -> str | None:
    """Return the secret that this browser was shown lately."""
    session_id, secret = setup_purpose.find(setup, 2, SETUP_SECONDS) or ("", "")
    return secret if session_id == owner.session_id else None


def _describe_new_app(owner: SignedIn) -> Values:
    """Return the secret to connect: after a wrong code the one that was shown before."""
    sent = AppForm().read().values
    secret = _find_secret(owner, sent["setup"]) or two_factor.new_secret()
    issuer = app_url().split("://")[1].split("/")[0]
    return {
        "key": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "code": draw_inline(two_factor.make_address(secret, issuer, owner.email)),
        "setup": setup_purpose.sign([owner.session_id, secret]),
    }


new_app.describe = _describe_new_app


@security.save(at="/app/remove", step_up="turn the app off", changes_ways_in=True)
def remove_the_app(owner: SignedIn) -> Done:
    remove_app(lock_owner(owner))
    _tell(owner, events.APP_REMOVED, "The authenticator app was turned off.")
    return Done(_("The app is off."))


shown_codes = AccountPage(
    account, "/dashboard/account/security/codes", "account/codes.html", part_of=HERE
)


@shown_codes.save(step_up="make new recovery codes", changes_ways_in=True)
def make_new_codes(owner: SignedIn) -> Done:
    account = lock_owner(owner)
    if two_factor.find_app(account.id) is None:
        raise NotFound
    codes = two_factor.make_recovery_codes(account)
    _tell(owner, events.RECOVERY_CODES_MADE, "New recovery codes were made.")
    return Done(page=shown_codes, shown={"codes": [two_factor.show_code(code) for code in codes]})


def _tell(owner: SignedIn, event: EventType, text: str, passkey: str = "", **details: str) -> None:
    """Mail and record a change."""
    send_security_mail(owner.email, text)
    named = {"passkey": passkey} if passkey else {}
    record(event, owner.account_id, **named, **details)


def _replace_cookie(cookie: str, response: Response) -> None:
    replace_session_cookie(cookie)
