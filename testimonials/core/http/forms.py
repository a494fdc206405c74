"""HTML forms: reading one by a schema, offering unsent input again, and notices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from flask import request, url_for
from marshmallow import EXCLUDE, Schema, ValidationError, fields, missing
from marshmallow.types import UnknownOption
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.core.db.identifiers import is_identifier
from testimonials.core.http.fields import RuleField
from testimonials.core.http.i18n import gettext
from testimonials.core.http.signing import TokenPurpose
from testimonials.core.http.urls import current_path

# A page's form is a `FormSchema` with fields of `core.http.fields`. If something is wrong, the view
# shows the page again, with `typed` and `errors`:
#
# class RenameForm(FormSchema):
#     name = OneLine(120, missing=gettext_noop("Add a name."))
#
# sent = RenameForm().read()
# if sent.errors:
#     return show_page(project, sent.typed, sent.errors), 422
#
# `values` has a key for each field, or its `attribute`. An empty field counts as missing: that is
# an error if it is required, and else gives its `load_default` or None.

# Nobody types more into one of our forms.
MAX_LENGTH = 64 * 1024
# Enough for a form with a photo.
MAX_FORM_BYTES = 16 * 1024 * 1024
# Buttons, hidden fields and confirmations, which aren't worth showing again.
NOT_TYPED = {
    "action", "address", "all", "before", "confirm", "consent", "decision", "draft", "ends", "ids",
    "invitation", "kept_photo", "lang", "next", "once", "original", "project", "purchase",
    "recording", "recording_kept", "return_to", "scopes", "seen", "status", "theme",
    "sending", "token", "undo",
}  # fmt: skip
# A form with one of these isn't shown again at all.
SECRETS = {"password", "current", "proof", "proof_code", "code", "step"}
# Files encoded in a field, which have to be chosen again.
FILES = {"packed"}


@dataclass(frozen=True)
class SentForm:
    """A form that was sent: its raw texts, the loaded values, and messages by field."""

    typed: dict[str, Any]
    values: dict[str, Any]
    errors: dict[str, list[str]]


class Secret(fields.String):
    """A password or code, which is never in `typed`."""

    def __init__(self) -> None:
        super().__init__(load_default="")


class Once(fields.String):
    """The id that a form has each time it is shown, or "" if the id is invalid.

    The form's view gets `is_repeated` instead: whether a form with this id was sent before.
    """

    def __init__(self) -> None:
        super().__init__(load_default="")

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        return value if is_identifier(value) else ""


class Choices(fields.Field[list[str]]):
    """The ticked choices, in order; with the message `missing`, at least one is required."""

    def __init__(self, *choices: str, missing: str = "", load_default: Any = list) -> None:
        if missing:
            super().__init__(required=True, error_messages={"required": missing})
        else:
            super().__init__(load_default=load_default)
        self.choices = choices

    def collect(self, form: MultiDict[str, str], name: str) -> list[Any]:
        return form.getlist(name)

    def _deserialize(self, value: list[str], attr: Any, data: Any, **_: Any) -> list[str]:
        chosen = [each for each in self.choices if each in value]
        if self.required and not chosen:
            raise self.make_error("required")
        return chosen


class Identifiers(Choices):
    """The ids sent by all fields of one name; anything else is dropped."""

    def _deserialize(self, value: list[str], attr: Any, data: Any, **_: Any) -> list[str]:
        return list(filter(is_identifier, value))


class FormSchema(Schema):
    """The schema of a page's form; other fields are ignored."""

    class Meta:
        unknown: UnknownOption = EXCLUDE

    # The size limit, if it is higher than usual, and the errors if it is exceeded.
    max_bytes: ClassVar[int] = 0
    too_large: ClassVar[Mapping[str, str]] = {}

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Give the field its messages for people, and a default unless it is required."""
        if isinstance(field_obj, RuleField):
            words = RuleField.form_messages | field_obj.form_messages | field_obj.own_messages
            # A copy, since other schemas share the field's dictionary.
            field_obj.error_messages = field_obj.error_messages | words
        if not field_obj.required and field_obj.load_default is missing:
            field_obj.load_default = None

    def read(self, form: Mapping[str, str] | None = None, *, is_partial: bool = False) -> SentForm:
        """Load the form of this request, or `form`; with `is_partial`, only the fields it has."""
        if self.max_bytes:
            request.max_content_length = request.max_form_memory_size = self.max_bytes
        try:
            form = request.form if form is None else form
        except RequestEntityTooLarge:
            if not self.too_large:
                raise
            return SentForm({}, {}, {name: [text] for name, text in self.too_large.items()})
        typed: dict[str, Any] = {
            name: self._read(form, name) for name in self.fields if not is_partial or name in form
        }
        payload = {}
        for name, text in typed.items():
            field = self.fields[name]
            # Spaces are significant in a secret.
            if text if isinstance(field, Choices | Secret) else text.strip():
                payload[name] = field.from_text(text) if isinstance(field, RuleField) else text
        skipped = [name for name in self.fields if name not in typed]
        typed = {n: text for n, text in typed.items() if not isinstance(self.fields[n], Secret)}
        try:
            return SentForm(typed, self.load(payload, partial=skipped), {})
        except ValidationError as error:
            return SentForm(typed, dict(error.valid_data or {}), error.messages_dict)

    def _read(self, form: Mapping[str, str], name: str) -> str | list[str]:
        field = self.fields[name]
        if isinstance(field, Choices) and isinstance(form, MultiDict):
            return field.collect(form, name)
        # A switch that is on is sent twice, since browsers send nothing for one that is off.
        texts = form.getlist(name) if isinstance(form, MultiDict) else [form.get(name, "")]
        # Browsers send line breaks as CR LF.
        return texts[-1].replace("\r\n", "\n").replace("\r", "\n") if texts else ""


def list_sent() -> list[tuple[str, str]]:
    """Return all fields of this request's form, to be sent again."""
    return list(request.form.items(multi=True))


