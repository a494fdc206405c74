"""The words of the page, or of a form, in other languages, beside the owner's own."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.forms.schemas import FormDesignSchema
from testimonials.collection.forms.services import (
    change_form,
    find_form,
    read_form_design,
    update_page_design,
)
from testimonials.collection.models import CollectionForm
from testimonials.core.urls import collection_page_url, form_url
from testimonials.core.web.languages import ENGLISH, LANGUAGES, find_language
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.forms import Errors, answer_errors, wants_json
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.notices import add_notice
from testimonials.dashboard.page.view import TABS, VIEWS, describe_frame
from testimonials.dashboard.page.words import Words, name_errors
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration.page_design import PageDesignSchema
from testimonials.projects.models import Project

page_words = Blueprint("page_words", __name__)


@page_words.get("/dashboard/projects/<project_id>/page/words")
@require_role(Role.ADMIN)
def show_words(access: Access) -> ResponseReturnValue:
    """Show the page's words and those in the language of ``?lang=``."""
    return _page(access, None)


@page_words.post("/dashboard/projects/<project_id>/page/words")
@require_role(Role.ADMIN, for_update=True)
def save_words(access: Access) -> ResponseReturnValue:
    return _save(access, None)


@page_words.get("/dashboard/projects/<project_id>/forms/<form_name>/words")
@require_role(Role.ADMIN)
def show_form_words(access: Access, form_name: str) -> ResponseReturnValue:
    """Show a form's words and those in the language of ``?lang=``."""
    return _page(access, find_form(access.project, form_name))


@page_words.post("/dashboard/projects/<project_id>/forms/<form_name>/words")
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
        record_project_event(EventType.PAGE_CHANGED, project)
    if form is not None and change_form(project, form, words):
        record_project_event(EventType.FORM_CHANGED, project, form=form.title)
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
        "tabs": TABS,
        "tab": "",
        "views": {name: label for name, label in VIEWS.items() if name != "thanks"},
        "view": "opened",
        "preview_url": url_for(
            "page_editor.show_page_preview", lang=language, form=form.name if form else None
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
