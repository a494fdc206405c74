"""The authorization server: clients, consent, codes and tokens."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Response, jsonify
from marshmallow import fields
from sqlalchemy import JSON, String, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.auth.models import AccessToken, Account
from testimonials.auth.sessions import SignedIn, lock_owner
from testimonials.auth.tokens import (
    DEFAULT_SCOPES,
    Scope,
    find_by_plain_text,
    make_token,
    revoke_token,
)
from testimonials.core import clock
from testimonials.core.audit import ActorKind, act_as
from testimonials.core.db.engine import Base, Timestamp, child_of
from testimonials.core.db.identifiers import ID_LENGTH, hash_secret
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import oauth
from testimonials.core.http.errors import BodyInvalid, ServiceError
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.resource import read_json_object
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import agent_guide_url, base_url, consent_url, mcp_url, oauth_url
from testimonials.core.text import PORT
from testimonials.projects.models import Project


class OAuthCode(Base):
    """What a person has allowed a client, until the client exchanges the code for a token."""

    __tablename__ = "oauth_code"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    # It covers the person's `browser_generation` too, so that signing out everywhere ends the code.
    client_hash: Mapped[str]
    # The owner of the projects, and the person who consented.
    account_id: Mapped[str] = child_of(Account.id, index=True)
    made_by_id: Mapped[str] = child_of(Account.id, index=True)
    project_id: Mapped[str | None] = child_of(Project.id, index=True)
    scopes: Mapped[list[str]] = mapped_column(JSON)
    redirect_uri: Mapped[str] = mapped_column(String(500))
    code_challenge: Mapped[str] = mapped_column(String(128))
    # None: the token never expires.
    token_days: Mapped[int | None]
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


# Anybody may register a client, so nothing is stored: the id of a client is a signed text with its
# name and redirect URIs. A client is trusted with nothing else.

MAX_NAME = 80
MAX_URI = 500
MAX_URIS = 5
URI_RULE = (
    "A redirect_uri starts with https://, or with http:// for a program on the person’s computer "
    "(127.0.0.1 or localhost, at any port). It has no fragment."
)
UNNAMED = "An unnamed program"

# Without anything that browsers might parse differently: only ASCII, and no user names, fragments
# or backslashes.
_URI = re.compile(
    rf"(?:https://[A-Za-z0-9.-]+|(http://(?:127\.0\.0\.1|localhost)))(?::{PORT})?"
    r"(?:/[!$%&'*+,./0-9:;=@A-Z_a-z~()-]*)?(?:\?[!$%&'*+,./0-9:;=?@A-Z_a-z~()-]*)?"
)

client_purpose = TokenPurpose("oauth-client")


@dataclass(frozen=True)
class Client:
    """A program, which has chosen its own name; only its redirect URIs can be trusted."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]


def is_redirect_uri(uri: object) -> bool:
    """Return whether a client may register `uri`; see `URI_RULE`."""
    return isinstance(uri, str) and len(uri) <= MAX_URI and _URI.fullmatch(uri) is not None


def find_client(client_id: str) -> Client | None:
    if (payload := client_purpose.find(client_id, 2)) is None:
        return None
    name, uris = payload
    return Client(client_id, name, tuple(uris))


def describe_place(uri: str) -> str:
    """Return in words where a redirect URI leads."""
    return "a program on this computer" if uri.startswith("http:") else urlsplit(uri).netloc


def _without_port(uri: str) -> str:
    """Return the URI without its port if it is on localhost, where a program's port changes."""
    if (match := _URI.fullmatch(uri)) is None or not match[1]:
        return uri
    return re.sub(rf"^({re.escape(match[1])}):[0-9]+", r"\1", uri)


# Authorization requests and codes.

CODE_LIFE = timedelta(seconds=60)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
# Longer than clients send, and short enough for a header.
MAX_STATE = 2000


