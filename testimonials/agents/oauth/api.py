"""What OAuth clients call themselves: who we are, registering, and the token."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, jsonify, request

from testimonials.access.scopes import Scope
from testimonials.access.tokens import find_by_plain_text, revoke_token
from testimonials.activity.actors import ActorKind, act_as
from testimonials.agents.oauth.authorizing import OAuthRefused, redeem, take_code
from testimonials.agents.oauth.clients import MAX_URIS, URI_RULE, is_redirect_uri, register_client
from testimonials.core import clock
from testimonials.core.urls import agent_guide_url, base_url, consent_url, mcp_url, oauth_url
from testimonials.core.web.endpoint import read_json_object
from testimonials.core.web.errors import BodyInvalid
from testimonials.extensions import begin_write, db

oauth = Blueprint("oauth", __name__)
GRANTS: dict[str, Any] = {
    "grant_types": ["authorization_code"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


@oauth.get("/.well-known/oauth-protected-resource")
@oauth.get("/.well-known/oauth-protected-resource/mcp")
def describe_resource() -> Response:
    """Say who gives out tokens for MCP (RFC 9728)."""
    return jsonify(
        resource=mcp_url(),
        resource_name="Testimonials",
        authorization_servers=[base_url()],
        scopes_supported=list(Scope),
        bearer_methods_supported=["header"],
        resource_documentation=agent_guide_url(),
    )


@oauth.get("/.well-known/oauth-authorization-server")
def describe_server() -> Response:
    """Say where clients register and get tokens (RFC 8414)."""
    return jsonify(
        issuer=base_url(),
        authorization_endpoint=consent_url(),
        token_endpoint=oauth_url("token"),
        registration_endpoint=oauth_url("register"),
        revocation_endpoint=oauth_url("revoke"),
        scopes_supported=list(Scope),
        response_types_supported=["code"],
        grant_types_supported=["authorization_code"],
        token_endpoint_auth_methods_supported=["none"],
        revocation_endpoint_auth_methods_supported=["none"],
        code_challenge_methods_supported=["S256"],
        authorization_response_iss_parameter_supported=True,
        service_documentation=agent_guide_url(),
    )


@oauth.post("/oauth/register")
def register() -> Response:
    """Give a program the id under which it asks people (RFC 7591)."""
    sent = read_json_object()
    uris = sent.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_URIS:
        raise OAuthRefused("invalid_redirect_uri", f"Send 1 to {MAX_URIS} redirect_uris.")
    if not all(map(is_redirect_uri, uris)):
        raise OAuthRefused("invalid_redirect_uri", URI_RULE)
    client = register_client(str(sent.get("client_name") or ""), uris)
    now = int(clock.now().timestamp())
    known = {"client_id": client.id, "client_id_issued_at": now, "client_name": client.name}
    return _answer(GRANTS | known | {"redirect_uris": uris}, 201)


@oauth.post("/oauth/token")
def give_token() -> Response:
    """Give the access token for a code, once."""
    begin_write()
    try:
        code, client = take_code(request.form)
        act_as(ActorKind.PERSON, code.made_by_id)
        token, plain = redeem(code, client)
    finally:
        # Also when it is refused: a code that was shown is used up.
        db.session.commit()
    body: dict[str, Any] = {"access_token": plain, "token_type": "Bearer"}
    if token.expires_at is not None:
        body["expires_in"] = round((token.expires_at - clock.now()).total_seconds())
    return _answer(body | {"scope": " ".join(token.scopes)})


@oauth.post("/oauth/revoke")
def revoke() -> Response:
    """Revoke a token; whoever holds it may, and an unknown one is none either (RFC 7009)."""
    begin_write()
    if (token := find_by_plain_text(request.form.get("token", ""))) is not None:
        act_as(ActorKind.TOKEN, token.id)
        revoke_token(token)
    db.session.commit()
    return _answer({})


@oauth.errorhandler(OAuthRefused)
def answer_refusal(error: OAuthRefused) -> Response:
    return _answer(error.fields, 400)


@oauth.errorhandler(BodyInvalid)
def answer_bad_body(error: BodyInvalid) -> Response:
    return _answer({"error": "invalid_client_metadata", "error_description": error.message}, 400)


def _answer(body: Mapping[str, Any], status: int = 200) -> Response:
    response = jsonify(body)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response
