"""The cookie of a signed-in browser."""

from flask import current_app, request
from werkzeug import Response

from testimonials.auth.sessions import LIFETIME


def read_session_cookie() -> str:
    """Give the token that the browser sent, or an empty string."""
    return request.cookies.get(_name(), "")


def set_session_cookie(response: Response, token: str) -> None:
    """Keep the token in the browser: out of reach of scripts and of other sites' forms."""
    response.set_cookie(
        _name(),
        token,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="Lax",
        secure=_is_https(),
    )


def renew_session_cookie(response: Response) -> None:
    """Keep the token of this request for as long as the session was made longer.

    An answer that sets or clears the cookie itself knows better.
    """
    cookies = response.headers.getlist("Set-Cookie")
    if not any(cookie.startswith(f"{_name()}=") for cookie in cookies):
        set_session_cookie(response, read_session_cookie())


def clear_session_cookie(response: Response) -> None:
    """Take the token out of the browser."""
    response.delete_cookie(_name(), httponly=True, samesite="Lax", secure=_is_https())


def _is_https() -> bool:
    return str(current_app.config["APP_URL"]).startswith("https://")


def _name() -> str:
    # Browsers take a __Host- cookie only over https and for this host alone.
    return "__Host-testimonials" if _is_https() else "testimonials"
