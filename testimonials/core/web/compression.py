"""Style sheets and scripts are sent compressed; pages are not.

A page may repeat what a visitor sent beside a token of theirs, and the length of such a page, once
compressed, would tell of the token. Static files hold no secrets.
"""

import gzip
from functools import lru_cache

from flask import Flask, Response, request

COMPRESSED = ("text/css", "text/javascript", "image/svg+xml")
LEAST_BYTES = 1024


def register_compression(app: Flask) -> None:
    """Compress the static files of `app` for browsers that take it."""
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if request.endpoint != "static" or response.mimetype not in COMPRESSED:
        return response
    response.vary.add("Accept-Encoding")
    # Parts are of the file as it is, and a small file would hardly shrink.
    is_whole = response.status_code == 200 and request.method == "GET"
    length = response.content_length or 0
    if not is_whole or length < LEAST_BYTES or request.accept_encodings["gzip"] <= 0:
        return response
    response.direct_passthrough = False
    response.set_data(_pack(response.get_data()))
    response.headers["Content-Encoding"] = "gzip"
    tag, _ = response.get_etag()
    if tag is not None:
        # Weak, since the same tag stands for both encodings.
        response.set_etag(tag, weak=True)
    return response


@lru_cache(maxsize=64)
def _pack(content: bytes) -> bytes:
    """Compress a file, once for each content."""
    return gzip.compress(content, 9, mtime=0)
