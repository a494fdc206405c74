"""The pages on which people claim an account, or delete one that they never asked for.

A GET changes nothing, since mail scanners open links; the POST redeems the link.
"""

from collections.abc import Mapping
from typing import Any

from flask import Response, make_response, redirect, render_template, request, url_for
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
    read_arrival_cookie,
    set_session_cookie,
    sign_browser_in,
)
from testimonials.auth.credentials import judge_password
from testimonials.auth.events import (
    ACCOUNT_CLAIMED,
    ACCOUNT_DELETED,
    COMPANY_LINKED,
    KEY_DROPPED,
    KEY_REPLACED,
)
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
from testimonials.auth.oidc.accounts import (
    claim_for,
    lock_waiting,
    read_claim_token,
    signed_in,
)
from testimonials.auth.oidc.client import CompanyPerson
from testimonials.auth.schemas import NewLinkForm
from testimonials.auth.sessions import SignInMethod
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.extensions import begin_write, db, limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema, SentForm, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import collection_page_url
from testimonials.core.passwords import hash_password
from testimonials.core.settings.current import current_settings
from testimonials.dashboard.proposals import describe_waiting
from testimonials.projects.defaults import BUSINESS_NAME_LENGTH, WEBSITE_LENGTH
from testimonials.projects.events import PROJECT_DELETED
from testimonials.projects.models import Project
from testimonials.projects.projects import Website, count_projects, create_project
from testimonials.projects.settings import delete_projects
from testimonials.projects.website import own_domain, read_later
from testimonials.testimonials.testimonials import (
    describe_issued,
    describe_keys,
    mark_added,
    summarize_projects,
)

Errors = dict[str, list[str]]

# What whoever takes over an account decides about what an agent made of it.


def find_key_errors(account: Account, other: str, *, is_asked: bool = True) -> Errors:
    """Return an error unless the form keeps the key that the agent holds, or does the `other`.

    The link in the agent's own mail asks for no choice: a newer key makes it invalid, so that its
    form can't be outdated.
    """
    choice = request.form.get("key", "" if is_asked else "keep")
    seen = request.form.get("key_seen", "") if is_asked else account.key_last_four
    problem = find_key_problem(account, choice, other, seen)
    return {"key": [problem]} if problem else {}


def drop_what_is_unwanted(account: Account) -> None:
    """Delete the projects and the key of an agent if the form asks for it; tag what stays."""
    if "drop" in request.form:
        for gone in delete_projects(account.id):
            record(PROJECT_DELETED, gone, name=gone.name)
    if request.form.get("key") == "drop":
        drop_key(account)
        record(KEY_DROPPED, account.id)
    mark_added(account.id)


def describe_begun(account: Account | None) -> dict[str, Any]:
    """Return what the pages show of an account that an agent began, and what the form says."""
    return {
        "agent_key": account if account and account.has_key else None,
        "projects": summarize_projects(account.id) if account else [],
        "keys": describe_keys(account.id) if account else {},
        "key_choice": request.form.get("key", ""),
        "drop": "drop" in request.form,
    }


# By a magic link.


class StartForm(FormSchema):
    """The business of who begins with a page of their own."""

    businessName = Text(
        BUSINESS_NAME_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Add the name of your business.")},
    )
    website = Website(WEBSITE_LENGTH, one_line=True, load_default="")


def _begins(account: Account) -> bool:
    """Return whether who claims the account begins with a page, since nobody made one for them."""
    return account.was_asked_for and not account.has_key and not count_projects(account.id)


def _read_start(account: Account) -> SentForm | None:
    """Return the business that the form names; None where it asks for none."""
    is_asked = "businessName" in request.form and _begins(account)
    return StartForm().read() if is_asked else None


def _start(account: Account, values: Mapping[str, Any]) -> Project:
    """Make the first project of an account that was claimed just now."""
    project = create_project(account.id, {**values}, finds_slug=True)
    read_later(project)
    return project


@auth.get("/claim/<token>")
def show_claim(token: str) -> ResponseReturnValue:
    account = find_account_of_link(token)
    return answer_privately(_claim_form(account, {}))


@auth.post("/claim/<token>")
@limiter.per_address(CLAIM_PER_ADDRESS)
def redeem_claim(token: str) -> ResponseReturnValue:
    """Claim the account with a password; keep or replace the agent's key."""
    account = find_account_of_link(token)
    if errors := _find_errors(account):
        return answer_privately(_claim_form(account, errors), 422)
    password_hash = hash_password(request.form["password"])
    begin_write()
    # Again under the lock: only one of two clicks redeems, and an agent may have got a new key.
    account = find_account_of_link(token)
    if errors := _find_key_errors(account):
        return answer_privately(_claim_form(account, errors), 422)
    made = _claim(account, password_hash)
    cookie = sign_browser_in(account, SignInMethod.LINK, "claim link")
    db.session.commit()
    response = _lead_on(account, *made)
    set_session_cookie(response, account, cookie)
    return response


