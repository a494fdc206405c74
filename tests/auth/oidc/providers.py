"""Identity providers: a certified one, and one that says whatever a test wants."""

import base64
import hashlib
import hmac
import json
import re
import subprocess
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from flask import Flask
from flask.testing import FlaskClient
from werkzeug import Request, Response
from werkzeug.serving import make_server
from werkzeug.test import TestResponse

from testimonials.core import clock
from tests.auth.links import ORIGIN
from tests.support.finding import find
from tests.support.servers import free_port

FOLDER = Path(__file__).parents[3] / "packages/identity-provider"
CLIENT, SECRET = "testimonials", "a secret: with & characters"
RETURN = f"{ORIGIN}/login/company/done"
# By the provider's own name for her.
MIRA = {"email": "mira@oatandember.example", "email_verified": True, "name": "Mira Osk"}


class CertifiedProvider:
    """npm's `oidc-provider`, as a process."""

    def __init__(self, algorithm: str = "RS256", returns: str = RETURN) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        client = {"client_id": CLIENT, "client_secret": SECRET, "redirect_uris": [returns]}
        options = {"clients": [client], "algorithm": algorithm}
        command = ["node", "provider.mjs", str(self.port), json.dumps(options)]
        self._process = subprocess.Popen(
            command,
            cwd=FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._wait()
        self.tell(people={"mira": MIRA})

    def tell(self, **what: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        self._wait()

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _wait(self) -> None:
        assert self._process.stdout
        assert self._process.stdout.readline(), "the provider ended"


class Person:
    """A browser at the provider, with the provider's cookies."""

    def __init__(self, login: str = "mira") -> None:
        self.login = login
        self.cookies = httpx.Cookies()

    def go(self, address: str) -> str:
        """Sign in at the provider and allow what it asks; return where it sends the browser."""
        with httpx.Client(cookies=self.cookies) as http:
            found = self._go(http, address)
            self.cookies = http.cookies
        return found

    def _go(self, http: httpx.Client, address: str) -> str:
        answer = http.get(address)
        for _ in range(12):
            if "location" in answer.headers:
                address = urljoin(str(answer.url), answer.headers["location"])
                if address.startswith(ORIGIN):
                    return address
                answer = http.get(address)
                continue
            fields = dict(re.findall(r'name="(prompt)" value="(\w+)"', answer.text))
            action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
            form = fields | {"login": self.login, "password": "any", "sub": self.login}
            target = action[1] if action else str(answer.url)
            answer = http.post(urljoin(str(answer.url), target), data=form)
        raise AssertionError("the provider asks without end")


@cache
def make_keys() -> tuple[rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey]:
    """Return keys for all tests; making them takes most of a test's time."""
    return rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())


class InventiveProvider:
    """A provider in this process that answers as a test tells it to.

    By default it is honest. `claims` replaces claims of the ID token (None: leaves one out),
    `header` those of its header, `sign` makes the signature, and `metadata` and `answers` replace
    what it says of itself and what it answers at a path.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.rsa, self.ec = make_keys()
        self.kid, self.subject = "one", "mira"
        self.userinfo: dict[str, Any] = {}
        self.forget()
        self.asked: list[str] = []
        self.nonces: dict[str, str] = {}
        self.sent: list[dict[str, str]] = []
        self._server = make_server("127.0.0.1", self.port, self._answer, threaded=True)
        # It looks that often whether to stop.
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def forget(self) -> None:
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.answers: dict[str, Callable[[Request], Response]] = {}
        self.sign: Callable[[bytes], bytes] = self.sign_rs256
        self.access_token = "access"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def public_keys(self) -> list[dict[str, str]]:
        numbers = self.rsa.public_key().public_numbers()
        point = self.ec.public_key().public_numbers()
        first = {"kty": "RSA", "kid": self.kid, "use": "sig"}
        second = {"kty": "EC", "kid": f"{self.kid}-ec", "crv": "P-256"}
        return [
            first | {"n": pack(numbers.n), "e": pack(numbers.e)},
            second | {"x": pack(point.x, 32), "y": pack(point.y, 32)},
        ]

    def sign_rs256(self, message: bytes) -> bytes:
        return self.rsa.sign(message, padding.PKCS1v15(), hashes.SHA256())

    def sign_es256(self, message: bytes) -> bytes:
        r, s = decode_dss_signature(self.ec.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)

    def sign_hs256(self, message: bytes) -> bytes:
        """Sign with the public key as if it were a shared secret."""
        return hmac.digest(self.public_keys()[0]["n"].encode(), message, "sha256")

    def go(self, address: str, **more: str) -> str:
        """Do what a browser does here: come with a request, leave with a code."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.sent.append(asked)
        code = f"code{len(self.nonces)}"
        self.nonces[code] = asked["nonce"]
        return f"{RETURN}?" + str(httpx.QueryParams({"code": code, "state": asked["state"]} | more))

    def make_token(self, nonce: str) -> str:
        now = int(clock.now().timestamp())
        claims = {"iss": self.issuer, "sub": self.subject, "aud": CLIENT, "nonce": nonce,
                  "iat": now, "exp": now + 300, "auth_time": now, **MIRA} | self.claims  # fmt: skip
        header = {"alg": "RS256", "kid": self.kid} | self.header
        kept = [
            {name: value for name, value in each.items() if value is not None}
            for each in (header, claims)
        ]
        parts = [encode(json.dumps(each).encode()) for each in kept]
        message = ".".join(parts)
        return f"{message}.{encode(self.sign(message.encode()))}"

    @Request.application
    def _answer(self, request: Request) -> Response:
        self.asked.append(request.path)
        if request.path in self.answers:
            return self.answers[request.path](request)
        found = getattr(self, f"_{request.path.rpartition('/')[2].replace('-', '_')}", None)
        return found(request) if found else Response("?", 404)

    def _openid_configuration(self, request: Request) -> Response:
        own = {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
        }  # fmt: skip
        return as_json(own | self.metadata)

    def _jwks(self, request: Request) -> Response:
        return as_json({"keys": self.public_keys()})

    def _token(self, request: Request) -> Response:
        # A code counts once, as everywhere.
        nonce = self.nonces.pop(request.form["code"], None)
        if nonce is None:
            return as_json({"error": "invalid_grant"}, 400)
        return as_json({"access_token": self.access_token, "id_token": self.make_token(nonce)})

    def _userinfo(self, request: Request) -> Response:
        return as_json({"sub": self.subject} | self.userinfo)


def as_json(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content), status, mimetype="application/json")


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def pack(number: int, size: int = 0) -> str:
    return encode(number.to_bytes(size or (number.bit_length() + 7) // 8))


def hash_half(token: str) -> str:
    return encode(hashlib.sha256(token.encode()).digest()[:16])


def leave(browser: FlaskClient, path: str = "/login/company", **form: str) -> str:
    """Press a button that leads to the company; return the address to which the page leads."""
    answer = browser.post(path, data=form)
    assert answer.status_code == 200, answer.text
    return find(r'http-equiv="refresh" content="0; url=([^"]+)"', answer.text)


def come_back(browser: FlaskClient, address: str) -> TestResponse:
    return browser.get(address.removeprefix(ORIGIN))


def settings_for(issuer: str, **more: object) -> dict[str, object]:
    return {
        "oidc_issuer": issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET,
        "oidc_name": "Maplevale ID",
    } | more  # fmt: skip


def sign_in_by(
    provider: InventiveProvider, app: Flask, browser: FlaskClient | None = None, **form: str
) -> TestResponse:
    """Sign a browser in by a provider, from the button to the answer."""
    browser = browser or app.test_client()
    return come_back(browser, provider.go(leave(browser, **form)))
