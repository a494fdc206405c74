"""Linking one's account with the company's, and confirming with it who one is."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.company.attempts import AttemptPurpose
from testimonials.auth.company.visits import begin_visit, lead_away
from testimonials.auth.limits import COMPANY_PER_ADDRESS
from testimonials.auth.proofs.ways_in import unlink_company
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.response_headers import safe_target
from testimonials.dashboard.account.security_view import HERE, explain_refusal
from testimonials.dashboard.guards import require_proof, require_session
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
