"""The page editor's tabs, saving what they change, and the preview beside them.

A change answers a form with a redirect back to its tab, and a script with JSON.
"""

from flask import Blueprint, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.collection.describe import describe_form, describe_thanks
from testimonials.collection.forms.services import find_shown_form, update_page_design
from testimonials.collection.submission_form import FilledForm
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import speaking
from testimonials.dashboard.forms import answer_errors, wants_json
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.notices import add_notice
from testimonials.dashboard.page.look_form import flatten, judge
from testimonials.dashboard.page.saving import PageEdit, name_fields, read_page_edit
from testimonials.dashboard.page.view import TABS, render_tab
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.changes import update_page_config

page_editor = Blueprint("page_editor", __name__)


@page_editor.get("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN)
def show_page_editor(access: Access) -> ResponseReturnValue:
    return render_tab(access, "look")


@page_editor.get("/dashboard/projects/<project_id>/page/questions")
@require_role(Role.ADMIN)
def show_questions(access: Access) -> ResponseReturnValue:
    """Show what the page asks; ``?add=question`` adds an empty one, ``?open=ID`` opens one."""
    return render_tab(access, "questions")


@page_editor.get("/dashboard/projects/<project_id>/page/after")
@require_role(Role.ADMIN)
def show_after(access: Access) -> ResponseReturnValue:
    """Show what comes after sending; ``?add=step`` adds an empty step."""
    return render_tab(access, "after")


@page_editor.post("/dashboard/projects/<project_id>/page")
@require_role(Role.ADMIN, for_update=True)
def save_page(access: Access) -> ResponseReturnValue:
    """Change the settings that were sent and differ from what the form showed."""
    project, was = access.project, access.project.updated_at
    edit = read_page_edit(project, request.form)
    if edit.errors:
        return _refuse(access, edit)
    update_page_config(project, edit.config)
    try:
        update_page_design(project, edit.design)
    except ServiceError as error:
        edit.errors = name_fields(edit.shown, error.errors or {})
        return _refuse(access, edit)
    if project.updated_at != was:
        record_project_event(EventType.PAGE_CHANGED, project)
    db.session.commit()
    return _answer(access, edit)


@page_editor.get("/dashboard/projects/<project_id>/page/preview")
@require_role(Role.ADMIN)
def show_page_preview(access: Access) -> ResponseReturnValue:
    """Show the page, one of its forms (``?form=``) or its thanks for the frame in the editor."""
    project, view = access.project, request.args.get("view", "")
    form = find_shown_form(project, request.args.get("form", ""))
    g.is_preview = True
    with speaking(request.args.get("lang") or project.whole_page_design["language"]):
        if view == "thanks":
            shown = describe_thanks(project, has_steps=True)
            return render_template("collection/thanks.html", is_preview=True, **shown)
        shown = describe_form(project, FilledForm("", form=form))
        # Proposals and the other views show all of it.
        shown |= {"is_preview": True, "is_first_look": view == "first"}
        return render_template("collection/page.html", **shown)


def _answer(access: Access, edit: PageEdit) -> ResponseReturnValue:
    project = access.project
    if wants_json():
        values = {"config": flatten(project), "contrast": judge(project)}
        return jsonify({"ok": True, "lists": edit.read_lists(project)} | values)
    here = url_for(TABS[edit.tab].endpoint, add=edit.adds or None)
    return redirect(add_notice(here, edit.notice) + (f"#{edit.place}" if edit.place else ""), 303)


def _refuse(access: Access, edit: PageEdit) -> ResponseReturnValue:
    db.session.rollback()
    if wants_json():
        return answer_errors(edit.errors)
    return render_tab(access, edit.tab, edit), 422
