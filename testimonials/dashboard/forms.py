"""The editor of further forms."""

from typing import Any

from flask import jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.collection.events import FORM_ADDED, FORM_CHANGED, FORM_DELETED
from testimonials.collection.forms import (
    change_form,
    create_form,
    delete_form,
    find_form,
    read_form_design,
)
from testimonials.collection.models import CollectionForm
from testimonials.collection.schemas import NAME_LENGTH, TITLE_LENGTH, FormDesignSchema
from testimonials.core.audit import EventType, record
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import pages
from testimonials.core.http.errors import ServiceError
from testimonials.core.http.fields import Text
from testimonials.core.http.form_errors import answer_errors, to_form_errors, wants_json
from testimonials.core.http.forms import FormSchema, add_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.urls import form_url
from testimonials.core.text import TAG_LENGTH
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.page_editor import (
    describe_frame,
    describe_questions,
    find_open,
    find_targets,
    render_page,
)
from testimonials.dashboard.page_form import (
    EditorForm,
    PageEdit,
    check_lists,
    go_on,
    name_fields,
    read_edit,
    read_lists,
)
from testimonials.dashboard.page_lists import Form
from testimonials.projects import defaults
from testimonials.projects.access import Access, Role

# What the pages of forms read and show.

WORDS = ("headline", "description", "tag")
LISTS = ("prompts", "questions")


class NameForm(FormSchema):
    """What a new form is called."""

    title = Text(TITLE_LENGTH, one_line=True, required=True)


class RenameForm(NameForm):
    """What a form is called, and its place in its address."""

    address = Text(NAME_LENGTH, one_line=True, required=True, attribute="name")


class WordsForm(EditorForm):
    """A form's own words and its tag; an empty word is the page's."""

    headline = Text(defaults.HEADLINE_LENGTH, one_line=True)
    description = Text(defaults.DESCRIPTION_LENGTH)
    tag = Text(TAG_LENGTH, one_line=True)


def read_form_edit(form: CollectionForm, sent: Form) -> PageEdit:
    """Read the words and lists of a form's page; `values` are for `change_form`."""
    edit, typed = PageEdit(), read_edit(WordsForm(), sent)
    lists = read_lists(read_form_design(form), sent)
    loaded, errors = check_lists(FormDesignSchema(), lists)
    edit.values, edit.errors = typed.changes | loaded, typed.errors | errors
    edit.shown = typed.shown | lists
    go_on(edit, sent.get("do", ""))
    return edit


def pick(form: CollectionForm) -> dict[str, Any]:
    """Return what a form's page shows of it."""
    design = read_form_design(form)
    return {
        "config": {name: design[name] for name in WORDS},
        "lists": {name: design[name] for name in LISTS},
    }


def describe_editor(access: Access, form: CollectionForm, edit: PageEdit) -> dict[str, Any]:
    """Return what the page of a form shows."""
    project, stored = access.project, pick(form)
    lists = {name: edit.shown.get(name, stored["lists"][name]) for name in LISTS}
    page = project.page_config | project.whole_page_design
    return describe_frame(access) | {
        "form": {"name": form.name, "title": form.title, "is_open": form.is_open},
        "page_words": {name: page[name] for name in ("headline", "description", "prompts")},
        "view": "opened",
        "preview_url": url_for("dashboard.pages.show_page_preview", form=form.name),
        "page_url": form_url(project.slug, form.name, project.own_host),
        "values": stored["config"] | {"title": form.title, "address": form.name} | edit.shown,
        "before": stored["config"] | stored["lists"],
        "lists": lists,
        "errors": edit.errors,
        "targets": find_targets(edit.errors),
        "open_ids": find_open(lists["questions"], edit.errors),
        **describe_questions(project, lists["questions"]),
    }


# A project's further forms: adding, editing, closing and deleting them.


@pages.post("/dashboard/projects/<project_id>/collect/page/forms")
@require_role(Role.ADMIN, for_update=True)
def add_form(access: Access) -> ResponseReturnValue:
    """Add a form; ``title`` is what it is called, and names its address."""
    sent = NameForm().read(request.form)
    try:
        form = None if sent.errors else create_form(access.project, sent.values)
    except ServiceError as error:
        form = None
        sent.errors["title"] = [text for each in to_form_errors(error).values() for text in each]
    if form is None:
        db.session.rollback()
        return render_page(access, PageEdit(shown=sent.typed, errors=sent.errors)), 422
    here = url_for(".show_form", form_name=form.name)
    return _finish(access, FORM_ADDED, form, _("Added"), here)


