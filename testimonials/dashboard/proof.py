"""Proving who one is again, before something that would do harm in somebody else's hands."""

from dataclasses import replace

from flask import request

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.proofs.authenticator import CodeRefused
from testimonials.auth.proofs.challenges import Reason
from testimonials.auth.proofs.mailed import mail_proof
from testimonials.auth.proofs.passkeys import PasskeyRefused, use_passkey
from testimonials.auth.proofs.second_step import check_code, find_wait, forget_wrong_codes
from testimonials.auth.proofs.ways_in import WaysIn, find_ways_in
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.attempts import confirm_password
from testimonials.auth.sign_in.cookies import replace_session_cookie
from testimonials.auth.sign_in.services import SignInRefused
from testimonials.auth.sign_in.sessions import SignedIn, SignInMethod, note_proof
from testimonials.core.web.errors import RateLimited
from testimonials.core.web.languages import gettext, ngettext
from testimonials.dashboard.forms import Errors
from testimonials.extensions import begin_write, db
from testimonials.projects.access import is_asked_for_more

# The form's fields: the password, a code, what a passkey answered, with its challenge, and the wish
# for a link by mail.
PROOF, PROOF_CODE, PROOF_PASSKEY, PROOF_TOKEN, PROOF_MAIL = FIELDS = (
    "proof",
    "proof_code",
    "proof_passkey",
    "proof_token",
    "proof_mail",
)


def was_proof_sent() -> bool:
    return any(name in request.form for name in FIELDS)


def find_proofs(owner: SignedIn, *, changes_ways_in: bool) -> WaysIn:
    """Return what the person can prove who they are with.

    Somebody who knows only the password of a person whom a team asks for more must not replace what
    that person has by a passkey or an app of their own.
    """
    ways = find_ways_in(get_account(owner.account_id))
    has_more = ways.passkeys > 0 or ways.app is not None
    if changes_ways_in and has_more and not owner.is_strong:
        is_asked = is_asked_for_more(owner.account_id)
        return replace(ways, has_password=ways.has_password and not is_asked)
    return ways


def take_proof(owner: SignedIn, ways: WaysIn) -> tuple[SignedIn, Errors]:
    """Check the proof that was sent and note it; return the person signed in, or what is wrong."""
    if request.form.get(PROOF_PASSKEY):
        return _take_passkey(owner)
    if PROOF_MAIL in request.form and not ways.is_any:
        mail_proof(owner)
        db.session.commit()
        text = gettext("A mail is on its way. Open its link in this browser, then go on here.")
        return owner, {PROOF_MAIL: [text]}
    if ways.app is not None and request.form.get(PROOF_CODE, "").strip():
        return _take_code(owner)
    if not ways.has_password:
        return owner, {
            PROOF_CODE if ways.app else PROOF: [gettext("Prove that it’s you to go on.")]
        }
    if errors := check_own_password(owner, PROOF):
        return owner, errors
    begin_write()
    return _note(owner, None), {}


def check_own_password(owner: SignedIn, field: str) -> Errors:
    """Return the error for a wrong password in the form's field; record that it was wrong."""
    try:
        confirm_password(owner, request.form.get(field, ""))
    except SignInRefused:
        begin_write()
        record_event(EventType.PASSWORD_REFUSED, owner.account_id)
        db.session.commit()
        return {field: [gettext("This is not your password.")]}
    return {}


def _take_passkey(owner: SignedIn) -> tuple[SignedIn, Errors]:
    token, answer = request.form.get(PROOF_TOKEN, ""), request.form[PROOF_PASSKEY]
    begin_write()
    try:
        use_passkey(Reason.PROVE, token, answer, owner)
    except PasskeyRefused as error:
        record_event(EventType.PASSKEY_REFUSED, owner.account_id)
        db.session.commit()
        return owner, {PROOF_PASSKEY: [error.shown]}
    return _note(owner, SignInMethod.PASSKEY), {}


def _take_code(owner: SignedIn) -> tuple[SignedIn, Errors]:
    account = get_account(owner.account_id)
    try:
        check_code(account, request.form[PROOF_CODE])
    except CodeRefused as error:
        return owner, {PROOF_CODE: [error.shown]}
    except RateLimited as error:
        wait = find_wait(error)
        text = ngettext(
            "Too many wrong codes. Wait %(num)s minute.",
            "Too many wrong codes. Wait %(num)s minutes.",
            wait,
        )
        return owner, {PROOF_CODE: [text]}
    proved = _note(owner, SignInMethod.PASSWORD_AND_APP)
    forget_wrong_codes(account)
    return proved, {}


def _note(owner: SignedIn, how: SignInMethod | None) -> SignedIn:
    _, token = note_proof(owner, how)
    db.session.commit()
    replace_session_cookie(token)
    return replace(owner, method=how) if how and not owner.is_strong else owner
