"""Signatures of ID tokens: which keys are taken; the libraries check what is made with them."""

import json
from collections.abc import Callable
from functools import cache

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from testimonials.auth.oidc.id_tokens import Expected, IdTokenRefused, is_strong, read_id_token
from testimonials.core import clock
from tests.auth.oidc.providers import pack
from tests.auth.proofs.authenticator import encode

SHA256 = hashes.SHA256()
ISSUER, CLIENT, NONCE = "https://id.example", "client", "once"


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def describe_rsa(key: rsa.RSAPrivateKey) -> dict[str, str]:
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "n": pack(numbers.n), "e": pack(numbers.e)}


def accepts(key: dict[str, str], algorithm: str, sign: Callable[[bytes], bytes]) -> bool:
    now = int(clock.now().timestamp())
    times = {"iat": now, "exp": now + 300}
    claims = {"iss": ISSUER, "aud": CLIENT, "sub": "mira", "nonce": NONCE} | times
    parts = ({"alg": algorithm}, claims)
    signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
    token = f"{signed}.{encode(sign(signed.encode()))}"
    try:
        read_id_token(token, lambda _: [key], Expected(ISSUER, CLIENT, NONCE))
    except IdTokenRefused:
        return False
    return True


def test_an_elliptic_curve_is_the_one_of_its_algorithm():
    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_numbers()
    known = {"kty": "EC", "crv": "P-256", "x": pack(point.x, 32), "y": pack(point.y, 32)}

    def sign(message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(SHA256)))
        return r.to_bytes(32) + s.to_bytes(32)

    assert accepts(known, "ES256", sign)
    assert not accepts(known, "ES256", lambda message: sign(message + b"!"))
    # No point of the curve, and another curve.
    for more in ({"y": known["x"]}, {"x": "", "y": ""}, {"crv": "P-384"}):
        assert not accepts(known | more, "ES256", sign)
    assert not is_strong(ec.generate_private_key(ec.SECP384R1()).public_key())


@pytest.mark.parametrize(("bits", "is_taken"), [(1024, False), (2048, True), (3072, True)])
def test_an_rsa_key_has_its_length(bits, is_taken):
    key = rsa_key(bits)

    def sign(message: bytes) -> bytes:
        return key.sign(message, padding.PKCS1v15(), SHA256)

    assert accepts(describe_rsa(key), "RS256", sign) is is_taken
    assert not accepts(describe_rsa(key), "RS256", lambda message: sign(message + b"!"))


@pytest.mark.parametrize(
    ("bits", "exponent", "is_taken"),
    [(8192, 65537, True), (8200, 65537, False), (2048, 2**63 + 1, True), (2048, 2**64 + 1, False)],
)
def test_no_key_costs_more_than_it_needs(bits, exponent, is_taken):
    key = rsa.RSAPublicNumbers(exponent, 2**bits - 1).public_key()
    assert is_strong(key) is is_taken


def test_an_exponent_that_no_key_has_is_refused():
    known = describe_rsa(rsa_key())
    for exponent in (0, 1, 2, 65536):
        assert not accepts(known | {"e": pack(exponent)}, "RS256", lambda _: b"\0" * 256)
