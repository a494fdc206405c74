"""The cookie of a signed-in browser, and how a request becomes signed in."""

from flask import current_app, request
from werkzeug import Response

from testimonials.activity.actors import ActorKind, act_as
from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_event
from testimonials.auth.models import Account
from testimonials.auth.sessions import LIFETIME, describe_browser, start_session


def read_session_cookie() -> str:
    """Give the token that the browser sent, or an empty string."""
    return request.cookies.get(_name(), "")


def sign_browser_in(account: Account, means: str) -> str:
    """Start a session for this request's browser and record by which means; return its token."""
    browser = request.user_agent.string
    token = start_session(account, browser, replaces=read_session_cookie())
    act_as(ActorKind.PERSON, account.id)
    record_event(
        EventType.SESSION_STARTED, account.id, browser=describe_browser(browser), means=means
    )
    return token


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
