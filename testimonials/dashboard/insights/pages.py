"""The Insights page, and its figures as a file."""

from flask import Blueprint, Response, render_template, request, send_file
from flask.typing import ResponseReturnValue

from testimonials.core.web.errors import NotFound
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.insights.tables import TABLES, write_figures
from testimonials.dashboard.insights.view import describe_page, read_days
from testimonials.projects.access import Access, Role

insights_page = Blueprint("insights_page", __name__)


@insights_page.get("/dashboard/projects/<project_id>/insights")
@require_role(Role.ADMIN)
def show_insights(access: Access) -> ResponseReturnValue:
    """Show the page; ``?days=`` chooses the period, ``?all=1`` shows the tables in full."""
    is_all = request.args.get("all") == "1"
    return render_template(
        "dashboard/insights/insights.html",
        shell=build_shell(access, "insights"),
        **describe_page(access.project, read_days(request.args), is_all=is_all),
    )


@insights_page.get("/dashboard/projects/<project_id>/insights.csv")
@require_role(Role.ADMIN)
def download_insights(access: Access) -> Response:
    """Send the views of each day; ``?of=`` chooses another of the tables."""
    days, of = read_days(request.args), request.args.get("of", "views")
    if of not in TABLES:
        raise NotFound(gettext_noop("There is no such table."))
    name = f"{access.project.slug}-{of}-{days}-days.csv"
    file = write_figures(access.project, days, of)
    return send_file(file, "text/csv", as_attachment=True, download_name=name, max_age=0)
