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
    """What a person allowed a client, until the client fetches the token, once."""

    __tablename__ = "oauth_code"

    code_hash: Mapped[str] = mapped_column(primary_key=True)
    # Of the client's id, which is signed and holds all that is known of it, so clients are no rows;
    # and of the person's `browser_generation`, so that signing out everywhere ends the code.
    client_hash: Mapped[str]
    # Whose projects, and who allowed it.
    account_id: Mapped[str] = child_of(Account.id, index=True)
    made_by_id: Mapped[str] = child_of(Account.id, index=True)
    project_id: Mapped[str | None] = child_of(Project.id, index=True)
    scopes: Mapped[list[str]] = mapped_column(JSON)
    redirect_uri: Mapped[str] = mapped_column(String(500))
    code_challenge: Mapped[str] = mapped_column(String(128))
    # Days after which the token ends; None: never.
    token_days: Mapped[int | None]
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


# Anybody may register, so a client's id is a signed text that holds its name and addresses: nothing
# is stored, and a client is trusted with nothing but to be answered where it said.

MAX_NAME = 80
MAX_URI = 500
MAX_URIS = 5
URI_RULE = (
    "A redirect_uri starts with https://, or with http:// for a program on the person’s computer "
    "(127.0.0.1 or localhost, at any port). It has no fragment."
)
UNNAMED = "An unnamed program"

# The web with TLS, or a program on the person's own machine. Nothing that a browser might read in
# another way than we do: no user names, fragments, backslashes or other than ASCII.
_URI = re.compile(
    rf"(?:https://[A-Za-z0-9.-]+|(http://(?:127\.0\.0\.1|localhost)))(?::{PORT})?"
    r"(?:/[!$%&'*+,./0-9:;=@A-Z_a-z~()-]*)?(?:\?[!$%&'*+,./0-9:;=?@A-Z_a-z~()-]*)?"
)

client_purpose = TokenPurpose("oauth-client")


