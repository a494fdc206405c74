"""Protection against cross-site requests, by what browsers say about a request's origin.

Browsers send Sec-Fetch-Site, or at least Origin, with every unsafe request; a program that sends
neither has no visitor's cookies to misuse. Tokens in forms are not needed.
"""

from urllib.parse import urlsplit

from flask import Flask, request

from testimonials.core.urls import app_url
from testimonials.core.web.errors import CrossSiteRefused

# They change nothing but counts.
OPEN_ENDPOINTS = frozenset({"beacons.note_seen"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_cross_site_requests() -> None:
    """Refuse an unsafe request that a browser sent from another site.

    ``/v1`` takes no cookies. What a widget tells (`OPEN_ENDPOINTS`) comes from others' websites.
    """
    is_open = request.endpoint in OPEN_ENDPOINTS or request.path.startswith("/v1/")
    if request.method in SAFE_METHODS or is_open:
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise CrossSiteRefused
    elif origin is not None and not _is_own(origin):
        raise CrossSiteRefused


def _is_own(origin: str) -> bool:
    """Return whether `origin` is ours.

    At the configured host the scheme counts: a page without TLS may be anybody's. For another host
    name of the request, only the proxy knows the scheme.
    """
    try:
        sent = urlsplit(origin)
    except ValueError:
        return False
    ours = urlsplit(app_url())
    if sent.netloc == ours.netloc:
        return sent.scheme == ours.scheme
    return sent.netloc == request.host


def register_csrf(app: Flask) -> None:
    app.before_request(refuse_cross_site_requests)
