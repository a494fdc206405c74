"""A company's identity provider: discovery, its keys, and the code flow with PKCE."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
from testimonials.core.settings.current import current_settings

T = TypeVar("T")

# Asking the provider: only what the operator's issuer names, briefly, and by few at once.
#
# Nobody else's pages may wait because the provider doesn't answer.

SECONDS = 5
MOST_BYTES = 512 * 1024
# How many threads of a process may wait for the provider, and how long another waits for a turn.
AT_ONCE = 2
TURN_SECONDS = 3
# For how long after it didn't answer it isn't asked again.
PAUSE_SECONDS = 10

Json = dict[str, Any]


class ProviderAway(ServiceError):
    """The provider doesn't answer, or not what it should; `reason` is for the operator."""

    status = 503
    code = "COMPANY_SIGN_IN_AWAY"
    page = "auth.oidc.pages:show_problem"

    def __init__(self, reason: str) -> None:
        name = current_settings().company_name
        words = f"{name} doesn’t answer at the moment."
        super().__init__(words, headers={"Retry-After": str(PAUSE_SECONDS)})
        self.reason = reason


class ProviderRefused(ServiceError):
    """The provider answered that this can't be; `reason` is what it said."""

    status = 422
    code = "COMPANY_SIGN_IN_REFUSED"
    page = "auth.oidc.pages:show_problem"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{current_settings().company_name} did not confirm who you are.")
        self.reason = reason


class Line:
    """The connections of one process to the provider."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._failed_at = float("-inf")
        self._reason = ""

    def ask(self, url: str, more: Mapping[str, str], form: Mapping[str, str] | None = None) -> Json:
        """Return the JSON object at a URL, to which a form is sent if there is one.

        Raises `ProviderAway` and `ProviderRefused`.
        """
        headers = {"User-Agent": "testimonials", "Accept": "application/json", **more}
        sent: dict[str, Any] = {"headers": headers}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            sent |= {"method": "POST", "body": urlencode(form).encode()}
        with self._turn():
            try:
                answer = ask(url, SECONDS, MOST_BYTES, lambda *_: True, **sent)
            except (OSError, AddressRefused, UrlRefused) as error:
                self._note_failure(f"{url}: {error or type(error).__name__}")
        return self._read(url, answer)

    def _read(self, url: str, answer: Answer) -> Json:
        if answer.status >= 500 or answer.status == 429:
            self._note_failure(f"{url} answers {answer.status}")
        found = None
        with suppress(*FAULTS):
            found = json.loads(answer.content) if answer.is_complete else None
        if answer.status != 200:
            said = found.get("error") if isinstance(found, dict) else None
            raise ProviderRefused(f"it answers {answer.status} {str(said or '')[:80]}".strip())
        if not isinstance(found, dict):
            self._note_failure(f"{url} answers something that is not a JSON object")
        return found

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if time.monotonic() < self._failed_at + PAUSE_SECONDS:
            raise ProviderAway(self._reason)
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise ProviderAway("too many people sign in at once")
        try:
            yield
        finally:
            self._turns.release()

    def _note_failure(self, reason: str) -> NoReturn:
        self._failed_at, self._reason = time.monotonic(), reason[:300]
        raise ProviderAway(self._reason)


# What the provider says of itself: its addresses and its keys, kept for an hour.

EXTENSION = "testimonials_company"
WELL_KNOWN = "/.well-known/openid-configuration"
KEPT = timedelta(hours=1)
# A key that isn't known is looked for at most this often, so that nobody can have us ask at will.
KEYS_EVERY = timedelta(minutes=1)
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True)
class Metadata:
    """The provider's addresses, and what it can do."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    scopes: tuple[str, ...]
    takes_post_secret_only: bool
    # Whether its answers always name it (RFC 9207).
    names_itself: bool
    # Whether it lists what it says of people, without the time at which they proved themselves.
    hides_auth_time: bool


