"""The page that asks for a proof of identity before sensitive actions."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flask import render_template, url_for
from flask.typing import ResponseReturnValue
from werkzeug import Response

from testimonials.auth import step_up
from testimonials.auth.sessions import PROOF_LIFETIME, SignedIn, has_fresh_proof
from testimonials.core.http.errors import Errors
from testimonials.core.http.i18n import translate
from testimonials.core.http.resource import View
from testimonials.core.http.security import answer_privately
from testimonials.core.http.urls import current_path
from testimonials.dashboard.shell import build_shell


def require_proof(purpose: str, back: str, **options: Any) -> Callable[[View], View]:
    """Require a proof (`prove`), below `require_session`; `back` is the endpoint to cancel to."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def wrapper(*, owner: SignedIn, **arguments: object) -> ResponseReturnValue:
            owner, page = prove(owner, purpose, url_for(back), **options)
            return view(owner=owner, **arguments) if page is None else page

        return wrapper

    return decorate


def prove(
    owner: SignedIn,
    purpose: str,
    back_url: str,
    *,
    is_download: bool = False,
    changes_ways_in: bool = False,
    lasts: timedelta = PROOF_LIFETIME,
) -> tuple[SignedIn, Response | None]:
    """Return the person, and the page that asks for a proof if the last is older than `lasts`.

    The page asks for a password, a passkey or a code, and resends the same form. `purpose`
    completes "Confirm that it’s you to". Since a download leaves the browser on this page, it shows
    the download's button after the proof. See `find_proofs` for `changes_ways_in`.
    """
    errors: Errors = {}
    ways = step_up.find_proofs(owner, changes_ways_in=changes_ways_in)
    is_enough = ways.has_password or owner.is_strong or not ways.is_any
    is_proved = has_fresh_proof(owner, lasts) and is_enough
    if not is_proved and step_up.was_proof_sent():
        owner, errors = step_up.take_proof(owner, ways)
        is_proved = not errors
    if is_proved and not (is_download and step_up.was_proof_sent()):
        return owner, None
    page = _proof_page(owner, purpose, back_url, errors, None if is_proved else ways)
    return owner, answer_privately(page, 200 if is_proved else 422 if errors else 401)


def _proof_page(
    owner: SignedIn, purpose: str, back_url: str, errors: Errors, ways: step_up.WaysIn | None
) -> str:
    return render_template(
        "dashboard/proof.html",
        shell=build_shell(owner, "account"),
        purpose=translate(purpose),
        action=current_path(),
        back_url=back_url,
        errors=errors,
        ways=ways,
        is_proved=ways is None,
        **step_up.describe_proof(owner),
    )
