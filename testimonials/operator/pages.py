"""The operator's page: what needs somebody, and how everything on this server is. It only looks."""

import functools
from datetime import timedelta

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.endpoint import View
from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import ENGLISH, use_language
from testimonials.dashboard.guards import build_shell, require_proof, require_session
from testimonials.operator.server import describe_server
from testimonials.settings.current import current_settings

operator = Blueprint("operator", __name__)

OPEN_FOR = timedelta(hours=1)


def require_operator(view: View) -> View:
    """Pass an account that OPERATORS names to the view; to everybody else there is no such page.

    Whoever is signed out is asked to sign in, operator or not, which tells nothing.
    """

    @require_session
    @functools.wraps(view)
    def wrapper(owner: SignedIn, **arguments: object) -> ResponseReturnValue:
        if owner.email not in current_settings().operators:
            raise NotFound("There is no page at this address.")
        use_language(ENGLISH.code)
        return view(owner=owner, **arguments)

    return wrapper


@operator.get("/operator")
@operator.post("/operator")
@require_operator
@require_proof("look at this server", "dashboard.show_start", lasts=OPEN_FOR)
def show_server(owner: SignedIn) -> ResponseReturnValue:
    """Show the page; a POST only brings the proof that opens it for an hour."""
    if request.method == "POST":
        return redirect(url_for(".show_server"), 303)
    shell = build_shell(owner, "server")
    return render_template("operator/server.html", shell=shell, **describe_server())
