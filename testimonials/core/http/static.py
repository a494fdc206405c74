"""Static files: compressed, and cached by browsers under URLs with a version.

The version is in the path, so relative imports keep it, and no page mixes files of two releases.
Pages aren't compressed: if one repeats a visitor's input next to a token, the compressed length
would leak the token (BREACH).
"""

import gzip
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

COMPRESSED = ("text/css", "text/javascript", "image/svg+xml")
MIN_BYTES = 1024
VERSION = re.compile("^v[0-9a-f]{12}/")
YEAR_SECONDS = 365 * 24 * 3600


def register_static_files(app: Flask) -> None:
    """Make `url_for` return `/static/v<version>/...`; plain `/static/...` works as well."""
    prefix = f"v{_digest(Path(str(app.static_folder)))}/"

    def send_static(filename: str) -> Response:
        response = app.send_static_file(VERSION.sub("", filename))
        # In a sandboxed frame, as WordPress uses, our own pages have another origin.
        response.headers["Access-Control-Allow-Origin"] = "*"
        # Widgets show sample faces, even on pages that require this header (COEP).
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        # During an upgrade another release may answer, whose files must not be cached.
        if filename.startswith(prefix) and not app.debug:
            response.cache_control.no_cache = None
            response.cache_control.public = True
            response.cache_control.max_age = YEAR_SECONDS
            response.cache_control.immutable = True
        return response

    def add_version(endpoint: str, values: dict[str, Any]) -> None:
        if endpoint == "static":
            values["filename"] = prefix + values["filename"]

    app.view_functions["static"] = send_static
    app.url_defaults(add_version)
    app.after_request(_compress)


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _compress(response: Response) -> Response:
    is_static = request.endpoint == "static" and response.mimetype in COMPRESSED
    return compress(response) if is_static else response


def compress(response: Response) -> Response:
    """Compress a complete, large enough file; it must contain nothing that a visitor sent."""
    response.vary.add("Accept-Encoding")
    # Ranges refer to the uncompressed file, and a small file would hardly shrink.
    is_whole = response.status_code == 200 and request.method == "GET"
    length = response.content_length or 0
    if not is_whole or length < MIN_BYTES or request.accept_encodings["gzip"] <= 0:
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
    return gzip.compress(content, 9, mtime=0)
