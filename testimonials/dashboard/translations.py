"""The owner's words on a page in other languages, of which ``?lang=`` names one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import request, url_for
from marshmallow import ValidationError
from werkzeug.datastructures import MultiDict

from testimonials.collection.forms import change_form, read_form_design, update_page_design
from testimonials.collection.models import CollectionForm
from testimonials.collection.schemas import FormDesignSchema
from testimonials.core.http.blueprints import collect
from testimonials.core.http.errors import Errors, ValidationFailed
from testimonials.core.http.forms import Choices
from testimonials.core.http.i18n import ENGLISH, LANGUAGES, Language, find_language
from testimonials.core.http.i18n import gettext as _
from testimonials.dashboard.framework import Done, ProjectPage, Values
from testimonials.dashboard.page_editor import (
    describe_frame,
    find_named,
    name_in_address,
    note_change,
)
from testimonials.dashboard.page_form import LIMITS
from testimonials.projects.access import Access
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema

words_page = ProjectPage(collect, "collect/page/words", "page/words.html", nav="collect")


class Spoken(Choices):
    """All texts of the form, by the names of their lines."""

    def collect(self, form: MultiDict[str, str], name: str) -> Any:
        return {each: text.replace("\r\n", "\n").strip() for each, text in form.items()}

    def _deserialize(self, value: Any, attr: Any, data: Any, **_: Any) -> Any:
        return value


@dataclass(frozen=True)
class Line:
    """A text of the owner's: of the page or a question, and where in it."""

    part: Mapping[str, Any]
    name: str
    label: str
    original: str
    limit: int
    place: int | None = None

    @property
    def field(self) -> str:
        return name_line(self.part, self.name, self.place)

    def say(self, language: str) -> str:
        """Return what it is in this language, empty if that isn't said."""
        said: Any = self.part["translations"].get(language, {}).get(self.name, "")
        if self.place is None:
            return str(said)
        return said[self.place] if self.place < len(said) else ""


def name_line(part: Mapping[str, Any], name: str, place: object = None) -> str:
    return "-".join(str(each) for each in (part.get("id"), name, place) if each is not None)


@words_page.show
def show_words(access: Access) -> Values:
    project, form, language = access.project, find_named(access.project), choose_language()
    design = _read_design(project, form)
    parts = [design["translations"], *(each["translations"] for each in design["questions"])]
    return describe_frame(project, form) | {
        "language": language,
        "languages": [
            {"code": each.code, "name": each.name, "has": any(each.code in part for part in parts)}
            for each in LANGUAGES
        ],
        "lines": list(list_lines(design)),
    }


@words_page.save({"words": Spoken(load_default=dict)})
def save_words(access: Access, words: dict[str, str]) -> Done:
    project, form, language = access.project, find_named(access.project), choose_language()
    changes = put_words(_read_design(project, form), language.code, words)
    try:
        (FormDesignSchema() if form else PageDesignSchema()).check(changes)
    except ValidationError as error:
        raise ValidationFailed.of(_name_errors(changes, error.messages_dict)) from None
    if change_form(project, form, changes) if form else update_page_design(project, changes):
        note_change(project, form)
    here = url_for(".show_words", form=name_in_address() or None, lang=language.code)
    return Done(_("Saved"), to=here)


def choose_language() -> Language:
    """Return the language of the address; the first that isn't English by default."""
    others = (each for each in LANGUAGES if each != ENGLISH)
    return find_language(request.args.get("lang", "")) or next(others)


def _read_design(project: Project, form: CollectionForm | None) -> Values:
    if form is not None:
        return read_form_design(form)
    return project.page_config | project.whole_page_design


def list_lines(design: Values) -> Iterator[Line]:
    """Yield the texts that aren't empty, in the order of the page."""
    named = {
        "headline": _("Headline"),
        "description": _("Description"),
        "signature": _("Name beside the photo"),
    }
    for name, label in named.items():
        if text := design.get(name):
            yield Line(design, name, label, text, LIMITS[name])
    for place, text in enumerate(design["prompts"]):
        yield Line(design, "prompts", _("Guiding question"), text, LIMITS["prompt"], place)
    for each in design["questions"]:
        yield Line(each, "text", _("Question"), each["text"], LIMITS["question"])
        for place, text in enumerate(each["choices"]):
            yield Line(each, "choices", _("Answer"), text, LIMITS["choice"], place)
        for end, label in (("low", _("What 0 means")), ("high", _("What 10 means"))):
            if each[end]:
                yield Line(each, end, label, each[end], LIMITS["end"])


def put_words(design: Values, language: str, sent: Mapping[str, str]) -> Values:
    """Return `translations` and `questions` with what was sent in this language."""
    said: dict[str | None, dict[str, Any]] = {}
    for line in list_lines(design):
        words, text = said.setdefault(line.part.get("id"), {}), sent.get(line.field, "")
        if line.place is None:
            words[line.name] = text
        else:
            words.setdefault(line.name, []).append(text)

    def put(part: Values) -> Values:
        kept = {name: text for name, text in said.get(part.get("id"), {}).items() if any(text)}
        others = {code: each for code, each in part["translations"].items() if code != language}
        return others | ({language: kept} if kept else {})

    questions = [each | {"translations": put(each)} for each in design["questions"]]
    return {"translations": put(design), "questions": questions}


def _name_errors(words: Values, errors: Mapping[str, Sequence[str]]) -> Errors:
    """Return errors of what `put_words` returned by the names of lines."""
    named: Errors = {}
    for path, texts in errors.items():
        asked = re.match(r"questions\[(\d+)\]\.", path)
        found = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", path.rpartition(".")[2])
        name, place = found.groups() if found else (path, None)
        part = words["questions"][int(asked[1])] if asked else {}
        named[name_line(part, name, place)] = list(texts)
    return named
