"""An authenticator of ours: it makes passkeys and answers challenges as a phone does.

What it says can be bent by arguments, so that tests can lie. Chromium's own one is in
`tests/browser/account/test_security.py`.
"""

import hashlib
import html
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.auth.links import ORIGIN
from tests.conftest import PASSWORD
from tests.support.finding import find

HOST = ORIGIN.split("//")[1]
SHA256 = hashes.SHA256()
USED, VERIFIED, SYNCABLE, SYNCED, HAS_KEY = 0x01, 0x04, 0x08, 0x10, 0x40
SECURITY = "/dashboard/account/security"


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Device:
    """Something that keeps one passkey."""

    is_rsa: bool = False
    credential_id: bytes = b"a credential of this device"
    flags: int = USED | VERIFIED
    count: int = 0
    origin: str = ORIGIN
    host: str = HOST
    user: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key: Any = (
            rsa.generate_private_key(65537, 2048)
            if self.is_rsa
            else ec.generate_private_key(ec.SECP256R1())
        )

    def make(self, challenge: str) -> dict[str, str]:
        size = len(self.credential_id).to_bytes(2)
        key = bytes(16) + size + self.credential_id + cbor2.dumps(self.cose())
        data = self.head(self.flags | HAS_KEY) + key
        attestation = {"fmt": "none", "attStmt": {}, "authData": data}
        return {
            "id": encode(self.credential_id),
            "clientDataJSON": encode(self.client_data("webauthn.create", challenge)),
            "attestationObject": encode(cbor2.dumps(attestation)),
        }

    def use(self, challenge: str) -> dict[str, str]:
        data, client_data = self.head(self.flags), self.client_data("webauthn.get", challenge)
        signed = data + hashlib.sha256(client_data).digest()
        if self.is_rsa:
            signature = self.key.sign(signed, padding.PKCS1v15(), SHA256)
        else:
            signature = self.key.sign(signed, ec.ECDSA(SHA256))
        return {
            "id": encode(self.credential_id), "clientDataJSON": encode(client_data),
            "authenticatorData": encode(data), "signature": encode(signature),
        } | ({"userHandle": self.user} if self.user else {})  # fmt: skip

    def head(self, flags: int) -> bytes:
        return hashlib.sha256(self.host.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said | self.more).encode()

    def cose(self) -> dict[int, Any]:
        numbers = self.key.public_key().public_numbers()
        if self.is_rsa:
            return {1: 3, 3: -257, -1: numbers.n.to_bytes(256), -2: numbers.e.to_bytes(3)}
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}


def add_passkey(browser: FlaskClient, device: Device, name: str = "Phone") -> TestResponse:
    begun = browser.post(f"{SECURITY}/passkeys/begin").get_json()
    device.user = begun["options"]["user"]["id"]
    answer = json.dumps(device.make(begun["options"]["challenge"]))
    form = {"passkey": answer, "passkey_token": begun["token"], "name": name}
    return browser.post(f"{SECURITY}/passkeys", data=form)


def begin_use(browser: FlaskClient) -> tuple[str, str]:
    begun = browser.post("/login/passkey/begin").get_json()
    return begun["options"]["challenge"], begun["token"]


def use_passkey(browser: FlaskClient, device: Device, next: str = "") -> TestResponse:
    challenge, token = begin_use(browser)
    form = {"passkey": json.dumps(device.use(challenge)), "passkey_token": token, "next": next}
    return browser.post("/login/passkey", data=form)


def prove(browser: FlaskClient, path: str, device: Device, **form: str) -> TestResponse:
    begun = browser.post(f"{SECURITY}/begin").get_json()
    answer = json.dumps(device.use(begun["options"]["challenge"]))
    return browser.post(path, data=form | {"proof_passkey": answer, "proof_token": begun["token"]})


def begin_app(browser: FlaskClient) -> tuple[str, str]:
    """Begin to connect an app; return its secret and the form's token."""
    page = browser.post(f"{SECURITY}/app/new").text
    key = find(r'id="app-key">([^<]+)<', page)
    return key.replace(" ", ""), find(r'name="setup" value="([^"]+)"', page)


def connect_app(browser: FlaskClient, step: int) -> tuple[str, list[str]]:
    """Connect an app; return its secret and the recovery codes."""
    secret, setup = begin_app(browser)
    form = {"setup": setup, "code": code_of(secret, step)}
    answer = browser.post(f"{SECURITY}/app", data=form)
    assert answer.status_code == 200
    codes = find(r'(?s)(<pre class="codes".*?</pre>)', answer.text)
    return secret, re.findall(r"\b[a-z2-9]{4}-[a-z2-9]{4}\b(?!\w)", codes)


def code_of(secret: str, step: int) -> str:
    """Return an app's code, by another way than ours."""
    import hmac
    from base64 import b32decode
    from struct import pack, unpack_from

    digest = hmac.new(b32decode(secret), pack(">Q", step), "sha1").digest()
    return str(unpack_from(">I", digest, digest[19] & 15)[0] % 2**31 % 10**6).zfill(6)


def begin_sign_in(browser: FlaskClient, email: str, **form: str) -> tuple[TestResponse, str]:
    """Send address and password; return the page and the second step's token."""
    answer = browser.post("/login", data={"email": email, "password": PASSWORD} | form)
    found = re.search(r'name="step" value="([^"]+)"', answer.text)
    return answer, html.unescape(found[1]) if found else ""
