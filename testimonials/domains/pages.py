"""What proxies and this service itself ask about host names."""

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from testimonials.core.urls import own_names
from testimonials.domains.looking import make_mark
from testimonials.domains.services import is_served

hosts = Blueprint("hosts", __name__)


@hosts.get("/domains/ask")
def answer_proxy() -> ResponseReturnValue:
    """Answer 200 if a certificate may be asked for a host name, as Caddy's on-demand TLS wants."""
    name = request.args.get("domain", "")
    is_ours = name.lower() in own_names()
    is_known = is_ours or is_served(name)
    text = "yes\n" if is_known else "There is nothing at this host name.\n"
    return Response(text, 200 if is_known else 404, mimetype="text/plain")


@hosts.get("/domains/mark")
def show_mark() -> Response:
    """Say that this very service answers here, at whatever host name."""
    response = Response(make_mark(), mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    return response
