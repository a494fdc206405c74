"""Answering from kept bytes: compressed, plain, or 304."""

import re
from collections.abc import Callable

from testimonials.core.db.cache import Answer, Body
from testimonials.core.http.security import DATA_POLICY

# What the application keeps the bytes by.
EXTENSION = "testimonials_feed"
SCRIPT_TYPE = "text/javascript; charset=utf-8"
# A changed approval shows at the next load; an unchanged one costs a 304.
FEED_CACHING = "public, no-cache"
SCRIPT_CACHING = "public, max-age=3600, stale-while-revalidate=86400"
PINNED_CACHING = "public, max-age=31536000, immutable"

Headers = list[tuple[str, str]]

_GZIP_REFUSED = re.compile(r"gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)")


def choose_answer(
    body: Body, content_type: str, caching: str, if_none_match: str, accept_encoding: str
) -> Answer:
    """Return status, headers and bytes: compressed if the client accepts it, 304 if it has them.

    `if_none_match` and `accept_encoding` are the request's headers, empty if not sent.
    """
    return _choose(
        body, if_none_match, accept_encoding, lambda: _write_headers(body, content_type, caching)
    )


def choose_private(body: Body, if_none_match: str) -> Answer:
    """Return the same as the API answers it: never compressed, and for no shared cache."""
    return _choose(body, if_none_match, "", lambda: _write_private_headers(body))


def choose_page(body: Body, if_none_match: str, accept_encoding: str) -> Answer:
    """Return the same of a body that has its own headers."""
    return _choose(body, if_none_match, accept_encoding, lambda: [*body.headers])


def _choose(
    body: Body, if_none_match: str, accept_encoding: str, write_headers: Callable[[], Headers]
) -> Answer:
    # Our tag contains no comma, so a substring search is as good as parsing the list.
    if if_none_match and (body.etag[2:] in if_none_match or if_none_match.strip() == "*"):
        variant = "304"
    elif "gzip" in accept_encoding and not _GZIP_REFUSED.search(accept_encoding):
        variant = "gzip"
    else:
        variant = "plain"
    # Built once per variant: the same few answers go out many thousand times.
    answer = body.answers.get(variant)
    if answer is None:
        answer = body.answers[variant] = _write_answer(body, variant, write_headers())
    return answer


def _write_answer(body: Body, variant: str, headers: Headers) -> Answer:
    if variant == "304":
        kept = [each for each in headers if each[0] != "Content-Type"]
        return "304 NOT MODIFIED", kept, b""
    content = body.gzipped if variant == "gzip" else body.plain
    headers.append(("Content-Length", str(len(content))))
    if variant == "gzip":
        headers.append(("Content-Encoding", "gzip"))
    return "200 OK", headers, content


def _write_headers(body: Body, content_type: str, caching: str) -> Headers:
    return [
        ("ETag", body.etag),
        ("Cache-Control", caching),
        ("Vary", "Accept-Encoding"),
        ("Access-Control-Allow-Origin", "*"),
        ("Cross-Origin-Resource-Policy", "cross-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", DATA_POLICY),
        ("Content-Type", content_type),
    ]


def _write_private_headers(body: Body) -> Headers:
    return [
        ("Content-Type", "application/json"),
        ("Cache-Control", "private, no-cache"),
        ("ETag", body.etag),
        *([("Link", body.link)] if body.link else ()),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "strict-origin-when-cross-origin"),
        ("Content-Security-Policy", DATA_POLICY),
    ]
