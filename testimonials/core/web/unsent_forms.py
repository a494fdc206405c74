"""What somebody typed into a form that was not taken, to be shown and sent once more."""

from dataclasses import dataclass

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge

# More than any form of ours is full of; the sign-in form itself takes 256 KiB.
MAX_LENGTH = 64 * 1024
# A form with a photo is read for its words.
MAX_FORM_BYTES = 16 * 1024 * 1024
# What buttons and hidden fields say, and confirmations of what can't be taken back: nobody typed
# a text there that would be missed. A form with a secret in it is not kept at all.
NOT_TYPED = {
    "action", "all", "before", "confirm", "consent", "draft", "ids", "invitation", "kept_photo",
    "lang", "next", "original", "return_to", "seen", "status", "theme", "token", "undo",
}  # fmt: skip
SECRETS = {"password", "current", "proof"}
# Somebody's file, packed: it is chosen once more.
FILES = {"packed"}


@dataclass(frozen=True)
class UnsentForm:
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


def read_unsent_form() -> UnsentForm | None:
    """Return the form that was sent, None where nothing was typed that could be shown again."""
    if request.method != "POST":
        return None
    # Told before it is read: a letter takes up to three bytes on the way.
    is_packed = request.mimetype == "application/x-www-form-urlencoded"
    if is_packed and (request.content_length or 0) > 3 * MAX_LENGTH:
        return None
    request.max_content_length = MAX_FORM_BYTES
    try:
        fields = list(request.form.items(multi=True))
        had_file = any(file.filename for file in request.files.values())
    except RequestEntityTooLarge:
        return None
    names = {name for name, _ in fields}
    form = UnsentForm(request.full_path.rstrip("?"), fields, had_file)
    length = sum(len(name) + len(text) for name, text in fields)
    if names & (SECRETS | FILES) or "confirm" in names or length > MAX_LENGTH or not form.typed:
        return None
    return form
