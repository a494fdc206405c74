"""The page on which somebody from the company takes over an account that an agent began."""

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.accounts import drop_key, find_key_problem
from testimonials.auth.cookies import (
    read_arrival_cookie,
    set_session_cookie,
    sign_browser_in,
)
from testimonials.auth.events import ACCOUNT_CLAIMED, COMPANY_LINKED, KEY_DROPPED
from testimonials.auth.limits import CLAIM_PER_ADDRESS
from testimonials.auth.models import Account
from testimonials.auth.oidc.accounts import (
    claim_for,
    lock_waiting,
    read_claim_token,
    signed_in,
)
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.auth.sessions import SignInMethod
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.security import answer_privately
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.proposal_data import describe_waiting
from testimonials.projects.events import PROJECT_DELETED
from testimonials.projects.settings import delete_projects
from testimonials.testimonials.testimonials import describe_keys, mark_added, summarize_projects

Errors = dict[str, list[str]]


@auth.get("/login/company/claim")
def show_sso_claim() -> ResponseReturnValue:
    person, _ = read_claim_token(read_arrival_cookie())
    return answer_privately(_page(lock_waiting(person), {}))


@auth.post("/login/company/claim")
@limiter.per_address(CLAIM_PER_ADDRESS)
def claim_with_company() -> ResponseReturnValue:
    """Claim the account without a password; keep or take away the agent's key and projects."""
    person, target = read_claim_token(read_arrival_cookie())
    begin_write()
    account = lock_waiting(person)
    if errors := _find_problem(account):
        return answer_privately(_page(account, errors), 422)
    _claim(account, person)
    means = current_settings().company_name
    cookie = sign_browser_in(account, SignInMethod.COMPANY, means, is_proved=False)
    db.session.commit()
    response = redirect(target or url_for("dashboard.home.show_start"), 303)
    set_session_cookie(response, account, cookie)
    return response


def _claim(account: Account, person: CompanyPerson) -> None:
    act_as(ActorKind.PERSON, account.id)
    if "drop" in request.form:
        for gone in delete_projects(account.id):
            record(PROJECT_DELETED, gone, name=gone.name)
    if request.form.get("key") == "drop":
        drop_key(account)
        record(KEY_DROPPED, account.id)
    mark_added(account.id)
    claim_for(account, person)
    record(ACCOUNT_CLAIMED, account.id)
    record(COMPANY_LINKED, account.id, who=person.email)
    signed_in.send(account.id, who=account.email, groups=person.groups)


def _find_problem(account: Account) -> Errors:
    choice, seen = request.form.get("key", ""), request.form.get("key_seen", "")
    problem = find_key_problem(account, choice, "drop", seen)
    return {"key": [problem]} if problem else {}


def _page(account: Account, errors: Errors) -> str:
    return render_template(
        "auth/company/claim.html",
        email=account.email,
        agent_key=account if account.has_key else None,
        key_choice=request.form.get("key", ""),
        projects=summarize_projects(account.id),
        proposed=describe_waiting(account.id),
        keys=describe_keys(account.id),
        drop="drop" in request.form,
        errors=errors,
    )
