"""Webhook endpoints and deliveries."""

from datetime import UTC, datetime, timedelta

from flask import url_for
from marshmallow import fields

from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.blueprints import settings
from testimonials.core.http.fields import Choice, WebUrl
from testimonials.core.http.forms import Choices, FormSchema
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.dashboard.framework import Done, ProjectPage, Values, is_repeated
from testimonials.dashboard.tokens import overview
from testimonials.dashboard.webhook_data import (
    describe_delivery,
    describe_endpoint,
    describe_message,
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
from testimonials.integrations.webhooks.schemas import URL_LENGTH
from testimonials.projects.access import Access

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


class EndpointForm(FormSchema):
    url = WebUrl(
        URL_LENGTH,
        required=True,
        error_messages={"required": gettext_noop("Write the address that we should call.")},
    )
    events = Choices(*EVENTS, missing=gettext_noop("Choose at least one thing to hear of."))


class StatusForm(FormSchema):
    status = Choice("active", "off", required=True)


class SecretForm(FormSchema):
    # Of the secret that the form is about.
    last_four = fields.String()


class SinceForm(FormSchema):
    since = fields.NaiveDateTime(
        required=True,
        error_messages=dict.fromkeys(
            ("required", "invalid", "invalid_awareness"),
            gettext_noop("Choose a day and a time, in UTC."),
        ),
    )


# Webhook endpoints: adding, changing, switching and removing them, and their secrets.


new_endpoint = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/new",
    "integrations/webhook_form.html",
)
endpoint = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>",
    "integrations/webhook_form.html",
)
secret = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/secret",
    "integrations/webhook_secret.html",
)
removal = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/remove",
    "integrations/webhook_remove.html",
)


@new_endpoint.show
def show_webhook_form(access: Access) -> Values:
    return {"all_events": EVENTS, "typed": {"events": EVENTS}, "once": new_identifier()}


@new_endpoint.save(EndpointForm, step_up="add a webhook endpoint")
def add_webhook(access: Access, url: str, events: list[str]) -> Done:
    """Add an endpoint and show its secret, once."""
    user = access.user
    if is_repeated(user.account_id):
        return _lead_back(_("This endpoint was added already. Its secret was shown once."))
    by = {"created_by": user.email, "keeper_id": user.account_id}
    _endpoint, plain = add_endpoint(access.project, **by, url=url, events=_or_all(events))
    return _show_secret(url, plain)


@endpoint.show
def show_webhook(access: Access, webhook_id: str) -> Values:
    found = find_endpoint(access.project, webhook_id)
    typed = {"url": found.url, "events": found.events or EVENTS}
    return {"all_events": EVENTS, "typed": typed, "webhook_id": webhook_id}


@endpoint.save(EndpointForm, step_up="change a webhook endpoint")
def change_webhook(access: Access, webhook_id: str, url: str, events: list[str]) -> Done:
    found = find_endpoint(access.project, webhook_id)
    change_endpoint(access.project, found, url=url, events=_or_all(events))
    return _lead_back(_("The endpoint is changed."))


@endpoint.save(StatusForm, at="/switch")
def switch_webhook(access: Access, webhook_id: str, status: str) -> Done:
    is_active = status == "active"
    change_endpoint(access.project, find_endpoint(access.project, webhook_id), is_active=is_active)
    text = _("It hears of what happens from now on.") if is_active else _("It is off.")
    return _lead_back(text)


@endpoint.save(at="/test")
def test_webhook(access: Access, webhook_id: str) -> Done:
    """Send a test, and show the outcome."""
    row = send_test(find_endpoint(access.project, webhook_id))
    return Done(to=url_for(".show_delivery", webhook_id=webhook_id, delivery_id=row.id))


@secret.show
def show_secret_form(access: Access, webhook_id: str) -> Values:
    return describe_endpoint(find_endpoint(access.project, webhook_id))


@secret.save(SecretForm, step_up="replace a signing secret")
def replace_webhook_secret(access: Access, webhook_id: str, last_four: str) -> Done:
    """Replace the secret that the form was about, and show the new one, once."""
    found = find_endpoint(access.project, webhook_id)
    if last_four != found.secret[-4:]:
        return _lead_back(_("This secret was replaced already. The new one was shown once."))
    return _show_secret(found.url, rotate_secret(access.project, found, access.user.account_id))


@removal.show
def show_webhook_removal(access: Access, webhook_id: str) -> Values:
    return {"endpoint": find_endpoint(access.project, webhook_id)}


@removal.save()
def remove_webhook(access: Access, webhook_id: str) -> Done:
    remove_endpoint(access.project, find_endpoint(access.project, webhook_id))
    return _lead_back(_("The endpoint is removed, with its log."))


def _or_all(events: list[str]) -> list[str]:
    """Return what to hear of; all events are also those to come."""
    return [] if len(events) == len(EVENTS) else events


def _show_secret(url: str, plain: str) -> Done:
    return Done(page=overview, shown={"new_secret": {"url": url, "plain": plain}})


def _lead_back(notice: str) -> Done:
    return Done(notice, url_for(".show_integrations"), anchor="webhooks")


# Deliveries of webhooks: the log, one delivery, and sending again.

log = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries",
    "integrations/deliveries.html",
)
delivery = ProjectPage(
    settings,
    "/dashboard/projects/<project_id>/integrations/webhooks/<webhook_id>/deliveries/<delivery_id>",
    "integrations/delivery.html",
)


@log.show
def show_log(access: Access, webhook_id: str) -> Values:
    found = find_endpoint(access.project, webhook_id)
    start = found.failing_since or clock.now() - timedelta(days=1)
    return describe_endpoint(found) | {
        "deliveries": [describe_delivery(row) for row in list_deliveries(found, KEPT).items],
        "kept": KEPT,
        "typed": {"since": f"{start:%Y-%m-%dT%H:%M}"},
    }


@log.save(SinceForm, at="/again")
def redeliver_since(access: Access, webhook_id: str, since: datetime) -> Done:
    """Send again everything that has happened since a time."""
    redeliver(find_endpoint(access.project, webhook_id), since=since.replace(tzinfo=UTC))
    return Done(_("Everything since then is on its way again, oldest first."))


@delivery.show
def show_delivery(access: Access, webhook_id: str, delivery_id: str) -> Values:
    found = find_endpoint(access.project, webhook_id)
    return describe_message(found, find_delivery(found, delivery_id))


@delivery.save()
def redeliver_one(access: Access, webhook_id: str, delivery_id: str) -> Done:
    redeliver(find_endpoint(access.project, webhook_id), delivery_id)
    return Done(_("It is on its way again."), url_for(".show_log", webhook_id=webhook_id))
