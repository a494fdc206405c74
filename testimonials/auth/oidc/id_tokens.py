"""ID tokens, and the signatures of RS256 and ES256."""

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

# Checking signatures of passkeys and identity providers: ES256 and RS256, with public keys only.
#
# Nothing here is secret, so nothing has to take the same time. Signing isn't here on purpose.

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
SIZE = 32

RSA_BITS = (2048, 8192)
RSA_EXPONENT_BITS = 64
# What stands before a SHA-256 digest in a signature of PKCS #1 version 1.5.
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")

# A point as X, Y, Z of which x = X/Z² and y = Y/Z³; Z is 0 for the point at infinity.
_Point = tuple[int, int, int]
_INFINITY: _Point = (1, 1, 0)


def verify_es256(x: bytes, y: bytes, message: bytes, signature: bytes, *, is_der: bool) -> bool:
    """Return whether the signature (DER, or r and s of 32 bytes each) is the P-256 key's."""
    key = _read_point(x, y)
    numbers = _read_der(signature) if is_der else _read_plain(signature)
    if key is None or numbers is None:
        return False
    r, s = numbers
    if not (0 < r < N and 0 < s < N):
        return False
    digest = int.from_bytes(hashlib.sha256(message).digest())
    inverse = pow(s, -1, N)
    found = _add_products(digest * inverse % N, (*G, 1), r * inverse % N, (*key, 1))
    if found[2] == 0:
        return False
    return found[0] * pow(found[2], -2, P) % P % N == r


def verify_rs256(n: bytes, e: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the signature is the RSA key's: PKCS #1 version 1.5 with SHA-256."""
    modulus, exponent = int.from_bytes(n), int.from_bytes(e)
    if not RSA_BITS[0] <= modulus.bit_length() <= RSA_BITS[1] or modulus % 2 == 0:
        return False
    if exponent < 3 or exponent % 2 == 0 or exponent.bit_length() > RSA_EXPONENT_BITS:
        return False
    size, number = (modulus.bit_length() + 7) // 8, int.from_bytes(signature)
    if len(signature) != size or number >= modulus:
        return False
    # The whole block is made and compared, since parsing it is how forged ones got through.
    ending = b"\x00" + DIGEST_INFO + hashlib.sha256(message).digest()
    block = b"\x00\x01" + b"\xff" * (size - 2 - len(ending)) + ending
    return pow(number, exponent, modulus).to_bytes(size) == block


def _read_point(x: bytes, y: bytes) -> tuple[int, int] | None:
    """Return the point, None if it isn't on the curve."""
    if len(x) != SIZE or len(y) != SIZE:
        return None
    a, b = int.from_bytes(x), int.from_bytes(y)
    is_on_curve = a < P and b < P and (b * b - (a * a * a - 3 * a + B)) % P == 0
    return (a, b) if is_on_curve else None


def _read_plain(signature: bytes) -> tuple[int, int] | None:
    if len(signature) != 2 * SIZE:
        return None
    return int.from_bytes(signature[:SIZE]), int.from_bytes(signature[SIZE:])


def _read_der(signature: bytes) -> tuple[int, int] | None:
    """Return the two numbers of a DER sequence that holds nothing else."""
    # Both numbers have at most 33 bytes, so each length is a single byte.
    if len(signature) < 2 or signature[0] != 0x30 or signature[1] != len(signature) - 2:
        return None
    first = _read_der_number(signature, 2)
    second = _read_der_number(signature, first[1]) if first else None
    if first is None or second is None or second[1] != len(signature):
        return None
    return first[0], second[0]


def _read_der_number(data: bytes, start: int) -> tuple[int, int] | None:
    """Return the positive number at `start` and where it ends."""
    if len(data) < start + 3 or data[start] != 0x02:
        return None
    end = start + 2 + data[start + 1]
    body = data[start + 2 : end]
    if not 1 <= data[start + 1] <= SIZE + 1 or end > len(data) or body[0] & 0x80:
        return None
    if len(body) > 1 and body[0] == 0 and not body[1] & 0x80:
        return None
    return int.from_bytes(body), end


def _add_products(a: int, one: _Point, b: int, other: _Point) -> _Point:
    """Return a times one point plus b times another."""
    both, total = _add(one, other), _INFINITY
    for bit in range(max(a.bit_length(), b.bit_length()) - 1, -1, -1):
        total = _double(total)
        in_a, in_b = a >> bit & 1, b >> bit & 1
        if in_a or in_b:
            total = _add(total, both if in_a and in_b else one if in_a else other)
    return total


def _double(point: _Point) -> _Point:
    x, y, z = point
    if z == 0 or y == 0:
        return _INFINITY
    square = y * y % P
    s = 4 * x * square % P
    m = 3 * (x - z * z) * (x + z * z) % P
    new_x = (m * m - 2 * s) % P
    return new_x, (m * (s - new_x) - 8 * square * square) % P, 2 * y * z % P


def _add(one: _Point, other: _Point) -> _Point:
    if one[2] == 0:
        return other
    if other[2] == 0:
        return one
    (x1, y1, z1), (x2, y2, z2) = one, other
    u1, u2 = x1 * z2 * z2 % P, x2 * z1 * z1 % P
    s1, s2 = y1 * z2 * z2 * z2 % P, y2 * z1 * z1 * z1 % P
    if u1 == u2:
        return _double(one) if s1 == s2 else _INFINITY
    h, r = (u2 - u1) % P, (s2 - s1) % P
    square = h * h % P
    cube, v = square * h % P, u1 * square % P
    x = (r * r - cube - 2 * v) % P
    return x, (r * (v - x) - s1 * cube) % P, h * z1 * z2 % P


# ID tokens: checking that the provider says of somebody who they are, to us, now, and once.
#
# Only RS256 and ES256 are taken, whatever a token says of itself: `none` proves nothing, and what
# is signed with a shared secret could have been signed by anybody who takes a public key for one.

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
