"""The cookies of sessions, known and trusted browsers, and single sign-on."""

from flask import after_this_request, g, request
from werkzeug import Response

from testimonials.auth.accounts import require_unsuspended
from testimonials.auth.credentials import (
    KNOWN_SECONDS,
    Visitor,
    find_known_browser,
    make_known_token,
)
from testimonials.auth.events import SESSION_STARTED
from testimonials.auth.models import Account
from testimonials.auth.sessions import LIFETIME, SignInMethod, find_chosen_language, start_session
from testimonials.core.audit import ActorKind, act_as, current_network, record
from testimonials.core.event_lists import describe_browser
from testimonials.core.http.errors import speaks_english
from testimonials.core.http.i18n import use_language
from testimonials.core.http.rate_limits import client_key
from testimonials.core.http.urls import app_url, base_path

# For a browser that was sent to the SSO provider, and for a person who returned with an account to
# claim.
VISIT, ARRIVAL = "-visit", "-arrival"
KNOWN, TRUSTED, THEME, OPENED = "-known-", "-trusted-", "-theme", "-opened"


def name_cookie(ending: str = "") -> str:
    """Return the name of one of our cookies, by default the session's."""
    # Browsers accept a __Host- cookie only over https, for exactly this host and the path /.
    prefix = "__Secure-" if base_path() else "__Host-"
    return f"{prefix if is_https() else ''}testimonials{ending}"


def read_cookie(ending: str) -> str:
    return request.cookies.get(name_cookie(ending), "")


def read_session_cookie() -> str:
    return read_cookie("")


def use_persons_language() -> None:
    """Use the signed-in person's language for this response, or else the browser's.

    Blueprints call this before each view.
    """
    if not speaks_english(request.path):
        token = read_session_cookie()
        use_language(find_chosen_language(token) if token else None)


def sign_browser_in(
    account: Account, how: SignInMethod, means: str = "", *, is_proved: bool = True
) -> str:
    """Start a session for this request's browser and record it; return its token.

    The event names `means` instead of `how`, if given. See `start_session` for `is_proved`. Raises
    `AccountSuspended`.
    """
    require_unsuspended(account.suspended_at, account.suspended_reason)
    browser = request.user_agent.string
    replaced = read_session_cookie()
    token = start_session(account, browser, how, replaces=replaced, is_proved=is_proved)
    act_as(ActorKind.PERSON, account.id)
    record(SESSION_STARTED, account.id, browser=describe_browser(browser), means=means or how)
    return token


def set_session_cookie(response: Response, account: Account, token: str) -> None:
    """Set the cookie of the session, and the one that marks the browser as known."""
    set_cookie(response, "", token, int(LIFETIME.total_seconds()))
    know_browser(response, account)


def know_browser(response: Response, account: Account) -> None:
    """Mark the browser as known to the account, until all browsers are signed out."""
    # One cookie for each account, since a person may have several.
    set_cookie(response, f"{KNOWN}{account.id}", make_known_token(account), KNOWN_SECONDS)


def describe_visitor(email: str) -> Visitor:
    """Return where the request comes from, and the browser if the account of `email` knows it."""
    known = name_cookie(KNOWN)
    tokens = (value for name, value in request.cookies.items() if name.startswith(known))
    address = client_key(ipv6_bits=48)
    return Visitor(address, str(current_network()), find_known_browser(tokens, email))


def replace_session_cookie(token: str) -> None:
    """Set a new session token in the response to this request."""
    g.session_token = token
    after_this_request(renew_session_cookie)


def renew_session_cookie(response: Response) -> Response:
    """Extend the session's cookie, unless the response already sets or clears it."""
    cookies = response.headers.getlist("Set-Cookie")
    if not any(cookie.startswith(f"{name_cookie()}=") for cookie in cookies):
        token = g.get("session_token") or read_session_cookie()
        set_cookie(response, "", token, int(LIFETIME.total_seconds()))
    return response


def clear_session_cookie(response: Response) -> None:
    name, path = name_cookie(), _path()
    response.delete_cookie(name, path=path, httponly=True, samesite="Lax", secure=is_https())


def is_https() -> bool:
    return app_url().startswith("https://")


def set_cookie(response: Response, ending: str, value: str, seconds: int) -> None:
    """Set a cookie that scripts can't read and other sites' forms don't send."""
    response.set_cookie(
        name_cookie(ending),
        value,
        max_age=seconds,
        path=_path(),
        httponly=True,
        samesite="Lax",
        secure=is_https(),
    )


def _path() -> str:
    return base_path() or "/"
