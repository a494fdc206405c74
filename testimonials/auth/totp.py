"""Codes of authenticator apps: RFC 6238 with SHA-1, 30 seconds and six digits, as all apps do."""

import base64
import hashlib
import hmac
import secrets
from urllib.parse import quote, urlencode

from testimonials.core import clock

SECONDS = 30
DIGITS = 6
# A phone's clock may be so many times 30 seconds off.
DRIFT = 1


def new_secret() -> str:
    """Return a secret of 160 random bits, as base32."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def make_code(secret: str, step: int) -> str:
    """Return the code of the 30 seconds with this number."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8), hashlib.sha1)
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}d}"


def find_step(secret: str, code: str, after: int = 0) -> int | None:
    """Return which 30 seconds the code belongs to, if it is good now and later than `after`."""
    now = int(clock.now().timestamp()) // SECONDS
    for step in range(now - DRIFT, now + DRIFT + 1):
        if step > after and hmac.compare_digest(make_code(secret, step).encode(), code.encode()):
            return step
    return None


def make_address(secret: str, issuer: str, email: str) -> str:
    """Return what the QR code says: an address that apps understand."""
    values = {"secret": secret, "issuer": issuer, "digits": DIGITS, "period": SECONDS}
    label = quote(f"{issuer}:{email}", safe="@:")
    return f"otpauth://totp/{label}?{urlencode(values, quote_via=quote)}"
