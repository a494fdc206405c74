"""The page that signs in, which every page that needs a session may answer with."""

from flask import render_template

from testimonials.settings.current import current_settings

NOTICES = {
    "signed-out": "You are signed out.",
    "expired": "Please sign in again.",
    "address": "Sign in with your present address to use the new one.",
    "kept": "You were signed out meanwhile. Sign in again: what you typed is kept.",
}


def render_login(
    errors: dict[str, list[str]], email: str, target: str, *, notice: str = "", draft: str = ""
) -> str:
    """Return the page; `notice` is a key of NOTICES, `draft` what was typed before (drafts)."""
    is_open = current_settings().signup != "closed"
    return render_template(
        "auth/sign_in/login.html",
        errors=errors,
        email=email,
        action="/login",
        next=target,
        draft=draft,
        forgot_url="/forgot",
        signup_url="/signup" if is_open else None,
        notice=NOTICES.get(notice),
    )
