"""The page that changes an account's address.

A GET changes nothing, since mail scanners open links. Opening the mail to the new address doesn't
prove who somebody is, so confirming requires a session of the account.
"""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.actors import ActorKind, act_as
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.address_change.services import (
    AddressLinkInvalid,
    change_address,
    find_change,
)
from testimonials.auth.emails import send_address_changed_mail
from testimonials.auth.limits import SIGN_IN_PER_ADDRESS
from testimonials.auth.sign_in.cookies import read_session_cookie, use_persons_language
from testimonials.auth.sign_in.sessions import find_session
from testimonials.core.url_rules import current_path
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
    """Change the account's address, and tell the old one."""
    owner = find_session(read_session_cookie())
    begin_write()
    change = find_change(token)
    if owner is None or owner.account_id != change.account.id:
        # The page says why not.
        return redirect(current_path(), 303)
    left = change_address(change, owner)
    send_address_changed_mail(left, change.email)
    act_as(ActorKind.PERSON, owner.account_id)
    record_event(EventType.ADDRESS_CHANGED, owner.account_id, old=left, email=change.email)
    db.session.commit()
    return redirect(add_notice(url_for("account.show_account"), _("Your address is changed.")), 303)


@address.errorhandler(AddressLinkInvalid)
def show_problem(error: AddressLinkInvalid) -> ResponseReturnValue:
    return answer_privately(render_template("auth/address_change/email_problem.html"), error.status)
