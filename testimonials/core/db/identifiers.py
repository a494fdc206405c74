"""Ids of rows, API keys and access tokens."""

import hashlib
import re
import secrets
import string
import time
import zlib
from datetime import datetime

from testimonials.core import clock

KEY_PREFIX = "tst_live_"
TOKEN_PREFIX = "tst_tok_"  # noqa: S105 - what every token begins with
SIGNING_PREFIX = "tst_sign_"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
ID_LENGTH = 24
SECRET_LENGTH = 32  # 190 random bits
CHECKSUM_LENGTH = 6

_IDENTIFIER = re.compile(r"[0-9a-f]{24}")


def new_identifier() -> str:
    """Return an id of 24 hexadecimal digits that sorts after this process's earlier ids.

    Twelve digits are milliseconds, three are 4096ths of a millisecond (less than making an id
    takes), nine are random. So ids order rows even within a millisecond (RFC 9562, 6.2, method 3).
    """
    return f"{time.time_ns() * 4096 // 1_000_000:015x}{secrets.randbits(36):09x}"


def name_part(identifier: str, number: int) -> str:
    """Return the id of a numbered part (from 0), which sorts right after the parts before it."""
    return f"{identifier}{number:04x}" if number else identifier


def whole_of(part: str) -> str:
    """Return the id to which the id of a part belongs."""
    return part[:ID_LENGTH]


def end_of_parts(identifier: str) -> str:
    """Return a string that sorts after the ids of all parts, and before all later ids."""
    return f"{identifier}g"


def first_identifier(time: datetime) -> str:
    """Return a string that sorts before all ids made at `time` or later."""
    return f"{clock.to_milliseconds(time) * 4096:015x}"


def find_time(identifier: str) -> datetime:
    return clock.from_milliseconds(int(identifier[:15], 16) // 4096)


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


def new_credential(prefix: str) -> str:
    """Return a credential: a prefix, 190 random bits, and a checksum for secret scanners."""
    secret = "".join(secrets.choice(BASE62) for _ in range(SECRET_LENGTH))
    return prefix + secret + _checksum(secret)


def is_credential(text: str, prefix: str) -> bool:
    secret, checksum = text[len(prefix) : -CHECKSUM_LENGTH], text[-CHECKSUM_LENGTH:]
    return (
        text.startswith(prefix)
        and len(secret) == SECRET_LENGTH
        and set(text[len(prefix) :]) <= set(BASE62)
        and checksum == _checksum(secret)
    )


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a random secret, which needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _checksum(secret: str) -> str:
    number, digits = zlib.crc32(secret.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
