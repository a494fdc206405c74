"""Parsers of what providers, authenticators, shops and other servers say."""

import hashlib
import hmac
import json
import socketserver
import struct
import threading
import time
from contextlib import suppress
from typing import Any

import cbor2

from testimonials.auth.oidc.client import (
    ProviderAway,
    ProviderClient,
    ProviderRefused,
    read_metadata,
)
from testimonials.auth.oidc.id_tokens import Expected, IdTokenRefused, read_id_token
from testimonials.auth.passkeys import Challenge, PasskeyInvalid, check_new_passkey, check_use
from testimonials.collection.verified_purchases import make_secret, read_purchase
from testimonials.core import clock
from testimonials.core.db.transactions import write
from testimonials.core.extensions import db
from testimonials.core.http_client import LookupFailed, look_up
from testimonials.integrations.webhooks.payloads import Message, send
from testimonials.projects.models import Project
from testimonials.projects.projects import lock_project
from testimonials.transfer.tables.plan import PictureUnreachable, fetch_picture
from tests.attacks.parsing import CHALLENGE, Attacked, Parser, as_text, in_app, parser
from tests.auth.billing.test_stripe_webhook import Subscription, checkout
from tests.auth.billing.test_stripe_webhook import sign as sign_event
from tests.auth.oidc.providers import CLIENT, InventiveProvider
from tests.auth.proofs.authenticator import HOST, Device, decode, encode
from tests.support.mutating import to_json


# What identity providers, authenticators and shops sign.
def join_token(sample: Any) -> str:
    """Return head and claims of a JWT without its signature."""
    is_whole = isinstance(sample, dict)
    parts = (sample.get("header"), sample.get("claims")) if is_whole else (sample, sample)
    return ".".join(encode(as_text(each)) for each in parts)


@parser("ID tokens and keys of a provider")
def _(attacked: Attacked) -> Parser:
    provider = InventiveProvider()
    header, claims = (
        json.loads(decode(each)) for each in provider.make_token("once").split(".")[:2]
    )

    def read(sample: Any) -> object:
        if isinstance(sample, str):
            token, keys = sample, provider.public_keys()
        else:
            signed = join_token(sample)
            token = f"{signed}.{encode(provider.sign_rs256(signed.encode()))}"
            found = sample.get("keys") if isinstance(sample, dict) else None
            found = found if isinstance(found, list) else []
            keys = [each for each in found if isinstance(each, dict)]
        expected = Expected(provider.issuer, CLIENT, "once")
        return read_id_token(token, lambda kid: keys[:1], expected)

    whole = {"header": header, "claims": claims, "keys": provider.public_keys()}
    provider.stop()
    return Parser([whole, whole, provider.make_token("once")], read, (IdTokenRefused,))


