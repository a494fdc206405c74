"""The forms of a project, and the questions of its page.

Both keep the same promises: a question's kind is fixed once somebody has answered it, and its
answers outlive it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update

from testimonials.collection.models import CollectionForm, RequestBatch
from testimonials.collection.schemas import NAME_LENGTH
from testimonials.core import clock
from testimonials.core.extensions import db
from testimonials.core.http.errors import NotFound, ServiceError, ValidationFailed
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.urls import form_url, image_url
from testimonials.projects.models import Project
from testimonials.projects.page_design import Question, trim_page_design
from testimonials.projects.projects import make_slug, mark_edited
from testimonials.testimonials.fields import find_kind, note_privacy
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.tags import TagRefused, read_tags

MAX_FORMS = 20
# Of pages below those of forms.
RESERVED = ("new", "preview", "thanks")
# What a form has of its own, and what it has where nothing is said.
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
    code = "FORM_LIMIT_REACHED"
    meaning = "The project has as many forms as it may."
    remedy = "Delete one first."
    default_message = f"A project has at most {MAX_FORMS} forms. Delete one first."


def find_form(project: Project, name: str) -> CollectionForm:
    if (form := find_named(project, name)) is None:
        raise NotFound(f"This project has no form named {name[:NAME_LENGTH]}.")
    return form


def find_shown_form(project: Project, name: str) -> CollectionForm | None:
    """Return the form at an address, None for the page itself; raise `NotFound`."""
    form = find_named(project, name) if name else None
    if name and form is None:
        raise NotFound(gettext_noop("There is no page at this address."))
    return form


def list_forms(project: Project) -> Sequence[CollectionForm]:
    """Return the project's forms, in the order of their titles."""
    return db.session.scalars(
        select(CollectionForm)
        .where(CollectionForm.project_id == project.id)
        .order_by(CollectionForm.title, CollectionForm.name)
    ).all()


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

    Returns whether anything changed. Raises `ValidationFailed`. Links with a former name lead
    nowhere, but for those in mails, which lead to the page.
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
    """Delete a form of the locked project; what was sent by it stays."""
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
    """Return the questions that the page, or a form, asks, in the owner's words."""
    design = read_form_design(form) if form else project.whole_page_design
    questions: Sequence[Question] = design["questions"]
    return questions


def describe_form(project: Project, form: CollectionForm) -> dict[str, Any]:
    """Return what `FormSchema` dumps."""
    columns = ("name", "title", "is_open", "created_at", "updated_at")
    about = {name: getattr(form, name) for name in columns}
    return (
        about
        | read_form_design(form)
        | {"url": form_url(project.slug, form.name, project.own_host)}
    )


def describe_page_design(project: Project) -> dict[str, Any]:
    """Return what `WholePageDesignSchema` dumps."""
    pictures = {
        "coverUrl": image_url(project.cover_id),
        "portraitUrl": image_url(project.portrait_id),
    }
    return project.whole_page_design | pictures


def find_named(project: Project, name: str) -> CollectionForm | None:
    query = select(CollectionForm).where(
        CollectionForm.project_id == project.id, CollectionForm.name == name
    )
    return db.session.scalars(query).one_or_none() if "\0" not in name else None


def choose_name(project: Project, text: str, form: CollectionForm | None = None) -> str:
    """Return the name of a form as it stands in its address; raise `ValidationFailed`."""
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
    """Rename a form, where it is named too."""
    for model in (Testimonial, RequestBatch):
        db.session.execute(
            update(model)
            .where(model.project_id == project.id, model.form_name == form.name)
            .values(form_name=name)
        )
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
    """Check new questions against those before, and note which are private."""
    kinds = {each["id"]: each["kind"] for each in before}
    for place, question in enumerate(after):
        if kinds.get(question["id"]) == question["kind"]:
            continue
        # A new one may have the id of one that was deleted.
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
