"""Sending a browser to the company's sign-in.

A view begins a visit, commits, and answers with a page that leads away. Not with a redirect:
browsers would hold the answer to a form to the form's own policy, wherever it leads from there.
"""

import re
import secrets
from dataclasses import dataclass

from flask import render_template
from werkzeug import Response

from testimonials.auth.company.attempts import LIFETIME, AttemptPurpose, start_attempt
from testimonials.auth.company.exchange import build_address, find_metadata
from testimonials.auth.sign_in.cookies import read_visit_cookie, set_visit_cookie
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import NotFound
from testimonials.core.web.response_headers import answer_privately
from testimonials.extensions import begin_write
from testimonials.settings.current import current_settings

MARK = re.compile(r"[\w-]{43}", re.ASCII)


@dataclass(frozen=True)
class Visit:
    """Where a browser goes, and what marks it when it comes back."""

    address: str
    mark: str


def begin_visit(
    purpose: AttemptPurpose, who: SignedIn | None = None, *, target: str = "", draft: str = ""
) -> Visit:
    """Begin the write, and store that this browser goes to the company's sign-in.

    Raises `NotFound` where there is none, and `ProviderAway`.
    """
    if not current_settings().oidc_issuer:
        raise NotFound
    metadata = find_metadata()
    mark = read_visit_cookie()
    if not MARK.fullmatch(mark):
        mark = secrets.token_urlsafe(32)
    begin_write()
    account_id = who.account_id if who else None
    attempt = start_attempt(mark, purpose, account_id, target=target, draft=draft)
    return Visit(build_address(metadata, attempt, is_again=purpose == AttemptPurpose.PROVE), mark)


def lead_away(visit: Visit) -> Response:
    page = render_template("auth/company/leaving.html", address=visit.address)
    response = answer_privately(page)
    set_visit_cookie(response, visit.mark, int(LIFETIME.total_seconds()))
    return response
