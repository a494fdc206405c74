"""The forms of a project, and the questions of forms and of its page.

A question's kind is fixed once somebody has answered it, and its answers outlive it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update
from werkzeug.datastructures import MultiDict

from testimonials.collection.models import CollectionForm, RequestBatch
from testimonials.collection.schemas import NAME_LENGTH
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.fields import Text
from testimonials.core.http.forms import FormSchema
from testimonials.core.http.i18n import current_language, gettext, gettext_noop, translate
from testimonials.core.http.urls import form_url, image_url
from testimonials.projects.models import Project
from testimonials.projects.page_design import SCALE_RANGE, Question, trim_page_design
from testimonials.projects.projects import make_slug, mark_edited
from testimonials.testimonials.fields import Answer, find_kind, note_privacy
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import TagRefused, read_tags

MAX_FORMS = 20
# Names of pages whose URLs would otherwise be those of forms.
RESERVED = ("new", "preview", "thanks")
# A form's own design, with the defaults.
DESIGN: dict[str, Any] = {
    "headline": "",
    "description": "",
    "prompts": [],
    "questions": [],
    "tag": "",
    "translations": {},
}
Values = Mapping[str, Any]


class FormLimitReached(ServiceError):
    status = 409
    meaning = "The project has the maximum number of forms."
    remedy = "Delete one first."
    default_message = f"A project has at most {MAX_FORMS} forms. Delete one first."


def find_form(project: Project, name: str) -> CollectionForm:
    if (form := find_named(project, name)) is None:
        raise NotFound(f"This project has no form named {name[:NAME_LENGTH]}.")
    return form


def find_shown_form(project: Project, name: str) -> CollectionForm | None:
    """Return the form at a URL, or None for the page itself. Raises `NotFound`."""
    form = find_named(project, name) if name else None
    if name and form is None:
        raise NotFound(gettext_noop("It may have moved, or the address may be mistyped."))
    return form


def list_forms(project: Project) -> Sequence[CollectionForm]:
    row = CollectionForm
    query = select(row).where(row.project_id == project.id).order_by(row.title, row.name)
    return db.session.scalars(query).all()


def create_form(project: Project, values: Values) -> CollectionForm:
    """Add a form to the locked project; `values` come from `FormCreateSchema`.

    Raises `ValidationFailed` and `FormLimitReached`.
    """
    if len(list_forms(project)) >= MAX_FORMS:
        raise FormLimitReached
    form = CollectionForm(
        project_id=project.id,
        name=choose_name(project, values.get("name") or values["title"]),
        title=values["title"],
        design={},
        is_open=values.get("is_open", True),
    )
    db.session.add(form)
    _set_design(project, form, values)
    mark_edited(project)
    return form


def change_form(project: Project, form: CollectionForm, values: Values) -> bool:
    """Change a form of the locked project; `values` come from `FormUpdateSchema`.

    Returns whether anything changed. Raises `ValidationFailed`. Links with the old name stop
    working, except those in emails, which then open the page.
    """
    was = (form.name, form.title, form.is_open, form.design)
    if "name" in values:
        _rename(project, form, choose_name(project, values["name"], form))
    form.title = values.get("title", form.title)
    form.is_open = values.get("is_open", form.is_open)
    _set_design(project, form, values)
    if (form.name, form.title, form.is_open, form.design) == was:
        return False
    form.updated_at = max(clock.now(), form.updated_at + clock.MILLISECOND)
    mark_edited(project)
    return True


def delete_form(project: Project, form: CollectionForm) -> None:
    """Delete a form of the locked project; its testimonials stay."""
    note_privacy(project, [], {each["id"] for each in read_form_design(form)["questions"]})
    db.session.delete(form)
    mark_edited(project)


def update_page_design(project: Project, changes: Values) -> bool:
    """Change the locked project's page design; `changes` come from `PageDesignSchema`.

    Returns whether anything changed. Raises `ValidationFailed` for a question whose kind is fixed.
    """
    design = project.whole_page_design | dict(changes)
    trimmed = trim_page_design(design)
    if trimmed == project.page_design:
        return False
    _settle_questions(project, project.whole_page_design["questions"], design["questions"])
    project.page_design = trimmed
    mark_edited(project)
    return True


def read_form_design(form: CollectionForm) -> dict[str, Any]:
    """Return a form's design with every key."""
    return DESIGN | form.design


def list_form_questions(project: Project, form: CollectionForm | None) -> Sequence[Question]:
    """Return the questions of a form, or of the page, in the owner's language."""
    design = read_form_design(form) if form else project.whole_page_design
    questions: Sequence[Question] = design["questions"]
    return questions


def describe_form(project: Project, form: CollectionForm) -> dict[str, Any]:
    """Return what `FormSchema` dumps."""
    columns = ("name", "title", "is_open", "created_at", "updated_at")
    values = {name: getattr(form, name) for name in columns} | read_form_design(form)
    return values | {"url": form_url(project.slug, form.name, project.own_host)}


