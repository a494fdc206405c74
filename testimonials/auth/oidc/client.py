"""An OpenID Connect client: discovery, the provider's keys, and the code flow with PKCE."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, urlencode

from flask import current_app

from testimonials.auth.email_addresses import EmailMalformed, parse_email
from testimonials.auth.models import CompanyAttempt
from testimonials.auth.oidc.id_tokens import Expected, IdTokenRefused, is_after, read_id_token
from testimonials.core import clock
from testimonials.core.faults import FAULTS
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.urls import company_return_url
from testimonials.core.http_client import AddressRefused, Answer, UrlRefused, ask
from testimonials.core.settings.table import current_settings

T = TypeVar("T")

# Requests to the provider have a short timeout, and a process makes at most two at once, so that
# other people's pages never wait for a provider that doesn't answer.

SECONDS = 5
MAX_BYTES = 512 * 1024
# After a failure, no requests are made for this long.
PAUSE_SECONDS = 10
AT_ONCE = 2
# How long a request waits for the others to finish.
TURN_SECONDS = 3

Json = dict[str, Any]


class ProviderAway(ServiceError):
    """The provider gave no usable answer; `reason` is for the operator."""

    status = 503
    code = "COMPANY_SIGN_IN_AWAY"
    page = "auth.oidc.pages:show_problem"

    def __init__(self, reason: str) -> None:
        message = f"{current_settings().company_name} doesn’t answer at the moment."
        super().__init__(message, headers={"Retry-After": str(PAUSE_SECONDS)})
        self.reason = reason


class ProviderRefused(ServiceError):
    """The provider refused, or its answer can't be trusted; `reason` is for the operator."""

    status = 422
    code = "COMPANY_SIGN_IN_REFUSED"
    page = "auth.oidc.pages:show_problem"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{current_settings().company_name} did not confirm who you are.")
        self.reason = reason


class ProviderClient:
    """Makes the requests of a process to the provider."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._failed_at = float("-inf")
        self._reason = ""

    def ask(self, url: str, more: Mapping[str, str], form: Mapping[str, str] | None = None) -> Json:
        """GET the JSON object at a URL, or POST a form to it.

        Raises `ProviderAway` and `ProviderRefused`.
        """
        if time.monotonic() < self._failed_at + PAUSE_SECONDS:
            raise ProviderAway(self._reason)
        headers = {"User-Agent": "testimonials", "Accept": "application/json", **more}
        options: dict[str, Any] = {"headers": headers}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            options |= {"method": "POST", "body": urlencode(form).encode()}
        if not self._slots.acquire(timeout=TURN_SECONDS):
            raise ProviderAway("too many people are signing in at once")
        try:
            answer = ask(url, SECONDS, MAX_BYTES, lambda *_: True, **options)
        except (OSError, AddressRefused, UrlRefused) as error:
            self._fail(f"{url}: {error or type(error).__name__}")
        finally:
            self._slots.release()
        return self._read(url, answer)

    def _read(self, url: str, answer: Answer) -> Json:
        if answer.status >= 500 or answer.status == 429:
            self._fail(f"{url} answers {answer.status}")
        body = None
        with suppress(*FAULTS):
            body = json.loads(answer.content) if answer.is_complete else None
        if answer.status != 200:
            code = body.get("error") if isinstance(body, dict) else None
            raise ProviderRefused(f"it answers {answer.status} {str(code or '')[:80]}".strip())
        if not isinstance(body, dict):
            self._fail(f"{url} answers something that is not a JSON object")
        return body

    def _fail(self, reason: str) -> NoReturn:
        self._failed_at, self._reason = time.monotonic(), reason[:300]
        raise ProviderAway(self._reason)


EXTENSION = "testimonials_company"
WELL_KNOWN = "/.well-known/openid-configuration"
# How long metadata and keys are cached.
KEPT = timedelta(hours=1)
# An unknown key is looked up at most this often, since strangers can name any key.
KEYS_EVERY = timedelta(minutes=1)
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True)
class Metadata:
    """The provider's endpoints and capabilities."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    scopes: tuple[str, ...]
    takes_post_secret_only: bool
    # Whether its responses always contain `iss` (RFC 9207).
    names_itself: bool


