"""The owner's words in another language: which there are, and reading them from a form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.forms import Errors
from testimonials.dashboard.page.items import Form, Item
from testimonials.dashboard.page.look_form import LIMITS

TEXTS = {
    "headline": gettext_noop("Headline"),
    "description": gettext_noop("Description"),
    "signature": gettext_noop("Name beside the photo"),
}
ENDS = {"low": gettext_noop("What 0 means"), "high": gettext_noop("What 10 means")}


@dataclass(frozen=True)
class Line:
    """A text of the owner's, its field, and what it is in the other language."""

    field: str
    label: str
    original: str
    translated: str
    limit: int


@dataclass(frozen=True)
class Words:
    """What can be translated: texts by name, prompts, and questions."""

    texts: Mapping[str, str]
    prompts: Sequence[str]
    questions: Sequence[Item]
    translations: Mapping[str, Any]

    def list_lines(self, language: str, typed: Mapping[str, str]) -> list[Line]:
        """Return the texts that aren't empty; what was typed stands in place of what is stored."""
        lines = [*self._list_texts(language), *self._list_questions(language)]
        return [
            replace(line, translated=typed.get(line.field, line.translated))
            for line in lines
            if line.original
        ]

    def _list_texts(self, language: str) -> Iterator[Line]:
        stored = self.translations.get(language, {})
        for name, text in self.texts.items():
            yield Line(name, _(TEXTS[name]), text, stored.get(name, ""), LIMITS[name])
        for place, text in enumerate(self.prompts):
            translated = _at(stored.get("prompts", ()), place)
            yield Line(f"prompt-{place}", _("Guiding question"), text, translated, LIMITS["prompt"])

    def _list_questions(self, language: str) -> Iterator[Line]:
        for each in self.questions:
            id, stored = each["id"], each["translations"].get(language, {})
            translated = stored.get("text", "")
            yield Line(f"{id}-text", _("Question"), each["text"], translated, LIMITS["question"])
            for place, text in enumerate(each["choices"]):
                translated = _at(stored.get("choices", ()), place)
                field = f"{id}-choice-{place}"
                yield Line(field, _("Answer"), text, translated, LIMITS["choice"])
            for end, label in ENDS.items():
                yield Line(f"{id}-{end}", _(label), each[end], stored.get(end, ""), LIMITS["end"])

    def read(self, language: str, form: Form) -> dict[str, Any]:
        """Return `translations` and `questions` with what the form says in this language."""
        texts: dict[str, Any] = {name: _read(form, name) for name in self.texts}
        texts["prompts"] = [_read(form, f"prompt-{place}") for place in range(len(self.prompts))]
        questions = [
            each
            | {"translations": _put(each["translations"], language, _read_question(form, each))}
            for each in self.questions
        ]
        return {
            "translations": _put(self.translations, language, texts),
            "questions": questions,
        }


def name_errors(words: Mapping[str, Any], errors: Mapping[str, Sequence[str]]) -> Errors:
    """Return errors of what `Words.read` returned by the names of fields."""
    named: Errors = {}
    for path, texts in errors.items():
        part = re.sub(r"\[(\d+)\]$", r"-\1", path.rpartition(".")[2])
        part = part.replace("prompts-", "prompt-").replace("choices-", "choice-")
        found = re.match(r"questions\[(\d+)\]", path)
        prefix = f"{words['questions'][int(found[1])]['id']}-" if found else ""
        named[prefix + part] = list(texts)
    return named


def _read_question(form: Form, question: Item) -> dict[str, Any]:
    id = question["id"]
    places = range(len(question["choices"]))
    return {
        **{name: _read(form, f"{id}-{name}") for name in ("text", *ENDS)},
        "choices": [_read(form, f"{id}-choice-{place}") for place in places],
    }


def _put(
    translations: Mapping[str, Any], language: str, words: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the translations with these in place of the language's; none if all are empty."""
    kept = {name: value for name, value in words.items() if value and any(value)}
    others = {code: each for code, each in translations.items() if code != language}
    return others | ({language: kept} if kept else {})


def _at(lines: Sequence[str], place: int) -> str:
    return lines[place] if place < len(lines) else ""


def _read(form: Form, name: str) -> str:
    return form.get(name, "").replace("\r\n", "\n").strip()
