"""Challenges that passkeys answer: signed, good for ten minutes, and kept by the page alone.

That one counts only once needs no row of its own: a passkey accepts only challenges that are newer
than the last that it answered.
"""

import ipaddress
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from testimonials.auth.proofs.webauthn import ALGORITHMS, Expected, PasskeyInvalid, to_base64
from testimonials.core import clock
from testimonials.core.urls import app_url
from testimonials.core.web.signing import TokenPurpose

CHALLENGE_SECONDS = 10 * 60
SERVICE = "Testimonials"
DEFAULT_PORTS = {"https": 443, "http": 80}

challenge_purpose = TokenPurpose("passkey-challenge")


class Reason(StrEnum):
    """What a challenge was made for; an answer to it counts for nothing else."""

    SIGN_IN = "sign in"
    PROVE = "prove"
    ADD = "add"


@dataclass(frozen=True)
class Challenge:
    """What an answer is compared with, and when it was asked for."""

    expected: Expected
    made_at: datetime


def has_passkeys() -> bool:
    """Return whether browsers can have passkeys for this service: they need a host's name."""
    host = _host()
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def make_challenge(reason: Reason, subject: str = "") -> tuple[str, str]:
    """Return a challenge, and the token to send back with the answer.

    `subject` is the session that asks, empty where nobody is signed in.
    """
    challenge = secrets.token_urlsafe(32)
    made_at = clock.to_milliseconds(clock.now())
    return challenge, challenge_purpose.sign([reason, subject, challenge, made_at])


def read_challenge(token: str, reason: Reason, subject: str = "") -> Challenge:
    """Return the challenge of a token; raise `PasskeyInvalid` if it is old or another's."""
    found = challenge_purpose.find(token, 4, CHALLENGE_SECONDS)
    if found is None or found[:2] != (reason, subject):
        raise PasskeyInvalid("an old or foreign challenge")
    expected = Expected(_origin(), _host(), str(found[2]))
    return Challenge(expected, clock.from_milliseconds(int(found[3])))


def describe_use(reason: Reason, subject: str, allowed: list[str]) -> dict[str, Any]:
    """Return what a browser's script needs to ask for a passkey."""
    challenge, token = make_challenge(reason, subject)
    options = {
        "challenge": challenge,
        "rpId": _host(),
        "timeout": CHALLENGE_SECONDS * 1000,
        "userVerification": "required",
        "allowCredentials": [{"type": "public-key", "id": each} for each in allowed],
    }
    return {"ok": True, "options": options, "token": token}


def describe_addition(
    subject: str, account_id: str, email: str, name: str, known: list[str]
) -> dict[str, Any]:
    """Return what a browser's script needs to make a passkey, but not on a device that has one."""
    challenge, token = make_challenge(Reason.ADD, subject)
    options = {
        "challenge": challenge,
        "rp": {"id": _host(), "name": SERVICE},
        "user": {"id": to_base64(account_id.encode()), "name": email, "displayName": name},
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in ALGORITHMS],
        "timeout": CHALLENGE_SECONDS * 1000,
        "attestation": "none",
        # It can be found without an address, where the authenticator has room for that.
        "authenticatorSelection": {
            "residentKey": "preferred",
            "requireResidentKey": False,
            "userVerification": "required",
        },
        "excludeCredentials": [{"type": "public-key", "id": each} for each in known],
    }
    return {"ok": True, "options": options, "token": token}


def _host() -> str:
    return urlsplit(app_url()).hostname or ""


def _origin() -> str:
    """Return our origin as browsers write it: without a path and without the usual port."""
    parts = urlsplit(app_url())
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    is_usual = parts.port in (None, DEFAULT_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}" + ("" if is_usual else f":{parts.port}")
