"""A project's settings: its address, pausing it, deleting it."""

from flask import Blueprint, current_app, redirect, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.auth.sessions import SignedIn
from testimonials.core.errors import ServiceError
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_session
from testimonials.extensions import begin_write, db
from testimonials.projects.access import Role, find_shared_project
from testimonials.projects.defaults import SLUG_LENGTH
from testimonials.projects.models import Project
from testimonials.projects.ownership import move_to_trash, rename_slug, set_active
from testimonials.testimonials.services import count_by_status

settings = Blueprint("settings", __name__)


@settings.get("/dashboard/projects/<project_id>/settings")
@require_session
def show_settings(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Show the project's settings."""
    return _page(owner, find_shared_project(owner.account_id, project_id, Role.ADMIN), {}, {})


@settings.post("/dashboard/projects/<project_id>/slug")
@require_session
def rename(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Give the collection page a new address."""
    text = request.form.get("slug", "")
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.ADMIN, for_update=True)
    try:
        if len(text.strip()) > SLUG_LENGTH:
            raise ServiceError(f"Shorten this to {SLUG_LENGTH} characters.")
        rename_slug(project, text.strip())
    except ServiceError as error:
        db.session.rollback()
        project = find_shared_project(owner.account_id, project_id, Role.ADMIN)
        return _page(owner, project, to_form_errors(error, "slug"), {}), 422
    db.session.commit()
    return redirect(f"/dashboard/projects/{project.id}/settings", 303)


@settings.post("/dashboard/projects/<project_id>/status")
@require_session
def change_status(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Pause or resume the project."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.ADMIN, for_update=True)
    set_active(project, is_active=request.form.get("status") == "active")
    db.session.commit()
    return redirect(f"/dashboard/projects/{project.id}/settings", 303)


@settings.post("/dashboard/projects/<project_id>/delete")
@require_session
def delete(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Delete the project, once its slug was typed; it can be taken back for 7 days."""
    begin_write()
    project = find_shared_project(owner.account_id, project_id, Role.OWNER, for_update=True)
    if request.form.get("confirm", "").strip() != project.slug:
        db.session.rollback()
        project = find_shared_project(owner.account_id, project_id, Role.OWNER)
        errors = {"confirm": [f"Type {project.slug} to delete this project."]}
        return _page(owner, project, {}, errors), 422
    move_to_trash(project)
    db.session.commit()
    return redirect("/dashboard/projects", 303)


def _page(owner: SignedIn, project: Project, slug_errors: Errors, delete_errors: Errors) -> str:
    base = f"/dashboard/projects/{project.id}"
    counts = count_by_status(project.id)
    return render_template(
        "dashboard/settings.html",
        shell=build_shell(owner, "settings", project),
        notice=None,
        page={"url": f"{current_app.config['APP_URL']}/{project.slug}", "slug": project.slug},
        slug_action=f"{base}/slug",
        slug_errors=slug_errors,
        status_action=f"{base}/status",
        is_active=project.is_active,
        counts={
            "testimonials": sum(counts.values()) - counts.get("demo", 0),
            "samples": counts.get("demo", 0),
            "pending": counts.get("pending", 0),
        },
        delete_action=f"{base}/delete",
        delete_errors=delete_errors,
    )