class RequestBroken(ServiceError):
    """An error that is shown to the person rather than sent to the program.

    Anybody may register a program, so nobody is redirected to one without a click.
    """

    code = "BROKEN_REQUEST"
    title = gettext_noop("This program can’t connect")
    default_message = gettext_noop(
        "The program didn’t identify itself, or asked for an answer at an address that isn’t "
        "its own. Remove the connection there, and add it again."
    )


class OAuthRefused(ServiceError):
    """An OAuth 2.1 error for a client: its code, and a sentence for the client's developer."""

    code = ServiceError.code

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.fields = {"error": error, "error_description": description}


@dataclass(frozen=True)
class AuthorizationRequest:
    """What a client asks for, and where it expects the response."""

    client: Client
    redirect_uri: str
    state: str
    scopes: tuple[Scope, ...]
    code_challenge: str

    def answer(self, **fields: str) -> str:
        """Return the URL to redirect to with a code or an error."""
        state = {"state": self.state} if self.state else {}
        query = urlencode(fields | state | {"iss": base_url()})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{query}"


def find_request(values: Mapping[str, str]) -> AuthorizationRequest:
    """Return the request in the query of the consent page; raise `RequestBroken`."""
    client = find_client(values.get("client_id", ""))
    uri = values.get("redirect_uri", "")
    if client is None or not any(
        _without_port(uri) == _without_port(own) for own in client.redirect_uris
    ):
        raise RequestBroken
    challenge = values.get("code_challenge", "")
    if values.get("response_type") != "code":
        raise RequestBroken(gettext_noop("The program didn’t ask for a code (response_type)."))
    if values.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise RequestBroken(
            gettext_noop("The program’s request has no proof key (PKCE with S256).")
        )
    if not is_ours(values):
        raise RequestBroken(f"The program asked for a token for a service other than {mcp_url()}.")
    names = values.get("scope", "").split()
    scopes = tuple(scope for scope in Scope if scope in names) or DEFAULT_SCOPES
    return AuthorizationRequest(client, uri, values.get("state", "")[:MAX_STATE], scopes, challenge)


def is_ours(values: Mapping[str, str]) -> bool:
    """Return whether the requested resource, if any, is this service (RFC 8707)."""
    resource = values.get("resource")
    return not resource or resource.rstrip("/") in (mcp_url(), base_url())


def add_code(
    request: AuthorizationRequest,
    owner: SignedIn,
    project_id: str | None,
    scopes: Iterable[Scope],
    days: int,
) -> str:
    """Return a new code for what the signed-in person has allowed; raise `SessionEnded`."""
    code = secrets.token_urlsafe(32)
    db.session.execute(delete(OAuthCode).where(OAuthCode.expires_at < clock.now()))
    account = lock_owner(owner)
    db.session.add(
        OAuthCode(
            code_hash=hash_secret(code),
            client_hash=_hash_client(request.client, account),
            account_id=account.id,
            made_by_id=account.id,
            project_id=project_id,
            scopes=[str(scope) for scope in scopes],
            redirect_uri=request.redirect_uri,
            code_challenge=request.code_challenge,
            token_days=days,
            expires_at=clock.now() + CODE_LIFE,
        )
    )
    db.session.flush()
    return code


def take_code(values: Mapping[str, str]) -> tuple[OAuthCode, Client]:
    """Return the code that a token request presents, and its client; raise `OAuthRefused`.

    The first request that presents a code uses it up, even if the request is refused. A second one
    revokes the token, since one of the two must have stolen the code (RFC 6749, 4.1.2).
    """
    if values.get("grant_type") != "authorization_code":
        raise OAuthRefused("unsupported_grant_type", "grant_type must be authorization_code.")
    client = find_client(values.get("client_id", ""))
    if client is None:
        raise OAuthRefused("invalid_client", "This client_id was not issued here.")
    if not is_ours(values):
        raise OAuthRefused("invalid_target", f"Tokens from here are for {mcp_url()} only.")
    code_hash = hash_secret(values.get("code", ""))
    statement = delete(OAuthCode).where(OAuthCode.code_hash == code_hash).returning(OAuthCode)
    code = db.session.scalars(statement).one_or_none()
    if code is None and (
        token := db.session.get(AccessToken, _token_id(code_hash), with_for_update=True)
    ):
        revoke_token(token)
    if code is None or code.expires_at <= clock.now() or not _matches(code, client, values):
        raise OAuthRefused(
            "invalid_grant",
            "The code was used, has expired, or belongs to another client. Ask for a new one.",
        )
    return code, client


