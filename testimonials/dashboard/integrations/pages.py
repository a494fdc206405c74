"""The Integrations page, and the record of what happened in a project."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from testimonials.dashboard.account.activity_view import describe_activity, read_search
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.integrations.overview import render_overview
from testimonials.projects.access import Access, Role

integrations = Blueprint("integrations", __name__)


@integrations.get("/dashboard/projects/<project_id>/integrations")
@require_role(Role.ADMIN)
def show_integrations(access: Access) -> ResponseReturnValue:
    """Show the page; ``?client=`` opens that way to connect, ``?who=`` filters the activity."""
    return render_overview(access)


@integrations.get("/dashboard/projects/<project_id>/activity")
@require_role(Role.ADMIN)
def show_activity(access: Access) -> ResponseReturnValue:
    """Show who did what in this project, however long ago."""
    search = read_search(access.project.account_id, request.args, access.project.id)
    return render_template(
        "dashboard/account/activity.html",
        shell=build_shell(access, "integrations"),
        **describe_activity(search),
    )
