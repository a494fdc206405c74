"""Logs of which each entry has the hash of the one before, with a signed head, and checking one.

Of Ed25519, SHA-256 and canonical JSON (RFC 8785): whoever reads a log needs nothing else.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from testimonials.core import clock
from testimonials.core.faults import refusing

NOTHING_BEFORE = "0" * 64
# Whom an entry calls by what.
_BY = {"person": "owner", "token": "agent", "visitor": "author", "system": "service"}


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def write_canonical(value: Any) -> str:
    """Return JSON as RFC 8785 writes it: names are ASCII, numbers whole or simple fractions."""
    return _ENCODER.encode(value)


def hash_entry(entry: str) -> str:
    return hashlib.sha256(entry.encode()).hexdigest()


def chain(last: str | None, rows: Sequence[dict[str, Any]]) -> None:
    """Write the `entry` of each row that has one, with its place, time and the hash before it.

    `last` is the newest entry that is stored; nobody else adds to them now.
    """
    place, before = 0, NOTHING_BEFORE
    if last is not None:
        place, before = json.loads(last)["seq"], hash_entry(last)
    for row in rows:
        if (entry := row["entry"]) is None:
            continue
        place += 1
        kind, made = row["actor_kind"], {"seq": place, "prev": before}
        made |= {"time": clock.iso(row["created_at"]), "by": _BY.get(kind, kind)}
        row["entry"] = write_canonical(made | entry)
        before = hash_entry(row["entry"])


# Checking a log: an entry on each line, and on the last the signed head.


class LogWrong(Exception):
    """The log isn't what was signed; the message says where."""


class Log(NamedTuple):
    """A log that is whole: its entries, its head, and the public key that signed it."""

    entries: Sequence[dict[str, Any]]
    head: dict[str, Any]
    key: str


def read_log(content: bytes) -> Log:
    """Return a log whose every byte is as it was signed; raise `LogWrong`."""
    *lines, end = content.split(b"\n")
    if end or not lines:
        raise LogWrong("The file doesn’t end with a whole line.")
    last, before, entries = lines.pop(), NOTHING_BEFORE, []
    for number, line in enumerate(lines, 1):
        entry = _read(line, number)
        if (entry.get("seq"), entry.get("prev")) != (number, before):
            raise LogWrong(f"Line {number} doesn’t follow the line before it.")
        before = hashlib.sha256(line).hexdigest()
        entries.append(entry)
    head, key = _read_head(last, len(lines) + 1)
    if (head.get("seq"), head.get("hash")) != (len(lines), before):
        raise LogWrong("The head is not that of the last entry.")
    return Log(entries, head, key)


def _read(line: bytes, number: int) -> dict[str, Any]:
    with refusing(lambda _fault: LogWrong(f"Line {number} is not an entry.")):
        value = json.loads(line)
        if not isinstance(value, dict):
            raise ValueError(number)
    return value


def _read_head(line: bytes, number: int) -> tuple[dict[str, Any], str]:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = _read(line, number)
    wrong = LogWrong("The head is not what its key signed.")
    with refusing(lambda _fault: wrong, InvalidSignature):
        head, key, signature = (signed[name] for name in ("head", "key", "signature"))
        # Written in one way only, so that no byte can be another.
        written = {"head": head, "key": _rewrite(key), "signature": _rewrite(signature)}
        if write_canonical(written).encode() != line:
            raise wrong
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), write_canonical(head).encode())
    return dict(head), str(key)


def _rewrite(digits: str) -> str:
    return bytes.fromhex(digits).hex()
