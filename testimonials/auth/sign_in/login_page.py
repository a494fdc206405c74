"""The sign-in page, with which every page that needs a session may answer.

When a session ended before its form was sent, the page carries what was typed, signed, so that the
server needn't store it. After signing in, the person has to confirm before anything is sent:
somebody else may have signed in, or hours may have passed.
"""

from flask import redirect, render_template, request, url_for
from werkzeug import Response

from testimonials.auth.proofs.challenges import has_passkeys
from testimonials.core.web.forms import UnsentForm, read_unsent_form
from testimonials.core.web.languages import gettext_noop, translate
from testimonials.core.web.response_headers import answer_privately, safe_target
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.settings.current import current_settings

DRAFT_SECONDS = 60 * 60
NOTICES = {
    "signed-out": gettext_noop("You are signed out."),
    "expired": gettext_noop("Please sign in again."),
    "needed": gettext_noop("Sign in to go on."),
    "address": gettext_noop("Sign in with your current address to use the new one."),
    "kept": gettext_noop("You were signed out. Sign in again; what you typed has been kept."),
}

draft_purpose = TokenPurpose("draft")


def render_login(
    target: str = "", *, email: str = "", problem: str = "", notice: str = "", draft: str = ""
) -> str:
    """Return the page; `notice` is a key of NOTICES, `draft` a token of `keep_draft`."""
    return render_template(
        "auth/sign_in/login.html",
        errors={"form": [problem]} if problem else {},
        email=email,
        next=target,
        draft=draft,
        is_signup_open=current_settings().signup != "closed",
        notice=translate(NOTICES.get(notice, "")),
        has_passkeys=has_passkeys(),
    )


def keep_draft() -> str:
    """Return the signed draft of this request's form, empty if there is nothing to keep."""
    form = read_unsent_form()
    return draft_purpose.sign([form.path, form.fields, form.had_file]) if form else ""


def read_draft(token: str) -> UnsentForm | None:
    """Return a token's draft, None if the token has expired or was not made here."""
    try:
        (path, fields, had_file), _ = draft_purpose.read(token, DRAFT_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return UnsentForm(safe_target(path), [(name, text) for name, text in fields], had_file)


def go_on() -> Response:
    """Answer who just signed in: offer to send what was typed before, or go to `next`."""
    if draft := read_draft(request.form.get("draft", "")):
        return answer_privately(render_template("auth/sign_in/resume.html", unsent=draft))
    target = safe_target(request.form.get("next", ""))
    return redirect(target or url_for("dashboard.show_start"), 303)
