"""The answers of the API: ``{message, data}`` as JSON, with their ETag."""

import hashlib
import json
from typing import Any, NamedTuple

from flask import Response, request

DRY_RUN = "dryRun"
# What a reading of the owner's website may change, so that it refuses nobody's If-Match.
IN_EFFECT = {"brand"}


class Answer(NamedTuple):
    """What a view answers: the message, and `data` as JSON."""

    message: str
    data: Any
    status: int = 200


def is_write() -> bool:
    return request.method not in ("GET", "HEAD")


def is_dry_run() -> bool:
    """Return whether the caller only asks what would happen."""
    return bool(request.query_string) and request.args.get(DRY_RUN) == "true"


# Made once, since `json.dumps` would make one each time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dump_json(value: object) -> bytes:
    return _ENCODER.encode(value).encode()


def wrap(message: str, data: bytes) -> bytes:
    """Return ``{message, data}`` of data that is JSON already."""
    return b'{"message":%b,"data":%b}' % (dump_json(message), data)


def make_etag(data: bytes) -> str:
    """Return the ETag of a resource: of its data as JSON, whichever call answers with it."""
    return f'"{hashlib.sha256(data).hexdigest()[:20]}"'


def dump_matched(data: object, written: bytes = b"") -> bytes:
    """Return data as JSON without what is in effect beside it, whose changes no ETag tells.

    `written` is all of it as JSON, if that is known.
    """
    if isinstance(data, dict) and not IN_EFFECT.isdisjoint(data):
        data = {name: value for name, value in data.items() if name not in IN_EFFECT}
        written = b""
    return written or dump_json(data)


def is_among(etag: str, header: str) -> bool:
    """Return whether a header names the ETag, maybe in the weak form of a compressing proxy."""
    # Ours hold no comma, so a search is as good as parsing the list.
    return header.strip() == "*" or etag.removeprefix("W/") in header


def answer(message: str, data: object, *, is_secret: bool = False) -> Response:
    """Return a 200 response of ``{message, data}``; no cache keeps a secret one."""
    written = dump_json(data)
    etag = "" if is_secret else make_etag(dump_matched(data, written))
    return answer_bytes(wrap(message, written), etag=etag, is_secret=is_secret)


def answer_bytes(envelope: bytes, *, etag: str = "", is_secret: bool = False) -> Response:
    """Return a response of an envelope that is written already: 200, or 304 to who has it."""
    known = request.headers.get("If-None-Match", "")
    if etag and known and not is_write() and is_among(etag, known):
        response = Response(status=304)
    else:
        response = Response(envelope, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store" if is_secret else "private, no-cache"
    if etag:
        response.headers["ETag"] = etag
    return response
