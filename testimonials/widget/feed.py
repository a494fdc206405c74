"""The widget's public doors: its script and its data, open to every origin."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

from flask import Blueprint, Response, request

from testimonials import __version__
from testimonials.core.envelope import dump_json
from testimonials.core.versioned_cache import Body, VersionedCache
from testimonials.widget.services import describe_feed, find_feed_version, find_shown_project

feed = Blueprint("feed", __name__)

SCRIPT_FILE = Path(__file__).parent.parent / "static" / "widget" / "v1.js"
CACHE_BYTES = 64 * 1024 * 1024

_bodies = VersionedCache(CACHE_BYTES)


@feed.get("/widget/v1.js")
def get_script() -> Response:
    """Serve the widget's script; the path is frozen, its contract stays."""
    script = _read_script()
    response = _answer(script, f'"{script.version:x}"', "text/javascript; charset=utf-8")
    response.headers["Cache-Control"] = "public, max-age=3600, stale-while-revalidate=86400"
    return response


@feed.get("/widget/<project_id>/feed")
def get_feed(project_id: str) -> Response:
    """Serve the settings and a page of testimonials; ``?after=`` takes the cursor of the next."""
    after = request.args.get("after")
    version = find_feed_version(project_id)
    etag = f'"{__version__}-{version:x}"'
    body = _bodies.get(
        (project_id, after),
        version,
        lambda: dump_json(describe_feed(find_shown_project(project_id), after)),
    )
    response = _answer(body, etag, "application/json")
    # A changed approval shows at the next load; an unchanged one costs a 304.
    response.headers["Cache-Control"] = "public, no-cache"
    return response


def _answer(body: Body, etag: str, content_type: str) -> Response:
    """Answer compressed where the client can, or with 304 where it has the same already."""
    response = Response(content_type=content_type)
    response.headers["ETag"] = f"W/{etag}"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    if request.if_none_match.contains_weak(etag.strip('"')):
        response.status_code = 304
    elif request.accept_encodings["gzip"] > 0:
        response.headers["Content-Encoding"] = "gzip"
        response.data = body.gzipped
    else:
        response.data = body.plain
    return response


@cache
def _read_script() -> Body:
    plain = SCRIPT_FILE.read_bytes()
    version = int.from_bytes(hashlib.sha256(plain).digest()[:8])
    return Body(version, plain, gzip.compress(plain, 9, mtime=0))
