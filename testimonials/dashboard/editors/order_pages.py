"""The page that orders a widget's testimonials by hand, and chooses the only ones it shows.

What is ordered shows on websites at once. A change answers a form with a redirect back to the
page, and a script with JSON.
"""

from flask import Blueprint, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.activity.event_types import EventType
from testimonials.activity.recording import record_project_event
from testimonials.core.web.errors import ServiceError
from testimonials.core.web.languages import gettext as _
from testimonials.core.web.languages import gettext_noop
from testimonials.dashboard.describe import describe_testimonial
from testimonials.dashboard.forms import wants_json
from testimonials.dashboard.guards import build_shell, require_role
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.services import find_testimonial
from testimonials.widget.content.content import MAX_CHOSEN
from testimonials.widget.content.ordering import (
    OrderFull,
    Widget,
    add_to_order,
    arrange,
    list_ordered,
    list_others,
    move,
    show_only_chosen,
    take_out,
)
from testimonials.widget.content.saved_widgets import find_widget, list_saved, read_settings

order = Blueprint("order", __name__)

ON_A_PAGE = 20
# How many places down.
MOVES = {"up": -1, "down": 1}


class OrderUnknown(ServiceError):
    code = "ORDER_UNKNOWN"
    default_message = gettext_noop("This page is out of date. Reload it and try again.")


@order.get("/dashboard/projects/<project_id>/order")
@require_role(Role.ADMIN)
def show_order(access: Access) -> ResponseReturnValue:
    """Show what is ordered by hand, and a page of the others."""
    return _page(access, request.args.get("widget", ""), request.args.get("after"))


@order.post("/dashboard/projects/<project_id>/order")
@require_role(Role.ADMIN, for_update=True)
def change_order(access: Access) -> ResponseReturnValue:
    """Move, add or take out a testimonial, or arrange all as a script sends them."""
    project, name = access.project, request.form.get("widget", "")
    _change(project, find_widget(project, name))
    record_project_event(EventType.WIDGET_CHANGED, project)
    db.session.commit()
    if wants_json():
        return jsonify({"ok": True})
    return redirect(_page_url(name), 303)


@order.errorhandler(OrderFull)
def show_refusal(error: OrderFull) -> ResponseReturnValue:
    db.session.rollback()
    return redirect(add_notice(_page_url(request.form.get("widget", "")), error.shown), 303)


def _page(access: Access, name: str, after: str | None) -> str:
    project = access.project
    widget = find_widget(project, name)
    chosen, shown = list_ordered(project, widget)
    others, cursor = list_others(project, chosen, after, ON_A_PAGE)
    return render_template(
        "dashboard/editors/order.html",
        shell=build_shell(access, "widget"),
        notice=read_notice(),
        name=name,
        names=["", *(each.name for each in list_saved(project))],
        chosen=[_describe(row, row.id in shown) for row in chosen],
        is_only=read_settings(widget).design["onlyChosen"],
        others=[describe_testimonial(row) for row in others],
        after=after,
        next=cursor,
        most=MAX_CHOSEN,
    )


def _change(project: Project, widget: Widget) -> None:
    act, _, testimonial_id = request.form.get("do", "").partition(" ")
    if act in MOVES:
        move(project, widget, testimonial_id, MOVES[act])
    elif act == "add":
        add_to_order(project, widget, find_testimonial(project, testimonial_id))
    elif act == "out":
        take_out(project, widget, testimonial_id)
    elif act in ("only", "all"):
        show_only_chosen(project, widget, is_on=act == "only")
    elif act == "arrange":
        arrange(project, widget, request.form.getlist("ids")[:MAX_CHOSEN])
    else:
        raise OrderUnknown


def _page_url(name: str) -> str:
    return url_for(".show_order", widget=name or None, after=request.form.get("after") or None)


def _describe(row: Testimonial, is_shown: bool) -> dict[str, object]:
    hidden = ""
    if not is_shown:
        hidden = _("Left out by this widget’s selection") if row.is_visible else _("Not approved")
    return describe_testimonial(row) | {"hidden": hidden}
