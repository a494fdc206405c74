"""The pages that change an account's address, and that restore the old one.

A GET changes nothing, since mail scanners open links. Opening the mail to the new address doesn't
prove who somebody is, so confirming requires a session of the account. The link mailed to the old
address requires none: it is for people who can no longer sign in.
"""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from testimonials.access.tokens import revoke_all_tokens
from testimonials.activity.actors import ActorKind, act_as
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.address_change.services import (
    AddressLinkInvalid,
    change_address,
    find_change,
    find_take_back,
    make_take_back_link,
    take_back,
)
from testimonials.auth.emails import send_address_changed_mail, send_taken_back_mail
from testimonials.auth.limits import SIGN_IN_PER_ADDRESS
from testimonials.auth.sign_in.cookies import read_session_cookie, use_persons_language
from testimonials.auth.sign_in.services import make_reset_link
from testimonials.auth.sign_in.sessions import find_session
from testimonials.core.url_rules import current_path
from testimonials.core.web.languages import format_day
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import begin_write, db, limiter

address = Blueprint("address", __name__)
address.before_request(use_persons_language)


@address.get("/email/<token>")
def show_change(token: str) -> ResponseReturnValue:
    """Ask the person signed in to the account to confirm the new address."""
    change, owner = find_change(token), find_session(read_session_cookie())
    if owner is None:
        return redirect(url_for("session.show_login", next=current_path(), notice="address"), 303)
    page = render_template(
        "auth/address_change/confirm_email.html",
        email=change.email,
        old_email=change.account.email,
        signed_in_as=owner.email,
        is_owner=owner.account_id == change.account.id,
    )
    return answer_privately(page)


@address.post("/email/<token>")
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def confirm_change(token: str) -> ResponseReturnValue:
    """Change the account's address, which a link mailed to the old one can undo for 7 days."""
    owner = find_session(read_session_cookie())
    begin_write()
    change = find_change(token)
    if owner is None or owner.account_id != change.account.id:
        # The page says why not.
        return redirect(current_path(), 303)
    left = change_address(change, owner)
    send_address_changed_mail(left, make_take_back_link(left))
    act_as(ActorKind.PERSON, owner.account_id)
    record_event(EventType.ADDRESS_CHANGED, owner.account_id, old=left.email, email=change.email)
    db.session.commit()
    return redirect(add_notice(url_for("account.show_account"), _("Your address is changed.")), 303)


@address.get("/take-back/<token>")
def show_take_back(token: str) -> ResponseReturnValue:
    """Ask whether to take the account back."""
    former = find_take_back(token)
    page = render_template(
        "auth/address_change/take_back.html",
        email=former.email,
        present_email=former.account.email,
        since=format_day(former.left_at),
    )
    return answer_privately(page)


@address.post("/take-back/<token>")
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def take_account_back(token: str) -> ResponseReturnValue:
    """Restore the old address, sign out every browser, and ask for a new password."""
    begin_write()
    former = find_take_back(token)
    replaced = former.account.email
    account = take_back(former)
    send_taken_back_mail(replaced, account.email)
    act_as(ActorKind.PERSON, account.id)
    # The intruder may have made one.
    revoke_all_tokens(account.id)
    record_event(EventType.ADDRESS_RESTORED, account.id, old=replaced, email=account.email)
    db.session.commit()
    # The intruder may have seen the key.
    return redirect(f"{make_reset_link(account)}?replace_key=1", 303)


@address.errorhandler(AddressLinkInvalid)
def show_problem(error: AddressLinkInvalid) -> ResponseReturnValue:
    return answer_privately(render_template("auth/address_change/email_problem.html"), error.status)
