"""Reading CBOR (RFC 8949) as authenticators write it: numbers, texts, bytes, lists and maps."""

from typing import Any

# Deeper than any authenticator's answer.
MAX_DEPTH = 8
SIMPLE = {20: False, 21: True, 22: None}
# Whole numbers from 0 and below it, bytes, texts, lists, maps, and what has no argument.
POSITIVE, NEGATIVE, BYTES, TEXT, LIST, MAP, OTHER = 0, 1, 2, 3, 4, 5, 7


class Unreadable(ValueError):
    """It isn't CBOR, or more of it than authenticators write."""


def read_cbor(data: bytes, start: int = 0, depth: int = 0) -> tuple[Any, int]:
    """Return the value at `start`, and where it ends; raise `ValueError`."""
    kind, argument, at = _read_head(data, start)
    if depth > MAX_DEPTH:
        raise Unreadable
    if kind in (POSITIVE, NEGATIVE):
        return (argument if kind == POSITIVE else -1 - argument), at
    if kind in (BYTES, TEXT):
        return _read_string(data, at, argument, is_text=kind == TEXT)
    if kind == LIST:
        return _read_list(data, at, argument, depth)
    if kind == MAP:
        return _read_map(data, at, argument, depth)
    if kind == OTHER and argument in SIMPLE and at == start + 1:
        return SIMPLE[argument], at
    raise Unreadable


def _read_head(data: bytes, start: int) -> tuple[int, int, int]:
    """Return the kind, its argument, and where the head ends."""
    if start >= len(data):
        raise Unreadable
    kind, short = data[start] >> 5, data[start] & 31
    if short < 24:
        return kind, short, start + 1
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(short)
    end = start + 1 + (size or 0)
    if size is None or end > len(data):
        raise Unreadable
    return kind, int.from_bytes(data[start + 1 : end]), end


def _read_string(data: bytes, at: int, length: int, *, is_text: bool) -> tuple[bytes | str, int]:
    end = at + length
    if end > len(data):
        raise Unreadable
    return (data[at:end].decode() if is_text else data[at:end]), end


def _read_list(data: bytes, at: int, length: int, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    # Each value takes a byte at least, so a length that lies ends with the data.
    for _ in range(length):
        value, at = read_cbor(data, at, depth + 1)
        values.append(value)
    return values, at


def _read_map(data: bytes, at: int, length: int, depth: int) -> tuple[dict[Any, Any], int]:
    values: dict[Any, Any] = {}
    for _ in range(length):
        key, at = read_cbor(data, at, depth + 1)
        if not isinstance(key, int | str) or key in values:
            raise Unreadable
        values[key], at = read_cbor(data, at, depth + 1)
    return values, at