def describe_page_design(project: Project) -> dict[str, Any]:
    """Return what `WholePageDesignSchema` dumps."""
    cover, portrait = image_url(project.cover_id), image_url(project.portrait_id)
    return project.whole_page_design | {"coverUrl": cover, "portraitUrl": portrait}


def find_named(project: Project, name: str) -> CollectionForm | None:
    query = select(CollectionForm).where(
        CollectionForm.project_id == project.id, CollectionForm.name == name
    )
    return db.session.scalars(query).one_or_none() if "\0" not in name else None


def choose_name(project: Project, text: str, form: CollectionForm | None = None) -> str:
    """Return the name for a form's URL. Raises `ValidationFailed`."""
    name = make_slug(text)
    if not name:
        problem = "Must contain letters or digits; nothing is left of this one."
    elif name in RESERVED:
        problem = f"{name} is reserved for the service itself. Choose another name."
    elif find_named(project, name) not in (None, form):
        problem = f"There is a form named {name} already. Choose another name."
    else:
        return name
    raise ValidationFailed.of({"name": [problem]})


def _rename(project: Project, form: CollectionForm, name: str) -> None:
    """Rename a form, including in testimonials and requests."""
    for model in (Testimonial, RequestBatch):
        named = update(model).where(model.project_id == project.id, model.form_name == form.name)
        db.session.execute(named.values(form_name=name))
    form.name = name


def _set_design(project: Project, form: CollectionForm, values: Values) -> None:
    before = read_form_design(form)
    design = before | {name: values[name] for name in DESIGN if name in values}
    design["tag"] = _read_tag(design["tag"])
    _settle_questions(project, before["questions"], design["questions"])
    form.design = {name: value for name, value in design.items() if value != DESIGN[name]}


def _read_tag(text: str) -> str:
    try:
        tags = read_tags(text)
    except TagRefused as error:
        raise ValidationFailed.of({"tag": [error.message]}) from None
    if len(tags) > 1:
        raise ValidationFailed.of({"tag": ["Must be one tag."]})
    return "".join(tags)


def _settle_questions(
    project: Project, before: Sequence[Question], after: Sequence[Question]
) -> None:
    """Check new questions against the earlier ones, and store which are private."""
    kinds = {each["id"]: each["kind"] for each in before}
    for place, question in enumerate(after):
        if kinds.get(question["id"]) == question["kind"]:
            continue
        # A new question may reuse the id of a deleted one.
        answered = find_kind(project, question["id"])
        if answered not in (None, question["kind"]):
            raise ValidationFailed.of(
                {
                    f"questions[{place}].kind": [
                        f"Somebody has answered this as {answered}, so it stays {answered}. Add "
                        "another question, without this id."
                    ]
                }
            )
    note_privacy(project, after, kinds.keys() - {each["id"] for each in after})


ANSWER_LENGTH = 500


class AnswerRefused(Exception):
    """The answer is invalid; its messages are in the visitor's language."""

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

    `choices` have a `value`, in the owner's language, and a `label`; `field` is the name of the
    form field, `asked` the question as a testimonial keeps it.
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
    padded = [*(translated or ()), *[""] * len(lines)]
    return [padded[place] or line for place, line in enumerate(lines)]


def read_answers(
    form: MultiDict[str, str], questions: Sequence[Question]
) -> tuple[list[Answer], dict[str, list[str]]]:
    """Return the answers as a testimonial keeps them, and errors by field.

    Answers are kept in the owner's language, a consent in the visitor's.
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
    """Return what was typed or chosen, by field, to show it again."""
    return {name: form.getlist(name) for name in map(field_name, questions) if name in form}


def _write_question(question: Question) -> str:
    """Return the question as a testimonial keeps it: a consent in the visitor's language."""
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
        if set(sent) - set(question["choices"]):
            raise AnswerRefused(gettext("This answer is no longer offered. Choose another."))
        if len(set(sent)) > 1 and not question["several"]:
            raise AnswerRefused(gettext("Choose one of the options."))
        answer = [each for each in question["choices"] if each in sent] or None
    elif kind == "scale":
        answer = _read_number(sent)
    else:
        answer = True if any(text != "false" for text in sent) else None
    if answer is None and question["isRequired"]:
        raise AnswerRefused(_ask(kind))
    return answer


def _ask(kind: str) -> str:
    low, high = SCALE_RANGE
    if kind == "scale":
        return gettext("Choose a number from %(low)s to %(high)s.", low=low, high=high)
    if kind == "choice":
        return gettext("Choose one of the options.")
    if kind == "consent":
        return gettext("Tick this to continue.")
    return translate("Fill in this field.")


def _read_text(form: MultiDict[str, str], name: str) -> str | None:
    sent = _ANSWER.read({"answer": form.get(name, "")})
    if sent.errors:
        raise AnswerRefused(*sent.errors["answer"])
    answer: str | None = sent.values["answer"]
    return answer


def _read_number(sent: Sequence[str]) -> int | None:
    low, high = SCALE_RANGE
    if not sent:
        return None
    if sent[-1] not in map(str, range(low, high + 1)):
        raise AnswerRefused(_ask("scale"))
    return int(sent[-1])
