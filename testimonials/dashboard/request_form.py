"""The form that asks people for testimonials by mail."""

from dataclasses import dataclass, field
from typing import Any

from flask import request
from marshmallow import ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from testimonials.collection.address_lists import MAX_FILE_BYTES, AddressList, read_csv, read_pasted
from testimonials.collection.models import RequestBatch
from testimonials.collection.request_mail import SUBJECT_LENGTH, suggest_texts
from testimonials.collection.requests import MESSAGE_LENGTH, REMINDERS, WAITS
from testimonials.core.csv_rows import TableUnreadable
from testimonials.core.http.fields import Choice, RuleField, Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import ENGLISH, LANGUAGES, find_language, gettext_noop
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project

NEVER, NOW = "never", "0"
DEFAULT_REMINDER = "5"
# A file of 1 MB, plus 500 people with long names in the text field.
FORM_BYTES = MAX_FILE_BYTES + 1024 * 1024
TOO_LARGE = gettext_noop(
    "This file is too large to upload, and nothing else in the form could be read. Go back in your "
    "browser to find what you typed, and choose a file of at most 1 MB."
)


class _PastedList(RuleField):
    """Pasted addresses, or a pasted table; loads as an `AddressList`."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> AddressList:
        try:
            return read_pasted(value)
        except TableUnreadable as error:
            raise ValidationError(str(error)) from None


class RequestFormSchema(FormSchema):
    """Whom to ask, and the mail that they get."""

    people = _PastedList(rule="", load_default=AddressList)
    subject = Text(
        SUBJECT_LENGTH,
        one_line=True,
        required=True,
        error_messages={"required": gettext_noop("Write a subject.")},
    )
    message = Text(
        MESSAGE_LENGTH,
        required=True,
        error_messages={"required": gettext_noop("Write a few words.")},
    )
    language = Choice(
        *(language.code for language in LANGUAGES),
        required=True,
        error_messages={"invalid": gettext_noop("Choose one of the languages.")},
    )
    form = Text(SLUG_LENGTH, one_line=True, load_default="")
    wait = Choice(*map(str, WAITS), load_default=NOW)
    reminder = Choice(
        NEVER,
        *map(str, REMINDERS),
        required=True,
        error_messages={"invalid": gettext_noop("Choose after how many days, or never.")},
    )


@dataclass
class RequestForm:
    """What was typed, what it was read as, and what is wrong with it."""

    typed: dict[str, str]
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    uploaded: AddressList = field(default_factory=AddressList)

    @property
    def pasted(self) -> AddressList:
        pasted: AddressList = self.values["people"]
        return pasted

    @property
    def token(self) -> str:
        return request.form.get("token", "")

    @property
    def wait_days(self) -> int:
        return int(self.values["wait"])

    def asked_by(self, email: str) -> tuple[RequestBatch, AddressList, str, int]:
        """Return what `ask_people` takes, asked by this person."""
        return self.batch, self.pasted, email, self.wait_days

    @property
    def batch(self) -> RequestBatch:
        """The message to everybody, as a row that isn't stored yet."""
        reminder = self.values["reminder"]
        return RequestBatch(
            subject=self.typed["subject"][:SUBJECT_LENGTH],
            message=self.typed["message"],
            language=self.values["language"],
            form_name=self.values["form"] or None,
            remind_after_days=None if reminder == NEVER else int(reminder),
        )


def default_values(project: Project) -> dict[str, str]:
    subject, message = suggest_texts(project, ENGLISH.code)
    return {
        "people": "",
        "subject": subject,
        "message": message,
        "language": ENGLISH.code,
        "reminder": DEFAULT_REMINDER,
        "form": "",
        "wait": NOW,
    }


def read_request_form(project: Project) -> RequestForm:
    """Read and check the form; an unchanged suggestion follows the language."""
    request.max_content_length = request.max_form_memory_size = FORM_BYTES
    try:
        sent = RequestFormSchema().read(request.form)
        file = request.files.get("file")
    except RequestEntityTooLarge:
        return RequestForm(default_values(project), errors={"file": [TOO_LARGE]})
    form = RequestForm(sent.typed, sent.values, sent.errors)
    form.typed |= _follow_language(project, sent.typed)
    try:
        if file is not None and file.filename:
            form.uploaded = read_csv(file.read())
    except TableUnreadable as error:
        form.errors["file"] = [str(error)]
    if not form.errors and form.pasted.is_empty and form.uploaded.is_empty:
        form.errors["people"] = [gettext_noop("Paste at least one address, or choose a file.")]
    if "change" in request.form and not form.errors:
        form.typed["people"] = request.form.get("original") or form.typed["people"]
    return form


def _follow_language(project: Project, typed: dict[str, str]) -> dict[str, str]:
    language = find_language(typed["language"]) or ENGLISH
    wanted = suggest_texts(project, language.code)
    suggested = [suggest_texts(project, each.code) for each in LANGUAGES]
    return {
        name: wanted[place]
        if typed[name].strip() in [texts[place].strip() for texts in suggested]
        else typed[name].strip()
        for place, name in enumerate(("subject", "message"))
    }
