"""Who opens the operator's pages: accounts that OPERATORS names, after a recent proof."""

import functools
from datetime import timedelta
from typing import Any

from flask import render_template, request
from flask.typing import ResponseReturnValue

from testimonials.activity.actors import ActorKind, act_as
from testimonials.auth.sign_in.cookies import theme_cookie
from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.urls import app_url
from testimonials.core.web.endpoint import View
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import ENGLISH, use_language
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import THEMES, require_session
from testimonials.settings.current import current_settings

# For reading; what changes something needs one of the last ten minutes (`require_proof`).
OPEN_FOR = timedelta(hours=1)


def require_operator(view: View) -> View:
    """Pass an operator to the view as ``owner``; to everybody else there is no such page.

    Whoever is signed out is asked to sign in, operator or not, which tells nothing.
    """

    @require_session
    @functools.wraps(view)
    def wrapper(owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        if owner.email not in current_settings().operators:
            raise NotFound("There is no page at this address.")
        act_as(ActorKind.OPERATOR, owner.account_id)
        use_language(ENGLISH.code)
        if request.method == "GET" and not _is_open(owner):
            shown = {"shell": operator_shell(owner, ""), "target": request.full_path}
            return answer_privately(render_template("operator/closed.html", **shown), 401)
        return view(owner=owner, **arguments)

    return wrapper


def operator_shell(owner: SignedIn, active: str) -> dict[str, Any]:
    """Return what the frame of the operator's pages shows."""
    theme = request.cookies.get(theme_cookie(), "system")
    return {
        "email": owner.email,
        "who": owner.name,
        "host": app_url().partition("://")[2],
        "active": active,
        "theme": theme if theme in THEMES else "system",
    }


def _is_open(owner: SignedIn) -> bool:
    return owner.proved_at is not None and abs(clock.now() - owner.proved_at) < OPEN_FOR
