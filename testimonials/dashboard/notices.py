"""What a page tells after a change: a sentence and Undo, carried by the address it leads to.

It is signed, so that nobody can put words of their own into somebody's dashboard, and the server
keeps nothing of it.
"""

from urllib.parse import urlencode

from flask import request, url_for

from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose

NOTICE_SECONDS = 60

notice_purpose = TokenPurpose("notice")


def add_notice(target: str, text: str, undo_token: str | None = None) -> str:
    """Return the address `target` with a notice for the page that is there."""
    values = {"notice": notice_purpose.sign([text, undo_token])}
    return target + ("&" if "?" in target else "?") + urlencode(values)


def read_notice() -> dict[str, str | None] | None:
    """Return the notice that this request's address carries."""
    try:
        (text, token), _ = notice_purpose.read(request.args.get("notice", ""), NOTICE_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return {
        "text": text,
        "undo_url": url_for("inbox.undo") if token else None,
        "undo_token": token,
    }
