"""What a form shows, in the visitor's language: its own words, or else the page's."""

from collections.abc import Mapping, Sequence
from typing import Any

from testimonials.collection.forms import read_form_design
from testimonials.collection.models import CollectionForm
from testimonials.collection.questions import show_question, speak_lines
from testimonials.core.http.i18n import current_language, gettext, translate
from testimonials.projects.defaults import HEADLINE, PAGE_CONFIG, default_page_config
from testimonials.projects.models import Project
from testimonials.projects.page_design import list_open_steps


def shown_design(project: Project, form: CollectionForm | None = None) -> dict[str, Any]:
    """Return `headline`, `description`, `signature`, `prompts`, `questions` and `steps`.

    `questions` are as `show_question` returns them, and `steps` those that are still offered.
    """
    page = project.whole_page_design
    own = read_form_design(form) if form else page
    usual, words = _words(page["translations"]), _words(own["translations"])
    shown = {
        "headline": usual.get("headline") or _speak_headline(project),
        "description": usual.get("description") or _speak_description(project),
        "signature": usual.get("signature") or page["signature"],
        "prompts": speak_lines(page["prompts"], usual.get("prompts")),
        "questions": [show_question(each) for each in own["questions"]],
        "steps": list_open_steps(page["steps"]),
    }
    if form is not None:
        for name in ("headline", "description"):
            shown[name] = words.get(name) or own[name] or shown[name]
        shown["prompts"] = speak_lines(own["prompts"], words.get("prompts")) or shown["prompts"]
    return shown


def list_form_questions(project: Project, form: CollectionForm | None) -> Sequence[Any]:
    """Return the questions that the page, or a form, asks, in the owner's words."""
    questions: Sequence[Any] = (read_form_design(form) if form else project.whole_page_design)[
        "questions"
    ]
    return questions


def speak(text: str, standard: str) -> str:
    """Return a text of the owner's, or the standard one in the visitor's language."""
    return translate(standard) if text == standard else text


def _words(translations: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = translations.get(current_language().code, {})
    return found


def _speak_description(project: Project) -> str:
    return speak(project.page_config["description"], PAGE_CONFIG["description"])


def _speak_headline(project: Project) -> str:
    headline: str = project.page_config["headline"]
    if headline != default_page_config(project.business_name)["headline"]:
        return headline
    if not project.business_name:
        return translate(PAGE_CONFIG["headline"])
    return gettext(HEADLINE, name=project.business_name)
