"""Webhook endpoints: the list, an endpoint with its log, and a delivery."""

import json
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from flask import url_for
from marshmallow import fields

from testimonials.core import clock
from testimonials.core.db.identifiers import new_identifier
from testimonials.core.http.blueprints import settings
from testimonials.core.http.fields import Choice, Switch, WebUrl
from testimonials.core.http.forms import Choices, FormSchema, Once, say_what
from testimonials.core.http.i18n import gettext as _
from testimonials.core.http.i18n import gettext_noop
from testimonials.dashboard.formatting import describe_time, highlight
from testimonials.dashboard.framework import (
    Done,
    ProjectPage,
    UndoForm,
    Values,
    keep_removed,
    take_removed,
)
from testimonials.integrations.webhooks import endpoints, log
from testimonials.integrations.webhooks.models import (
    BUILD,
    EVENT,
    TEMPLATES,
    WebhookDelivery,
    WebhookEndpoint,
)
from testimonials.integrations.webhooks.schemas import URL_LENGTH
from testimonials.projects.access import Access

# The meaning of each event.
EVENTS = {
    "testimonial.submitted": gettext_noop("A testimonial was sent"),
    "testimonial.approved": gettext_noop("A testimonial was approved, or added as approved"),
    "testimonial.rejected": gettext_noop("A testimonial was rejected"),
    "testimonial.updated": gettext_noop("A testimonial was edited, pinned, tagged or replied to"),
    "testimonial.deleted": gettext_noop("A testimonial was deleted"),
    "testimonial.withdrawn": gettext_noop("An author withdrew a testimonial"),
    "request.answered": gettext_noop("Someone you asked by email wrote a testimonial"),
    "proposal.decided": gettext_noop("A proposal was accepted or declined"),
    "project.updated": gettext_noop("The page, widget or settings changed"),
}


class EndpointForm(FormSchema):
    url = WebUrl(
        URL_LENGTH, missing=gettext_noop("Enter the full address, such as https://example.com.")
    )
    events = Choices(*EVENTS, missing=gettext_noop("Choose at least one option."))


class NewEndpointForm(EndpointForm):
    template = Choice(*TEMPLATES, load_default=EVENT)
    once = Once()


class SinceForm(FormSchema):
    since = fields.NaiveDateTime(
        required=True,
        error_messages=dict.fromkeys(
            ("required", "invalid", "invalid_awareness"),
            gettext_noop("Fill in this field."),
        ),
    )


listing = ProjectPage(settings, "settings/developers/webhooks", "settings/developers/webhooks.html")


@listing.show
def show_webhooks(access: Access) -> Values:
    return {"endpoints": endpoints.list_endpoints(access.project)}


new_endpoint = ProjectPage(
    settings, "settings/developers/webhooks/new", "settings/developers/webhook_form.html"
)


@new_endpoint.show
def show_webhook_form(access: Access) -> Values:
    typed = {"events": EVENTS, "template": EVENT}
    return {"all_events": EVENTS, "typed": typed, "once": new_identifier()}


@new_endpoint.save(NewEndpointForm, step_up="Add endpoint")
def add_webhook(
    access: Access, url: str, events: list[str], template: str, is_repeated: bool
) -> Done:
    """Add an endpoint, and show its secret once; a build hook has none."""
    user = access.user
    if is_repeated:
        text = _("Already done. It was shown once.")
        return Done(text, url_for(".show_webhooks"))
    row = endpoints.add_endpoint(
        access.project, url, _or_all(events), user.email, user.account_id, template
    )
    if template == BUILD:
        text = _("Added. A build starts within a minute of each change.")
        return Done(text, url_for(".show_webhook", webhook_id=row.id))
    return Done(page=listing, shown={"new_secret": {"url": url, "plain": row.secret}})


def _or_all(events: list[str]) -> list[str]:
    """Return the events, or [] for all, which includes those of later versions."""
    return [] if len(events) == len(EVENTS) else events


endpoint = ProjectPage(
    settings, "settings/developers/webhooks/<webhook_id>", "settings/developers/webhook.html"
)


@endpoint.show
def show_webhook(access: Access, webhook_id: str) -> Values:
    row = endpoints.find_endpoint(access.project, webhook_id)
    start = row.failing_since or clock.now() - timedelta(days=1)
    return {
        "endpoint": row,
        "deliveries": list(map(describe_delivery, log.list_deliveries(row, log.KEPT).items)),
        "kept": log.KEPT,
        "typed": {"since": f"{start:%Y-%m-%dT%H:%M}"},
    }


@endpoint.save({"is_active": Switch(load_default=False)}, at="/switch")
def switch_webhook(access: Access, webhook_id: str, is_active: bool) -> Done:
    endpoints.change_endpoint(
        access.project, endpoints.find_endpoint(access.project, webhook_id), is_active=is_active
    )
    return Done(_("Saved"))


@endpoint.save(at="/test")
def test_webhook(access: Access, webhook_id: str) -> Done:
    row = log.send_test(endpoints.find_endpoint(access.project, webhook_id))
    return Done(to=url_for(".show_delivery", webhook_id=webhook_id, delivery_id=row.id))


@endpoint.save(SinceForm, at="/again")
def redeliver_since(access: Access, webhook_id: str, since: datetime) -> Done:
    log.redeliver(
        endpoints.find_endpoint(access.project, webhook_id), since=since.replace(tzinfo=UTC)
    )
    return Done(_("On its way"))


changing = ProjectPage(
    settings,
    "settings/developers/webhooks/<webhook_id>/change",
    "settings/developers/webhook_form.html",
)


