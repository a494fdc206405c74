"""WebAuthn: what an authenticator sends is read and checked."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from testimonials.auth.oidc.id_tokens import verify_es256, verify_rs256
from testimonials.core.faults import refusing

# Reading CBOR (RFC 8949) as authenticators write it: numbers, texts, bytes, lists and maps.

# Deeper than any authenticator's answer.
MAX_DEPTH = 8
SIMPLE = {20: False, 21: True, 22: None}
# Whole numbers from 0 and below it, bytes, texts, lists, maps, and what has no argument.
POSITIVE, NEGATIVE, BYTES, TEXT, LIST, MAP, OTHER = 0, 1, 2, 3, 4, 5, 7


class Unreadable(ValueError):
    """It isn't CBOR, or more of it than authenticators write."""


def read_cbor(data: bytes, start: int = 0, depth: int = 0) -> tuple[Any, int]:
    """Return the value at `start`, and where it ends; raise `ValueError`."""
    kind, argument, at = _read_head(data, start)
    if depth > MAX_DEPTH:
        raise Unreadable
    if kind in (POSITIVE, NEGATIVE):
        return (argument if kind == POSITIVE else -1 - argument), at
    if kind in (BYTES, TEXT):
        return _read_string(data, at, argument, is_text=kind == TEXT)
    if kind == LIST:
        return _read_list(data, at, argument, depth)
    if kind == MAP:
        return _read_map(data, at, argument, depth)
    if kind == OTHER and argument in SIMPLE and at == start + 1:
        return SIMPLE[argument], at
    raise Unreadable


def _read_head(data: bytes, start: int) -> tuple[int, int, int]:
    """Return the kind, its argument, and where the head ends."""
    if start >= len(data):
        raise Unreadable
    kind, short = data[start] >> 5, data[start] & 31
    if short < 24:
        return kind, short, start + 1
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(short)
    end = start + 1 + (size or 0)
    if size is None or end > len(data):
        raise Unreadable
    return kind, int.from_bytes(data[start + 1 : end]), end


def _read_string(data: bytes, at: int, length: int, *, is_text: bool) -> tuple[bytes | str, int]:
    end = at + length
    if end > len(data):
        raise Unreadable
    return (data[at:end].decode() if is_text else data[at:end]), end


