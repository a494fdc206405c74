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
from testimonials.core.signatures import verify_es256, verify_rs256

LONGEST = 64 * 1024
LONGEST_SUBJECT = 255
# By how much the provider's clock may differ from ours.
SKEW_SECONDS = 60
# A token comes straight from the provider, so an old one was kept.
OLDEST_SECONDS = 600
KINDS = {"RS256": "RSA", "ES256": "EC"}

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


@refusing(lambda _fault: IdTokenRefused("it can't be read"))
def read_id_token(token: str, find_keys: FindKeys, expected: Expected) -> Json:
    """Return the token's claims; raise `IdTokenRefused`."""
    parts = token.split(".") if len(token) <= LONGEST else []
    _require(len(parts) == 3 and token.isascii(), "it is no signed token")
    header, claims = (_read_object(part) for part in parts[:2])
    message, signature = f"{parts[0]}.{parts[1]}".encode(), _decode(parts[2])
    algorithm, kid = header.get("alg"), header.get("kid")
    _require(algorithm in KINDS, f"its algorithm is {str(algorithm)[:20]}")
    _require("crit" not in header, "it wants something that isn't known here")
    _require(kid is None or isinstance(kid, str), "its key has no name")
    keys = [key for key in find_keys(kid) if _fits(key, str(algorithm))]
    # Without a name there has to be no choice.
    _require(len(keys) == 1, "its key is not one of the provider's")
    _require(_is_signed(keys[0], str(algorithm), message, signature), "its signature is wrong")
    _check_claims(claims, expected)
    if expected.access_token and "at_hash" in claims:
        half = hashlib.sha256(expected.access_token.encode()).digest()[:16]
        wanted = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
        _require(_is_same(claims["at_hash"], wanted), "it is not of this access token")
    return claims


def read_time(claims: Json, name: str) -> float | None:
    """Return a claim's seconds since 1970, None without it; raise `IdTokenRefused`."""
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(value is None or (is_number and abs(value) < 1e12), f"its {name} is no time")
    return value


def is_after(claims: Json, name: str, time: datetime) -> bool:
    """Return whether a claim names a time after this one, with the clocks' difference."""
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


def _fits(key: Json, algorithm: str) -> bool:
    """Return whether a key is for this algorithm: a key of one kind never checks another."""
    return (
        key.get("kty") == KINDS[algorithm]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (algorithm != "ES256" or key.get("crv") == "P-256")
    )


def _is_signed(key: Json, algorithm: str, message: bytes, signature: bytes) -> bool:
    names = ("x", "y") if algorithm == "ES256" else ("n", "e")
    first, second = (_decode(key.get(name)) for name in names)
    if algorithm == "ES256":
        return verify_es256(first, second, message, signature, is_der=False)
    return verify_rs256(first, second, message, signature)


def _read_object(part: str) -> Json:
    found = json.loads(_decode(part))
    if not isinstance(found, dict):
        raise ValueError
    return found


def _decode(text: Any) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _is_same(given: object, wanted: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), wanted.encode())


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise IdTokenRefused(reason)