def redeem(code: OAuthCode, client: Client) -> tuple[AccessToken, str]:
    return make_token(
        code.account_id,
        code.project_id,
        client.name,
        list(map(Scope, code.scopes)),
        code.token_days,
        code.made_by_id,
        "oauth",
        _token_id(code.code_hash),
    )


def _token_id(code_hash: str) -> str:
    """Return the id of a code's token, so that it is found if the code is presented again."""
    return code_hash[:ID_LENGTH]


def _hash_client(client: Client, account: Account) -> str:
    return hash_secret(f"{client.id} {account.browser_generation}")


def _matches(code: OAuthCode, client: Client, values: Mapping[str, str]) -> bool:
    account = db.session.get_one(Account, code.made_by_id)
    project = select(Project.id).where(
        Project.id == code.project_id, Project.account_id == code.account_id
    )
    verifier = values.get("code_verifier", "")
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return (
        _VERIFIER.fullmatch(verifier) is not None
        and hmac.compare_digest(challenge, code.code_challenge)
        and code.client_hash == _hash_client(client, account)
        and (code.project_id is None or db.session.scalar(project) is not None)
        and code.redirect_uri == values.get("redirect_uri")
    )


# The endpoints that clients call.

GRANTS: dict[str, Any] = {
    "grant_types": ["authorization_code"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


@oauth.get("/.well-known/oauth-protected-resource")
@oauth.get("/.well-known/oauth-protected-resource/mcp")
def describe_resource() -> Response:
    """Describe the authorization server of `/mcp` (RFC 9728)."""
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
    """Describe where clients register and get tokens (RFC 8414)."""
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
    """Register a client, without storing it (RFC 7591)."""
    body = read_json_object()
    uris = body.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_URIS:
        raise OAuthRefused("invalid_redirect_uri", f"Send 1 to {MAX_URIS} redirect_uris.")
    if not all(map(is_redirect_uri, uris)):
        raise OAuthRefused("invalid_redirect_uri", URI_RULE)
    name = "".join(one if one.isprintable() else " " for one in str(body.get("client_name") or ""))
    name = " ".join(name.split())[:MAX_NAME].strip() or UNNAMED
    client_id, now = client_purpose.sign([name, uris]), int(clock.now().timestamp())
    client = {"client_id": client_id, "client_id_issued_at": now, "client_name": name}
    return _answer(GRANTS | client | {"redirect_uris": uris}, 201)


_FIELDS = ("grant_type", "client_id", "code", "code_verifier", "redirect_uri", "resource", "token")
TokenRequest: Any = FormSchema.from_dict({name: fields.String(load_default="") for name in _FIELDS})


@oauth.post("/oauth/token")
def give_token() -> Response:
    """Exchange a code for an access token, once."""
    # Also after a refusal: a code that was presented is used up.
    with write(keep=OAuthRefused):
        code, client = take_code(TokenRequest().read().values)
        act_as(ActorKind.PERSON, code.made_by_id)
        token, plain = redeem(code, client)
    body: dict[str, Any] = {"access_token": plain, "token_type": "Bearer"}
    if token.expires_at is not None:
        body["expires_in"] = round((token.expires_at - clock.now()).total_seconds())
    return _answer(body | {"scope": " ".join(token.scopes)})


@oauth.post("/oauth/revoke")
def revoke() -> Response:
    """Revoke a token; the status is 200 for an unknown one too (RFC 7009)."""
    with write():
        if (token := find_by_plain_text(TokenRequest().read().values["token"])) is not None:
            act_as(ActorKind.TOKEN, token.id)
            revoke_token(token)
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
