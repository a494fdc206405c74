"""Signatures of passkeys and identity providers: as `cryptography` says, and hostile ones."""

import os
from functools import cache

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from testimonials.auth.oidc.id_tokens import DIGEST_INFO, N, P, verify_es256, verify_rs256
from tests.support.sampling import rounds

MESSAGE = b"what the authenticator signed"
SHA256 = hashes.SHA256()


def split(key: ec.EllipticCurvePrivateKey) -> tuple[bytes, bytes]:
    numbers = key.public_key().public_numbers()
    return numbers.x.to_bytes(32), numbers.y.to_bytes(32)


def plain(r: int, s: int) -> bytes:
    return r.to_bytes(32) + s.to_bytes(32)


def der(*bodies: bytes) -> bytes:
    content = b"".join(b"\x02" + bytes([len(body)]) + body for body in bodies)
    return b"\x30" + bytes([len(content)]) + content


def number(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1)


@cache
def rsa_key(bits: int = 2048, exponent: int = 65537) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(exponent, bits)


def parts(key: rsa.RSAPrivateKey) -> tuple[bytes, bytes]:
    numbers = key.public_key().public_numbers()
    return numbers.n.to_bytes(key.key_size // 8), numbers.e.to_bytes(3)


def test_signatures_of_an_elliptic_curve_are_accepted_and_belong_to_their_message() -> None:
    for length in range(rounds(5, 20)):
        key, message = ec.generate_private_key(ec.SECP256R1()), os.urandom(length * 10)
        signature = key.sign(message, ec.ECDSA(SHA256))
        both = plain(*decode_dss_signature(signature))
        assert verify_es256(*split(key), message, signature, is_der=True)
        assert verify_es256(*split(key), message, both, is_der=False)
        assert not verify_es256(*split(key), message + b"!", signature, is_der=True)
        assert not verify_es256(
            *split(key), message, both[:-1] + bytes([both[-1] ^ 1]), is_der=False
        )
        other = ec.generate_private_key(ec.SECP256R1())
        assert not verify_es256(*split(other), message, signature, is_der=True)
    # Keys at the ends of the curve.
    for known in (1, 2, 3, N - 1, N - 2, (N + 1) // 2):
        key = ec.derive_private_key(known, ec.SECP256R1())
        signature = key.sign(MESSAGE, ec.ECDSA(SHA256))
        assert verify_es256(*split(key), MESSAGE, signature, is_der=True), known


def test_numbers_out_of_range_are_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    r, s = decode_dss_signature(key.sign(MESSAGE, ec.ECDSA(SHA256)))
    for bad in ((0, s), (r, 0), (0, 0), (N, s), (r, N), (N + 1, s), (r, 2**256 - 1)):
        assert not verify_es256(*split(key), MESSAGE, plain(*bad), is_der=False)
        assert not verify_es256(*split(key), MESSAGE, der(*map(number, bad)), is_der=True)
    assert verify_es256(*split(key), MESSAGE, plain(r, N - s), is_der=False)


def test_a_key_that_is_no_point_of_the_curve_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    x, y = split(key)
    signature = key.sign(MESSAGE, ec.ECDSA(SHA256))
    off = (int.from_bytes(y) ^ 1).to_bytes(32)
    zero = bytes(32)
    for bad in (
        (x, off), (zero, zero), (P.to_bytes(32), y), (x[1:], y), (x, y + b"\0"), (b"", b""),
    ):  # fmt: skip
        assert not verify_es256(*bad, MESSAGE, signature, is_der=True)


def test_der_with_rubbish_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    signature = key.sign(MESSAGE, ec.ECDSA(SHA256))
    r, s = map(number, decode_dss_signature(signature))
    # A first byte above 127 means a negative number.
    negative = b"\xff" + r[-31:]
    bad = [
        signature + b"\0", signature[:-1], signature[1:], b"", b"\x30", b"\x30\x00",
        b"\x31" + signature[1:], b"\x30\x81" + signature[1:],
        der(b"\0" + b"\0" * (not r[0]) + r, s), der(r, s, b"\x01"), der(r), der(b"", s),
        der(negative, s), b"\x30\x06\x03\x01\x01\x02\x01\x01",
        plain(*decode_dss_signature(signature)),
    ]  # fmt: skip
    for each in bad:
        assert not verify_es256(*split(key), MESSAGE, each, is_der=True), each.hex()
    assert not verify_es256(*split(key), MESSAGE, signature, is_der=False)


@pytest.mark.parametrize("bits", [2048, 3072])
def test_signatures_of_rsa_are_accepted_and_belong_to_their_message(bits: int) -> None:
    key = rsa_key(bits)
    signature = key.sign(MESSAGE, padding.PKCS1v15(), SHA256)
    assert verify_rs256(*parts(key), MESSAGE, signature)
    assert not verify_rs256(*parts(key), MESSAGE + b"!", signature)
    assert not verify_rs256(*parts(key), MESSAGE, signature[:-1] + bytes([signature[-1] ^ 1]))
    assert not verify_rs256(*parts(key), MESSAGE, b"\0" + signature)
    assert not verify_rs256(*parts(key), MESSAGE, b"")
    # Nor is one plus the modulus.
    grown = int.from_bytes(signature) + int.from_bytes(parts(key)[0])
    for size in (bits // 8, bits // 8 + 1):
        if grown < 2 ** (8 * size):
            assert not verify_rs256(*parts(key), MESSAGE, grown.to_bytes(size))
    for other in (
        key.sign(MESSAGE, padding.PKCS1v15(), hashes.SHA384()),
        key.sign(MESSAGE, padding.PSS(padding.MGF1(SHA256), 32), SHA256),
    ):
        assert not verify_rs256(*parts(key), MESSAGE, other)


def test_a_forged_block_with_rubbish_behind_the_digest_is_refused() -> None:
    """With the exponent 3, a cube root of such a block can be made without the key."""
    key = rsa_key(2048, 3)
    digest = hashes.Hash(SHA256)
    digest.update(MESSAGE)
    block = b"\x00\x01" + b"\xff" * 8 + b"\x00" + DIGEST_INFO + digest.finalize()
    target = int.from_bytes(block + b"\xff" * (256 - len(block)))
    low, high = 0, 1 << 700
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= target else (low, middle - 1)
    forged = low.to_bytes(256)
    assert (low**3).to_bytes(256).startswith(block)
    assert not verify_rs256(*parts(key), MESSAGE, forged)
    assert verify_rs256(*parts(key), MESSAGE, key.sign(MESSAGE, padding.PKCS1v15(), SHA256))


def test_weak_rsa_keys_are_refused() -> None:
    key = rsa_key(1024)
    assert not verify_rs256(*parts(key), MESSAGE, key.sign(MESSAGE, padding.PKCS1v15(), SHA256))
    n, _ = parts(rsa_key())
    block = b"\x00\x01" + b"\xff" * 202 + b"\x00" + DIGEST_INFO
    for exponent in (0, 1, 2, 65536, 2**64 + 1):
        assert not verify_rs256(n, exponent.to_bytes(9), MESSAGE, block.ljust(256, b"\0"))
    assert not verify_rs256(b"\xff" * 2000, b"\x03", MESSAGE, b"\0" * 2000)
