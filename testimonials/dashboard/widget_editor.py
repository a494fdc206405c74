"""The widget editor: a draft of a widget's settings, its preview, and publishing it.

``?widget=`` names a saved widget; without it the project's own is edited. A change answers a form
with a redirect back to the editor, and a script with JSON.
"""

from typing import Any

from flask import g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from marshmallow import ValidationError

from testimonials.core.audit import record
from testimonials.core.extensions import db
from testimonials.core.http.blueprints import widgets
from testimonials.core.http.fields import Colour
from testimonials.core.http.form_errors import answer_errors, wants_json
from testimonials.core.http.forms import add_notice, read_notice
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.signing import TokenExpired, TokenInvalid, TokenPurpose
from testimonials.dashboard.add_to_site import describe_sighting
from testimonials.dashboard.framework import require_role
from testimonials.dashboard.shell import build_shell
from testimonials.dashboard.widget_controls import (
    DEFAULTS,
    choose_color,
    describe_colour,
    describe_editor,
    describe_preview,
    summarise,
)
from testimonials.dashboard.widget_form import Edit, read_widget_form
from testimonials.dashboard.widget_values import apply_edit, to_form
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project
from testimonials.widget.drafts import (
    Widget,
    change_draft,
    discard_draft,
    publish_draft,
    read_draft,
    read_published,
    restore_draft,
)
from testimonials.widget.events import WIDGET_CHANGED
from testimonials.widget.settings import find_widget

UNDO_SECONDS = 3600
PUBLISHED = gettext_noop("Published. Visitors see it now.")
SAVED = gettext_noop("Draft saved")
RESET, DISCARDED, RESTORED = (
    gettext_noop("Back to the defaults"),
    gettext_noop("The changes are discarded"),
    gettext_noop("Your settings are back"),
)

undo_purpose = TokenPurpose("widget-draft")


@widgets.get("/dashboard/projects/<project_id>/widget")
@require_role(Role.ADMIN)
def show_editor(access: Access) -> ResponseReturnValue:
    return _page(access, Edit({}, {}, {}))


@widgets.post("/dashboard/projects/<project_id>/widget")
@require_role(Role.ADMIN, for_update=True)
def save_widget(access: Access) -> ResponseReturnValue:
    """Change in the draft what differs from what the form showed; publish it if that is asked."""
    widget, edit = _find(access.project), read_widget_form(request.form)
    if edit.errors:
        db.session.rollback()
        return answer_errors(edit.errors) if wants_json() else (_page(access, edit), 422)
    change_draft(widget, apply_edit(read_draft(widget), edit.changes))
    is_published = "publish" in request.form and _publish(access.project, widget)
    db.session.commit()
    if wants_json():
        return _answer(widget)
    return redirect(add_notice(_here(), PUBLISHED if is_published else SAVED), 303)


@widgets.post("/dashboard/projects/<project_id>/widget/publish")
@require_role(Role.ADMIN, for_update=True)
def publish_widget(access: Access) -> ResponseReturnValue:
    """Let visitors see the draft."""
    widget = _find(access.project)
    _publish(access.project, widget)
    db.session.commit()
    if wants_json():
        return _answer(widget)
    return redirect(add_notice(_here(), PUBLISHED), 303)


@widgets.post("/dashboard/projects/<project_id>/widget/discard")
@require_role(Role.ADMIN, for_update=True)
def discard_changes(access: Access) -> ResponseReturnValue:
    """Go back to what visitors see; the page offers to undo that."""
    widget = _find(access.project)
    undo = _keep_for_undo(access.project, widget, DISCARDED)
    discard_draft(widget)
    db.session.commit()
    return redirect(undo, 303)


@widgets.post("/dashboard/projects/<project_id>/widget/reset")
@require_role(Role.ADMIN, for_update=True)
def reset_widget(access: Access) -> ResponseReturnValue:
    """Change the draft to the settings of a new project; the page offers to undo that."""
    widget = _find(access.project)
    undo = _keep_for_undo(access.project, widget, RESET)
    change_draft(widget, DEFAULTS)
    db.session.commit()
    return redirect(undo, 303)


