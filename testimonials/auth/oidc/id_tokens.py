"""ID tokens: checking that the provider says of somebody who they are, to us, now, and once.

Only RS256 and ES256 are taken, whatever a token says of itself: `none` proves nothing, and what is
signed with a shared secret could have been signed by anybody who takes a public key for one.
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

LONGEST = 64 * 1024
LONGEST_SUBJECT = 255
# By how much the provider's clock may differ from ours.
SKEW_SECONDS = 60
# A token comes straight from the provider, so an old one was kept.
OLDEST_SECONDS = 600
KINDS = {"RS256": "RSA", "ES256": "EC"}
# Shorter keys can be broken, and longer ones take long.
RSA_BITS = (2048, 8192)
RSA_EXPONENT_BITS = 64

Json = dict[str, Any]
FindKeys = Callable[[str | None], list[Json]]


class IdTokenRefused(Exception):
    """The token doesn't prove who somebody is; its text says why."""


@dataclass(frozen=True)
class Expected:
    """For whom, from whom, and in answer to what a token has to be."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str = ""


def read_id_token(token: str, find_keys: FindKeys, expected: Expected) -> Json:
    """Return the token's claims; raise `IdTokenRefused`."""
    from jwt import PyJWK, PyJWS, PyJWTError, get_unverified_header
    from jwt.exceptions import InvalidSignatureError

    with refusing(lambda fault: IdTokenRefused(f"it can't be read: {fault}"), PyJWTError):
        _require(len(token) <= LONGEST, "it is no signed token")
        header = get_unverified_header(token)
        # The library knows one extension; we know none.
        _require("crit" not in header, "it wants something that isn't known here")
        algorithm = header.get("alg")
        _require(algorithm in KINDS, f"its algorithm is {str(algorithm)[:20]}")
        keys = [key for key in find_keys(header.get("kid")) if _fits(key, str(algorithm))]
        # Without a name there has to be no choice.
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
    """Return whether a public key is on the curve P-256, or an RSA key within our bounds."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(key, EllipticCurvePublicKey):
        return key.curve.name == "secp256r1"
    if not isinstance(key, RSAPublicKey):
        return False
    exponent = key.public_numbers().e.bit_length()
    return RSA_BITS[0] <= key.key_size <= RSA_BITS[1] and exponent <= RSA_EXPONENT_BITS


def read_time(claims: Json, name: str) -> float | None:
    """Return a claim's seconds since 1970, None without it; raise `IdTokenRefused`."""
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(value is None or (is_number and abs(value) < 1e12), f"its {name} is no time")
    return value


def is_after(claims: Json, name: str, time: datetime) -> bool:
    """Return whether a claim names a time after this one, allowing for clocks that differ."""
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
    ends, made, begins = (read_time(claims, name) for name in ("exp", "iat", "nbf"))
    if ends is None or made is None:
        raise IdTokenRefused("it doesn't say from when to when it counts")
    _require(now < ends + SKEW_SECONDS, "it has expired, by the clock here")
    _require(max(made, begins or made) <= now + SKEW_SECONDS, "it is from later, by the clock here")
    _require(made > now - OLDEST_SECONDS - SKEW_SECONDS, "it is old, by the clock here")
    _require(_is_same(claims.get("nonce"), expected.nonce), "it answers another request")
    is_name = isinstance(subject, str) and 0 < len(subject) <= LONGEST_SUBJECT
    _require(is_name and "\0" not in str(subject), "it names nobody")
    if expected.access_token and "at_hash" in claims:
        half = hashlib.sha256(expected.access_token.encode()).digest()[:16]
        wanted = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
        _require(_is_same(claims["at_hash"], wanted), "it is not of this access token")


def _fits(key: Json, algorithm: str) -> bool:
    """Return whether a key is for this algorithm: a key of one kind never checks another."""
    return (
        key.get("kty") == KINDS[algorithm]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (algorithm != "ES256" or key.get("crv") == "P-256")
    )


def _is_same(given: object, wanted: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), wanted.encode())


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise IdTokenRefused(reason)