class Provider:
    """The provider as one process knows it."""

    def __init__(self) -> None:
        self.line = Line()
        self._metadata: tuple[datetime, Metadata] | None = None
        self._keys: tuple[datetime, list[Json]] | None = None

    def metadata(self) -> Metadata:
        """Return the provider's addresses, the last known ones while it is away.

        Raises `ProviderAway`.
        """
        url = current_settings().oidc_issuer.rstrip("/") + WELL_KNOWN
        known = _renew(self._metadata, KEPT, lambda: read_metadata(self.line.ask(url, {})))
        self._metadata = known
        return known[1]

    def find_keys(self, kid: str | None) -> list[Json]:
        """Return the provider's keys with this id, or all of them for None.

        They are fetched anew after an hour, and when none has the id. Raises `ProviderAway`.
        """
        uri, known = self.metadata().jwks_uri, self._keys

        def fetch() -> list[Json]:
            found = self.line.ask(uri, {}).get("keys")
            given = found if isinstance(found, list) else []
            return [each for each in given if isinstance(each, dict)]

        # Nobody waits for another who asks for the same: it would take them equally long.
        age = KEPT if known is None or _having(known[1], kid) else KEYS_EVERY
        self._keys = _renew(known, age, fetch)
        return _having(self._keys[1], kid)


def _renew(
    known: tuple[datetime, T] | None, age: timedelta, fetch: Callable[[], T]
) -> tuple[datetime, T]:
    """Return what is known, fetched anew if it is older; the same while the provider is away."""
    if known is not None and abs(clock.now() - known[0]) < age:
        return known
    try:
        return clock.now(), fetch()
    except ProviderAway:
        if known is None:
            raise
        return known


def current_provider() -> Provider:
    """Return what this process knows of the provider in the settings."""
    found: Provider = current_app.extensions.setdefault(EXTENSION, Provider())
    return found


def read_metadata(given: Json) -> Metadata:
    """Check what the provider says of itself; raise `ProviderAway` with what is wrong."""
    issuer = current_settings().oidc_issuer
    if given.get("issuer") != issuer:
        raise ProviderAway(f"it names itself {str(given.get('issuer'))[:200]!r}, not {issuer!r}")
    start = issuer.partition("://")[0] + "://"
    for name in (*NEEDED, "userinfo_endpoint"):
        value = given.get(name)
        if value is None and name not in NEEDED:
            continue
        # An issuer with TLS leads nowhere without it.
        if not isinstance(value, str) or not value.startswith(("https://", start)):
            raise ProviderAway(f"its {name} is {str(value)[:200]!r}")
    claims = _texts(given.get("claims_supported"))
    methods = _texts(given.get("token_endpoint_auth_methods_supported"))
    return Metadata(
        given["authorization_endpoint"],
        given["token_endpoint"],
        given["jwks_uri"],
        given.get("userinfo_endpoint"),
        _texts(given.get("scopes_supported")),
        "client_secret_post" in methods and "client_secret_basic" not in methods,
        given.get("authorization_response_iss_parameter_supported") is True,
        bool(claims) and "auth_time" not in claims,
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _having(keys: list[Json], kid: str | None) -> list[Json]:
    return [key for key in keys if kid is None or key.get("kid") == kid]


# The code flow of OpenID Connect with PKCE: where a browser goes, and what its answer proves.

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


def build_address(
    metadata: Metadata, state: str, attempt: CompanyAttempt, *, is_again: bool = False
) -> str:
    """Return where the browser goes; with `is_again` the provider asks even whom it knows."""
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
    return provider.line.ask(metadata.token_endpoint, headers, form)


def _complete(provider: Provider, metadata: Metadata, claims: Json, access: str) -> Json:
    """Add what only the provider's userinfo says, where something is missing."""
    settings = current_settings()
    wanted = ADDRESS + ((settings.oidc_groups_claim,) if settings.oidc_groups else ())
    if all(name in claims for name in wanted) or not metadata.userinfo_endpoint or not access:
        return claims
    try:
        found = provider.line.ask(metadata.userinfo_endpoint, {"Authorization": f"Bearer {access}"})
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
    said = claims.get(settings.oidc_groups_claim)
    groups = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return CompanyPerson(
        settings.oidc_issuer,
        claims["sub"],
        email,
        _is_verified(email, claims.get("email_verified")),
        name if isinstance(name, str) else "",
        frozenset(each for each in groups[:MOST_GROUPS] if isinstance(each, str)),
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
