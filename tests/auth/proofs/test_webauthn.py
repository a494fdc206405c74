"""What an authenticator says is checked as the reference library checks it."""

import json
from collections.abc import Callable
from typing import Any

import cbor2
import pytest
import webauthn
from hypothesis import given, settings
from hypothesis import strategies as st
from webauthn.helpers.exceptions import WebAuthnException

from testimonials.auth.webauthn import (
    Expected,
    PasskeyInvalid,
    Unreadable,
    check_new_passkey,
    check_use,
    read_cbor,
)
from tests.auth.links import ORIGIN
from tests.auth.proofs.authenticator import (
    HOST,
    SYNCABLE,
    SYNCED,
    USED,
    VERIFIED,
    Device,
    decode,
    encode,
)
from tests.support.sampling import rounds

CHALLENGE = encode(b"thirty-two bytes that are random")
EXPECTED = Expected(ORIGIN, HOST, CHALLENGE)


def accepts_new(answer: dict[str, Any]) -> bool:
    try:
        check_new_passkey(answer, EXPECTED)
    except PasskeyInvalid:
        return False
    return True


def accepts_use(answer: dict[str, Any], public_key: bytes) -> bool:
    try:
        check_use(answer, EXPECTED, public_key)
    except PasskeyInvalid:
        return False
    return True


def ask_reference(check: Callable[..., object], answer: dict[str, Any], **more: Any) -> bool:
    response = {name: value for name, value in answer.items() if name not in ("id", "userHandle")}
    known = {"id": answer["id"], "rawId": answer["id"], "type": "public-key"}
    more |= {"expected_challenge": decode(CHALLENGE), "expected_rp_id": HOST}
    more |= {"expected_origin": ORIGIN, "require_user_verification": True}
    try:
        check(credential=known | {"response": response}, **more)
    except (WebAuthnException, ValueError):
        return False
    return True


def reference_accepts_new(answer: dict[str, Any]) -> bool:
    return ask_reference(webauthn.verify_registration_response, answer)


def reference_accepts_use(answer: dict[str, Any], public_key: bytes) -> bool:
    more = {"credential_public_key": public_key, "credential_current_sign_count": 0}
    return ask_reference(webauthn.verify_authentication_response, answer, **more)


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
}  # fmt: skip


@pytest.mark.parametrize("name", DEVICES)
def test_both_accept_and_refuse_the_same(name: str) -> None:
    bent, is_good = DEVICES[name]
    device = Device(**bent)
    made, used = device.make(CHALLENGE), device.use(CHALLENGE)
    key = cbor2.dumps(device.cose())
    assert (accepts_new(made), reference_accepts_new(made)) == (is_good, is_good)
    assert (accepts_use(used, key), reference_accepts_use(used, key)) == (is_good, is_good)


@pytest.mark.parametrize("algorithm", [-8, -35, -36, -37, -38, -39, -258, 0, "ES256", None])
def test_other_kinds_of_keys_are_refused(algorithm: object) -> None:
    device = Device()
    cose = device.cose() | {3: algorithm}
    device.cose = lambda: cose  # type: ignore[method-assign]
    assert not accepts_new(device.make(CHALLENGE))
    assert not accepts_use(device.use(CHALLENGE), cbor2.dumps(cose))


def test_a_signature_of_another_key_or_text_is_refused() -> None:
    device, other = Device(), Device()
    used, key = device.use(CHALLENGE), cbor2.dumps(device.cose())
    assert not accepts_use(used, cbor2.dumps(other.cose()))
    for part in ("signature", "authenticatorData"):
        data = bytearray(decode(used[part]))
        data[-1] ^= 1
        bent = used | {part: encode(bytes(data))}
        assert not accepts_use(bent, key)
        assert not reference_accepts_use(bent, key)
    longer = used | {"authenticatorData": encode(decode(used["authenticatorData"]) + b"\0")}
    assert not accepts_use(longer, key)


def test_answers_that_are_nothing_are_refused() -> None:
    made = Device().make(CHALLENGE)
    for part in ("clientDataJSON", "attestationObject"):
        for bad in ("", "!", "é", "A" * 30_000, None, 5, [], encode(b"\xff"), encode(b"{}")):
            assert not accepts_new(made | {part: bad})
    nested = encode(b"[" * 11_000)
    assert not accepts_new(made | {"clientDataJSON": nested})
    rubbish = encode(decode(made["attestationObject"]) + b"\0")
    assert not accepts_new(made | {"attestationObject": rubbish})
    assert not accepts_new({})
    assert not accepts_new(Device(more={"crossOrigin": True}).make(CHALLENGE))


@settings(max_examples=rounds(30, 300), deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for answer in ({"attestationObject": encode(data)}, {"clientDataJSON": encode(data)}):
        assert not accepts_new(Device.make(DEVICE, CHALLENGE) | answer)
    try:
        value, end = read_cbor(data)
    except ValueError:
        return
    assert 0 < end <= len(data)
    assert cbor2.loads(data[:end]) == value


DEVICE = Device()
VALUES = st.recursive(
    st.integers(-(2**63), 2**63) | st.binary(max_size=40) | st.text(max_size=20) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.integers(-300, 300) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=rounds(25, 200), deadline=None)
@given(VALUES)
def test_what_another_library_writes_is_read_the_same(value: Any) -> None:
    data = cbor2.dumps(value)
    try:
        assert read_cbor(data + b"rest") == (value, len(data))
    except ValueError:
        # Deeper than authenticators write.
        assert json.dumps(value, default=str).count("[") + str(value).count("{") > 4


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x18", b"\x1c", b"\x5f\x41a\xff", b"\x9f\x01\xff", b"\xa2\x01\x01\x01\x02",
        b"\xa1\x80\x01", b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", b"\x81" * 40 + b"\x01",
        b"\xf9\x3c\x00", b"\xc0\x60", b"\x61\xff",
    ],
)  # fmt: skip
def test_what_no_authenticator_writes_is_refused(data: bytes) -> None:
    with pytest.raises((Unreadable, UnicodeDecodeError)):
        read_cbor(data)
