"""Protection against cross-site requests, by what the browser itself says of where it is from.

Browsers send Sec-Fetch-Site, or at least Origin, with every unsafe request; a program that sends
neither has no visitor's cookies to misuse. Tokens in forms are not needed.
"""

from urllib.parse import urlsplit

from flask import Flask, current_app, request

from testimonials.core.errors import CrossSiteRefused

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_cross_site_requests() -> None:
    """Refuse an unsafe request to a page that a browser sent from another site.

    ``/v1`` takes no cookies, so there is nothing there to protect.
    """
    if request.method in SAFE_METHODS or request.path.startswith("/v1/"):
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise CrossSiteRefused
    elif origin is not None and _host_of(origin) not in _own_hosts():
        raise CrossSiteRefused


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _own_hosts() -> set[str]:
    settings = current_app.config
    return {request.host, urlsplit(settings["APP_URL"]).netloc}


def register_csrf(app: Flask) -> None:
    """Check every request of `app`."""
    app.before_request(refuse_cross_site_requests)
