"""The door of MCP: one address, one message in, one JSON answer out."""

from typing import Any, NoReturn

from flask import Blueprint, Response, request
from werkzeug.exceptions import MethodNotAllowed

from testimonials.access.callers import Caller
from testimonials.access.guards import CALLED_BY, require_access
from testimonials.agents.mcp.inner_calls import MCP
from testimonials.agents.mcp.protocol import answer_message
from testimonials.core.urls import own_origins, resource_metadata_url
from testimonials.core.web.endpoint import dump_json, read_json_object
from testimonials.core.web.errors import BodyInvalid, CrossSiteRefused

mcp = Blueprint("mcp", __name__)

# As large as the largest operation behind it.
MAX_BODY_BYTES = 512 * 1024


@mcp.post("/mcp")
@require_access(None, by_key=True)
def answer_agent(caller: Caller) -> Response:
    """Answer one message of MCP; a notification gets 202 and nothing else."""
    message: dict[str, Any] | BodyInvalid
    try:
        message = read_json_object(MAX_BODY_BYTES)
    except BodyInvalid as error:
        message = error
    status, body = answer_message(message, request.headers, caller)
    response = Response(dump_json(body) if body else b"", status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


@mcp.get("/mcp")
@require_access(None, by_key=True)
def refuse_stream(caller: Caller) -> NoReturn:
    """Say that there are no messages but answers; older clients ask for a stream of them."""
    raise MethodNotAllowed(["POST"])


@mcp.before_request
def note_door() -> None:
    """Say that calls here came by MCP, for the token's last use."""
    request.environ[CALLED_BY] = MCP


@mcp.before_request
def refuse_other_origins() -> None:
    """Refuse pages whose name leads here for a moment (DNS rebinding): only our own origins."""
    origin = request.headers.get("Origin")
    if origin is not None and origin not in own_origins():
        raise CrossSiteRefused


@mcp.after_request
def say_where_to_sign_in(response: Response) -> Response:
    """Tell clients without credentials where they get some (RFC 9728)."""
    if response.status_code == 401:
        challenge = f'Bearer resource_metadata="{resource_metadata_url()}", scope="read draft"'
        response.headers["WWW-Authenticate"] = challenge
    return response
