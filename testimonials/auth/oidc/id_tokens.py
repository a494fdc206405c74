"""Verifying OpenID Connect ID tokens.

Only RS256 and ES256 are accepted, whatever a token's header says: `none` proves nothing, and with
HMAC anybody could sign by using the public key as the secret.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from testimonials.core import clock
from testimonials.core.faults import refusing

MAX_LENGTH = 64 * 1024
MAX_SUBJECT_LENGTH = 255
# By how much the provider's clock may differ from ours.
SKEW_SECONDS = 60
# Tokens come straight from the provider, so an older one is a replay.
MAX_AGE_SECONDS = 600
KINDS = {"RS256": "RSA", "ES256": "EC"}
# Shorter keys can be broken; longer ones take too much time.
RSA_BITS = (2048, 8192)
RSA_EXPONENT_BITS = 64

Json = dict[str, Any]
FindKeys = Callable[[str | None], list[Json]]


class IdTokenRefused(Exception):
    """The token proves nothing, for the reason in the message."""


@dataclass(frozen=True)
class Expected:
    """The values that a token must match."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str = ""


def read_id_token(token: str, find_keys: FindKeys, expected: Expected) -> Json:
    """Verify a token and return its claims. Raises `IdTokenRefused`."""
    from jwt import PyJWK, PyJWS, PyJWTError, get_unverified_header
    from jwt.exceptions import InvalidSignatureError

    with refusing(lambda fault: IdTokenRefused(f"it can't be read: {fault}"), PyJWTError):
        _require(len(token) <= MAX_LENGTH, "it is not a signed token")
        header = get_unverified_header(token)
        # PyJWT supports one extension; we support none.
        _require("crit" not in header, "it requires an unknown extension")
        algorithm = header.get("alg")
        _require(algorithm in KINDS, f"its algorithm is {str(algorithm)[:20]}")
        keys = [key for key in find_keys(header.get("kid")) if _fits(key, str(algorithm))]
        # A token that names no key is accepted only if there is just one.
        _require(len(keys) == 1, "its key is not one of the provider's")
        key = PyJWK(keys[0], algorithm).key
        _require(is_strong(key), "its key is too short or too long")
        try:
            claims = json.loads(PyJWS().decode(token, key, algorithms=[str(algorithm)]))
        except InvalidSignatureError:
            raise IdTokenRefused("its signature is wrong") from None
        _check_claims(claims, expected)
    return dict(claims)


def is_strong(key: object) -> bool:
    """Return whether a public key is on the curve P-256 or an RSA key of an allowed size."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(key, EllipticCurvePublicKey):
        return key.curve.name == "secp256r1"
    if not isinstance(key, RSAPublicKey):
        return False
    exponent = key.public_numbers().e.bit_length()
    return RSA_BITS[0] <= key.key_size <= RSA_BITS[1] and exponent <= RSA_EXPONENT_BITS


def read_time(claims: Json, name: str) -> float | None:
    """Return a claim's Unix time, or None without it. Raises `IdTokenRefused`."""
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(value is None or (is_number and abs(value) < 1e12), f"its {name} is not a time")
    return value


def is_after(claims: Json, name: str, time: datetime) -> bool:
    """Return whether the time in a claim is after this one, allowing for clock skew."""
    value = read_time(claims, name)
    return value is not None and value >= time.timestamp() - SKEW_SECONDS


def _check_claims(claims: Json, expected: Expected) -> None:
    subject, audience = claims.get("sub"), claims.get("aud")
    _require(claims.get("iss") == expected.issuer, "it is from another issuer")
    audiences = audience if isinstance(audience, list) else [audience]
    _require(expected.client_id in audiences, "it is for another service")
    party = claims.get("azp")
    _require(party == expected.client_id or (party is None and len(audiences) == 1),
             "it was made for another service")  # fmt: skip
    now = clock.now().timestamp()
    expires, issued, begins = (read_time(claims, name) for name in ("exp", "iat", "nbf"))
    if expires is None or issued is None:
        raise IdTokenRefused("it has no exp or iat")
    _require(now < expires + SKEW_SECONDS, "it has expired, by the clock here")
    start = max(issued, begins or issued)
    _require(start <= now + SKEW_SECONDS, "it is not valid yet, by the clock here")
    _require(issued > now - MAX_AGE_SECONDS - SKEW_SECONDS, "it is too old, by the clock here")
    _require(_is_same(claims.get("nonce"), expected.nonce), "it answers another request")
    is_name = isinstance(subject, str) and 0 < len(subject) <= MAX_SUBJECT_LENGTH
    _require(is_name and "\0" not in str(subject), "it names nobody")
    if expected.access_token and "at_hash" in claims:
        half = hashlib.sha256(expected.access_token.encode()).digest()[:16]
        at_hash = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
        _require(_is_same(claims["at_hash"], at_hash), "it is not for this access token")


def _fits(key: Json, algorithm: str) -> bool:
    return (
        key.get("kty") == KINDS[algorithm]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (algorithm != "ES256" or key.get("crv") == "P-256")
    )


def _is_same(value: object, expected: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(value.encode(), expected.encode())


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise IdTokenRefused(reason)
