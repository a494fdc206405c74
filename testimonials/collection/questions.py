"""The owner's own questions: as a visitor is asked them, and what a visitor answers."""

from collections.abc import Sequence
from typing import Any

from werkzeug.datastructures import MultiDict

from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import current_language, gettext, gettext_noop, translate
from testimonials.projects.page_design import SCALE_RANGE, Question
from testimonials.testimonials.fields import Answer

ANSWER_LENGTH = 500

TICK = gettext_noop("Tick this to go on.")
CHOOSE = gettext_noop("Choose an answer.")
CHOOSE_ONE = gettext_noop("Choose one answer.")
NOT_OFFERED = gettext_noop("This answer is no longer offered. Choose another.")
RATE = gettext_noop("Choose a number from %(low)s to %(high)s.")


class AnswerRefused(Exception):
    """The answer breaks a rule; the messages say which, in the visitor's language."""

    def __init__(self, *messages: str) -> None:
        self.messages = list(messages)


class AnswerForm(FormSchema):
    """An answer in the visitor's own words."""

    answer = Text(ANSWER_LENGTH)


_ANSWER = AnswerForm()


def field_name(question: Question) -> str:
    return f"q_{question['id']}"


def show_question(question: Question) -> Question:
    """Return a question in the visitor's language.

    `choices` are pairs of `value`, in the owner's words, and `label`; `field` is the form's name;
    `asked` is how a testimonial keeps the question.
    """
    words = question["translations"].get(current_language().code, {})
    labels = speak_lines(question["choices"], words.get("choices"))
    pairs = zip(question["choices"], labels, strict=True)
    spoken = {name: words.get(name) or question[name] for name in ("text", "low", "high")}
    return {
        **question,
        **spoken,
        "asked": _write_question(question),
        "field": field_name(question),
        "choices": [{"value": value, "label": label} for value, label in pairs],
    }


def speak_lines(lines: Sequence[str], translated: Sequence[str] | None) -> list[str]:
    other = [*(translated or ()), *[""] * len(lines)]
    return [other[place] or line for place, line in enumerate(lines)]


def read_answers(
    form: MultiDict[str, str], questions: Sequence[Question]
) -> tuple[list[Answer], dict[str, list[str]]]:
    """Return the answers that were sent, as a testimonial keeps them, and errors by field.

    Answers are in the owner's words, whatever language the visitor read; a consent is in those that
    the visitor read.
    """
    answers, errors = [], {}
    for question in questions:
        try:
            answer = _read_answer(form, question)
        except AnswerRefused as refused:
            errors[field_name(question)] = refused.messages
            continue
        if answer is not None:
            answers.append(_keep(question, answer))
    return answers, errors


def read_typed(form: MultiDict[str, str], questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return what was typed or chosen, by field, to be shown again."""
    return {name: form.getlist(name) for name in map(field_name, questions) if name in form}


def _write_question(question: Question) -> str:
    """Return a question as its answer is kept with it: a consent in the visitor's language."""
    words = question["translations"].get(current_language().code, {})
    text: str = question["text"]
    return words.get("text") or text if question["kind"] == "consent" else text


def _keep(question: Question, answer: Any) -> Answer:
    return {
        "id": question["id"],
        "question": _write_question(question),
        "kind": question["kind"],
        "answer": answer,
        "isPublic": question["isPublic"],
    }


def _read_answer(form: MultiDict[str, str], question: Question) -> Any:
    kind, name = question["kind"], field_name(question)
    sent = [text for text in form.getlist(name) if text.strip()]
    answer: Any
    if kind == "text":
        answer = _read_text(form, name)
    elif kind == "choice":
        answer = _read_choice(sent, question)
    elif kind == "scale":
        answer = _read_number(sent)
    else:
        # Only a box that was ticked consents.
        answer = True if any(text != "false" for text in sent) else None
    if answer is None and question["isRequired"]:
        raise AnswerRefused(_ask(kind))
    return answer


def _ask(kind: str) -> str:
    if kind == "scale":
        return gettext(RATE, low=SCALE_RANGE[0], high=SCALE_RANGE[1])
    return translate({"choice": CHOOSE, "consent": TICK}.get(kind, "Fill this in."))


def _read_text(form: MultiDict[str, str], name: str) -> str | None:
    sent = _ANSWER.read({"answer": form.get(name, "")})
    if sent.errors:
        raise AnswerRefused(*sent.errors["answer"])
    answer: str | None = sent.values["answer"]
    return answer


def _read_choice(sent: Sequence[str], question: Question) -> list[str] | None:
    if set(sent) - set(question["choices"]):
        raise AnswerRefused(translate(NOT_OFFERED))
    if len(set(sent)) > 1 and not question["several"]:
        raise AnswerRefused(translate(CHOOSE_ONE))
    return [each for each in question["choices"] if each in sent] or None


def _read_number(sent: Sequence[str]) -> int | None:
    low, high = SCALE_RANGE
    if not sent:
        return None
    if sent[-1] not in map(str, range(low, high + 1)):
        raise AnswerRefused(_ask("scale"))
    return int(sent[-1])
