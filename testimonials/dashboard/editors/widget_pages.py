"""The widget editor: its settings, its preview, and going back to the defaults.

A change answers a form with a redirect back to the editor, and a script with JSON.
"""

from typing import Any

from flask import Blueprint, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.text_rules import WEBSITE_PATTERN
from testimonials.core.urls import collection_page_url
from testimonials.core.web.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.dashboard.editors.forms import Edit, WidgetForm, read_edit
from testimonials.dashboard.forms import Errors, answer_errors, wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration import defaults
from testimonials.projects.configuration.dashboard_config import CTA, CTA_LABEL_LENGTH, URL_LENGTH
from testimonials.projects.models import Project
from testimonials.widget.services import describe_feed, update_widget_config
from testimonials.widget.settings import CTA_LABEL, change_cta

widget_editor = Blueprint("widget_editor", __name__)

UNDO_SECONDS = 3600
CTA_FIELDS = {"ctaLabel": "label", "ctaUrl": "url"}
DEFAULTS: dict[str, Any] = defaults.WIDGET_CONFIG | dict.fromkeys(CTA_FIELDS, "")

reset_purpose = TokenPurpose("widget-reset")


@widget_editor.get("/dashboard/projects/<project_id>/widget")
@require_role(Role.ADMIN)
def show_editor(access: Access) -> ResponseReturnValue:
    return _page(access, {}, {})


@widget_editor.post("/dashboard/projects/<project_id>/widget")
@require_role(Role.ADMIN, for_update=True)
def save_widget(access: Access) -> ResponseReturnValue:
    """Change the settings that were sent and differ from what the form showed."""
    project, was = access.project, access.project.updated_at
    edit = read_edit(WidgetForm(), request.form)
    if edit.errors:
        db.session.rollback()
        return _refuse(access, edit)
    _change(project, edit.changes)
    if project.updated_at != was:
        record_project_event(EventType.WIDGET_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True, "config": _flatten(project)})
    return redirect(add_notice(url_for(".show_editor"), "Saved"), 303)


@widget_editor.post("/dashboard/projects/<project_id>/widget/reset")
@require_role(Role.ADMIN, for_update=True)
def reset_widget(access: Access) -> ResponseReturnValue:
    """Go back to the settings of a new project; the answer offers to undo that."""
    project = access.project
    before = _flatten(project)
    _change(project, DEFAULTS)
    token = reset_purpose.sign([project.id, before])
    record_project_event(EventType.WIDGET_CHANGED, project)
    db.session.commit()
    return redirect(url_for(".show_editor", undo=token), 303)


@widget_editor.post("/dashboard/projects/<project_id>/widget/undo")
@require_role(Role.ADMIN, for_update=True)
def undo_reset(access: Access) -> ResponseReturnValue:
    """Restore what a reset changed, except for settings changed since."""
    project = access.project
    before = _read_reset(project, request.form.get("undo", ""))
    if before is None:
        db.session.rollback()
        return redirect(url_for(".show_editor"), 303)
    config = _flatten(project)
    is_reset = {name: config[name] == value for name, value in DEFAULTS.items()}
    _change(project, {name: before[name] for name in before if is_reset.get(name)})
    record_project_event(EventType.WIDGET_CHANGED, project)
    db.session.commit()
    return redirect(add_notice(url_for(".show_editor"), "Your settings are back"), 303)


@widget_editor.get("/dashboard/projects/<project_id>/widget/preview")
@require_role(Role.ADMIN)
def show_preview(access: Access) -> ResponseReturnValue:
    """Show the real widget by itself, for the frame in the editor."""
    project = access.project
    g.is_preview = True
    return render_template(
        "dashboard/editors/widget_preview.html",
        project_id=project.id,
        # As many as any setting can show at first, so that none waits for the network.
        feed=describe_feed(project, None, limit=defaults.INITIAL_COUNT_RANGE[1]),
    )


def _flatten(project: Project) -> dict[str, Any]:
    """Return all settings; those of the default button are empty."""
    own = project.dashboard_config.get(CTA) or {}
    return project.widget_config | {field: own.get(name, "") for field, name in CTA_FIELDS.items()}


def _change(project: Project, wanted: dict[str, Any]) -> None:
    """Change what differs in the locked project: saving the same again is no change."""
    now = _flatten(project)
    changes = {name: value for name, value in wanted.items() if now.get(name) != value}
    update_widget_config(
        project, {name: value for name, value in changes.items() if name not in CTA_FIELDS}
    )
    if changes.keys() & CTA_FIELDS.keys():
        values = now | changes
        change_cta(project, {name: values[field] for field, name in CTA_FIELDS.items()})


def _read_reset(project: Project, token: str) -> dict[str, Any] | None:
    try:
        (project_id, before), _ = reset_purpose.read(token, UNDO_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    return before if project_id == project.id else None


def _refuse(access: Access, edit: Edit) -> ResponseReturnValue:
    if wants_json():
        return answer_errors(edit.errors)
    return _page(access, edit.shown, edit.errors), 422


def _page(access: Access, shown: dict[str, Any], errors: Errors) -> str:
    project, before = access.project, _flatten(access.project)
    g.has_preview = True
    return render_template(
        "dashboard/editors/widget.html",
        shell=build_shell(access, "widget"),
        notice=_read_notice(project),
        values=before | shown,
        errors=errors,
        before=before,
        defaults=DEFAULTS,
        default_cta={"label": CTA_LABEL, "url": collection_page_url(project.slug)},
        limits={"ctaLabel": CTA_LABEL_LENGTH, "ctaUrl": URL_LENGTH},
        # The server's rule, which the script checks before it sends.
        url_pattern=WEBSITE_PATTERN,
        choices={
            "layout": defaults.LAYOUTS,
            "animation": defaults.ANIMATIONS,
            "theme": defaults.THEMES,
            "palette": defaults.PALETTES,
            "cardStyle": defaults.CARD_STYLES,
        },
        count_range=defaults.INITIAL_COUNT_RANGE,
        is_active=project.is_active,
    )


def _read_notice(project: Project) -> dict[str, str | None] | None:
    token = request.args.get("undo", "")
    if _read_reset(project, token) is None:
        return read_notice()
    undo_url = url_for(".undo_reset")
    return {"text": "Back to the defaults", "undo_url": undo_url, "undo_token": token}
