"""What a client asks for, what a person allows, and the code that the client gets for it."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from sqlalchemy import delete, select

from testimonials.access.models import AccessToken
from testimonials.access.scopes import DEFAULT_SCOPES, Scope
from testimonials.access.tokens import make_token, revoke_token
from testimonials.agents.models import OAuthCode
from testimonials.agents.oauth.clients import Client, find_client
from testimonials.auth.models import Account
from testimonials.auth.sign_in.sessions import SignedIn, lock_owner
from testimonials.core import clock
from testimonials.core.data.identifiers import ID_LENGTH, hash_secret
from testimonials.core.urls import base_url, mcp_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.extensions import db
from testimonials.projects.models import Project

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


class OAuthRefused(Exception):
    """An error for a client, by one of the codes of OAuth 2.1 and a sentence for its author."""

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
    if client is None or not client.may_answer_at(uri):
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
