"""The pages on which people claim an account, or delete one that they never asked for.

A GET changes nothing, since mail scanners open links; the POST redeems the link.
"""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.accounts import (
    claim_account,
    delete_account,
    drop_key,
    find_key_problem,
    replace_key,
)
from testimonials.auth.cookies import (
    describe_visitor,
    set_session_cookie,
    sign_browser_in,
)
from testimonials.auth.credentials import judge_password
from testimonials.auth.events import ACCOUNT_CLAIMED, ACCOUNT_DELETED, KEY_DROPPED, KEY_REPLACED
from testimonials.auth.limits import CLAIM_PER_ADDRESS
from testimonials.auth.magic_links import (
    LinkInvalid,
    LinkPurpose,
    LinkUsed,
    find_account_of_key,
    find_account_of_link,
    request_link,
)
from testimonials.auth.models import Account
from testimonials.auth.schemas import NewLinkForm
from testimonials.auth.sessions import SignInMethod
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.security import answer_privately
from testimonials.core.passwords import hash_password
from testimonials.dashboard.proposal_data import describe_waiting
from testimonials.projects.events import PROJECT_DELETED
from testimonials.projects.settings import delete_projects
from testimonials.testimonials.testimonials import (
    describe_issued,
    describe_keys,
    mark_added,
    summarize_projects,
)

Errors = dict[str, list[str]]


@auth.get("/claim/<token>")
def show_claim(token: str) -> ResponseReturnValue:
    account = find_account_of_link(token)
    return answer_privately(_claim_form(account, {}))


@auth.post("/claim/<token>")
@limiter.per_address(CLAIM_PER_ADDRESS)
def redeem_claim(token: str) -> ResponseReturnValue:
    """Claim the account with a password; keep or replace the agent's key."""
    account = find_account_of_link(token)
    if errors := _find_password_problem(account) | _find_key_problem(account):
        return answer_privately(_claim_form(account, errors), 422)
    password_hash = hash_password(request.form["password"])
    begin_write()
    # Again under the lock: only one of two clicks redeems, and an agent may have got a new key.
    account = find_account_of_link(token)
    if errors := _find_key_problem(account):
        return answer_privately(_claim_form(account, errors), 422)
    new_key = _claim(account, password_hash)
    cookie = sign_browser_in(account, SignInMethod.LINK, "claim link")
    db.session.commit()
    response = answer_privately(_claimed_page(account, new_key))
    set_session_cookie(response, account, cookie)
    return response


@auth.get("/claim/<token>/decline")
def show_decline(token: str) -> ResponseReturnValue:
    """Show what removing the unclaimed account would remove."""
    account = find_account_of_link(token)
    projects = summarize_projects(account.id)
    return answer_privately(
        render_template("auth/decline.html", email=account.email, projects=projects)
    )


@auth.post("/claim/<token>/decline")
@limiter.per_address(CLAIM_PER_ADDRESS)
def decline_claim(token: str) -> ResponseReturnValue:
    """Delete an account that its owner never asked for."""
    begin_write()
    account = find_account_of_link(token)
    delete_account(account)
    record(ACCOUNT_DELETED, None, account=account.id)
    db.session.commit()
    return redirect(url_for(".show_declined"), 303)


@auth.get("/claim/declined")
def show_declined() -> ResponseReturnValue:
    return render_template("auth/declined.html")


@auth.get("/not-me/<token>")
def show_not_me(token: str) -> ResponseReturnValue:
    """Ask whoever got the mail about a new key whether to revoke it."""
    account = find_account_of_key(token)
    shown = {"email": account.email, "issued": describe_issued(account.id)[:1]}
    return answer_privately(render_template("auth/not_me.html", **shown))


@auth.post("/not-me/<token>")
@limiter.per_address(CLAIM_PER_ADDRESS)
def revoke_key(token: str) -> ResponseReturnValue:
    """Revoke the key of an unclaimed account; delete nothing."""
    begin_write()
    account = find_account_of_key(token)
    drop_key(account)
    act_as(ActorKind.PERSON, account.id)
    record(KEY_DROPPED, account.id)
    db.session.commit()
    return redirect(url_for(".show_revoked"), 303)


@auth.get("/claim/revoked")
def show_revoked() -> ResponseReturnValue:
    return render_template("auth/revoked.html")


@auth.get("/claim")
def show_link_request() -> ResponseReturnValue:
    return _link_problem("invalid")


@auth.post("/claim")
def send_new_link() -> ResponseReturnValue:
    """Mail a new link if there is an account to claim; the response is the same if not."""
    sent = NewLinkForm().read(request.form)
    if sent.errors:
        return _link_problem("invalid", sent.typed["email"], sent.errors), 422
    email = sent.values["email"]
    request_link(LinkPurpose.CLAIM, email, describe_visitor(email))
    db.session.commit()
    return render_template("auth/sign_in/link_sent.html", email=email)


@auth.errorhandler(LinkInvalid)
def show_link_problem(error: LinkInvalid) -> ResponseReturnValue:
    if isinstance(error, LinkUsed):
        return answer_privately(_claimed_page())
    status = 410 if error.reason == "expired" else 404
    return answer_privately(_link_problem(error.reason), status)


def _claim(account: Account, password_hash: str) -> str | None:
    """Claim the account as the form says; return its new key, if any."""
    new_key = replace_key(account) if _key_choice(account) == "replace" else None
    act_as(ActorKind.PERSON, account.id)
    if account.was_asked_for and "drop" in request.form:
        for gone in delete_projects(account.id):
            record(PROJECT_DELETED, gone, name=gone.name)
    mark_added(account.id)
    claim_account(account, password_hash)
    record(ACCOUNT_CLAIMED, account.id)
    if new_key is not None:
        record(KEY_REPLACED, account.id)
    return new_key


def _find_password_problem(account: Account) -> Errors:
    problem = judge_password(request.form.get("password", ""), account.email)
    return {"password": [problem]} if problem else {}


def _find_key_problem(account: Account) -> Errors:
    # A newer key invalidates the link in the agent's own mail, so that the form can't be outdated.
    seen = request.form.get("key_seen", "") if account.was_asked_for else account.key_last_four
    problem = find_key_problem(account, _key_choice(account), "replace", seen)
    return {"key": [problem]} if problem else {}


def _key_choice(account: Account) -> str:
    """Return the choice in the form; nothing is preselected for people who signed up themselves."""
    return request.form.get("key", "" if account.was_asked_for else "keep")


def _claim_form(account: Account, errors: Errors) -> str:
    return render_template(
        "auth/claim.html",
        email=account.email,
        account_id=account.id,
        expires_at=account.claim_expires_at,
        agent_key=account if account.has_key else None,
        key_choice=_key_choice(account),
        was_asked_for=account.was_asked_for,
        projects=summarize_projects(account.id),
        proposed=describe_waiting(account.id),
        keys=describe_keys(account.id),
        errors=errors,
        drop="drop" in request.form,
    )


def _claimed_page(account: Account | None = None, new_key: str | None = None) -> str:
    return render_template(
        "auth/claimed.html",
        email=account.email if account else None,
        account_id=account.id if account else None,
        new_key=new_key,
        projects=summarize_projects(account.id) if account else [],
        proposed=describe_waiting(account.id) if account else [],
        # Those that the claim page showed.
        seen=request.form.getlist("seen") if account else [],
        is_return_visit=account is None,
    )


def _link_problem(reason: str, email: str = "", errors: Errors | None = None) -> str:
    return render_template("auth/link_problem.html", reason=reason, email=email, errors=errors)