def _lead_on(account: Account, new_key: str | None, project: Project | None) -> Response:
    """Say what was claimed; a page that is new wants people to be asked."""
    if project is None:
        return answer_privately(_claimed_page(account, new_key))
    said = _("Your page is open. Ask three people who know you. Their words arrive in your inbox.")
    url = url_for("dashboard.collect.show_collect", project_id=project.id)
    return answer_privately(make_response(redirect(add_notice(url, said))), 303)


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
    return render_template("auth/sign_in/link_sent.html", email=email)


@auth.errorhandler(LinkInvalid)
def show_link_problem(error: LinkInvalid) -> ResponseReturnValue:
    if isinstance(error, LinkUsed):
        return answer_privately(_claimed_page())
    status = 410 if error.reason == "expired" else 404
    return answer_privately(_link_problem(error.reason), status)


def _find_errors(account: Account) -> Errors:
    start = _read_start(account)
    found = start.errors if start else {}
    return found | _find_password_problem(account) | _find_key_errors(account)


def _claim(account: Account, password_hash: str) -> tuple[str | None, Project | None]:
    """Claim the account as the form says; return its new key and its first project, if any."""
    start = _read_start(account)
    new_key = replace_key(account) if request.form.get("key") == "replace" else None
    act_as(ActorKind.PERSON, account.id)
    drop_what_is_unwanted(account)
    claim_account(account, password_hash)
    record(ACCOUNT_CLAIMED, account.id)
    if new_key is not None:
        record(KEY_REPLACED, account.id)
    return new_key, _start(account, start.values) if start else None


def _find_password_problem(account: Account) -> Errors:
    problem = judge_password(request.form.get("password", ""), account.email)
    return {"password": [problem]} if problem else {}


def _find_key_errors(account: Account) -> Errors:
    return find_key_errors(account, "replace", is_asked=account.was_asked_for)


def _claim_form(account: Account, errors: Errors) -> str:
    shown = describe_begun(account)
    if not account.was_asked_for:
        shown["key_choice"] = request.form.get("key", "keep")
    return render_template(
        "auth/claim.html",
        email=account.email,
        account_id=account.id,
        expires_at=account.claim_expires_at,
        was_asked_for=account.was_asked_for,
        proposed=describe_waiting(account.id),
        start=_fill_in(account) if _begins(account) else None,
        errors=errors,
        **shown,
    )


def _fill_in(account: Account) -> dict[str, str]:
    """Return what the form begins with: what was typed, else what the address tells."""
    return {
        "businessName": request.form.get("businessName", ""),
        "website": request.form.get("website", own_domain(account.email)),
        "page_base": collection_page_url(""),
    }


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


# By the company's sign-in, without a password.


@auth.get("/login/company/claim")
def show_sso_claim() -> ResponseReturnValue:
    person, _ = read_claim_token(read_arrival_cookie())
    return answer_privately(_sso_page(lock_waiting(person), {}))


@auth.post("/login/company/claim")
@limiter.per_address(CLAIM_PER_ADDRESS)
def claim_with_company() -> ResponseReturnValue:
    """Claim the account without a password; keep or take away the agent's key and projects."""
    person, target = read_claim_token(read_arrival_cookie())
    begin_write()
    account = lock_waiting(person)
    if errors := find_key_errors(account, "drop"):
        return answer_privately(_sso_page(account, errors), 422)
    _claim_by_sso(account, person)
    means = current_settings().company_name
    cookie = sign_browser_in(account, SignInMethod.COMPANY, means, is_proved=False)
    db.session.commit()
    response = redirect(target or url_for("dashboard.home.show_start"), 303)
    set_session_cookie(response, account, cookie)
    return response


def _claim_by_sso(account: Account, person: CompanyPerson) -> None:
    act_as(ActorKind.PERSON, account.id)
    drop_what_is_unwanted(account)
    claim_for(account, person)
    record(ACCOUNT_CLAIMED, account.id)
    record(COMPANY_LINKED, account.id, who=person.email)
    signed_in.send(account.id, who=account.email, groups=person.groups)


def _sso_page(account: Account, errors: Errors) -> str:
    return render_template(
        "auth/company/claim.html",
        email=account.email,
        proposed=describe_waiting(account.id),
        errors=errors,
        **describe_begun(account),
    )
