"""The pages of single sign-on."""

import logging
import re
import secrets

from flask import g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth import cookies
from testimonials.auth.credentials import COMPANY_PER_ADDRESS
from testimonials.auth.events import ACCOUNT_CLAIMED, COMPANY_LINKED, COMPANY_REFUSED
from testimonials.auth.login import go_on
from testimonials.auth.models import CompanyAttempt
from testimonials.auth.oidc import accounts, client
from testimonials.auth.schemas import GoOnForm
from testimonials.auth.sessions import (
    SignedIn,
    SignInMethod,
    find_session,
    lock_owner,
    record_proof,
)
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.forms import add_notice
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.core.settings.table import current_settings

BROWSER_SECRET = re.compile(r"[\w-]{43}", re.ASCII)


def leave(
    purpose: accounts.AttemptPurpose,
    who: SignedIn | None = None,
    *,
    target: str = "",
    draft: str = "",
) -> Response:
    """Send this browser to the provider and store the attempt.

    A page does this instead of a redirect, since the `form-action` policy of the form would apply
    to all further redirects too. Raises `NotFound` without a provider, and `ProviderAway`.
    """
    if not current_settings().oidc_issuer:
        raise NotFound
    metadata = client.current_provider().metadata()
    browser = cookies.read_cookie(cookies.VISIT)
    if not BROWSER_SECRET.fullmatch(browser):
        browser = secrets.token_urlsafe(32)
    with write():
        account_id = who.account_id if who else None
        state, attempt = accounts.start_attempt(
            browser, purpose, account_id, target=target, draft=draft
        )
    is_again = purpose == accounts.AttemptPurpose.PROVE
    address = client.build_authorization_url(metadata, state, attempt, is_again=is_again)
    response = answer_privately(render_template("auth/company/leaving.html", address=address))
    cookies.set_cookie(response, cookies.VISIT, browser, int(accounts.LIFETIME.total_seconds()))
    return response


logger = logging.getLogger("testimonials.company")


@auth.post("/login/company")
@limiter.per_address(COMPANY_PER_ADDRESS)
def go_to_company() -> ResponseReturnValue:
    """Sign in through the provider, then go to `next`."""
    values = GoOnForm().read().values
    return leave(accounts.AttemptPurpose.SIGN_IN, target=values["next"], draft=values["draft"])


@auth.get("/login/company/done")
@limiter.per_address(COMPANY_PER_ADDRESS)
def come_back() -> ResponseReturnValue:
    """Handle the redirect from the provider, once for each attempt."""
    # A transaction of its own, so that no write lock is held during requests to the provider.
    with write():
        attempt = accounts.take_attempt(
            request.args.get("state", ""), cookies.read_cookie(cookies.VISIT)
        )
    if attempt is None:
        raise accounts.CompanyRefused(gettext_noop("This page has expired. Sign in again."))
    g.company_target = attempt.target
    person = client.read_answer(attempt, request.args)
    return ANSWERS[accounts.AttemptPurpose(attempt.purpose)](attempt, person)


def show_problem(error: ServiceError) -> ResponseReturnValue:
    """Show what went wrong, and record what the operator should know."""
    reason = getattr(error, "reason", "")
    logger.warning("The company's sign-in: %s %s", error.message, reason)
    if not isinstance(error, client.ProviderAway):
        with write():
            record(COMPANY_REFUSED, None, reason=reason or error.message)
    target = g.get("company_target", "")
    page = render_template("auth/company/problem.html", error=error, target=target)
    return answer_privately(page, error.status, error.headers)


def _sign_in(attempt: CompanyAttempt, person: client.CompanyPerson) -> Response:
    with write():
        account, match = accounts.receive_person(person)
        who = person.email or person.subject
        if match == accounts.AccountMatch.UNCLAIMED:
            response = redirect(url_for("auth.show_sso_claim"), 303)
            cookies.set_cookie(
                response,
                cookies.ARRIVAL,
                accounts.make_claim_token(person, attempt.target),
                accounts.CLAIM_SECONDS,
            )
            return response
        means, is_proved = current_settings().company_name, person.is_fresh is True
        cookie = cookies.sign_browser_in(account, SignInMethod.COMPANY, means, is_proved=is_proved)
        if match == accounts.AccountMatch.CREATED:
            record(ACCOUNT_CLAIMED, account.id)
        if match != accounts.AccountMatch.KNOWN:
            record(COMPANY_LINKED, account.id, who=who)
        accounts.signed_in.send(account.id, who=who, groups=person.groups)
    response = go_on(attempt.target, attempt.draft)
    cookies.set_session_cookie(response, account, cookie)
    return response


def _link(attempt: CompanyAttempt, person: client.CompanyPerson) -> Response:
    owner = _find_same(attempt)
    accounts.check_domain(person)
    with write():
        accounts.link_account(lock_owner(owner), person)
        record(COMPANY_LINKED, owner.account_id, who=person.email or person.subject)
        accounts.signed_in.send(owner.account_id, who=owner.email, groups=person.groups)
    return redirect(add_notice(attempt.target, gettext("Saved")), 303)


def _prove(attempt: CompanyAttempt, person: client.CompanyPerson) -> Response:
    """Record the fresh proof, and go on with the interrupted form."""
    owner = _find_same(attempt)
    identity = accounts.find_identity(owner.account_id)
    if identity is None or identity.subject != person.subject:
        raise accounts.CompanyRefused(
            gettext(
                "This %(company)s account isn’t linked to yours.",
                company=current_settings().company_name,
            )
        )
    if person.is_fresh is None:
        raise accounts.ProviderSilent(values={"company": current_settings().company_name})
    if not person.is_fresh:
        raise accounts.CompanyRefused(
            gettext(
                "%(company)s didn’t ask you to sign in again.",
                company=current_settings().company_name,
            )
        )
    with write():
        _, token = record_proof(owner, SignInMethod.COMPANY)
    cookies.replace_session_cookie(token)
    return go_on(attempt.target, attempt.draft, "auth/company/proved.html")


def _find_same(attempt: CompanyAttempt) -> SignedIn:
    """Return who is signed in. Raises `CompanyRefused` unless they started the attempt."""
    owner = find_session(cookies.read_session_cookie())
    if owner is None or owner.account_id != attempt.account_id:
        raise accounts.CompanyRefused(
            gettext_noop("Someone else is signed in now. Nothing was changed.")
        )
    act_as(ActorKind.PERSON, owner.account_id)
    return owner


ANSWERS = {
    accounts.AttemptPurpose.SIGN_IN: _sign_in,
    accounts.AttemptPurpose.LINK: _link,
    accounts.AttemptPurpose.PROVE: _prove,
}
