"""The response envelope of ``/v1`` (spec, "Response envelope")."""

import json

from flask import Response


def dump_json(value: object) -> bytes:
    """Write `value` as compact UTF-8 JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def answer(message: str, data: object, *, is_secret: bool = False) -> Response:
    """Answer 200 with ``{message, data}``; a secret one is not to be kept by any cache."""
    response = Response(dump_json({"message": message, "data": data}), mimetype="application/json")
    response.headers["Cache-Control"] = "no-store" if is_secret else "private, no-cache"
    return response
