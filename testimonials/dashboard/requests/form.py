"""The form that asks people for testimonials by mail: what was typed, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from marshmallow import ValidationError
from werkzeug.datastructures import FileStorage

from testimonials.collection.requests.address_lists import (
    AddressList,
    ListUnreadable,
    read_csv,
    read_pasted,
)
from testimonials.collection.requests.asking import MESSAGE_LENGTH, REMINDERS, Letter
from testimonials.collection.requests.request_mail import SUBJECT_LENGTH, suggest_texts
from testimonials.core.web.fields import clean
from testimonials.core.web.languages import ENGLISH, LANGUAGES, find_language
from testimonials.dashboard.forms import Errors
from testimonials.projects.models import Project

FIELDS = ("people", "subject", "message", "language", "reminder")
NEVER = "never"
DEFAULT_REMINDER = "5"


@dataclass
class RequestForm:
    """What was typed, the list and the letter that it makes, and what must be changed first."""

    values: dict[str, str]
    errors: Errors = field(default_factory=dict)
    pasted: AddressList = field(default_factory=AddressList)
    uploaded: AddressList = field(default_factory=AddressList)

    @property
    def letter(self) -> Letter:
        """What everybody gets, of a form without errors."""
        reminder = self.values["reminder"]
        return Letter(
            subject=self.values["subject"],
            message=self.values["message"],
            language=self.values["language"],
            remind_after_days=None if reminder == NEVER else int(reminder),
        )


def default_values(project: Project) -> dict[str, str]:
    """Return the values with which the form opens."""
    subject, message = suggest_texts(project, ENGLISH.code)
    return {
        "people": "",
        "subject": subject,
        "message": message,
        "language": ENGLISH.code,
        "reminder": DEFAULT_REMINDER,
    }


def read_request_form(
    project: Project, form: Mapping[str, str], file: FileStorage | None
) -> RequestForm:
    """Read and check the form; a suggested text that wasn't changed follows the language."""
    values = {name: form.get(name, "").replace("\r\n", "\n") for name in FIELDS}
    found = RequestForm(values)
    if values["language"] not in {language.code for language in LANGUAGES}:
        found.errors["language"] = ["Choose one of the languages."]
        values["language"] = ENGLISH.code
    if values["reminder"] not in {NEVER, *map(str, REMINDERS)}:
        found.errors["reminder"] = ["Choose after how many days, or never."]
        values["reminder"] = DEFAULT_REMINDER
    _read_line(found, "subject", SUBJECT_LENGTH, "Write a subject.", one_line=True)
    _read_line(found, "message", MESSAGE_LENGTH, "Write a few words.", one_line=False)
    _follow_language(project, values)
    _read_people(found, file)
    return found


def _read_line(found: RequestForm, name: str, limit: int, missing: str, *, one_line: bool) -> None:
    try:
        text = found.values[name] = clean(found.values[name], one_line=one_line)
    except ValidationError:
        found.errors[name] = ["Take the line breaks and control characters out."]
        return
    if not text:
        found.errors[name] = [missing]
    elif len(text) > limit:
        found.errors[name] = [f"Shorten this to {limit:,} characters; it has {len(text):,}."]


def _follow_language(project: Project, values: dict[str, str]) -> None:
    language = find_language(values["language"]) or ENGLISH
    wanted = suggest_texts(project, language.code)
    for each in LANGUAGES:
        subject, message = suggest_texts(project, each.code)
        if values["subject"] == subject.strip():
            values["subject"] = wanted[0]
        if values["message"] == message.strip():
            values["message"] = wanted[1]


def _read_people(found: RequestForm, file: FileStorage | None) -> None:
    try:
        if found.values["people"].strip():
            found.pasted = read_pasted(found.values["people"])
    except ListUnreadable as error:
        found.errors["people"] = [str(error)]
    try:
        if file is not None and file.filename:
            found.uploaded = read_csv(file.read())
    except ListUnreadable as error:
        found.errors["file"] = [str(error)]
    lists = (found.pasted, found.uploaded)
    if not found.errors and not any(each.people or each.wrong for each in lists):
        found.errors["people"] = ["Paste at least one address, or choose a file."]
