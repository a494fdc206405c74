"""Deliveries of webhooks: the log, one delivery, a test, and sending again."""

from datetime import timedelta

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.core import clock
from testimonials.core.web.languages import gettext as _
from testimonials.dashboard.guards import require_role
from testimonials.dashboard.integrations.webhook_form import read_since
from testimonials.dashboard.integrations.webhook_view import (
    describe_delivery,
    describe_endpoint,
    describe_message,
    render_webhook_page,
)
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import db
from testimonials.projects.access import Access, Role
from testimonials.webhooks.deliveries import (
    KEPT,
    find_delivery,
    list_deliveries,
    redeliver,
    send_test,
)
from testimonials.webhooks.models import WebhookEndpoint
from testimonials.webhooks.services import find_endpoint

deliveries = Blueprint("deliveries", __name__)


@deliveries.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries")
@require_role(Role.ADMIN)
def show_log(access: Access, webhook_id: str) -> ResponseReturnValue:
    return _log(access, find_endpoint(access.project, webhook_id))


@deliveries.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/test")
@require_role(Role.ADMIN, for_update=True)
def test(access: Access, webhook_id: str) -> ResponseReturnValue:
    """Let a test be sent, and show what comes of it."""
    row = send_test(find_endpoint(access.project, webhook_id))
    db.session.commit()
    return redirect(url_for(".show_delivery", webhook_id=webhook_id, delivery_id=row.id), 303)


@deliveries.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/redeliver")
@require_role(Role.ADMIN, for_update=True)
def redeliver_since(access: Access, webhook_id: str) -> ResponseReturnValue:
    """Send again everything that has happened since a time."""
    endpoint = find_endpoint(access.project, webhook_id)
    since = read_since(request.form.get("since", ""))
    if since is None:
        db.session.rollback()
        return _log(access, endpoint, {"since": [_("Choose a day and a time, in UTC.")]})
    redeliver(endpoint, since=since)
    db.session.commit()
    notice = _("Everything since then is on its way again, oldest first.")
    return redirect(add_notice(url_for(".show_log", webhook_id=webhook_id), notice), 303)


@deliveries.get(
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries/<delivery_id>"
)
@require_role(Role.ADMIN)
def show_delivery(access: Access, webhook_id: str, delivery_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    row = find_delivery(endpoint, delivery_id)
    return render_webhook_page(access, "delivery", **describe_message(endpoint, row))


@deliveries.post(
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries/<delivery_id>"
)
@require_role(Role.ADMIN, for_update=True)
def redeliver_one(access: Access, webhook_id: str, delivery_id: str) -> ResponseReturnValue:
    redeliver(find_endpoint(access.project, webhook_id), delivery_id)
    db.session.commit()
    notice = _("It is on its way again.")
    return redirect(add_notice(url_for(".show_log", webhook_id=webhook_id), notice), 303)


def _log(
    access: Access, endpoint: WebhookEndpoint, errors: dict[str, list[str]] | None = None
) -> ResponseReturnValue:
    rows = list_deliveries(endpoint, KEPT).items
    start = endpoint.failing_since or clock.now() - timedelta(days=1)
    return render_webhook_page(
        access,
        "deliveries",
        422 if errors else 200,
        deliveries=[describe_delivery(row) for row in rows],
        kept=KEPT,
        start=f"{start:%Y-%m-%dT%H:%M}",
        errors=errors or {},
        notice=read_notice(),
        **describe_endpoint(endpoint),
    )
