"""Webhook endpoints and deliveries."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import MultiDict

from testimonials.auth.sessions import SignedIn
from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.extensions import begin_write, db
from testimonials.core.http.blueprints import settings
from testimonials.core.http.errors import ServiceError, ValidationFailed
from testimonials.core.http.fields import WebUrl
from testimonials.core.http.form_errors import Errors, to_form_errors
from testimonials.core.http.forms import FormSchema, add_notice, read_notice
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.http.security import answer_privately
from testimonials.dashboard.framework import (
    is_repeated,
    require_proof,
    require_role,
    require_session,
)
from testimonials.dashboard.tokens import render_overview
from testimonials.dashboard.webhook_data import (
    describe_delivery,
    describe_endpoint,
    describe_message,
    render_webhook_page,
)
from testimonials.integrations.webhooks.endpoints import (
    add_endpoint,
    change_endpoint,
    find_endpoint,
    remove_endpoint,
    rotate_secret,
)
from testimonials.integrations.webhooks.log import (
    KEPT,
    find_delivery,
    list_deliveries,
    redeliver,
    send_test,
)
from testimonials.integrations.webhooks.models import WebhookEndpoint
from testimonials.integrations.webhooks.schemas import URL_LENGTH
from testimonials.projects.access import Access, Role, find_access

# The forms of webhook endpoints: where to, what about, and since when again.

# What each event means, by its name.
EVENTS = {
    "testimonial.submitted": gettext_noop("Somebody sent a testimonial"),
    "testimonial.approved": gettext_noop("One was approved, or added as approved"),
    "testimonial.rejected": gettext_noop("One was rejected"),
    "testimonial.updated": gettext_noop("One was changed, pinned, tagged or answered"),
    "testimonial.deleted": gettext_noop("One was deleted"),
    "testimonial.withdrawn": gettext_noop("Its author withdrew one"),
    "request.answered": gettext_noop("Somebody whom you asked by mail wrote one"),
    "proposal.decided": gettext_noop("You accepted or declined a proposal"),
    "project.updated": gettext_noop("The page, the widget or the settings changed"),
}


class EndpointFormSchema(FormSchema):
    url = WebUrl(
        URL_LENGTH,
        required=True,
        error_messages={"required": gettext_noop("Write the address that we should call.")},
    )


@dataclass
class EndpointForm:
    url: str = ""
    chosen: list[str] = field(default_factory=lambda: list(EVENTS))
    errors: Errors = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """What `add_endpoint` and `change_endpoint` take; all events are also those to come."""
        return {"url": self.url, "events": [] if len(self.chosen) == len(EVENTS) else self.chosen}

    def describe(self) -> dict[str, Any]:
        return {
            "form": self,
            "errors": self.errors,
            "all_events": EVENTS,
            "once": new_identifier(),
        }


def to_form(endpoint: WebhookEndpoint) -> EndpointForm:
    return EndpointForm(endpoint.url, endpoint.events or list(EVENTS))


def read_endpoint_form(sent: MultiDict[str, str]) -> EndpointForm:
    read = EndpointFormSchema().read(sent)
    form = EndpointForm(read.values.get("url") or read.typed["url"], errors=dict(read.errors))
    form.chosen = [name for name in EVENTS if name in sent.getlist("events")]
    if not form.chosen:
        form.errors["events"] = [_("Choose at least one thing to hear of.")]
    return form


def read_since(text: str) -> datetime | None:
    """Return the time that a browser's field for one has, in UTC; None for anything else."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else None


# Webhook endpoints: adding, changing, switching and removing them, and their secrets.


HERE = "dashboard.settings.show_integrations"


