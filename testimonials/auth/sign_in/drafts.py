"""What somebody typed into a form whose session had ended, carried through signing in.

It rides in the pages themselves, signed, so that the server stores nothing of it, and it works
without a script. After signing in a page shows it with one button: nothing is sent by itself,
since somebody else may have signed in, or hours may have passed.
"""

from testimonials.core.web.forms import UnsentForm, read_unsent_form
from testimonials.core.web.response_headers import safe_target
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose

DRAFT_SECONDS = 60 * 60

draft_purpose = TokenPurpose("draft")


def keep_draft() -> str:
    """Return the signed draft of this request's form, empty where there is nothing to keep."""
    form = read_unsent_form()
    return draft_purpose.sign([form.path, form.fields, form.had_file]) if form else ""


def read_draft(token: str) -> UnsentForm | None:
    """Return the draft of a token, None for one that is too old or was not made here."""
    try:
        (path, fields, had_file), _ = draft_purpose.read(token, DRAFT_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return UnsentForm(safe_target(path), [(name, text) for name, text in fields], had_file)
