"""What every answer carries: a request id, and the security headers of its surface."""

import secrets

from flask import Flask, Response, current_app, g, request

from testimonials.core.errors import wants_json

PAGE_POLICY = (
    "default-src 'none'; script-src 'self' {service}; style-src 'self'; "
    "img-src 'self' data: https: http:; connect-src 'self' {service}; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
)
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"


def register_web(app: Flask) -> None:
    """Give every request an id and every answer its headers."""
    app.before_request(_assign_request_id)
    app.after_request(_add_headers)


def _assign_request_id() -> None:
    g.request_id = secrets.token_hex(8)


def _add_headers(response: Response) -> Response:
    headers = response.headers
    headers["X-Request-Id"] = g.request_id
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Referrer-Policy", "strict-origin-when-cross-origin")
    is_page = response.mimetype == "text/html"
    ancestors = "*" if getattr(g, "is_frameable", False) else "'none'"
    page_policy = PAGE_POLICY.format(ancestors=ancestors, service=current_app.config["BASE_URL"])
    policy = page_policy if is_page else DATA_POLICY
    headers.setdefault("Content-Security-Policy", policy)
    if wants_json(request.path) and response.status_code >= 400:
        headers.setdefault("Cache-Control", "no-store")
    if request.is_secure:
        headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    return response