@dataclass(frozen=True)
class UnsentForm:
    """A form that was refused."""

    path: str
    fields: list[tuple[str, str]]
    had_file: bool

    @property
    def typed(self) -> list[tuple[str, str]]:
        return [
            (name.replace("_", " ").capitalize(), text)
            for name, text in self.fields
            if name not in NOT_TYPED and text.strip()
        ]


def read_unsent_form() -> UnsentForm | None:
    """Return this request's form, or None if it has no input that can be shown again."""
    if request.method != "POST":
        return None
    # Checked before it is read; URL encoding may triple its length.
    is_packed = request.mimetype == "application/x-www-form-urlencoded"
    if is_packed and (request.content_length or 0) > 3 * MAX_LENGTH:
        return None
    request.max_content_length = MAX_FORM_BYTES
    try:
        fields = list_sent()
        had_file = any(file.filename for file in request.files.values())
    except RequestEntityTooLarge:
        return None
    names = {name for name, _ in fields}
    form = UnsentForm(current_path(has_query=True), fields, had_file)
    length = sum(len(name) + len(text) for name, text in fields)
    if names & (SECRETS | FILES) or "confirm" in names or length > MAX_LENGTH or not form.typed:
        return None
    return form


# A notice is the line that a page shows after a change, with Undo if that is possible. It is in the
# page's URL, signed, so nobody can craft a link that shows their own text as ours.

NOTICE_SECONDS = 60

notice_purpose = TokenPurpose("notice")


def say_what(done: str, what: str) -> str:
    """Return a notice such as "Removed: Maya"."""
    return gettext("%(done)s: %(what)s", done=done, what=what)


def add_notice(target: str, text: str, undo_token: str | None = None, undo_url: str = "") -> str:
    """Add a notice to a URL, with Undo if it has an `undo_token`; "" undoes the last change.

    Without an `undo_url`, that undoes changes of testimonials.
    """
    values = {"notice": notice_purpose.sign([text, undo_token, undo_url])}
    return target + ("&" if "?" in target else "?") + urlencode(values)


def read_notice() -> dict[str, str | None] | None:
    """Return the notice in this request's URL, if it is less than a minute old."""
    notice = notice_purpose.find(request.args.get("notice", ""), 3, NOTICE_SECONDS)
    return describe_notice(*notice) if notice else None


def describe_notice(text: str, token: str | None, url: str = "") -> dict[str, str | None]:
    """Return a notice as templates and scripts need it."""
    return {
        "text": text,
        "undo_url": None if token is None else url or url_for("dashboard.inbox.undo"),
        "undo_token": token,
    }