class Provider:
    """A process's cache of the provider's metadata and keys."""

    def __init__(self) -> None:
        self.client = ProviderClient()
        self._metadata: tuple[datetime, Metadata] | None = None
        self._keys: tuple[datetime, list[Json]] | None = None

    def metadata(self) -> Metadata:
        """Return the provider's metadata. Raises `ProviderAway`."""
        url = current_settings().oidc_issuer.rstrip("/") + WELL_KNOWN
        cached = _renew(self._metadata, KEPT, lambda: read_metadata(self.client.ask(url, {})))
        self._metadata = cached
        return cached[1]

    def find_keys(self, kid: str | None) -> list[Json]:
        """Return the provider's keys with this id, or all of them for None.

        Keys are fetched again after an hour, or if none has this id. Raises `ProviderAway`.
        """
        uri, cached = self.metadata().jwks_uri, self._keys

        def fetch() -> list[Json]:
            keys = self.client.ask(uri, {}).get("keys")
            return [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []

        # Threads may fetch the same at once; waiting for each other would take as long.
        age = KEPT if cached is None or _select_keys(cached[1], kid) else KEYS_EVERY
        self._keys = _renew(cached, age, fetch)
        return _select_keys(self._keys[1], kid)


def _renew(
    cached: tuple[datetime, T] | None, age: timedelta, fetch: Callable[[], T]
) -> tuple[datetime, T]:
    """Return the cached value, or fetch another if it is older than `age`."""
    if cached is not None and abs(clock.now() - cached[0]) < age:
        return cached
    return clock.now(), fetch()


def current_provider() -> Provider:
    provider: Provider = current_app.extensions.setdefault(EXTENSION, Provider())
    return provider


def read_metadata(document: Json) -> Metadata:
    """Check and return the provider's discovery document. Raises `ProviderAway`."""
    issuer = current_settings().oidc_issuer
    if (actual := document.get("issuer")) != issuer:
        raise ProviderAway(f"it names itself {str(actual)[:200]!r}, not {issuer!r}")
    scheme = issuer.partition("://")[0] + "://"
    for name in (*NEEDED, "userinfo_endpoint"):
        value = document.get(name)
        if value is None and name not in NEEDED:
            continue
        # An https:// issuer can't have http:// endpoints.
        if not isinstance(value, str) or not value.startswith(("https://", scheme)):
            raise ProviderAway(f"its {name} is {str(value)[:200]!r}")
    methods = _list_strings(document.get("token_endpoint_auth_methods_supported"))
    return Metadata(
        document["authorization_endpoint"],
        document["token_endpoint"],
        document["jwks_uri"],
        document.get("userinfo_endpoint"),
        _list_strings(document.get("scopes_supported")),
        "client_secret_post" in methods and "client_secret_basic" not in methods,
        document.get("authorization_response_iss_parameter_supported") is True,
    )


def _list_strings(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _select_keys(keys: list[Json], kid: str | None) -> list[Json]:
    return [key for key in keys if kid is None or key.get("kid") == kid]


SCOPES = ("openid", "email", "profile")
ADDRESS = ("email", "email_verified")
MAX_CODE_LENGTH = 4096
MAX_GROUPS = 2000


@dataclass(frozen=True)
class CompanyPerson:
    """A person whom the provider has confirmed.

    `email` is normalized. It is known to be theirs only if it `is_verified`.
    """

    issuer: str
    subject: str
    email: str | None
    is_verified: bool
    name: str
    groups: frozenset[str]
    # Whether they signed in there after we asked; None if the provider doesn't say.
    is_fresh: bool | None


def build_authorization_url(
    metadata: Metadata, state: str, attempt: CompanyAttempt, *, is_again: bool = False
) -> str:
    """Return the authorization URL; with `is_again`, the person has to sign in there again."""
    digest = hashlib.sha256(attempt.verifier.encode()).digest()
    settings = current_settings()
    claim = settings.oidc_groups_claim
    wants_groups = settings.oidc_groups and claim in metadata.scopes and claim not in SCOPES
    values = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": company_return_url(),
        "scope": " ".join((*SCOPES, claim) if wants_groups else SCOPES),
        "state": state,
        "nonce": attempt.nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    if is_again:
        values["max_age"] = "0"
    separator = "&" if "?" in metadata.authorization_endpoint else "?"
    return metadata.authorization_endpoint + separator + urlencode(values)


def read_answer(attempt: CompanyAttempt, answer: Mapping[str, str]) -> CompanyPerson:
    """Return the person whom the provider's answer to an attempt confirms.

    Raises `ProviderAway` and `ProviderRefused`.
    """
    provider = current_provider()
    metadata = provider.metadata()
    _check_sender(metadata, answer)
    if "error" in answer or not 0 < len(answer.get("code", "")) <= MAX_CODE_LENGTH:
        raise ProviderRefused(answer.get("error", "no code")[:80])
    tokens = _redeem(provider, metadata, answer["code"], attempt.verifier)
    access = tokens.get("access_token")
    access = access if isinstance(access, str) and access.isprintable() else ""
    settings = current_settings()
    expected = Expected(settings.oidc_issuer, settings.oidc_client_id, attempt.nonce, access)
    try:
        claims = read_id_token(str(tokens.get("id_token", "")), provider.find_keys, expected)
        has_time = "auth_time" in claims
        is_fresh = is_after(claims, "auth_time", attempt.started_at) if has_time else None
    except IdTokenRefused as error:
        raise ProviderRefused(f"its ID token is refused: {error}") from None
    return _describe(_complete(provider, metadata, claims, access), is_fresh)


def _check_sender(metadata: Metadata, answer: Mapping[str, str]) -> None:
    """Refuse an answer from another provider, whose code must not reach ours (mix-up attack)."""
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
        # The two are URL-encoded first (RFC 6749, 2.3.1).
        credentials = f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(credentials).decode()}"
    return provider.client.ask(metadata.token_endpoint, headers, form)


def _complete(provider: Provider, metadata: Metadata, claims: Json, access: str) -> Json:
    """Add missing claims from the provider's userinfo."""
    settings = current_settings()
    names = ADDRESS + ((settings.oidc_groups_claim,) if settings.oidc_groups else ())
    if all(name in claims for name in names) or not metadata.userinfo_endpoint or not access:
        return claims
    headers = {"Authorization": f"Bearer {access}"}
    try:
        userinfo = provider.client.ask(metadata.userinfo_endpoint, headers)
    except ProviderRefused:
        # A missing claim never grants anything.
        return claims
    if userinfo.get("sub") != claims["sub"]:
        raise ProviderRefused("its userinfo is about somebody else")
    # An address and whether it is verified must come from the same source.
    email = claims.get("email", userinfo.get("email"))
    is_complete = all(name in claims for name in ADDRESS)
    source = claims if is_complete or email != userinfo.get("email") else userinfo
    rest = {name: value for name, value in (userinfo | claims).items() if name not in ADDRESS}
    return rest | {name: source[name] for name in ADDRESS if name in source}


def _describe(claims: Json, is_fresh: bool | None) -> CompanyPerson:
    settings = current_settings()
    name, email = claims.get("name"), _read_address(claims.get("email"))
    claim = claims.get(settings.oidc_groups_claim)
    groups = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return CompanyPerson(
        settings.oidc_issuer,
        claims["sub"],
        email,
        _is_verified(email, claims.get("email_verified")),
        name if isinstance(name, str) else "",
        frozenset(each for each in groups[:MAX_GROUPS] if isinstance(each, str)),
        is_fresh,
    )


def _is_verified(email: str | None, claim: Any) -> bool:
    settings = current_settings()
    if claim is None and settings.oidc_trust_email == "on":
        return (email or "").rpartition("@")[2] in settings.oidc_domains
    # Some providers send a string.
    return claim in (True, "true")


def _read_address(claim: Any) -> str | None:
    try:
        return parse_email(claim) if isinstance(claim, str) else None
    except EmailMalformed:
        return None
