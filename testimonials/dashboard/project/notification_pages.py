"""How the person who is signed in hears of a project's new testimonials."""

from typing import Any

from flask import Blueprint, redirect, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import ValidationFailed
from testimonials.dashboard.describe import describe_notifications
from testimonials.dashboard.guards import build_shell, require_session
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Role, find_shared_project
from testimonials.projects.models import Project
from testimonials.projects.notifications.services import find_mode, set_mode

notifications = Blueprint("notifications", __name__)

NOTICE = {"text": "Your choice is saved.", "undo_url": None, "undo_token": None}


@notifications.get("/dashboard/projects/<project_id>/notifications")
@require_session
def show_notifications(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Show the choice; colleagues who only moderate have it too."""
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR)
    mode = find_mode(owner.account_id, project.id)
    return _page(owner, project, mode, {})


@notifications.post("/dashboard/projects/<project_id>/notifications")
@require_session
def choose_notifications(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Keep the choice, and go back to the page whose form it was."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.MODERATOR, for_update=True)
    try:
        set_mode(project, owner.account_id, request.form.get("mode", ""))
    except ValidationFailed as error:
        db.session.rollback()
        project = find_shared_project(owner.account_id, project_id, Role.MODERATOR)
        mode = find_mode(owner.account_id, project.id)
        return _page(owner, project, mode, dict(error.errors or {})), 422
    db.session.commit()
    page = "settings" if request.form.get("from") == "settings" else "notifications"
    return redirect(f"/dashboard/projects/{project.id}/{page}?saved=notifications", 303)


def _page(owner: SignedIn, project: Project, mode: str, errors: dict[str, Any]) -> str:
    return render_template(
        "dashboard/project/notifications.html",
        shell=build_shell(owner, "notifications", project),
        notice=NOTICE if request.args.get("saved") == "notifications" else None,
        notifications=describe_notifications(project, mode, owner.email),
        errors=errors,
    )
