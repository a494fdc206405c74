"""The pages on which people answer an invitation.

A GET never changes anything, since mail scanners open links. The link proves the address, as a
magic link does, so people without an account can choose a password even if sign-up is closed.
"""

from typing import cast

from flask import make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from marshmallow import fields

from testimonials.auth import accounts
from testimonials.auth.cookies import read_session_cookie, set_session_cookie, sign_browser_in
from testimonials.auth.credentials import find_claimed_account, hash_password, judge_password
from testimonials.auth.events import ACCOUNT_CLAIMED
from testimonials.auth.models import Account
from testimonials.auth.sessions import SignedIn, SignInMethod, find_session
from testimonials.core.audit import ActorKind, EventType, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db, limiter
from testimonials.core.http.blueprints import projects
from testimonials.core.http.forms import FormSchema, Secret
from testimonials.core.http.security import answer_privately
from testimonials.dashboard import claim
from testimonials.dashboard.framework import Values
from testimonials.projects import invitations
from testimonials.projects.events import INVITATION_ACCEPTED, INVITATION_DECLINED
from testimonials.projects.notifications import ROLE_MAY


class JoinForm(claim.KeyForm):
    password = Secret()


# What a mail program sends to decline; it doesn't follow redirects (RFC 8058).
BY_PROGRAM = "List-Unsubscribe"
DeclineForm = cast(type[FormSchema], FormSchema.from_dict({BY_PROGRAM: fields.String()}))


@projects.get("/invite/<token>")
def show_invitation(token: str) -> ResponseReturnValue:
    signed_in = find_session(read_session_cookie())
    return answer_privately(_invitation_page(invitations.find_invitation(token), signed_in))


@projects.post("/invite/<token>")
@limiter.per_address(invitations.INVITATION_PER_ADDRESS)
def accept_invitation_here(token: str) -> ResponseReturnValue:
    """Join as the signed-in account, or as a new one with a password."""
    signed_in, opened = find_session(read_session_cookie()), invitations.find_invitation(token)
    if signed_in is not None or find_claimed_account(opened.invitation.email) is not None:
        return _join(token, signed_in)
    sent = JoinForm().read()
    if errors := _find_problems(opened, sent.values):
        return answer_privately(_invitation_page(opened, None, sent.typed, errors), 422)
    return _join_with_password(token, sent.values, hash_password(sent.values["password"]))


@projects.get("/invite/<token>/decline")
def show_decline(token: str) -> ResponseReturnValue:
    shown = _describe(invitations.find_invitation(token))
    return answer_privately(render_template("projects/team/invitation_decline.html", **shown))


@projects.post("/invite/<token>/decline")
@limiter.per_address(invitations.INVITATION_PER_ADDRESS)
def decline_invitation_here(token: str) -> ResponseReturnValue:
    with write():
        opened = invitations.find_invitation(token, for_update=True)
        email = opened.invitation.email
        invitations.decline_invitation(opened)
        _record(INVITATION_DECLINED, opened, email)
    if DeclineForm().read().values[BY_PROGRAM]:
        return answer_privately("")
    return redirect(url_for(".show_declined"), 303)


@projects.get("/invite/declined")
def show_declined() -> ResponseReturnValue:
    return render_template("projects/team/invitation_declined.html")


def _join(token: str, signed_in: SignedIn | None) -> ResponseReturnValue:
    """Join as the signed-in account, or show why it can't."""
    with write():
        # Again under the lock: another request may have used the link.
        opened = invitations.find_invitation(token, for_update=True)
        account = accounts.get_account(signed_in.account_id) if signed_in else None
        if account is None or account.email != opened.invitation.email:
            return redirect(url_for(".show_invitation", token=token), 303)
        invitations.accept_invitation(opened, account)
        _record_joining(opened, account)
    return _go_in(opened)


def _join_with_password(token: str, values: Values, password_hash: str) -> ResponseReturnValue:
    """Claim or create the account of the invited address, sign in, and join."""
    with write():
        opened = invitations.find_invitation(token, for_update=True)
        started = accounts.start_signup(opened.invitation.email)
        if started is None or claim.find_key_errors(started[0], "drop", values):
            # Claimed meanwhile, or created by an agent; the page says so.
            db.session.rollback()
            return redirect(url_for(".show_invitation", token=token), 303)
        account, _ = started
        accounts.claim_account(account, password_hash)
        invitations.accept_invitation(opened, account)
        _record_joining(opened, account)
        claim.drop_what_is_unwanted(account, values)
        record(ACCOUNT_CLAIMED, account.id)
        cookie = sign_browser_in(account, SignInMethod.LINK, "invitation")
    response = make_response(_go_in(opened))
    set_session_cookie(response, account, cookie)
    return response


def _record_joining(opened: invitations.OpenInvitation, account: Account) -> None:
    act_as(ActorKind.PERSON, account.id)
    _record(INVITATION_ACCEPTED, opened, account.email)


def _record(type: EventType, opened: invitations.OpenInvitation, email: str) -> None:
    record(type, opened.project or opened.place.id, email=email)


def _go_in(opened: invitations.OpenInvitation) -> ResponseReturnValue:
    """Redirect to the inbox of the project, or to the first page."""
    if opened.project is None:
        return redirect(url_for("dashboard.home.show_start"), 303)
    return redirect(url_for("dashboard.inbox.show_inbox", project_id=opened.project.id), 303)


def _find_problems(opened: invitations.OpenInvitation, values: Values) -> claim.Errors:
    email = opened.invitation.email
    waiting = accounts.find_claimable_account(email)
    errors = claim.find_key_errors(waiting, "drop", values) if waiting is not None else {}
    if problem := judge_password(values["password"], email):
        errors = {"password": [problem]} | errors
    return errors


def _describe(opened: invitations.OpenInvitation) -> dict[str, object]:
    return {
        "email": opened.invitation.email,
        "project_name": opened.project.name if opened.project else "",
        "projects_named": [project.name for project in opened.projects],
        "invited_by": opened.invited_by,
        "role_may": ROLE_MAY[opened.invitation.role],
        "expires_at": opened.invitation.expires_at,
    }


def _invitation_page(
    opened: invitations.OpenInvitation,
    signed_in: SignedIn | None,
    typed: Values | None = None,
    errors: claim.Errors | None = None,
) -> str:
    email = opened.invitation.email
    waiting = accounts.find_claimable_account(email)
    if signed_in is not None:
        state = "ready" if signed_in.email == email else "other"
    else:
        state = "known" if find_claimed_account(email) is not None else "new"
    return render_template(
        "projects/team/invitation.html",
        state=state,
        signed_in_as=signed_in.email if signed_in else None,
        errors=errors or {},
        typed=typed or {},
        **claim.describe_begun(waiting),
        **_describe(opened),
    )
