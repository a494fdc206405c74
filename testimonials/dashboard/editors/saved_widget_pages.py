"""The page of a project's widgets: saving one under a name, renaming and deleting it."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.urls import widget_page_url
from testimonials.core.web.errors import NotFound, ServiceError
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop, ngettext
from testimonials.dashboard.editors.widget_words import describe_rating, name_choice
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project
from testimonials.widget.content.saved_widgets import (
    MAX_SAVED,
    NAME_LENGTH,
    delete_widget,
    describe_widgets,
    find_widget,
    rename_widget,
    save_widget,
)
from testimonials.widget.models import SavedWidget

saved_widgets = Blueprint("saved_widgets", __name__)


@saved_widgets.get("/dashboard/projects/<project_id>/widgets")
@require_role(Role.ADMIN)
def show_widgets(access: Access) -> ResponseReturnValue:
    return _page(access)


@saved_widgets.post("/dashboard/projects/<project_id>/widgets")
@require_role(Role.ADMIN, for_update=True)
def save(access: Access) -> ResponseReturnValue:
    """Save a new widget, as a copy of another."""
    project, name = access.project, request.form.get("name", "")
    try:
        widget = save_widget(project, name, request.form.get("source", ""))
    except ServiceError as error:
        return _refuse(access, error, "name", name)
    record_project_event(EventType.WIDGET_SAVED, project, widget=widget.name)
    return _finish(_("Saved the widget %(name)s", name=widget.name))


@saved_widgets.post("/dashboard/projects/<project_id>/widgets/rename")
@require_role(Role.ADMIN, for_update=True)
def rename(access: Access) -> ResponseReturnValue:
    widget, name = _find(access.project), request.form.get("name", "")
    old = widget.name
    try:
        rename_widget(access.project, widget, name)
    except ServiceError as error:
        return _refuse(access, error, f"rename-{old}", name)
    if widget.name != old:
        record_project_event(EventType.WIDGET_RENAMED, access.project, old=old, widget=widget.name)
    return _finish(_("Renamed %(old)s to %(name)s", old=old, name=widget.name))


@saved_widgets.post("/dashboard/projects/<project_id>/widgets/delete")
@require_role(Role.ADMIN, for_update=True)
def delete(access: Access) -> ResponseReturnValue:
    widget = _find(access.project)
    delete_widget(access.project, widget)
    record_project_event(EventType.WIDGET_DELETED, access.project, widget=widget.name)
    return _finish(_("Deleted the widget %(name)s", name=widget.name))


def _find(project: Project) -> SavedWidget:
    widget = find_widget(project, request.form.get("widget", ""))
    if not isinstance(widget, SavedWidget):
        raise NotFound(gettext_noop("The project’s own widget can’t be renamed or deleted."))
    return widget


def _finish(text: str) -> ResponseReturnValue:
    db.session.commit()
    return redirect(add_notice(url_for(".show_widgets"), text), 303)


def _refuse(access: Access, error: ServiceError, field: str, typed: str) -> ResponseReturnValue:
    db.session.rollback()
    (texts,) = to_form_errors(error, field).values()
    return _page(access, {field: texts}, {field: typed}), 422


def _page(
    access: Access, errors: Errors | None = None, values: dict[str, str] | None = None
) -> str:
    project = access.project
    widgets = [_describe(project, widget) for widget in describe_widgets(project)]
    return render_template(
        "dashboard/editors/widgets.html",
        shell=build_shell(access, "widget"),
        notice=read_notice(),
        widgets=widgets,
        errors=errors or {},
        values=values or {},
        is_full=len(widgets) > MAX_SAVED,
        most=MAX_SAVED,
        name_length=NAME_LENGTH,
    )


def _describe(project: Project, widget: dict[str, Any]) -> dict[str, Any]:
    design, config = widget["design"], widget["config"]
    look = design["shape"] or design["layout"] or config["layout"]
    parts = [name_choice(look), name_choice(design["order"])]
    if design["minRating"]:
        parts.append(describe_rating(design["minRating"]))
    if design["tags"]:
        parts.append(", ".join(design["tags"]))
    if design["onlyChosen"]:
        parts.append(ngettext("Only one chosen", "Only %(num)s chosen", len(design["chosen"])))
    return {
        "name": widget["name"] or "",
        "summary": " · ".join(parts),
        "page_url": widget_page_url(project.id, widget["name"] or ""),
    }
