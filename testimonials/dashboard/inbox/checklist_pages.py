"""The checklist's buttons: noting a step, and hiding or showing the list."""

from flask import Blueprint, jsonify, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core.urls import widget_page_url
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.forms import wants_json
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.inbox.checklist import note
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.configuration.dashboard_config import HAS_LOOKED, HAS_SHARED, IS_HIDDEN

checklist = Blueprint("checklist", __name__)

# What a button asks for: the flag it sets, to what, and the page that follows.
ACTS = {
    "look": (HAS_LOOKED, True, "rendered.show_widget"),
    "share": (HAS_SHARED, True, "share.show_share"),
    "hide": (IS_HIDDEN, True, "inbox.show_inbox"),
    "show": (IS_HIDDEN, False, "inbox.show_inbox"),
}


class StepUnknown(ServiceError):
    code = "STEP_UNKNOWN"
    default_message = gettext_noop("This page is out of date. Reload it and try again.")


@checklist.post("/dashboard/projects/<project_id>/checklist")
@require_role(Role.ADMIN, for_update=True)
def change_checklist(access: Access) -> ResponseReturnValue:
    project = access.project
    if (act := ACTS.get(request.form.get("do", ""))) is None:
        raise StepUnknown
    flag, is_on, target = act
    note(project, flag, is_on=is_on)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True})
    # The widget's page may have an origin of its own.
    url = widget_page_url(project.id) if flag == HAS_LOOKED else url_for(target)
    return redirect(url, 303)