@pages.get("/dashboard/projects/<project_id>/collect/page/forms/<form_name>")
@require_role(Role.ADMIN)
def show_form(access: Access, form_name: str) -> ResponseReturnValue:
    """Show what a form says and asks; ``?add=question`` adds an empty question."""
    return _edit(access, form_name, PageEdit())


@pages.post("/dashboard/projects/<project_id>/collect/page/forms/<form_name>")
@require_role(Role.ADMIN, for_update=True)
def save_form(access: Access, form_name: str) -> ResponseReturnValue:
    """Change the words and questions that were sent and differ from what the page showed."""
    form = find_form(access.project, form_name)
    edit = read_form_edit(form, request.form)
    is_changed = _change(access, form, edit)
    if edit.errors:
        return _refuse(access, form_name, edit)
    here = url_for(".show_form", form_name=form.name, add=edit.adds or None)
    event = FORM_CHANGED if is_changed else None
    done = _finish(access, event, form, edit.notice, here, edit.place)
    return jsonify({"ok": True, **pick(form)}) if wants_json() else done


@pages.post("/dashboard/projects/<project_id>/collect/page/forms/<form_name>/rename")
@require_role(Role.ADMIN, for_update=True)
def rename_form(access: Access, form_name: str) -> ResponseReturnValue:
    form, sent = find_form(access.project, form_name), RenameForm().read(request.form)
    try:
        if not sent.errors:
            change_form(access.project, form, sent.values)
    except ServiceError as error:
        sent.errors["address"] = [text for each in to_form_errors(error).values() for text in each]
    if sent.errors:
        db.session.rollback()
        edit = PageEdit(shown=sent.typed, errors=sent.errors)
        return _edit(access, form_name, edit), 422
    here = url_for(".show_form", form_name=form.name)
    return _finish(access, FORM_CHANGED, form, _("Saved"), here)


@pages.post("/dashboard/projects/<project_id>/collect/page/forms/<form_name>/state")
@require_role(Role.ADMIN, for_update=True)
def set_form_state(access: Access, form_name: str) -> ResponseReturnValue:
    """Open a form (``open=1``) or close it."""
    form = find_form(access.project, form_name)
    change_form(access.project, form, {"is_open": request.form.get("open") == "1"})
    text = _("%(title)s is open") if form.is_open else _("%(title)s is closed")
    here = url_for(".show_form", form_name=form.name)
    return _finish(access, FORM_CHANGED, form, text % {"title": form.title}, here)


@pages.post("/dashboard/projects/<project_id>/collect/page/forms/<form_name>/delete")
@require_role(Role.ADMIN, for_update=True)
def remove_form(access: Access, form_name: str) -> ResponseReturnValue:
    form = find_form(access.project, form_name)
    delete_form(access.project, form)
    text = _("Deleted %(title)s. What was sent by it stays.", title=form.title)
    return _finish(access, FORM_DELETED, form, text, url_for(".show_page_editor"))


def _change(access: Access, form: CollectionForm, edit: PageEdit) -> bool:
    """Change the form; return whether anything changed, and note errors."""
    try:
        return not edit.errors and change_form(access.project, form, edit.values)
    except ServiceError as error:
        edit.errors = name_fields(edit.shown, error.errors or {})
        return False


def _refuse(access: Access, form_name: str, edit: PageEdit) -> ResponseReturnValue:
    db.session.rollback()
    return answer_errors(edit.errors) if wants_json() else (_edit(access, form_name, edit), 422)


def _finish(
    access: Access,
    event: EventType | None,
    form: CollectionForm,
    notice: str,
    here: str,
    place: str = "",
) -> ResponseReturnValue:
    if event is not None:
        record(event, access.project, form=form.title)
    db.session.commit()
    return redirect(add_notice(here, notice) + (f"#{place}" if place else ""), 303)


def _edit(access: Access, form_name: str, edit: PageEdit) -> str:
    form = find_form(access.project, form_name)
    return render_template("dashboard/page/form.html", **describe_editor(access, form, edit))
