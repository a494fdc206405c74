"""Linking one's account with the company's, and confirming with it who one is."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.company.attempts import AttemptPurpose
from testimonials.auth.company.visits import begin_visit, lead_away
from testimonials.auth.limits import COMPANY_PER_ADDRESS
from testimonials.auth.proofs.mailed import check_proof
from testimonials.auth.proofs.ways_in import unlink_company
from testimonials.auth.sign_in.cookies import replace_session_cookie
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner, note_proof
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.account.security_view import HERE, explain_refusal
from testimonials.dashboard.guards import build_shell, require_proof, require_session
from testimonials.dashboard.notices import add_notice
from testimonials.extensions import begin_write, db, limiter

account_company = Blueprint("account_company", __name__)


@account_company.post("/dashboard/account/company/link")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
@require_proof("link your company account", HERE, changes_ways_in=True)
def link(owner: SignedIn) -> ResponseReturnValue:
    """Send the browser to the company's sign-in; who comes back is linked."""
    visit = begin_visit(AttemptPurpose.LINK, owner, target=url_for(HERE))
    db.session.commit()
    return lead_away(visit)


@account_company.post("/dashboard/account/company/unlink")
@require_session
@require_proof("unlink your company account", HERE, changes_ways_in=True)
@explain_refusal
def unlink(owner: SignedIn) -> ResponseReturnValue:
    begin_write()
    who = unlink_company(lock_owner(owner))
    if who is not None:
        record_event(EventType.COMPANY_UNLINKED, owner.account_id, who=who)
    db.session.commit()
    return redirect(add_notice(url_for(HERE), _("Your company account is unlinked.")), 303)


@account_company.post("/dashboard/account/company/prove")
@limiter.per_address(COMPANY_PER_ADDRESS)
@require_session
def prove(owner: SignedIn) -> ResponseReturnValue:
    """Send the browser to the company's sign-in, which asks again, and then on with the draft."""
    target = safe_target(request.form.get("next", "")) or url_for(HERE)
    draft = request.form.get("draft", "")
    visit = begin_visit(AttemptPurpose.PROVE, owner, target=target, draft=draft)
    db.session.commit()
    return lead_away(visit)


@account_company.get("/dashboard/account/company/mailed")
@require_session
def show_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    """Ask who opened the link of a mail to press a button, since mail scanners open links too."""
    token = request.args.get("proof", "")
    if not token:
        return redirect(url_for(HERE), 303)
    check_proof(owner, token)
    return _mailed_page(owner, token)


@account_company.post("/dashboard/account/company/mailed")
@require_session
def take_mailed_proof(owner: SignedIn) -> ResponseReturnValue:
    check_proof(owner, request.form.get("proof", ""))
    begin_write()
    _, cookie = note_proof(owner)
    db.session.commit()
    replace_session_cookie(cookie)
    return _mailed_page(owner, "")


def _mailed_page(owner: SignedIn, token: str) -> str:
    page, shell = "dashboard/account/mailed_proof.html", build_shell(owner, "account")
    return render_template(page, shell=shell, token=token)
