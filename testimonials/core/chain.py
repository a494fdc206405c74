"""Hash-chained logs with a signed head: writing and checking them.

Checking them needs only Ed25519, SHA-256 and canonical JSON (RFC 8785).
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from testimonials.core import clock
from testimonials.core.faults import refusing

# The `prev` of a log's first entry.
NOTHING_BEFORE = "0" * 64
# The names of kinds of actors in entries.
_BY = {"person": "owner", "token": "agent", "visitor": "author", "system": "service"}
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def write_canonical(value: Any) -> str:
    """Return RFC 8785 JSON; names must be ASCII, numbers integers or simple fractions."""
    return _ENCODER.encode(value)


def hash_entry(entry: str) -> str:
    return hashlib.sha256(entry.encode()).hexdigest()


def chain(last: str | None, rows: Sequence[dict[str, Any]]) -> None:
    """Number the `entry` of each row that has one, and link it to the entry before it.

    `last` is the newest stored entry. The caller has locked the log.
    """
    number, previous = 0, NOTHING_BEFORE
    if last is not None:
        number, previous = json.loads(last)["seq"], hash_entry(last)
    for row in rows:
        if (entry := row["entry"]) is None:
            continue
        number += 1
        kind, link = row["actor_kind"], {"seq": number, "prev": previous}
        link |= {"time": clock.iso(row["created_at"]), "by": _BY.get(kind, kind)}
        row["entry"] = write_canonical(link | entry)
        previous = hash_entry(row["entry"])


# Checking a log: one entry per line, with the signed head on the last line.


class LogInvalid(Exception):
    """The log differs from what was signed; the message says where."""


class Log(NamedTuple):
    """A verified log: its entries, its head, and the public key that signed it."""

    entries: Sequence[dict[str, Any]]
    head: dict[str, Any]
    key: str


def read_log(content: bytes) -> Log:
    """Verify a log and return it; raise `LogInvalid` if any byte differs from what was signed."""
    *lines, end = content.split(b"\n")
    if end or not lines:
        raise LogInvalid("The file doesn’t end with a whole line.")
    last, previous, entries = lines.pop(), NOTHING_BEFORE, []
    for number, line in enumerate(lines, 1):
        entry = _read(line, number)
        if (entry.get("seq"), entry.get("prev")) != (number, previous):
            raise LogInvalid(f"Line {number} doesn’t follow the line before it.")
        previous = hashlib.sha256(line).hexdigest()
        entries.append(entry)
    head, key = _read_head(last, len(lines) + 1)
    if (head.get("seq"), head.get("hash")) != (len(lines), previous):
        raise LogInvalid("The head is not that of the last entry.")
    return Log(entries, head, key)


def _read(line: bytes, number: int) -> dict[str, Any]:
    with refusing(lambda _fault: LogInvalid(f"Line {number} is not an entry.")):
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError(number)
    return value


def _read_head(line: bytes, number: int) -> tuple[dict[str, Any], str]:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = _read(line, number)
    wrong = LogInvalid("The head is not what its key signed.")
    with refusing(lambda _fault: wrong, InvalidSignature):
        head, key, signature = (signed[name] for name in ("head", "key", "signature"))
        key_bytes, signature_bytes = bytes.fromhex(key), bytes.fromhex(signature)
        # Only the canonical form passes, so that no byte of the line can be changed.
        canonical = {"head": head, "key": key_bytes.hex(), "signature": signature_bytes.hex()}
        if write_canonical(canonical).encode() != line:
            raise wrong
        public_key = Ed25519PublicKey.from_public_bytes(key_bytes)
        public_key.verify(signature_bytes, write_canonical(head).encode())
    return dict(head), str(key)
