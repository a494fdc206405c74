"""The code flow of OpenID Connect with PKCE: where a browser goes, and what its answer proves."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from testimonials.auth.addresses import EmailMalformed, parse_email
from testimonials.auth.company.attempts import NewAttempt
from testimonials.auth.company.fetching import Json, ProviderRefused
from testimonials.auth.company.id_tokens import (
    Expected,
    IdTokenRefused,
    is_after,
    read_id_token,
)
from testimonials.auth.company.models import CompanyAttempt
from testimonials.auth.company.provider import Metadata, Provider, current_provider
from testimonials.core.urls import company_return_url
from testimonials.settings.current import current_settings

SCOPES = ("openid", "email", "profile")
ADDRESS = ("email", "email_verified")
LONGEST_CODE = 4096
MOST_GROUPS = 2000


@dataclass(frozen=True)
class CompanyPerson:
    """Somebody whom the provider has just confirmed.

    `email` is normalized, and only `is_verified` proves that it is theirs.
    """

    issuer: str
    subject: str
    email: str | None
    is_verified: bool
    name: str
    groups: frozenset[str]
    # Whether they proved themselves after we asked; None: the provider doesn't say.
    is_fresh: bool | None


def find_metadata() -> Metadata:
    """Return the provider's addresses, before anything is begun; raise `ProviderAway`."""
    return current_provider().metadata()


def build_address(metadata: Metadata, attempt: NewAttempt, *, is_again: bool = False) -> str:
    """Return where the browser goes; with `is_again` the provider asks even whom it knows."""
    settings = current_settings()
    claim = settings.oidc_groups_claim
    wants_groups = settings.oidc_groups and claim in metadata.scopes and claim not in SCOPES
    values = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": company_return_url(),
        "scope": " ".join((*SCOPES, claim) if wants_groups else SCOPES),
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": attempt.challenge,
        "code_challenge_method": "S256",
    }
    if is_again:
        values["max_age"] = "0"
    mark = "&" if "?" in metadata.authorization_endpoint else "?"
    return metadata.authorization_endpoint + mark + urlencode(values)


def read_answer(attempt: CompanyAttempt, answer: Mapping[str, str]) -> CompanyPerson:
    """Return whom the provider's answer to an attempt confirms.

    Raises `ProviderAway` and `ProviderRefused`.
    """
    provider = current_provider()
    metadata = provider.metadata()
    _check_sender(metadata, answer)
    if "error" in answer or not 0 < len(answer.get("code", "")) <= LONGEST_CODE:
        raise ProviderRefused(answer.get("error", "no code")[:80])
    tokens = _redeem(provider, metadata, answer["code"], attempt.verifier)
    access = tokens.get("access_token")
    access = access if isinstance(access, str) and access.isprintable() else ""
    settings = current_settings()
    expected = Expected(settings.oidc_issuer, settings.oidc_client_id, attempt.nonce, access)
    try:
        claims = read_id_token(str(tokens.get("id_token", "")), provider.find_keys, expected)
        says = "auth_time" in claims
        is_fresh = is_after(claims, "auth_time", attempt.started_at) if says else None
    except IdTokenRefused as error:
        raise ProviderRefused(f"its ID token is refused: {error}") from None
    return _describe(_complete(provider, metadata, claims, access), is_fresh)


def _check_sender(metadata: Metadata, answer: Mapping[str, str]) -> None:
    """Refuse an answer that another provider gave, to which the code would be shown."""
    sender = answer.get("iss")
    if sender is None and not metadata.names_itself:
        return
    if sender != current_settings().oidc_issuer:
        raise ProviderRefused("the answer is from another provider")


def _redeem(provider: Provider, metadata: Metadata, code: str, verifier: str) -> Json:
    settings = current_settings()
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": company_return_url(),
        "code_verifier": verifier,
    }
    headers = {}
    secret, client = settings.oidc_client_secret, settings.oidc_client_id
    if not secret or metadata.takes_post_secret_only:
        form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
    else:
        # Both are encoded as in a form first (RFC 6749, 2.3.1).
        both = f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(both).decode()}"
    return provider.line.post(metadata.token_endpoint, form, headers)


def _complete(provider: Provider, metadata: Metadata, claims: Json, access: str) -> Json:
    """Add what only the provider's userinfo says, where something is missing."""
    settings = current_settings()
    wanted = ADDRESS + ((settings.oidc_groups_claim,) if settings.oidc_groups else ())
    if all(name in claims for name in wanted) or not metadata.userinfo_endpoint or not access:
        return claims
    try:
        found = provider.line.get(metadata.userinfo_endpoint, {"Authorization": f"Bearer {access}"})
    except ProviderRefused:
        # What is missing is never taken for a yes.
        return claims
    if found.get("sub") != claims["sub"]:
        raise ProviderRefused("its userinfo is of somebody else")
    # An address and whether it is verified belong together.
    same = claims.get("email", found.get("email"))
    is_whole = all(name in claims for name in ADDRESS)
    source = claims if is_whole or same != found.get("email") else found
    rest = {name: value for name, value in (found | claims).items() if name not in ADDRESS}
    return rest | {name: source[name] for name in ADDRESS if name in source}


def _describe(claims: Json, is_fresh: bool | None) -> CompanyPerson:
    settings = current_settings()
    name, email = claims.get("name"), _read_address(claims.get("email"))
    return CompanyPerson(
        settings.oidc_issuer,
        claims["sub"],
        email,
        _is_verified(email, claims.get("email_verified")),
        name if isinstance(name, str) else "",
        _read_groups(claims.get(settings.oidc_groups_claim)),
        is_fresh,
    )


def _is_verified(email: str | None, said: Any) -> bool:
    settings = current_settings()
    if said is None and settings.oidc_trust_email == "on":
        return (email or "").rpartition("@")[2] in settings.oidc_domains
    # Some providers write it as a text.
    return said in (True, "true")


def _read_address(given: Any) -> str | None:
    try:
        return parse_email(given) if isinstance(given, str) else None
    except EmailMalformed:
        return None


def _read_groups(given: Any) -> frozenset[str]:
    listed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return frozenset(each for each in listed[:MOST_GROUPS] if isinstance(each, str))
