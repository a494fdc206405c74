"""Notices: the line that a page shows after a change, with Undo where there is something to undo.

A notice is in the URL of its page, and signed: otherwise a link could show any text as ours.
"""

from urllib.parse import urlencode

from flask import request, url_for

from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose

NOTICE_SECONDS = 60

notice_purpose = TokenPurpose("notice")


def add_notice(target: str, text: str, undo_token: str | None = None) -> str:
    """Add a notice to a URL; an empty token offers to undo the person's own last change."""
    values = {"notice": notice_purpose.sign([text, undo_token])}
    return target + ("&" if "?" in target else "?") + urlencode(values)


def read_notice() -> dict[str, str | None] | None:
    """Return the notice in this request's URL, if it is less than a minute old."""
    try:
        (text, token), _ = notice_purpose.read(request.args.get("notice", ""), NOTICE_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return {
        "text": text,
        "undo_url": None if token is None else url_for("inbox.undo"),
        "undo_token": token,
    }