@parser("what a provider says of itself")
def _(attacked: Attacked) -> Parser:
    issuer = "https://id.example"
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
    said = {name: f"{issuer}:8443/{name}" for name in names} | {
        "issuer": "", "scopes_supported": ["openid"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }  # fmt: skip

    def read(sample: Any) -> object:
        return read_metadata(sample) if isinstance(sample, dict) else None

    return Parser([said], in_app(attacked, read), (ProviderAway,))


@parser("passkeys")
def _(attacked: Attacked) -> Parser:
    device, challenge = Device(), Challenge(CHALLENGE, clock.now())
    made, used = device.make(CHALLENGE), device.use(CHALLENGE)
    key = cbor2.dumps(device.cose())

    def read(sample: Any) -> None:
        if isinstance(sample, bytes):
            # The object inside, or what it is about.
            around = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": sample})
            for each in (sample, around):
                with suppress(PasskeyInvalid):
                    new = made | {"attestationObject": encode(each)}
                    check_new_passkey(new, challenge)
            check_use(used, challenge, sample, 0)
        elif isinstance(sample, dict) and "type" in sample:
            said = encode(as_text(sample))
            with suppress(PasskeyInvalid):
                check_new_passkey(made | {"clientDataJSON": said}, challenge)
            check_use(used | {"clientDataJSON": said}, challenge, key, 0)
        else:
            answer = as_text(sample).decode("utf-8", "replace")
            form = {"passkey": answer, "passkey_token": begun["token"], "next": ""}
            attacked.knock("/login/passkey", "POST", data=form)

    begun = attacked.app.test_client().post("/login/passkey/begin").get_json()
    whole = decode(made["attestationObject"])
    data = whole[whole.index(hashlib.sha256(HOST.encode()).digest()) :]
    said = json.loads(decode(made["clientDataJSON"]))
    again = json.loads(decode(used["clientDataJSON"]))
    return Parser(
        [whole, data, key, said, again, used, to_json(used)],
        in_app(attacked, read),
        (PasskeyInvalid,),
    )


@parser("proofs of purchase")
def _(attacked: Attacked) -> Parser:
    project_id = attacked.project_id
    with attacked.app.app_context(), write():
        secret = make_secret(lock_project(project_id))
    until = int(clock.now().timestamp()) + 3600

    def read(sample: Any) -> object:
        if not isinstance(sample, str):
            signed = join_token(sample)
            sample = f"{signed}.{encode(hmac.digest(secret.encode(), signed.encode(), 'sha256'))}"
        return read_purchase(db.session.get_one(Project, project_id), sample)

    whole = {
        "header": {"alg": "HS256", "typ": "JWT"},
        "claims": {"order": "A-1", "exp": until, "name": "Maya", "email": "m@a.example"},
    }
    return Parser([whole, whole, "a.b.c"], in_app(attacked, read))


@parser("Stripe's events")
def _(attacked: Attacked) -> Parser:
    event = Subscription().event("created", 0)

    def read(sample: Any) -> None:
        body = as_text(sample)
        attacked.knock(
            "/webhooks/stripe", "POST", data=body, headers={"Stripe-Signature": sign_event(body)}
        )

    bought = checkout(attacked.owner.account_id)
    return Parser([event, bought, to_json(event)], read)


class Raw(socketserver.ThreadingTCPServer):
    """Answers every request with the same bytes, and closes the connection."""

    allow_reuse_address = daemon_threads = True
    said = b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RawHandler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


class RawHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(65536)
        self.request.sendall(self.server.said)  # type: ignore[attr-defined]


@parser("answers of other servers")
def _(attacked: Attacked) -> Parser:
    server = Raw()
    url = f"http://127.0.0.1:{server.server_address[1]}/a"
    client = ProviderClient()

    def read(sample: bytes) -> None:
        server.said = sample
        send(Message(url, "msg_1", b"{}", []), lambda *_: True, 2)
        with suppress(PictureUnreachable):
            fetch_picture(url, lambda *_: True, 2)
        client._failed_at = float("-inf")
        with suppress(ProviderAway, ProviderRefused):
            client.ask(url, {})

    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n"
    retry = head % b"429 Wait" + b"Retry-After: Tue, 24 Nov 2026 10:00:00 GMT\r\n"
    retry += b"Content-Length: 2\r\n\r\n{}"
    moved = head % b"302 Found" + b"Location: http://[::1]:8443/next?a=b\r\n"
    moved += b"Content-Length: 0\r\n\r\n"
    chunked = head % b"200 OK" + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"a": 1}\r\n0\r\n\r\n'
    deep = head % b"200 OK" + b"Content-Length: 9000\r\n\r\n" + b"[" * 9000
    return Parser([retry, moved, chunked, deep], in_app(attacked, read))


class Names(socketserver.UDPServer):
    said = b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), NamesHandler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class NamesHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        asked, link = self.request
        said = self.server.said  # type: ignore[attr-defined]
        # To what was asked: the rest is not read at all.
        link.sendto(asked[:2] + b"\x81" + said[:9] + asked[12:] + said[9:], self.client_address)


@parser("answers of name servers")
def _(attacked: Attacked) -> Parser:
    server = Names()

    def read(sample: bytes) -> None:
        server.said = sample
        at, until = f"127.0.0.1:{server.server_address[1]}", time.monotonic() + 0.02
        look_up("words.a.example", ("TXT",), at, until)

    counts = struct.pack("!B4H", 0x80, 1, 2, 0, 0)
    alias = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 60, 7) + b"\x04word\xc0\x12"
    text = b"\x04word\xc0\x12" + struct.pack("!HHIH", 16, 1, 60, 6) + b"\x05hello"
    return Parser([counts + alias + text], read, (LookupFailed,))
