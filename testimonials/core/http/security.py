"""Protection against cross-site requests, security headers, and request ids."""

import re
import secrets
import string
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlsplit

from flask import Flask, Request, Response, after_this_request, g, make_response, request
from flask.sessions import SessionInterface
from werkzeug.datastructures import ImmutableMultiDict, MIMEAccept
from werkzeug.http import parse_accept_header

from testimonials.core.http.errors import CrossSiteRefused, ServiceError
from testimonials.core.http.i18n import MAX_ACCEPT_LENGTH
from testimonials.core.http.urls import app_url, base_url, current_path, origin_of
from testimonials.core.late import late
from testimonials.core.settings.table import current_settings

# Browsers send Sec-Fetch-Site, or at least Origin, with every unsafe request, so forms need no CSRF
# tokens. A program that sends neither header has no visitor's cookies to misuse.

# These only count views and clicks.
OPEN_ENDPOINTS = frozenset({"analytics.note_seen"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_cross_site_requests() -> None:
    """Refuse an unsafe request that a browser sent from another site.

    ``/v1`` ignores cookies, and widgets post to `OPEN_ENDPOINTS` from other websites.
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

    For the configured host the scheme must match, since a page without TLS could be anybody's. For
    other hosts, only the proxy knows the scheme.
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    ours = urlsplit(app_url())
    if parts.netloc == ours.netloc:
        return parts.scheme == ours.scheme
    return parts.netloc == request.host


PAGE_POLICY = (
    "default-src 'none'; script-src 'self' {service}; style-src 'self'{styles}; "
    "img-src 'self' data: https: http:; media-src 'self' {service}{recorded}; "
    "connect-src 'self' {service}; "
    "form-action 'self'{targets}; object-src 'none'; base-uri 'none'; frame-src {frames}; "
    "frame-ancestors {ancestors}"
)
# The Permissions-Policy of pages with and without recording.
DEVICES, NO_DEVICES = "camera=(self), microphone=(self)", "camera=(), microphone=()"
DATA_POLICY = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"


class _Request(Request):
    def __init__(self, environ: dict[str, Any], *args: Any, **options: Any) -> None:
        if environ["PATH_INFO"] == "/v1":
            # Otherwise it would be the page of a project.
            environ["PATH_INFO"] = "/v1/"
        super().__init__(environ, *args, **options)
        # Werkzeug fails on bytes that aren't UTF-8 unless they are escaped.
        if not self.query_string.isascii():
            self.query_string = quote(self.query_string, safe=string.punctuation).encode()

    @cached_property
    def accept_mimetypes(self) -> MIMEAccept:
        # Werkzeug takes quadratic time for spaces between two words.
        return parse_accept_header(self.headers.get("Accept", "")[:MAX_ACCEPT_LENGTH], MIMEAccept)

    def _load_form_data(self) -> None:
        super()._load_form_data()
        # Drop parts without a name.
        if None in self.form:
            named = [each for each in self.form.items(multi=True) if each[0] is not None]
            self.form = ImmutableMultiDict(named)


class _NoSession(SessionInterface):
    """Disables Flask's session cookie: our sessions are rows with their own cookie."""

    def open_session(self, app: Flask, request: Request) -> None:
        return None


def register_web(app: Flask) -> None:
    app.request_class = _Request
    app.session_interface = _NoSession()
    app.add_template_global(current_path)
    app.before_request(lambda: setattr(g, "request_id", secrets.token_hex(8)))
    app.after_request(_add_headers)


def answer_privately(
    page: str | Response, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page whose URL or content is secret: not cached, and not sent as a referrer."""
    response = make_response(page, status, headers or {})
    response.headers["Cache-Control"] = "no-store"
    # With no-referrer, the page's forms would send `Origin: null`.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def answer_as(error: ServiceError) -> None:
    """Give the response to this request the status and headers of `error`."""

    @after_this_request
    def mark(response: Response) -> Response:
        response.status_code = error.status
        response.headers.update(error.headers)
        return response


def safe_target(target: str) -> str:
    """Return the path to open after signing in, or "" if it could lead to another site."""
    # Browsers treat backslashes as slashes, and remove tabs and line breaks first.
    is_plain = "\\" not in target and target.isprintable()
    base = request.root_path
    is_ours = target.startswith(f"{base}/") and not target.startswith("//")
    # Browsers resolve "..", which could lead out of the base path.
    steps = re.split("[?#]", target)[0].lower().replace("%2e", ".").split("/") if base else ()
    return target if is_plain and is_ours and ".." not in steps else ""


def _add_headers(response: Response) -> Response:
    is_page = response.mimetype == "text/html"
    headers = {
        "X-Request-Id": g.request_id,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "strict-origin-when-cross-origin",
        "Content-Security-Policy": _write_page_policy() if is_page else DATA_POLICY,
    }
    if is_page:
        records = g.get("takes_recordings")
        headers["Permissions-Policy"] = DEVICES if records else NO_DEVICES
    if response.status_code >= 400:
        # The page of a dead link too: a browser or proxy may keep a 404 or 410.
        headers["Cache-Control"] = "no-store"
    if request.is_secure and (policy := current_settings().hsts):
        headers["Strict-Transport-Security"] = policy
    # `setdefault` would search all headers each time.
    present = {name.lower() for name, _ in response.headers}
    for name, value in headers.items():
        if name.lower() not in present:
            response.headers.add(name, value)
    is_refusal = response.status_code >= 400 and response.mimetype == "application/json"
    if is_refusal and request.path.startswith("/v1/"):
        late("core.http.openapi:use_problem_details")(response)
    return response


def _write_page_policy() -> str:
    return PAGE_POLICY.format(
        service=origin_of(base_url()),
        # The digest of the page's inline style sheet.
        styles=f" {g.style_source}" if "style_source" in g else "",
        # Recordings that aren't sent yet.
        recorded=" blob:" if g.get("takes_recordings") else "",
        # OAuth: the consent form redirects to the client.
        targets=f" {g.form_target}" if "form_target" in g else "",
        frames="'self'" if g.get("has_preview") else "'none'",
        ancestors="*" if g.get("is_frameable") else "'self'" if g.get("is_preview") else "'none'",
    )
