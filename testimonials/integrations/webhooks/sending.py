"""One delivery on the wire: signed as Standard Webhooks 1.0.0 says, sent, and what came of it."""

import base64
import email.utils
import hashlib
import hmac
import secrets
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from testimonials import __version__
from testimonials.core import clock
from testimonials.core.faults import FAULTS
from testimonials.core.http_client import AddressRefused, Answer, Check, UrlRefused, ask

SECRET_PREFIX = "whsec_"  # noqa: S105 - only the beginning
SECRET_BYTES = 32
SECONDS = 15.0
MOST_READ = 64 * 1024
# How much of an answer the log keeps.
SHOWN = 1024
# The same for an address that isn't public and a name that nobody has: an endpoint is no way to
# learn what is inside.
NOWHERE = "The host has no public address."


@dataclass(frozen=True)
class Message:
    """What leaves for an endpoint; `secrets` are those that sign it, none for a build hook."""

    url: str
    id: str
    body: bytes
    secrets: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """What came of one try: the status of an answer, or an error in a sentence."""

    at: datetime
    ms: int
    status: int | None = None
    error: str | None = None
    answer: str = ""
    # The seconds after which the receiver wants to be asked again.
    retry_after: float = 0

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def problem(self) -> str:
        return self.error or f"Its server answered {self.status}."


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return one signature as the header has it."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def send(message: Message, is_allowed: Check, seconds: float = SECONDS) -> Outcome:
    """Send a message once, and return what came of it; takes no connection of the database."""
    at, begun = clock.now(), time.monotonic()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"testimonials/{__version__}",
        "Connection": "close",
    }
    if message.secrets:
        signatures = (sign(each, message.id, timestamp, message.body) for each in message.secrets)
        headers |= {
            "webhook-id": message.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join(signatures),
        }
    answer, error = None, None
    try:
        answer = ask(
            message.url,
            seconds,
            MOST_READ,
            is_allowed,
            method="POST",
            headers=headers,
            body=message.body,
        )
    except (AddressRefused, UrlRefused, OSError) as fault:
        error = describe_fault(fault)
    ms = int((time.monotonic() - begun) * 1000)
    if answer is None:
        return Outcome(at, ms, error=error)
    text = answer.content[:SHOWN].decode("utf-8", "replace").replace("\0", "\ufffd")
    return Outcome(at, ms, answer.status, answer=text, retry_after=read_retry_after(answer))


def describe_fault(fault: Exception) -> str:
    """Return why no answer came, as a sentence for the log."""
    if isinstance(fault, AddressRefused | UrlRefused | socket.gaierror):
        return NOWHERE
    if isinstance(fault, TimeoutError):
        return f"No complete answer came within {SECONDS:g} seconds."
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"Its certificate is not valid: {fault.verify_message}."
    if isinstance(fault, ConnectionRefusedError):
        return "It refused the connection."
    return f"The connection failed ({type(fault).__name__})."


def read_retry_after(answer: Answer) -> float:
    """Return the seconds that a 429 or 503 asks for, or 0."""
    given = answer.headers.get("Retry-After", "") if answer.status in (429, 503) else ""
    if given.isascii() and given.isdigit():
        return float(given[:9])
    with suppress(*FAULTS):
        wanted = email.utils.parsedate_to_datetime(given)
        return max(0.0, (wanted - clock.now()).total_seconds())
    return 0.0
