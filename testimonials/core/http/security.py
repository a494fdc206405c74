"""Protection of forms by their origin, security headers, ids of requests."""

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

from testimonials.core.http.errors import CrossSiteRefused, ServiceError, wants_json
from testimonials.core.http.i18n import LONGEST_ACCEPT
from testimonials.core.http.urls import app_url, base_url, current_path, origin_of
from testimonials.core.late import late
from testimonials.core.settings.current import current_settings

# Protection against cross-site requests, by what browsers say about a request's origin.
#
# Browsers send Sec-Fetch-Site, or at least Origin, with every unsafe request; a program that sends
# neither has no visitor's cookies to misuse. Tokens in forms are not needed.

# They change nothing but counts.
OPEN_ENDPOINTS = frozenset({"analytics.note_seen"})
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


# The headers of every response: a request id, and the security headers of its kind of page.

PAGE_POLICY = (
    "default-src 'none'; script-src 'self' {service}; style-src 'self'{styles}; "
    "img-src 'self' data: https: http:; media-src 'self' {service}{recorded}; "
    "connect-src 'self' {service}; "
    "form-action 'self'{targets}; object-src 'none'; base-uri 'none'; frame-src {frames}; "
    "frame-ancestors {ancestors}"
)
# What a page may use of the device.
DEVICES, NO_DEVICES = "camera=(self), microphone=(self)", "camera=(), microphone=()"
DATA_POLICY = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"


class _Request(Request):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The library fails on a raw byte that is not UTF-8. Escaped, it is an unknown character.
        if not self.query_string.isascii():
            self.query_string = quote(self.query_string, safe=string.punctuation).encode()

    @cached_property
    def accept_mimetypes(self) -> MIMEAccept:
        # The library takes quadratic time for the spaces between two words.
        return parse_accept_header(self.headers.get("Accept", "")[:LONGEST_ACCEPT], MIMEAccept)

    def _load_form_data(self) -> None:
        super()._load_form_data()
        # A part without a name is not one of our fields.
        if None in self.form:
            named = [each for each in self.form.items(multi=True) if each[0] is not None]
            self.form = ImmutableMultiDict(named)


class _NoSession(SessionInterface):
    """Disables Flask's signed cookie: our sessions are rows, with a cookie of their own."""

    def open_session(self, app: Flask, request: Request) -> None:
        return None


def register_web(app: Flask) -> None:
    app.request_class = _Request
    app.session_interface = _NoSession()
    app.add_template_global(current_path)
    app.before_request(_assign_request_id)
    app.after_request(_add_headers)


def answer_privately(
    page: str | Response, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page whose URL or content is secret: neither cached nor sent as a referrer."""
    response = make_response(page, status, headers or {})
    response.headers["Cache-Control"] = "no-store"
    # no-referrer would blank the Origin of the page's forms.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def answer_as(error: ServiceError) -> None:
    """Give the response to this request the status and headers of `error`, whatever its page."""

    @after_this_request
    def mark(response: Response) -> Response:
        response.status_code = error.status
        response.headers.update(error.headers)
        return response


def safe_target(target: str) -> str:
    """Return `target`, the path to open after signing in, or "" unless it is one of our own."""
    # Browsers treat a backslash as a slash, and remove tabs and line breaks first.
    is_plain = "\\" not in target and target.isprintable()
    base = request.root_path
    is_ours = target.startswith(f"{base}/") and not target.startswith("//")
    # A browser resolves these, and beside the base path there may be others' pages.
    steps = re.split("[?#]", target)[0].lower().replace("%2e", ".").split("/") if base else ()
    return target if is_plain and is_ours and ".." not in steps else ""


def _assign_request_id() -> None:
    g.request_id = secrets.token_hex(8)


def _add_headers(response: Response) -> Response:
    headers = response.headers
    headers["X-Request-Id"] = g.request_id
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "strict-origin-when-cross-origin")
    is_page = response.mimetype == "text/html"
    headers.setdefault("Content-Security-Policy", _write_page_policy() if is_page else DATA_POLICY)
    if is_page:
        records = g.get("takes_recordings")
        headers.setdefault("Permissions-Policy", DEVICES if records else NO_DEVICES)
    if response.status_code >= 400 and wants_json(request.path):
        headers.setdefault("Cache-Control", "no-store")
        if request.path.startswith("/v1/") and response.mimetype == "application/json":
            late("core.http.openapi:use_problem_details")(response)
    if request.is_secure and (policy := current_settings().hsts):
        headers.setdefault("Strict-Transport-Security", policy)
    return response


def _write_page_policy() -> str:
    return PAGE_POLICY.format(
        service=origin_of(base_url()),
        # The page's inline style sheet, by its digest.
        styles=f" {g.style_source}" if "style_source" in g else "",
        # What a visitor has recorded and not sent.
        recorded=" blob:" if g.get("takes_recordings") else "",
        # Where a form's answer may take the browser: to the program that a person lets connect.
        targets=f" {g.form_target}" if "form_target" in g else "",
        frames="'self'" if g.get("has_preview") else "'none'",
        ancestors=_choose_ancestors(),
    )


def _choose_ancestors() -> str:
    """Return who may frame the page: anybody, our own editor, or nobody."""
    if g.get("is_frameable"):
        return "*"
    return "'self'" if g.get("is_preview") else "'none'"
