"""What the page that asks for a proof needs to offer the company's sign-in for it."""

from typing import Any

from flask import request

from testimonials.auth.company.services import find_identity
from testimonials.auth.sign_in.login_page import draft_purpose
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.url_rules import current_path
from testimonials.core.web.forms import MAX_LENGTH, SECRETS
from testimonials.dashboard.proof import FIELDS
from testimonials.settings.current import current_settings


def describe_company_proof(owner: SignedIn) -> dict[str, Any]:
    """Return whether the company can prove who it is, and the form to go on with.

    The form travels as a draft that this service signed; one with a file, or too long, is lost.
    """
    settings = current_settings()
    fields = [pair for pair in request.form.items(multi=True) if pair[0] not in FIELDS]
    is_short = sum(len(name) + len(text) for name, text in fields) <= MAX_LENGTH
    is_kept = is_short and not request.files and not SECRETS & {name for name, _ in fields}
    return {
        "asks_company": bool(settings.oidc_issuer) and find_identity(owner.account_id) is not None,
        "draft": draft_purpose.sign([current_path(), fields, False]) if is_kept else "",
    }
