"""The owner's words in other languages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError

from testimonials.collection.events import FORM_CHANGED
from testimonials.collection.forms import (
    change_form,
    find_form,
    read_form_design,
    update_page_design,
)
from testimonials.collection.models import CollectionForm
from testimonials.collection.schemas import FormDesignSchema
from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import pages
from testimonials.core.http.form_errors import Errors, answer_errors, wants_json
from testimonials.core.http.forms import add_notice
from testimonials.core.http.i18n import ENGLISH, LANGUAGES, find_language, gettext_noop
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import collection_page_url, form_url
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.page_editor import describe_frame
from testimonials.dashboard.page_form import LIMITS
from testimonials.dashboard.page_lists import Form, Item
from testimonials.projects.access import Access, Role
from testimonials.projects.events import PAGE_CHANGED
from testimonials.projects.models import Project
from testimonials.projects.page_design import PageDesignSchema

# The owner's words in another language: which there are, and reading them from a form.

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


# The words of the page, or of a form, in other languages, beside the owner's own.


@pages.get("/dashboard/projects/<project_id>/collect/page/words")
@require_role(Role.ADMIN)
def show_words(access: Access) -> ResponseReturnValue:
    """Show the page's words and those in the language of ``?lang=``."""
    return _page(access, None)


@pages.post("/dashboard/projects/<project_id>/collect/page/words")
@require_role(Role.ADMIN, for_update=True)
def save_words(access: Access) -> ResponseReturnValue:
    return _save(access, None)


@pages.get("/dashboard/projects/<project_id>/collect/page/forms/<form_name>/words")
@require_role(Role.ADMIN)
def show_form_words(access: Access, form_name: str) -> ResponseReturnValue:
    """Show a form's words and those in the language of ``?lang=``."""
    return _page(access, find_form(access.project, form_name))


@pages.post("/dashboard/projects/<project_id>/collect/page/forms/<form_name>/words")
@require_role(Role.ADMIN, for_update=True)
def save_form_words(access: Access, form_name: str) -> ResponseReturnValue:
    return _save(access, find_form(access.project, form_name))


def _save(access: Access, form: CollectionForm | None) -> ResponseReturnValue:
    project, language = access.project, _choose_language()
    words = _words_of(project, form).read(language, request.form)
    try:
        (FormDesignSchema() if form else PageDesignSchema()).check(words)
    except ValidationError as error:
        db.session.rollback()
        errors = name_errors(words, error.messages_dict)
        return answer_errors(errors) if wants_json() else (_page(access, form, errors), 422)
    if form is None and update_page_design(project, words):
        record(PAGE_CHANGED, project)
    if form is not None and change_form(project, form, words):
        record(FORM_CHANGED, project, form=form.title)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True})
    return redirect(add_notice(_here(form, language), _("Saved")), 303)


def _choose_language() -> str:
    """Return the language of the URL or the form; the first that isn't English by default."""
    found = find_language(request.values.get("lang", ""))
    return found.code if found else next(each.code for each in LANGUAGES if each != ENGLISH)


def _words_of(project: Project, form: CollectionForm | None) -> Words:
    design = read_form_design(form) if form else project.whole_page_design
    texts: Mapping[str, Any] = design if form else project.page_config | design
    names = ("headline", "description") + (() if form else ("signature",))
    return Words(
        {name: texts[name] for name in names},
        design["prompts"],
        design["questions"],
        design["translations"],
    )


def _here(form: CollectionForm | None, language: str) -> str:
    if form is None:
        return url_for(".show_words", lang=language)
    return url_for(".show_form_words", form_name=form.name, lang=language)


def _page(access: Access, form: CollectionForm | None, errors: Errors | None = None) -> str:
    project, language = access.project, _choose_language()
    words = _words_of(project, form)
    shown: dict[str, Any] = describe_frame(access) | {
        "form": form and {"name": form.name, "title": form.title},
        "view": "opened",
        "preview_url": url_for(
            "dashboard.pages.show_page_preview", lang=language, form=form.name if form else None
        ),
        "page_url": f"{_public_url(project, form)}?lang={language}",
        "languages": _list_languages(words, form),
        "language": find_language(language),
        "lines": words.list_lines(language, request.form if errors else {}),
        "before": {},
        "errors": errors or {},
        "targets": {name: name for name in errors or ()},
        "action": _here(form, language),
    }
    return render_template("dashboard/page/words.html", **shown)


def _list_languages(words: Words, form: CollectionForm | None) -> list[dict[str, Any]]:
    parts = [words.translations, *(each["translations"] for each in words.questions)]
    return [
        {
            "code": each.code,
            "name": each.name,
            "url": _here(form, each.code),
            "has": any(each.code in part for part in parts),
        }
        for each in LANGUAGES
    ]


def _public_url(project: Project, form: CollectionForm | None) -> str:
    return (
        form_url(project.slug, form.name, project.own_host)
        if form
        else collection_page_url(project.slug, project.own_host)
    )
