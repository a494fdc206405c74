"""Changing an account's e-mail address."""

from functools import partial

from flask import redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import IntegrityError

from testimonials.auth.accounts import delete_expired_accounts
from testimonials.auth.cookies import read_session_cookie
from testimonials.auth.credentials import ResetLinkInvalid, fingerprint, open_link
from testimonials.auth.emails import send_address_changed_mail
from testimonials.auth.events import ADDRESS_CHANGED
from testimonials.auth.lockout import SIGN_IN_PER_ADDRESS
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn, find_session, lock_owner
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.forms import add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import current_path, link_url

change_purpose = TokenPurpose("email-change")


class AddressLinkInvalid(ResetLinkInvalid):
    """The link to confirm a new address is invalid; this has its own page."""


class AddressTaken(ServiceError):
    code = "EMAIL_TAKEN"
    default_message = gettext_noop("Another account has this address.")


def make_change_link(account: Account, new_email: str) -> str:
    return link_url("email", change_purpose.sign([account.id, fingerprint(account), new_email]))


def find_change(token: str) -> tuple[Account, str]:
    """Return the locked account of a link, and the new address that it confirms.

    A new password invalidates the link, which an intruder may have requested. Raises
    `AddressLinkInvalid`.
    """
    if (change := open_link(change_purpose, token, 3)) is None:
        raise AddressLinkInvalid
    return change


def change_address(owner: SignedIn, email: str) -> str:
    """Change the address of the signed-in person's account; return the old one.

    Raises `AddressTaken` and `SessionEnded`.
    """
    account = lock_owner(owner)
    old = account.email
    # An expired account no longer reserves its address.
    delete_expired_accounts()
    try:
        with db.session.begin_nested():
            account.email = email
    except IntegrityError:
        raise AddressTaken from None
    return old


# A GET changes nothing, since mail scanners open links. Reading mail to the new address doesn't
# prove that it's the owner, so confirming requires a session of the account.


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
@limiter.per_address(SIGN_IN_PER_ADDRESS)
def confirm_email_change(token: str) -> ResponseReturnValue:
    """Change the account's address, and notify the old one."""
    owner = find_session(read_session_cookie())
    with write(partial(find_change, token)) as (account, email):
        if owner is None or owner.account_id != account.id:
            # The page explains it.
            return redirect(current_path(), 303)
        old = change_address(owner, email)
        send_address_changed_mail(old, email)
        act_as(ActorKind.PERSON, owner.account_id)
        record(ADDRESS_CHANGED, owner.account_id, old=old, email=email)
    return redirect(
        add_notice(url_for("dashboard.account.show_account"), _("Your address is changed.")), 303
    )


@auth.errorhandler(AddressLinkInvalid)
def show_problem(error: AddressLinkInvalid) -> ResponseReturnValue:
    return answer_privately(render_template("auth/address_change/email_problem.html"), error.status)