@widgets.post("/dashboard/projects/<project_id>/widget/undo")
@require_role(Role.ADMIN, for_update=True)
def undo_draft(access: Access) -> ResponseReturnValue:
    """Bring back the draft from before it was reset or discarded."""
    found = _read_undo(access.project, request.form.get("undo", ""))
    if found is None:
        db.session.rollback()
        return redirect(_here(), 303)
    widget, before = _find(access.project), found["before"]
    after = DEFAULTS if found["text"] == RESET else read_published(widget)
    restore_draft(widget, before, after)
    db.session.commit()
    return redirect(add_notice(_here(), RESTORED), 303)


@widgets.get("/dashboard/projects/<project_id>/widget/colours")
@require_role(Role.ADMIN)
def get_colours(access: Access) -> ResponseReturnValue:
    """Return what is derived from the colour ``?hex=``, by default the widget's, and why."""
    usual = choose_color(access.project, read_draft(_find(access.project)))
    try:
        colour = Colour().deserialize(request.args.get("hex", usual))
    except ValidationError as error:
        return answer_errors({"hex": [str(text) for text in error.messages]})
    return jsonify(describe_colour(colour))


@widgets.get("/dashboard/projects/<project_id>/widget/preview")
@require_role(Role.ADMIN)
def show_preview(access: Access) -> ResponseReturnValue:
    """Show the real widget by itself, for the frame in the editor."""
    widget = _find(access.project)
    g.is_preview = True
    return render_template(
        "dashboard/editors/widget_preview.html",
        project_id=access.project.id,
        widget=_name(),
        feed=describe_preview(access.project, _name(), read_draft(widget)),
    )


@widgets.post("/dashboard/projects/<project_id>/widget/preview")
@require_role(Role.ADMIN)
def get_preview_feed(access: Access) -> ResponseReturnValue:
    """Return the widget's data with the settings in the form, without saving them."""
    widget, edit = _find(access.project), read_widget_form(request.form)
    if edit.errors:
        return answer_errors(edit.errors)
    settings = apply_edit(read_draft(widget), edit.changes)
    return jsonify(describe_preview(access.project, _name(), settings))


def _name() -> str:
    return request.args.get("widget", "")


def _find(project: Project) -> Widget:
    return find_widget(project, _name())


def _here(undo: str | None = None) -> str:
    return url_for(".show_editor", widget=_name() or None, undo=undo)


def _publish(project: Project, widget: Widget) -> bool:
    is_changed = publish_draft(project, widget)
    if is_changed:
        record(WIDGET_CHANGED, project)
    return is_changed


def _keep_for_undo(project: Project, widget: Widget, text: str) -> str:
    """Return the page that tells what is done to the draft, and can undo it."""
    before = read_draft(widget)
    before["design"] = {name: before["design"][name] for name in DEFAULTS["design"]}
    return _here(undo=undo_purpose.sign([project.id, _name(), text, before]))


def _read_undo(project: Project, token: str) -> dict[str, Any] | None:
    try:
        (project_id, name, text, before), _ = undo_purpose.read(token, UNDO_SECONDS)
    except (TokenInvalid, TokenExpired):
        return None
    is_here = (project_id, name) == (project.id, _name())
    return {"text": text, "before": before} if is_here else None


def _read_notice(project: Project) -> dict[str, str | None] | None:
    token = request.args.get("undo", "")
    undo = _read_undo(project, token)
    if undo is None:
        return read_notice()
    undo_url = url_for(".undo_draft", widget=_name() or None)
    return {"text": undo["text"], "undo_url": undo_url, "undo_token": token}


def _answer(widget: Widget) -> ResponseReturnValue:
    values = to_form(read_draft(widget))
    published = to_form(read_published(widget))
    summaries = summarise(values)
    return jsonify({"ok": True, "values": values, "published": published, "summaries": summaries})


def _page(access: Access, edit: Edit) -> str:
    project = access.project
    g.has_preview = True
    return render_template(
        "dashboard/editors/widget.html",
        shell=build_shell(access, "widget"),
        notice=_read_notice(project),
        page=describe_editor(project, _find(project), edit),
        sighting=describe_sighting(project),
        is_active=project.is_active,
    )
