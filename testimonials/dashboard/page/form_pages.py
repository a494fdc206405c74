"""A project's further forms: listing, adding, editing, closing and deleting them."""

from typing import Any

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.forms.services import (
    MAX_FORMS,
    change_form,
    create_form,
    delete_form,
    describe_form,
    find_form,
    list_forms,
)
from testimonials.collection.models import CollectionForm
from testimonials.core.urls import collection_page_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.forms import Errors, answer_errors, to_form_errors, wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.dashboard.page.form_form import (
    NameForm,
    RenameForm,
    describe_editor,
    pick,
    read_form_edit,
)
from testimonials.dashboard.page.saving import PageEdit, name_fields
from testimonials.extensions import db
from testimonials.projects.access import Access, Role

page_forms = Blueprint("page_forms", __name__)


@page_forms.get("/dashboard/projects/<project_id>/forms")
@require_role(Role.ADMIN)
def show_forms(access: Access) -> ResponseReturnValue:
    return _list(access)


@page_forms.post("/dashboard/projects/<project_id>/forms")
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
        return _list(access, sent.errors, sent.typed), 422
    here = url_for(".show_form", form_name=form.name)
    return _finish(access, EventType.FORM_ADDED, form, _("Added"), here)


@page_forms.get("/dashboard/projects/<project_id>/forms/<form_name>")
@require_role(Role.ADMIN)
def show_form(access: Access, form_name: str) -> ResponseReturnValue:
    """Show what a form says and asks; ``?add=question`` adds an empty question."""
    return _edit(access, form_name, PageEdit("form"))


@page_forms.post("/dashboard/projects/<project_id>/forms/<form_name>")
@require_role(Role.ADMIN, for_update=True)
def save_form(access: Access, form_name: str) -> ResponseReturnValue:
    """Change the words and questions that were sent and differ from what the page showed."""
    form = find_form(access.project, form_name)
    edit = read_form_edit(form, request.form)
    is_changed = _change(access, form, edit)
    if edit.errors:
        return _refuse(access, form_name, edit)
    here = url_for(".show_form", form_name=form.name, add=edit.adds or None)
    event = EventType.FORM_CHANGED if is_changed else None
    done = _finish(access, event, form, edit.notice, here, edit.place)
    return jsonify({"ok": True, **pick(form)}) if wants_json() else done


@page_forms.post("/dashboard/projects/<project_id>/forms/<form_name>/rename")
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
        errors = {f"{form_name}-{field}": texts for field, texts in sent.errors.items()}
        typed = {f"{form_name}-{field}": text for field, text in sent.typed.items()}
        return _list(access, errors, typed), 422
    return _finish(access, EventType.FORM_CHANGED, form, _("Saved"), url_for(".show_forms"))


@page_forms.post("/dashboard/projects/<project_id>/forms/<form_name>/state")
@require_role(Role.ADMIN, for_update=True)
def set_form_state(access: Access, form_name: str) -> ResponseReturnValue:
    """Open a form (``open=1``) or close it."""
    form = find_form(access.project, form_name)
    change_form(access.project, form, {"is_open": request.form.get("open") == "1"})
    text = _("%(title)s is open") if form.is_open else _("%(title)s is closed")
    return _finish(
        access, EventType.FORM_CHANGED, form, text % {"title": form.title}, url_for(".show_forms")
    )


@page_forms.post("/dashboard/projects/<project_id>/forms/<form_name>/delete")
@require_role(Role.ADMIN, for_update=True)
def remove_form(access: Access, form_name: str) -> ResponseReturnValue:
    form = find_form(access.project, form_name)
    delete_form(access.project, form)
    text = _("Deleted %(title)s. What was sent by it stays.", title=form.title)
    return _finish(access, EventType.FORM_DELETED, form, text, url_for(".show_forms"))


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
        record_project_event(event, access.project, form=form.title)
    db.session.commit()
    return redirect(add_notice(here, notice) + (f"#{place}" if place else ""), 303)


def _list(
    access: Access, errors: Errors | None = None, values: dict[str, str] | None = None
) -> str:
    project = access.project
    forms: list[dict[str, Any]] = [describe_form(project, each) for each in list_forms(project)]
    return render_template(
        "dashboard/page/forms.html",
        shell=build_shell(access, "page"),
        notice=read_notice(),
        forms=forms,
        page_url=collection_page_url(project.slug, project.own_host),
        errors=errors or {},
        values=values or {},
        most=MAX_FORMS,
    )


def _edit(access: Access, form_name: str, edit: PageEdit) -> str:
    form = find_form(access.project, form_name)
    return render_template("dashboard/page/form.html", **describe_editor(access, form, edit))
