"""Signatures of ID tokens: what isn't the provider's own, or was made by a key that is too weak."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from testimonials.auth.oidc.id_tokens import Expected, IdTokenRefused, read_id_token
from testimonials.core import clock
from tests.auth.oidc.providers import pack
from tests.auth.proofs.authenticator import encode

SHA256 = hashes.SHA256()
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ISSUER, CLIENT, NONCE = "https://id.example", "client", "once"

Sign = Callable[[bytes], bytes]


@cache
def rsa_key(bits: int = 2048, exponent: int = 65537) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(exponent, bits)


def describe_rsa(key: rsa.RSAPrivateKey, **more: str) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "n": pack(numbers.n), "e": pack(numbers.e)} | more


def describe_ec(key: ec.EllipticCurvePrivateKey, **more: str) -> dict[str, str]:
    point = key.public_key().public_numbers()
    names = {"kty": "EC", "crv": "P-256"}
    return names | {"x": pack(point.x, 32), "y": pack(point.y, 32)} | more


def accepts(key: dict[str, str], algorithm: str, sign: Sign) -> bool:
    now = int(clock.now().timestamp())
    times = {"iat": now, "exp": now + 300}
    claims = {"iss": ISSUER, "aud": CLIENT, "sub": "mira", "nonce": NONCE} | times
    parts: list[Any] = [{"alg": algorithm}, claims]
    signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
    token = f"{signed}.{encode(sign(signed.encode()))}"
    try:
        read_id_token(token, lambda _: [key], Expected(ISSUER, CLIENT, NONCE))
    except IdTokenRefused:
        return False
    return True


def plain(r: int, s: int) -> bytes:
    return r.to_bytes(32) + s.to_bytes(32)


def test_signatures_of_an_elliptic_curve():
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def sign(message: bytes) -> tuple[int, int]:
        return decode_dss_signature(key.sign(message, ec.ECDSA(SHA256)))

    known = describe_ec(key)
    assert accepts(known, "ES256", lambda message: plain(*sign(message)))
    assert not accepts(describe_ec(other), "ES256", lambda message: plain(*sign(message)))
    assert not accepts(known, "ES256", lambda message: plain(*sign(message + b"!")))
    assert not accepts(known, "ES256", lambda message: key.sign(message, ec.ECDSA(SHA256)))
    assert not accepts(known, "ES256", lambda _: b"")
    for bad in ((0, 0), (N, 0), (0, N), (2**256 - 1, 1)):
        assert not accepts(known, "ES256", lambda _, bad=bad: plain(*bad))  # type: ignore[misc]
    # No point of the curve, and another curve.
    for more in ({"y": known["x"]}, {"x": "", "y": ""}, {"crv": "P-384"}):
        assert not accepts(known | more, "ES256", lambda message: plain(*sign(message)))


@pytest.mark.parametrize("bits", [2048, 3072])
def test_signatures_of_rsa(bits):
    key = rsa_key(bits)
    known = describe_rsa(key)

    def sign(message: bytes) -> bytes:
        return key.sign(message, padding.PKCS1v15(), SHA256)

    assert accepts(known, "RS256", sign)
    for bent in (
        lambda message: sign(message + b"!"),
        lambda message: b"\0" + sign(message),
        lambda _: b"",
        lambda message: key.sign(message, padding.PKCS1v15(), hashes.SHA384()),
        lambda message: key.sign(message, padding.PSS(padding.MGF1(SHA256), 32), SHA256),
    ):
        assert not accepts(known, "RS256", bent)


def test_a_forged_block_with_rubbish_behind_the_digest_is_refused():
    """With the exponent 3, a cube root of such a block can be made without the key."""
    key = rsa_key(2048, 3)

    def forge(message: bytes) -> bytes:
        digest = hashes.Hash(SHA256)
        digest.update(message)
        block = b"\x00\x01" + b"\xff" * 8 + b"\x00" + DIGEST_INFO + digest.finalize()
        target = int.from_bytes(block + b"\xff" * (256 - len(block)))
        low, high = 0, 1 << 700
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**3 <= target else (low, middle - 1)
        assert (low**3).to_bytes(256).startswith(block)
        return low.to_bytes(256)

    def sign(message: bytes) -> bytes:
        return key.sign(message, padding.PKCS1v15(), SHA256)

    assert accepts(describe_rsa(key), "RS256", sign)
    assert not accepts(describe_rsa(key), "RS256", forge)


def test_keys_that_are_too_short_or_too_long_are_refused():
    key = rsa_key(1024)
    assert not accepts(
        describe_rsa(key), "RS256", lambda message: key.sign(message, padding.PKCS1v15(), SHA256)
    )
    known = describe_rsa(rsa_key())
    for exponent in (0, 1, 2, 65536, 2**64 + 1):
        assert not accepts(known | {"e": pack(exponent)}, "RS256", lambda _: b"\0" * 256)
    long = {"n": pack(int.from_bytes(b"\xff" * 2000)), "e": "Aw"}
    assert not accepts(known | long, "RS256", lambda _: b"\0" * 2000)
