"""What somebody typed into a form whose session had ended, carried through signing in.

It rides in the pages themselves, signed, so that the server stores nothing of it, and it works
without a script. After signing in a page shows it with one button: nothing is sent by itself,
since somebody else may have signed in, or hours may have passed.
"""

from dataclasses import dataclass

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.core.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.core.web import safe_target

DRAFT_SECONDS = 60 * 60
# More than any form of ours is full of; the sign-in form itself takes 256 KiB.
MAX_DRAFT_LENGTH = 64 * 1024
# A form with a photo is read for its words.
MAX_FORM_BYTES = 11 * 1024 * 1024
# What buttons and hidden fields say, and confirmations of what can't be taken back: nobody typed
# a text there that would be missed. A form with a secret in it is not kept at all.
NOT_TYPED = {"action", "all", "confirm", "ids", "return_to", "status", "theme", "undo"}
SECRETS = {"password", "current", "proof"}
# Somebody's file, packed: it is chosen once more.
FILES = {"packed"}

draft_purpose = TokenPurpose("draft")


@dataclass(frozen=True)
class Draft:
    """A form that was not sent: where to, its fields in order, and whether a file is missing."""

    path: str
    fields: list[tuple[str, str]]
    had_file: bool

    @property
    def typed(self) -> list[tuple[str, str]]:
        """What a person wrote, with the name of each field as words."""
        return [
            (name.replace("_", " ").capitalize(), text)
            for name, text in self.fields
            if name not in NOT_TYPED and text.strip()
        ]


def keep_draft() -> str:
    """Give the signed draft of this request's form, empty where there is nothing to keep."""
    request.max_content_length = MAX_FORM_BYTES
    try:
        fields = list(request.form.items(multi=True))
        had_file = any(file.filename for file in request.files.values())
    except RequestEntityTooLarge:
        return ""
    names = {name for name, _ in fields}
    draft = Draft(request.path, fields, had_file)
    length = sum(len(name) + len(text) for name, text in fields)
    if (
        names & (SECRETS | FILES)
        or "confirm" in names
        or not draft.typed
        or length > MAX_DRAFT_LENGTH
    ):
        return ""
    return draft_purpose.sign([draft.path, draft.fields, draft.had_file])


def read_draft(token: str) -> Draft | None:
    """Give the draft of a token, None for one that is too old or was not made here."""
    try:
        (path, fields, had_file), _ = draft_purpose.read(token, DRAFT_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return Draft(safe_target(path), [(name, text) for name, text in fields], had_file)
