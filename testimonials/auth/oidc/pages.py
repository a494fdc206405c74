"""The pages of single sign-on."""

import logging
import re
import secrets

from flask import g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth.cookies import (
    ARRIVAL,
    VISIT,
    read_cookie,
    read_session_cookie,
    replace_session_cookie,
    set_cookie,
    set_session_cookie,
    sign_browser_in,
)
from testimonials.auth.events import ACCOUNT_CLAIMED, COMPANY_LINKED, COMPANY_REFUSED
from testimonials.auth.lockout import COMPANY_PER_ADDRESS
from testimonials.auth.login import go_on
from testimonials.auth.models import CompanyAttempt
from testimonials.auth.oidc.accounts import (
    CLAIM_SECONDS,
    LIFETIME,
    AttemptPurpose,
    CompanyRefused,
    How,
    ProviderSilent,
    check_domain,
    find_identity,
    link_account,
    make_claim_token,
    receive_person,
    signed_in,
    start_attempt,
    take_attempt,
)
from testimonials.auth.oidc.client import (
    CompanyPerson,
    ProviderAway,
    build_address,
    current_provider,
    read_answer,
)
from testimonials.auth.schemas import GoOnForm
from testimonials.auth.sessions import SignedIn, SignInMethod, find_session, lock_owner, note_proof
from testimonials.core.audit import ActorKind, act_as, record
from testimonials.core.db.transactions import write
from testimonials.core.extensions import limiter
from testimonials.core.http.blueprints import auth
from testimonials.core.http.errors import NotFound, ServiceError
from testimonials.core.http.forms import add_notice
from testimonials.core.http.i18n import gettext, gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.core.settings.current import current_settings

# Sending a browser to the company's sign-in.
#
# By a page that leads away, not by a redirect: browsers would hold the answer to a form to the
# form's own policy, wherever it leads from there.

MARK = re.compile(r"[\w-]{43}", re.ASCII)


def leave(
    purpose: AttemptPurpose, who: SignedIn | None = None, *, target: str = "", draft: str = ""
) -> Response:
    """Send this browser to the company's sign-in, and store that it goes there.

    Raises `NotFound` where there is none, and `ProviderAway`.
    """
    if not current_settings().oidc_issuer:
        raise NotFound
    metadata = current_provider().metadata()
    mark = read_cookie(VISIT)
    if not MARK.fullmatch(mark):
        mark = secrets.token_urlsafe(32)
    with write():
        account_id = who.account_id if who else None
        state, attempt = start_attempt(mark, purpose, account_id, target=target, draft=draft)
    is_again = purpose == AttemptPurpose.PROVE
    address = build_address(metadata, state, attempt, is_again=is_again)
    response = answer_privately(render_template("auth/company/leaving.html", address=address))
    set_cookie(response, VISIT, mark, int(LIFETIME.total_seconds()))
    return response


# The pages between this service and the company's sign-in.

logger = logging.getLogger("testimonials.company")


@auth.post("/login/company")
@limiter.per_address(COMPANY_PER_ADDRESS)
def go_to_company() -> ResponseReturnValue:
    """Send the browser to the company's sign-in, and then to `next`."""
    sent = GoOnForm().read().values
    return leave(AttemptPurpose.SIGN_IN, target=sent["next"], draft=sent["draft"])


@auth.get("/login/company/done")
@limiter.per_address(COMPANY_PER_ADDRESS)
def come_back() -> ResponseReturnValue:
    """Take the answer that the browser brings from the company's sign-in, once."""
    # The write lock is given back before the provider is asked.
    with write():
        attempt = take_attempt(request.args.get("state", ""), read_cookie(VISIT))
    if attempt is None:
        raise CompanyRefused(
            gettext_noop("This sign-in was used already, took too long, or began elsewhere.")
        )
    g.company_target = attempt.target
    person = read_answer(attempt, request.args)
    return ANSWERS[AttemptPurpose(attempt.purpose)](attempt, person)


def show_problem(error: ServiceError) -> ResponseReturnValue:
    """Say what went wrong, and for what an operator should know, record it."""
    reason = getattr(error, "reason", "")
    logger.warning("The company's sign-in: %s %s", error.message, reason)
    if not isinstance(error, ProviderAway):
        with write():
            record(COMPANY_REFUSED, None, reason=reason or error.message)
    target = g.get("company_target", "")
    page = render_template("auth/company/problem.html", error=error, target=target)
    return answer_privately(page, error.status, error.headers)


def _sign_in(attempt: CompanyAttempt, person: CompanyPerson) -> Response:
    with write():
        account, how = receive_person(person)
        who = person.email or person.subject
        if how == How.UNCLAIMED:
            response = redirect(url_for("auth.show_sso_claim"), 303)
            set_cookie(response, ARRIVAL, make_claim_token(person, attempt.target), CLAIM_SECONDS)
            return response
        means, is_proved = current_settings().company_name, person.is_fresh is True
        cookie = sign_browser_in(account, SignInMethod.COMPANY, means, is_proved=is_proved)
        if how == How.CREATED:
            record(ACCOUNT_CLAIMED, account.id)
        if how != How.KNOWN:
            record(COMPANY_LINKED, account.id, who=who)
        signed_in.send(account.id, who=who, groups=person.groups)
    response = go_on(attempt.target, attempt.draft)
    set_session_cookie(response, account, cookie)
    return response


def _link(attempt: CompanyAttempt, person: CompanyPerson) -> Response:
    owner = _find_same(attempt)
    check_domain(person)
    with write():
        link_account(lock_owner(owner), person)
        record(COMPANY_LINKED, owner.account_id, who=person.email or person.subject)
        signed_in.send(owner.account_id, who=owner.email, groups=person.groups)
    return redirect(add_notice(attempt.target, gettext("Your company account is linked.")), 303)


def _prove(attempt: CompanyAttempt, person: CompanyPerson) -> Response:
    """Note that the person proved who they are, and go on with what they were about to do."""
    owner = _find_same(attempt)
    identity = find_identity(owner.account_id)
    if identity is None or identity.subject != person.subject:
        raise CompanyRefused(
            gettext(
                "This %(company)s account isn’t yours here.",
                company=current_settings().company_name,
            )
        )
    if person.is_fresh is None:
        raise ProviderSilent(values={"company": current_settings().company_name})
    if not person.is_fresh:
        raise CompanyRefused(
            gettext(
                "%(company)s didn’t ask who you are again.", company=current_settings().company_name
            )
        )
    with write():
        _, token = note_proof(owner, SignInMethod.COMPANY)
    replace_session_cookie(token)
    return go_on(attempt.target, attempt.draft, "auth/company/proved.html")


def _find_same(attempt: CompanyAttempt) -> SignedIn:
    """Return who is signed in, if it is still who went to the company's sign-in."""
    owner = find_session(read_session_cookie())
    if owner is None or owner.account_id != attempt.account_id:
        raise CompanyRefused(gettext_noop("Somebody else is signed in now. Nothing was changed."))
    act_as(ActorKind.PERSON, owner.account_id)
    return owner


ANSWERS = {
    AttemptPurpose.SIGN_IN: _sign_in,
    AttemptPurpose.LINK: _link,
    AttemptPurpose.PROVE: _prove,
}
