"""What an authenticator says is checked, and what it may not say is refused."""

from typing import Any

import cbor2
import pytest
from flask import Flask

from testimonials.auth.passkeys import Challenge, PasskeyInvalid, check_new_passkey, check_use
from testimonials.core import clock
from tests.auth.links import ORIGIN
from tests.auth.proofs.authenticator import SYNCABLE, SYNCED, USED, VERIFIED, Device, decode, encode

CHALLENGE = encode(b"thirty-two bytes that are random")


@pytest.fixture(autouse=True)
def in_app(app: Flask) -> Any:
    with app.app_context():
        yield


def accepts_new(answer: dict[str, Any]) -> bool:
    try:
        check_new_passkey(answer, Challenge(CHALLENGE, clock.now()))
    except PasskeyInvalid:
        return False
    return True


def accepts_use(answer: dict[str, Any], public_key: bytes) -> bool:
    try:
        check_use(answer, Challenge(CHALLENGE, clock.now()), public_key, 0)
    except PasskeyInvalid:
        return False
    return True


DEVICES: dict[str, tuple[dict[str, Any], bool]] = {
    "a phone": ({}, True), "a computer with RSA": ({"is_rsa": True}, True),
    "a synced passkey": ({"flags": USED | VERIFIED | SYNCABLE | SYNCED}, True),
    "one that may be synced": ({"flags": USED | VERIFIED | SYNCABLE, "count": 7}, True),
    "synced without being syncable": ({"flags": USED | VERIFIED | SYNCED}, False),
    "nobody verified": ({"flags": USED}, False), "nobody there": ({"flags": VERIFIED}, False),
    "another origin": ({"origin": "https://testimonials.example.org"}, False),
    "without TLS": ({"origin": ORIGIN.replace("https", "http")}, False),
    "a longer origin": ({"origin": f"{ORIGIN}.example.org"}, False),
    "another host": ({"host": "example.com"}, False),
    "another challenge": ({"more": {"challenge": encode(b"x" * 32)}}, False),
    "another type": ({"more": {"type": "payment.get"}}, False),
    "in a frame of another site": ({"more": {"crossOrigin": True}}, False),
}  # fmt: skip


@pytest.mark.parametrize("name", DEVICES)
def test_devices(name):
    bent, is_good = DEVICES[name]
    device = Device(**bent)
    made, used = device.make(CHALLENGE), device.use(CHALLENGE)
    key = cbor2.dumps(device.cose())
    assert accepts_new(made) == is_good
    assert accepts_use(used, key) == is_good


@pytest.mark.parametrize("algorithm", [-8, -35, -36, -37, -38, -39, -258, 0, "ES256", None])
def test_other_kinds_of_keys_are_refused(algorithm):
    device = Device()
    cose = device.cose() | {3: algorithm}
    device.cose = lambda: cose  # type: ignore[method-assign]
    assert not accepts_new(device.make(CHALLENGE))
    assert not accepts_use(device.use(CHALLENGE), cbor2.dumps(cose))


def test_no_certificates_of_who_made_it_are_read():
    made = Device().make(CHALLENGE)
    whole = cbor2.loads(decode(made["attestationObject"]))
    whole |= {"fmt": "packed", "attStmt": {"alg": -7, "sig": b"", "x5c": [b"no certificate"]}}
    assert accepts_new(made | {"attestationObject": encode(cbor2.dumps(whole))})


def test_weak_keys_are_refused():
    device = Device(is_rsa=True)
    good = device.cose()
    for bad in ({-1: good[-1][128:]}, {-1: good[-1] * 5}, {-2: bytes([1]) + bytes(7) + b"\x01"}):
        device.cose = lambda bad=bad: good | bad  # type: ignore[method-assign,misc]
        assert not accepts_new(device.make(CHALLENGE))
    device = Device()
    point = device.cose()
    device.cose = lambda: point | {-3: point[-2]}  # type: ignore[method-assign]
    assert not accepts_new(device.make(CHALLENGE))
    assert not accepts_new(Device(credential_id=b"x" * 1024).make(CHALLENGE))


def test_a_signature_of_another_key_or_text_is_refused():
    device, other = Device(), Device()
    used, key = device.use(CHALLENGE), cbor2.dumps(device.cose())
    assert not accepts_use(used, cbor2.dumps(other.cose()))
    for part in ("signature", "authenticatorData"):
        data = bytearray(decode(used[part]))
        data[-1] ^= 1
        bent = used | {part: encode(bytes(data))}
        assert not accepts_use(bent, key)
    longer = used | {"authenticatorData": encode(decode(used["authenticatorData"]) + b"\0")}
    assert not accepts_use(longer, key)