def _read_list(data: bytes, at: int, length: int, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    # Each value takes a byte at least, so a length that lies ends with the data.
    for _ in range(length):
        value, at = read_cbor(data, at, depth + 1)
        values.append(value)
    return values, at


def _read_map(data: bytes, at: int, length: int, depth: int) -> tuple[dict[Any, Any], int]:
    values: dict[Any, Any] = {}
    for _ in range(length):
        key, at = read_cbor(data, at, depth + 1)
        if not isinstance(key, int | str) or key in values:
            raise Unreadable
        values[key], at = read_cbor(data, at, depth + 1)
    return values, at


# Checking what an authenticator says (W3C Web Authentication, level 3, sections 7.1 and 7.2).
#
# Nothing is believed about its make: no attestation is asked for. It must have seen the person, by
# a finger, a face or a PIN, so that a passkey is two things at once.

ES256, RS256 = -7, -257
ALGORITHMS = (ES256, RS256)
# Bits of the flags: a person was there, and verified; the key can be and is synced; what follows.
PRESENT, VERIFIED, SYNCABLE, SYNCED, HAS_KEY, HAS_EXTENSIONS = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
HEAD = 37
LONGEST_ID = 1023
# Of what a browser sends, as base64url.
LONGEST = 16 * 1024
# The names of a key's parts in COSE (RFC 9053): its kind, algorithm, curve and numbers.
KIND, ALGORITHM, CURVE_OR_N, X_OR_E, Y = 1, 3, -1, -2, -3


class PasskeyInvalid(ValueError):
    """An authenticator's answer that can't be accepted; the text says why, for the log."""


@dataclass(frozen=True)
class Expected:
    """What an answer must be about: our origin, its host, and the challenge that was sent."""

    origin: str
    host: str
    challenge: str


@dataclass(frozen=True)
class AuthenticatorData:
    """What an authenticator signed."""

    sign_count: int
    is_synced: bool
    credential_id: bytes
    public_key: bytes


def to_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64(text: object) -> bytes:
    """Return the bytes of base64url; raise `ValueError`."""
    if not isinstance(text, str) or len(text) > LONGEST or not text.isascii():
        raise PasskeyInvalid("no base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@refusing(PasskeyInvalid)
def check_new_passkey(answer: dict[str, Any], expected: Expected) -> AuthenticatorData:
    """Return what a new passkey consists of; raise `PasskeyInvalid`."""
    _check_client_data(from_base64(answer.get("clientDataJSON")), "webauthn.create", expected)
    attestation, end = read_cbor(whole := from_base64(answer.get("attestationObject")))
    data = attestation.get("authData") if isinstance(attestation, dict) else None
    if end != len(whole) or not isinstance(data, bytes):
        raise PasskeyInvalid("no attestation object")
    found = _read_authenticator_data(data, expected)
    if not found.public_key:
        raise PasskeyInvalid("no key")
    # A key that can't be read now couldn't be used later.
    _read_key(found.public_key)
    return found


@refusing(PasskeyInvalid)
def check_use(answer: dict[str, Any], expected: Expected, public_key: bytes) -> AuthenticatorData:
    """Return what an authenticator says of a passkey's use; raise `PasskeyInvalid`."""
    client_data = from_base64(answer.get("clientDataJSON"))
    _check_client_data(client_data, "webauthn.get", expected)
    data = from_base64(answer.get("authenticatorData"))
    found = _read_authenticator_data(data, expected)
    signed = data + hashlib.sha256(client_data).digest()
    if not _is_signed(_read_key(public_key), signed, from_base64(answer.get("signature"))):
        raise PasskeyInvalid("wrong signature")
    return found


def _check_client_data(data: bytes, kind: str, expected: Expected) -> None:
    said = json.loads(data)
    if not isinstance(said, dict) or said.get("type") != kind:
        raise PasskeyInvalid("another type")
    challenge = said.get("challenge")
    if not isinstance(challenge, str) or not hmac.compare_digest(
        challenge.encode("utf-8", "surrogatepass"), expected.challenge.encode()
    ):
        raise PasskeyInvalid("another challenge")
    if said.get("origin") != expected.origin or said.get("crossOrigin", False) is not False:
        raise PasskeyInvalid("another origin")


def _read_authenticator_data(data: bytes, expected: Expected) -> AuthenticatorData:
    if len(data) < HEAD or data[:32] != hashlib.sha256(expected.host.encode()).digest():
        raise PasskeyInvalid("another host")
    flags, count, at = data[32], int.from_bytes(data[33:37]), HEAD
    if not flags & PRESENT or not flags & VERIFIED:
        raise PasskeyInvalid("nobody verified")
    if flags & SYNCED and not flags & SYNCABLE:
        raise PasskeyInvalid("flags")
    credential_id, public_key = b"", b""
    if flags & HAS_KEY:
        credential_id, at = _read_credential_id(data)
        _, end = read_cbor(data, at)
        public_key, at = data[at:end], end
    if flags & HAS_EXTENSIONS:
        _, at = read_cbor(data, at)
    if at != len(data):
        raise PasskeyInvalid("something behind the authenticator data")
    return AuthenticatorData(count, bool(flags & SYNCED), credential_id, public_key)


def _read_credential_id(data: bytes) -> tuple[bytes, int]:
    # Before it stands the authenticator's make, which nobody asks for.
    start = HEAD + 16 + 2
    length = int.from_bytes(data[start - 2 : start])
    if not 0 < length <= LONGEST_ID or start + length > len(data):
        raise PasskeyInvalid("no credential id")
    return data[start : start + length], start + length


def _read_key(public_key: bytes) -> tuple[int, bytes, bytes]:
    """Return the algorithm and the two numbers of a COSE key; raise `PasskeyInvalid`."""
    key, end = read_cbor(public_key)
    if not isinstance(key, dict) or end != len(public_key):
        raise PasskeyInvalid("no key")
    shape = (key.get(KIND), key.get(ALGORITHM))
    if shape == (2, ES256) and key.get(CURVE_OR_N) == 1:
        numbers = (key.get(X_OR_E), key.get(Y))
    elif shape == (3, RS256):
        numbers = (key.get(CURVE_OR_N), key.get(X_OR_E))
    else:
        raise PasskeyInvalid("another kind of key")
    one, other = numbers
    if not isinstance(one, bytes) or not isinstance(other, bytes):
        raise PasskeyInvalid("no key")
    return shape[1], one, other


def _is_signed(key: tuple[int, bytes, bytes], message: bytes, signature: bytes) -> bool:
    algorithm, one, other = key
    if algorithm == ES256:
        return verify_es256(one, other, message, signature, is_der=True)
    return verify_rs256(one, other, message, signature)
