"""What the provider says of itself: its addresses and its keys, kept for an hour."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import current_app

from testimonials.auth.company.fetching import Json, Line, ProviderAway
from testimonials.core import clock
from testimonials.settings.current import current_settings

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
    # Whether it lists what it says of people, and there isn't when they proved themselves.
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
        known = self._metadata
        if known is not None and _is_fresh(known[0], KEPT):
            return known[1]
        try:
            found = read_metadata(self.line.get(discovery_url()))
        except ProviderAway:
            if known is None:
                raise
            return known[1]
        self._metadata = (clock.now(), found)
        return found

    def find_keys(self, kid: str | None) -> list[Json]:
        """Return the provider's keys with this id, or all of them for None.

        They are fetched anew after an hour, and when none has the id. Raises `ProviderAway`.
        """
        uri = self.metadata().jwks_uri
        known = self._keys
        # Nobody waits for another who asks for the same: it would take them equally long.
        age = KEPT if known is None or _having(known[1], kid) else KEYS_EVERY
        if known is None or not _is_fresh(known[0], age):
            known = self._fetch_keys(uri, known)
        return _having(known[1], kid)

    def _fetch_keys(
        self, uri: str, known: tuple[datetime, list[Json]] | None
    ) -> tuple[datetime, list[Json]]:
        try:
            found = self.line.get(uri).get("keys")
        except ProviderAway:
            if known is None:
                raise
            return known
        keys = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        self._keys = (clock.now(), keys)
        return self._keys


def current_provider() -> Provider:
    """Return what this process knows of the provider in the settings."""
    found: Provider = current_app.extensions.setdefault(EXTENSION, Provider())
    return found


def discovery_url() -> str:
    return current_settings().oidc_issuer.rstrip("/") + WELL_KNOWN


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


def _is_fresh(since: datetime, age: timedelta) -> bool:
    return abs(clock.now() - since) < age
