"""Damage: what is left of good bytes, texts and JSON after an accident, or with bad intent."""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

# Digits that Python's \d and int() take for digits, letters that look like ours, and what changes
# its length or form when it is normalised, folded or encoded.
LOOK_ALIKES = {
    "digits": "".join(chr(start + 7) for start in (0x660, 0x966, 0xFF10, 0x1D7CE, 0x2080)) + "²①",
    "letters": "аеοрсｘＨİıſßﬀΩ", "marks": "：／．＠﹕∕。＃？\u2044\u2024",
    "unseen": "\u200b\u202e\u00a0\ufeff\u2028\x85\u00ad", "broken": "\ud800\x00\x1b\ufffd",
}  # fmt: skip
# What stands in a place for something else.
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1.5, -0.0, 1e308,
    float("nan"), float("inf"), "", " ", "a", "0", "１２", "\ud800", "a\x00b", "x" * 5000,
    "9" * 5000, [], {}, [[]], [None], [{}], {"": None}, {"a": {"a": {"a": []}}},
    ["RS256"], {"$ref": "x"}, "http://[", "https://a.example:８０/", "2026-02-30", "__proto__",
)  # fmt: skip
DEEP = "a place that is very deep"
MARKS = re.compile(rb"PK[\x01-\x08][\x01-\x08]|[A-Za-z]{4}|\x1aE\xdf\xa3")
NUMBERS = (
    b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\xff", b"\x00" * 8,
    b"\x00\x00\x00\x08", b"\x08", b"\x0c", b"\x0e",
)  # fmt: skip


def mutate(good: Any, chance: Random) -> Any:
    """Return damaged bytes, text or JSON (a dictionary or a list)."""
    if isinstance(good, bytes):
        return _some(chance, good, _damage_bytes)
    if isinstance(good, str):
        return _some(chance, good, _damage_text)
    return _some(chance, good, _damage_json)


def to_json(value: Any) -> str:
    """Return JSON as strangers may write it: also with NaN, and far too deep."""
    return json.dumps(value).replace(json.dumps(DEEP), "[" * 3000 + "]" * 3000)


def _some(chance: Random, good: Any, damage: Callable[[Random, Any], Any]) -> Any:
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        good = damage(chance, good)
    return good


def _pieces(chance: Random, good: Any) -> tuple[Any, Any, Any]:
    at = chance.randint(0, len(good))
    end = min(len(good), at + chance.choice((1, 1, 2, 4, 8, 64, len(good))))
    return good[:at], good[at:end], good[end:]


def _damage_bytes(chance: Random, good: bytes) -> bytes:
    before, piece, after = _pieces(chance, good)
    marks = [each.start() for each in MARKS.finditer(good)] if chance.random() < 0.5 else []
    if marks:
        # Around the names of its parts stand their lengths, kinds and places.
        at = max(0, chance.choice(marks) + chance.randint(-12, 48))
        end = at + chance.choice((1, 2, 4, 8))
        before, piece, after = good[:at], good[at:end], good[end:]
    flipped = bytes([piece[0] ^ 1 << chance.randrange(8)]) + piece[1:] if piece else b""
    number = chance.choice(NUMBERS)
    return chance.choice(
        (
            before + flipped + after, before + flipped + after, before, before + after,
            before + piece + piece + after, after + before, before + piece[::-1] + after,
            before + number + piece + after, before + (number * len(piece))[: len(piece)] + after,
            before + chance.randbytes(len(piece)) + after,
        )
    )  # fmt: skip


def _damage_text(chance: Random, good: str) -> str:
    before, piece, after = _pieces(chance, good)
    odd = chance.choice("".join(LOOK_ALIKES.values()))
    digits = [at for at, each in enumerate(good) if each.isdecimal()]
    if digits and chance.random() < 0.2:
        at = chance.choice(digits)
        return good[:at] + chance.choice(LOOK_ALIKES["digits"]) + good[at + 1 :]
    mark = chance.choice("\"'\\/:;,.[]{}()<>%&=?#@*+-~ \t\n\r0")
    return chance.choice(
        (
            before + odd + after, before + odd + piece + after, before, before + after,
            before + piece + piece + after, after + before, before + mark + after,
            before + mark + piece + after, before + mark * chance.choice((2, 40, 3000)) + after,
            before + piece.swapcase() + after,
        )
    )  # fmt: skip


def _places(value: Any, found: list[tuple[Any, Any]]) -> Sequence[tuple[Any, Any]]:
    """Return each place in JSON, as what holds it and the key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in pairs:
        found.append((value, key))
        if isinstance(inside, dict | list):
            _places(inside, found)
    return found


def _damage_json(chance: Random, good: Any) -> Any:
    value = json.loads(json.dumps(good))
    places = _places(value, []) if isinstance(value, dict | list) else ()
    if not places or chance.random() < 0.02:
        return chance.choice(ODD)
    holder, key = chance.choice(places)
    kind = chance.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        other, name = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[name]))
    elif kind == 2 and isinstance(holder[key], str):
        holder[key] = _damage_text(chance, holder[key])
    elif kind == 3 and isinstance(holder, dict):
        holder[_damage_text(chance, str(key))] = holder.pop(key)
    elif kind == 4:
        holder[key] = chance.choice(([holder[key]], {"a": holder[key]}, str(holder[key]), DEEP))
    else:
        holder[key] = chance.choice(ODD)
    return value
