"""How the person who is signed in hears of a project's new testimonials."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.web.errors import ValidationFailed
from testimonials.dashboard.describe import describe_notifications
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.notifications.services import find_mode, set_mode

notifications = Blueprint("notifications", __name__)

NOTICE = {"text": "Your choice is saved.", "undo_url": None, "undo_token": None}


@notifications.get("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR)
def show_notifications(access: Access) -> ResponseReturnValue:
    """Show the choice; colleagues who only moderate have it too."""
    project = access.project
    mode = find_mode(access.user.account_id, project.id)
    return _page(access, mode, {})


@notifications.post("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR, for_update=True)
def choose_notifications(access: Access) -> ResponseReturnValue:
    """Keep the choice, and go back to the page whose form it was."""
    project = access.project
    try:
        set_mode(project, access.user.account_id, request.form.get("mode", ""))
    except ValidationFailed as error:
        db.session.rollback()
        mode = find_mode(access.user.account_id, project.id)
        return _page(access, mode, dict(error.errors or {})), 422
    db.session.commit()
    is_settings = request.form.get("from") == "settings"
    page = "settings.show_settings" if is_settings else ".show_notifications"
    return redirect(url_for(page, saved="notifications"), 303)


def _page(access: Access, mode: str, errors: dict[str, Any]) -> str:
    project = access.project
    return render_template(
        "dashboard/project/notifications.html",
        shell=build_shell(access, "notifications"),
        notice=NOTICE if request.args.get("saved") == "notifications" else None,
        notifications=describe_notifications(project, mode, access.user.email),
        errors=errors,
    )