@settings.get("/dashboard/projects/<project_id>/integrations/webhooks/new")
@require_role(Role.ADMIN)
def show_webhook_form(access: Access) -> ResponseReturnValue:
    return _form(access, EndpointForm())


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks")
@require_session
@require_proof("add a webhook endpoint", HERE)
def add_webhook(owner: SignedIn, project_id: str) -> ResponseReturnValue:
    """Add an endpoint and show its secret, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    form = _read_form()
    if not form.errors and is_repeated(owner.account_id):
        db.session.rollback()
        return _go_back(_("This endpoint was added already. Its secret was shown once."))
    try:
        _require_valid(form)
        by = {"created_by": owner.email, "keeper_id": owner.account_id}
        _endpoint, secret = add_endpoint(access.project, **by, **form.values)
    except ServiceError as error:
        return _refuse(access, form, error)
    db.session.commit()
    return _show_secret(access, form.url, secret)


@settings.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>")
@require_role(Role.ADMIN)
def show_webhook(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return _form(access, to_form(endpoint), webhook_id=webhook_id)


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>")
@require_session
@require_proof("change a webhook endpoint", HERE)
def change_webhook(owner: SignedIn, project_id: str, webhook_id: str) -> ResponseReturnValue:
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    endpoint, form = find_endpoint(access.project, webhook_id), _read_form()
    try:
        _require_valid(form)
        change_endpoint(access.project, endpoint, **form.values)
    except ServiceError as error:
        return _refuse(access, form, error, webhook_id=webhook_id)
    db.session.commit()
    return _go_back(_("The endpoint is changed."))


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/switch")
@require_role(Role.ADMIN, for_update=True)
def switch_webhook(access: Access, webhook_id: str) -> ResponseReturnValue:
    """Switch an endpoint off, or on again."""
    is_active = request.form.get("status") == "active"
    change_endpoint(access.project, find_endpoint(access.project, webhook_id), is_active=is_active)
    db.session.commit()
    return _go_back(_("It hears of what happens from now on.") if is_active else _("It is off."))


@settings.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret")
@require_role(Role.ADMIN)
def show_secret_form(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return render_webhook_page(access, "webhook_secret", **describe_endpoint(endpoint))


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret")
@require_session
@require_proof("replace a signing secret", HERE)
def replace_webhook_secret(
    owner: SignedIn, project_id: str, webhook_id: str
) -> ResponseReturnValue:
    """Replace the secret that the form was about, and show the new one, once."""
    begin_write()
    access = find_access(owner, project_id, Role.ADMIN, for_update=True)
    endpoint = find_endpoint(access.project, webhook_id)
    if request.form.get("last_four") != endpoint.secret[-4:]:
        db.session.rollback()
        return _go_back(_("This secret was replaced already. The new one was shown once."))
    url, secret = endpoint.url, rotate_secret(access.project, endpoint, owner.account_id)
    db.session.commit()
    return _show_secret(access, url, secret)


@settings.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/remove")
@require_role(Role.ADMIN)
def show_webhook_removal(access: Access, webhook_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    return render_webhook_page(access, "webhook_remove", endpoint=endpoint)


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/remove")
@require_role(Role.ADMIN, for_update=True)
def remove_webhook(access: Access, webhook_id: str) -> ResponseReturnValue:
    remove_endpoint(access.project, find_endpoint(access.project, webhook_id))
    db.session.commit()
    return _go_back(_("The endpoint is removed, with its log."))


def _read_form() -> EndpointForm:
    return read_endpoint_form(request.form)


def _require_valid(form: EndpointForm) -> None:
    if form.errors:
        raise ValidationFailed.of(form.errors)


def _refuse(
    access: Access, form: EndpointForm, error: ServiceError, webhook_id: str | None = None
) -> ResponseReturnValue:
    db.session.rollback()
    form.errors = to_form_errors(error, "url")
    return _form(access, form, webhook_id=webhook_id)


def _form(access: Access, form: EndpointForm, webhook_id: str | None = None) -> ResponseReturnValue:
    values = form.describe() | {"webhook_id": webhook_id}
    return render_webhook_page(access, "webhook_form", 422 if form.errors else 200, **values)


def _show_secret(access: Access, url: str, secret: str) -> ResponseReturnValue:
    return answer_privately(render_overview(access, new_secret={"url": url, "plain": secret}))


def _go_back(notice: str) -> ResponseReturnValue:
    return redirect(add_notice(url_for(HERE), notice) + "#webhooks", 303)


# Deliveries of webhooks: the log, one delivery, a test, and sending again.


@settings.get("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries")
@require_role(Role.ADMIN)
def show_log(access: Access, webhook_id: str) -> ResponseReturnValue:
    return _log(access, find_endpoint(access.project, webhook_id))


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/test")
@require_role(Role.ADMIN, for_update=True)
def test_webhook(access: Access, webhook_id: str) -> ResponseReturnValue:
    """Send a test, and show the outcome."""
    row = send_test(find_endpoint(access.project, webhook_id))
    db.session.commit()
    return redirect(url_for(".show_delivery", webhook_id=webhook_id, delivery_id=row.id), 303)


@settings.post("/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/redeliver")
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


@settings.get(
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries/<delivery_id>"
)
@require_role(Role.ADMIN)
def show_delivery(access: Access, webhook_id: str, delivery_id: str) -> ResponseReturnValue:
    endpoint = find_endpoint(access.project, webhook_id)
    row = find_delivery(endpoint, delivery_id)
    return render_webhook_page(access, "delivery", **describe_message(endpoint, row))


@settings.post(
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
