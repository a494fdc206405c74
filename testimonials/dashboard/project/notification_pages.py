"""The page on which somebody chooses their notifications about a project."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.describe import describe_modes
from testimonials.dashboard.forms import Errors, to_form_errors
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.notifications.services import (
    find_choice,
    set_decides_by_mail,
    set_mode,
)

notifications = Blueprint("notifications", __name__)


@notifications.get("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR)
def show_notifications(access: Access) -> ResponseReturnValue:
    return _page(access, {})


@notifications.post("/dashboard/projects/<project_id>/notifications")
@require_role(Role.MODERATOR, for_update=True)
def choose_notifications(access: Access) -> ResponseReturnValue:
    try:
        set_mode(access.project, access.user.account_id, request.form.get("mode", ""))
        is_on = request.form.get("decides_by_mail") == "1"
        set_decides_by_mail(access.project, access.user.account_id, is_on=is_on)
    except ValidationFailed as error:
        db.session.rollback()
        return _page(access, to_form_errors(error)), 422
    db.session.commit()
    is_settings = request.form.get("from") == "settings"
    page = "settings.show_settings" if is_settings else ".show_notifications"
    return redirect(add_notice(url_for(page), _("Your choice is saved.")), 303)


def _page(access: Access, errors: Errors) -> str:
    return render_template(
        "dashboard/project/notifications.html",
        shell=build_shell(access, "notifications"),
        notice=read_notice(),
        choice=find_choice(access.user.account_id, access.project.id),
        modes=describe_modes(),
        errors=errors,
    )
