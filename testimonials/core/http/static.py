"""Style sheets and scripts: compressed, and cached by browsers under URLs with a version.

The version is in the path, so a script's relative imports have it too, and no page mixes files of
two releases. Pages themselves are not compressed: one may repeat what a visitor sent next to their
token, and its compressed length would give the token away.
"""

import gzip
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

COMPRESSED = ("text/css", "text/javascript", "image/svg+xml")
LEAST_BYTES = 1024
VERSION = re.compile("^v[0-9a-f]{12}/")
YEAR_SECONDS = 365 * 24 * 3600


def register_static_files(app: Flask) -> None:
    """Let `url_for` name a static file as `/static/v<version>/...`; `/static/...` works as well."""
    prefix = f"v{_digest(Path(str(app.static_folder)))}/"

    def send_static(filename: str) -> Response:
        response = app.send_static_file(VERSION.sub("", filename))
        # In a sandboxed frame, such as WordPress makes, our own pages have another origin.
        response.headers["Access-Control-Allow-Origin"] = "*"
        # Widgets show sample faces, also on pages that take only what says that they may (COEP).
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        # During an upgrade, the other release may answer; its files are not cached.
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
    if request.endpoint != "static" or response.mimetype not in COMPRESSED:
        return response
    return compress(response)


def compress(response: Response) -> Response:
    """Compress a whole file that holds nothing of a visitor's, if it is large enough."""
    response.vary.add("Accept-Encoding")
    # Ranges are of the uncompressed file, and a small file would hardly shrink.
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
    return gzip.compress(content, 9, mtime=0)