@dataclass(frozen=True)
class Client:
    """A program; only its addresses mean something, since it chose its name itself."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]


def is_redirect_uri(uri: object) -> bool:
    """Return whether a client may be answered at `uri`."""
    return isinstance(uri, str) and len(uri) <= MAX_URI and _URI.fullmatch(uri) is not None


def find_client(client_id: str) -> Client | None:
    if (found := client_purpose.find(client_id, 2)) is None:
        return None
    return Client(client_id, found[0], tuple(found[1]))


def describe_place(uri: str) -> str:
    """Return in words where a client is answered."""
    is_local = uri.startswith("http:")
    return "a program on this computer" if is_local else urlsplit(uri).netloc


def origin_of(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


def _without_port(uri: str) -> str:
    """Return the address without the port of a program on the same machine, which changes."""
    if (found := _URI.fullmatch(uri)) is None or not found[1]:
        return uri
    return re.sub(rf"^({re.escape(found[1])}):[0-9]+", r"\1", uri)


# What a client asks for, what a person allows, and the code that the client gets for it.

CODE_LIFE = timedelta(seconds=60)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
# Longer than any that clients send, shorter than what a header holds.
MAX_STATE = 2000


class RequestBroken(ServiceError):
    """The person who was sent here reads this.

    It isn't sent to the program: anybody may register one, and nobody is taken to its address
    without their own click.
    """

    code = "BROKEN_REQUEST"
    title = gettext_noop("This program can’t connect")
    default_message = gettext_noop(
        "The program that sent you here didn’t say who it is, or asked to be answered at an "
        "address that isn’t its own. Remove the connection there and add it again."
    )


class OAuthRefused(ServiceError):
    """An error for a client, by one of the codes of OAuth 2.1 and a sentence for its author."""

    code = ServiceError.code

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.fields = {"error": error, "error_description": description}


@dataclass(frozen=True)
class Asked:
    """What a client asks for, and where it waits for the answer."""

    client: Client
    redirect_uri: str
    state: str
    scopes: tuple[Scope, ...]
    code_challenge: str

    def answer(self, **fields: str) -> str:
        """Return where the browser takes an answer: a code, or an error."""
        state = {"state": self.state} if self.state else {}
        query = urlencode(fields | state | {"iss": base_url()})
        return f"{self.redirect_uri}{'&' if '?' in self.redirect_uri else '?'}{query}"


def find_request(values: Mapping[str, str]) -> Asked:
    """Return what a program asks for; raise `RequestBroken`."""
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
        raise RequestBroken(f"The program asked for a token for another service than {mcp_url()}.")
    names = values.get("scope", "").split()
    scopes = tuple(scope for scope in Scope if scope in names) or DEFAULT_SCOPES
    return Asked(client, uri, values.get("state", "")[:MAX_STATE], scopes, challenge)


def is_ours(values: Mapping[str, str]) -> bool:
    """Return whether a token is wanted for this service, if it is said for which (RFC 8707)."""
    resource = values.get("resource")
    return not resource or resource.rstrip("/") in (mcp_url(), base_url())


def add_code(
    asked: Asked, owner: SignedIn, project_id: str | None, scopes: Iterable[Scope], days: int
) -> str:
    """Return a new code for what the person signed in allowed; raise `SessionEnded`."""
    code = secrets.token_urlsafe(32)
    db.session.execute(delete(OAuthCode).where(OAuthCode.expires_at < clock.now()))
    account = lock_owner(owner)
    db.session.add(
        OAuthCode(
            code_hash=hash_secret(code),
            client_hash=_hash_client(asked.client, account),
            account_id=account.id,
            made_by_id=account.id,
            project_id=project_id,
            scopes=[str(each) for each in scopes],
            redirect_uri=asked.redirect_uri,
            code_challenge=asked.code_challenge,
            token_days=days,
            expires_at=clock.now() + CODE_LIFE,
        )
    )
    db.session.flush()
    return code


def take_code(values: Mapping[str, str]) -> tuple[OAuthCode, Client]:
    """Return what a code stands for, and whose it is; raise `OAuthRefused`.

    A code is used up by the first who shows it, whether or not they can use it. Whoever shows it
    again ends the token that it gave: one of the two stole it (RFC 6749, 4.1.2).
    """
    if values.get("grant_type") != "authorization_code":
        raise OAuthRefused("unsupported_grant_type", "grant_type must be authorization_code.")
    client = find_client(values.get("client_id", ""))
    if client is None:
        raise OAuthRefused("invalid_client", "This client_id was not given out here.")
    if not is_ours(values):
        raise OAuthRefused("invalid_target", f"Tokens from here are for {mcp_url()} only.")
    shown = hash_secret(values.get("code", ""))
    statement = delete(OAuthCode).where(OAuthCode.code_hash == shown).returning(OAuthCode)
    code = db.session.scalars(statement).one_or_none()
    if code is None and (
        given := db.session.get(AccessToken, _name_token(shown), with_for_update=True)
    ):
        revoke_token(given)
    if code is None or code.expires_at <= clock.now() or not _fits(code, client, values):
        raise OAuthRefused(
            "invalid_grant", "The code is used, over, or not for this client. Ask for a new one."
        )
    return code, client


def redeem(code: OAuthCode, client: Client) -> tuple[AccessToken, str]:
    """Return the access token that a person allowed, with its plain text."""
    return make_token(
        code.account_id,
        code.project_id,
        client.name,
        list(map(Scope, code.scopes)),
        code.token_days,
        code.made_by_id,
        "oauth",
        _name_token(code.code_hash),
    )


def _name_token(code_hash: str) -> str:
    """Return the id of the token that a code gives, to find it by when the code comes again."""
    return code_hash[:ID_LENGTH]


def _hash_client(client: Client, account: Account) -> str:
    return hash_secret(f"{client.id} {account.browser_generation}")


def _fits(code: OAuthCode, client: Client, values: Mapping[str, str]) -> bool:
    account = db.session.get_one(Account, code.made_by_id)
    is_theirs = select(Project.id).where(
        Project.id == code.project_id, Project.account_id == code.account_id
    )
    verifier = values.get("code_verifier", "")
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return (
        _VERIFIER.fullmatch(verifier) is not None
        and hmac.compare_digest(challenge, code.code_challenge)
        and code.client_hash == _hash_client(client, account)
        and (code.project_id is None or db.session.scalar(is_theirs) is not None)
        and code.redirect_uri == values.get("redirect_uri")
    )


# What OAuth clients call themselves: who we are, registering, and the token.

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
    name = str(sent.get("client_name") or "")
    printable = "".join(each if each.isprintable() else " " for each in name)
    name = " ".join(printable.split())[:MAX_NAME].strip() or UNNAMED
    client_id = client_purpose.sign([name, list(uris)])
    client = Client(client_id, name, tuple(uris))
    now = int(clock.now().timestamp())
    known = {"client_id": client.id, "client_id_issued_at": now, "client_name": client.name}
    return _answer(GRANTS | known | {"redirect_uris": uris}, 201)


_ASKED = ("grant_type", "client_id", "code", "code_verifier", "redirect_uri", "resource", "token")
TokenRequest: Any = FormSchema.from_dict({name: fields.String(load_default="") for name in _ASKED})


@oauth.post("/oauth/token")
def give_token() -> Response:
    """Give the access token for a code, once."""
    # Also when it is refused: a code that was shown is used up.
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
    """Revoke a token; whoever holds it may, and an unknown one is none either (RFC 7009)."""
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
