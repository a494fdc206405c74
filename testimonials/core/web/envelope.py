"""The response envelope of ``/v1`` (spec, "Response envelope")."""

import json

from flask import Response


def dump_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def wrap(message: str, data: object) -> bytes:
    return dump_json({"message": message, "data": data})


def answer(message: str, data: object, *, is_secret: bool = False) -> Response:
    """Return a 200 response of ``{message, data}``; no cache keeps a secret one."""
    return answer_bytes(wrap(message, data), is_secret=is_secret)


def answer_bytes(envelope: bytes, *, is_secret: bool = False) -> Response:
    """Return a 200 response of an envelope that is written already."""
    response = Response(envelope, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store" if is_secret else "private, no-cache"
    return response
