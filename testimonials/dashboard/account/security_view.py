"""What Account, Security shows."""

import functools
from collections.abc import Mapping

from flask import render_template
from flask.typing import ResponseReturnValue

from testimonials.auth.company.services import find_identity
from testimonials.auth.proofs.challenges import has_passkeys
from testimonials.auth.proofs.passkeys import list_passkeys
from testimonials.auth.proofs.ways_in import LastWayIn, StrongNeeded, find_ways_in
from testimonials.auth.services import get_account
from testimonials.auth.sign_in.sessions import SignedIn, list_sessions
from testimonials.core.web.endpoint import View
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.account.safety import describe_safety
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell
from testimonials.extensions import db
from testimonials.projects.access import is_asked_for_more

HERE = "security.show_security"


def explain_refusal(view: View) -> View:
    """Show the page again with the reason if the view would lock the person or their team out."""

    @functools.wraps(view)
    def wrapper(*, owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        try:
            return view(owner=owner, **arguments)
        except (LastWayIn, StrongNeeded) as error:
            db.session.rollback()
            page = render_security(owner, errors=to_form_errors(error))
            return answer_privately(page, error.status)

    return wrapper


def render_security(
    owner: SignedIn,
    *,
    notice: Mapping[str, str | None] | None = None,
    new_key: str | None = None,
    errors: Errors | None = None,
) -> str:
    """Return the page."""
    found = get_account(owner.account_id)
    ways = find_ways_in(found)
    return render_template(
        "dashboard/account/security.html",
        shell=build_shell(owner, "account"),
        notice=notice,
        account=found,
        ways=ways,
        safety=describe_safety(ways, is_asked=is_asked_for_more(owner.account_id)),
        company=find_identity(owner.account_id),
        passkeys=list_passkeys(owner.account_id),
        can_have_passkeys=has_passkeys(),
        new_key=new_key,
        errors=errors or {},
        sessions=list_sessions(owner.account_id),
        session_id=owner.session_id,
        is_strong=owner.is_strong,
    )