@changing.show
def show_webhook_change(access: Access, webhook_id: str) -> Values:
    row = endpoints.find_endpoint(access.project, webhook_id)
    typed = {"url": row.url, "events": row.events or EVENTS, "template": row.template}
    return {"all_events": EVENTS, "typed": typed, "webhook_id": webhook_id}


@changing.save(EndpointForm, step_up="Edit endpoint")
def change_webhook(access: Access, webhook_id: str, url: str, events: list[str]) -> Done:
    row = endpoints.find_endpoint(access.project, webhook_id)
    endpoints.change_endpoint(access.project, row, url=url, events=_or_all(events))
    return _back_to_endpoint(webhook_id, _("Saved"))


secret = ProjectPage(
    settings,
    "settings/developers/webhooks/<webhook_id>/secret",
    "settings/developers/webhook_secret.html",
)


@secret.show
def show_secret_form(access: Access, webhook_id: str) -> Values:
    return {"endpoint": endpoints.find_endpoint(access.project, webhook_id)}


@secret.save({"last_four": fields.String()}, step_up="Replace secret")
def replace_webhook_secret(access: Access, webhook_id: str, last_four: str) -> Done:
    """Replace the secret unless that was done already, and show the new one once."""
    row = endpoints.find_endpoint(access.project, webhook_id)
    if last_four != row.secret[-4:]:
        text = _("Already done. It was shown once.")
        return _back_to_endpoint(webhook_id, text)
    endpoints.rotate_secret(access.project, row, access.user.account_id)
    if row.template == BUILD:
        return _back_to_endpoint(webhook_id, _("Saved"))
    return Done(page=endpoint, shown={"new_secret": {"url": row.url, "plain": row.secret}})


def _back_to_endpoint(webhook_id: str, notice: str) -> Done:
    return Done(notice, url_for(".show_webhook", webhook_id=webhook_id))


@endpoint.save(at="/remove")
def remove_webhook(access: Access, webhook_id: str) -> Done:
    row = endpoints.find_endpoint(access.project, webhook_id)
    undo = keep_removed(access.project, "webhook", **endpoints.copy_endpoint(row))
    endpoints.remove_endpoint(access.project, row)
    text, undo_url = say_what(_("Removed"), row.url), url_for(".bring_webhook_back")
    return Done(text, url_for(".show_webhooks"), undo=undo, undo_url=undo_url)


@listing.save(UndoForm, at="/removed/undo")
def bring_webhook_back(access: Access, undo: str) -> Done:
    """Restore an endpoint with its secret but without its log; it gets what it has missed."""
    values = take_removed(access.project, "webhook", undo)
    return _back_to_endpoint(endpoints.restore_endpoint(access.project, values).id, _("Restored"))


delivery = ProjectPage(
    settings,
    "settings/developers/webhooks/<webhook_id>/deliveries/<delivery_id>",
    "settings/developers/delivery.html",
)


@delivery.show
def show_delivery(access: Access, webhook_id: str, delivery_id: str) -> Values:
    row = endpoints.find_endpoint(access.project, webhook_id)
    return describe_message(row, log.find_delivery(row, delivery_id))


@delivery.save()
def redeliver_one(access: Access, webhook_id: str, delivery_id: str) -> Done:
    log.redeliver(endpoints.find_endpoint(access.project, webhook_id), delivery_id)
    return _back_to_endpoint(webhook_id, _("On its way"))


def describe_delivery(row: WebhookDelivery) -> dict[str, Any]:
    """Return what the log shows: the attempts so far, and the time of the next one."""
    tries = list(map(_describe_try, row.attempts))
    is_open = row.state == "due"
    dots = {"sent": "", "failed": "bad", "due": "bad" if tries else "off"}
    return {
        "row": row,
        "tries": tries,
        "last": tries[-1] if tries else None,
        "dot": dots[row.state],
        "next_at": _describe_next(row.next_try_at) if is_open and tries and row.next_try_at else "",
        "is_waiting": is_open and not tries,
    }


def _describe_next(time: datetime) -> str:
    is_soon = time - clock.now() < timedelta(hours=12)
    return f"{time:%H:%M} UTC" if is_soon else describe_time(time)


def describe_message(endpoint: WebhookEndpoint, row: WebhookDelivery) -> dict[str, Any]:
    """Return a delivery with its headers and body as last sent."""
    shown = describe_delivery(row)
    lines = [f"POST {endpoint.url}", "content-type: application/json"]
    if endpoint.template != BUILD:
        lines.append(f"webhook-id: {row.message_id}")
        if shown["last"]:
            lines.append(f"webhook-timestamp: {int(shown['last']['at'].timestamp())}")
            lines.append("webhook-signature: v1,… (new for each attempt)")
    body = json.dumps(row.request, indent=2, ensure_ascii=False) if row.body else ""
    return shown | {
        "endpoint": endpoint,
        "message_id": row.message_id,
        "head": "\n".join(lines),
        "body": highlight(body),
    }


def _describe_try(attempt: dict[str, Any]) -> dict[str, Any]:
    status, ms = attempt["status"], attempt["ms"]
    return {
        "at": datetime.fromisoformat(attempt["at"]),
        "is_accepted": status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES,
        "status": status,
        "words": f"{status} {_name_status(status)}".strip() if status else attempt["error"],
        "took": f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s",
        "answer": attempt["answer"],
    }


def _name_status(status: int) -> str:
    return HTTPStatus(status).phrase if status in list(HTTPStatus) else ""
