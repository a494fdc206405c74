"""An author's answers to the owner's questions, to be corrected."""

from collections.abc import Sequence
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.collection.authors.services import OwnTestimonial
from testimonials.collection.forms.services import find_named
from testimonials.collection.forms.shown import list_form_questions
from testimonials.collection.questions import field_name, read_answers, show_question
from testimonials.projects.configuration.questions import Question
from testimonials.testimonials.answers import Answer


def list_questions(own: OwnTestimonial) -> list[Question]:
    """Return what the form asks now that the testimonial came by; nothing if the form is gone.

    A choice that was made stays on offer; what was private, then or since, stays private; and
    what wasn't answered when it was sent isn't required now.
    """
    name, given = own.row.form_name, _find_given(own)
    form = find_named(own.project, name) if name else None
    if name and form is None:
        return []
    return [_fit(each, given.get(each["id"])) for each in list_form_questions(own.project, form)]


def show_questions(own: OwnTestimonial) -> list[Question]:
    """Return the same for the form; a consent is in the words that were agreed to."""
    given, shown = _find_given(own), []
    for each in map(show_question, list_questions(own)):
        was = given.get(each["id"])
        agreed = (
            dict.fromkeys(("text", "asked"), was["question"])
            if was and each["kind"] == "consent"
            else {}
        )
        shown.append(each | agreed)
    return shown


def fill_in(own: OwnTestimonial) -> dict[str, list[str]]:
    """Return the answers that were given, by field, as the form sends them."""
    given, filled = _find_given(own), {}
    for question in list_questions(own):
        if (was := given.get(question["id"])) is not None:
            answer = was["answer"]
            filled[field_name(question)] = answer if isinstance(answer, list) else [str(answer)]
    return filled


def read_corrected(
    own: OwnTestimonial, form: MultiDict[str, str]
) -> tuple[list[Answer] | None, dict[str, list[str]]]:
    """Return the testimonial's answers with what the form corrects, and errors by field.

    What isn't asked any more, or wasn't changed, stays as it was, with the question as it was.
    """
    questions = list_questions(own)
    read, errors = read_answers(form, questions)
    asked, sent = {each["id"] for each in questions}, {each["id"]: each for each in read}
    answers = []
    for was in own.row.answers or ():
        now = sent.pop(was["id"], None)
        if was["id"] not in asked:
            answers.append(was)
        elif now is not None:
            answers.append(was if now["answer"] == was["answer"] else now)
    return [*answers, *sent.values()] or None, errors


def _find_given(own: OwnTestimonial) -> dict[str, Answer]:
    return {each["id"]: each for each in own.row.answers or ()}


def _fit(question: Question, was: Answer | None) -> Question:
    if was is None or was["kind"] != question["kind"]:
        return question | {"isRequired": False}
    chosen: Sequence[Any] = was["answer"] if question["kind"] == "choice" else ()
    gone = [each for each in chosen if each not in question["choices"]]
    return question | {
        "choices": [*question["choices"], *gone],
        "several": question["several"] or len(chosen) > 1,
        "isPublic": question["isPublic"] and was["isPublic"],
    }
