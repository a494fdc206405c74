"""The API's doors to events and webhooks."""

from typing import Any

from flask import Response

from testimonials.auth.api_auth import require_access
from testimonials.auth.callers import Caller
from testimonials.auth.scopes import Scope
from testimonials.core.http.blueprints import webhooks
from testimonials.core.http.errors import ValidationFailed
from testimonials.core.http.idempotency import begin_call, commit_answer, require_match
from testimonials.core.http.pagination import (
    CursorQuerySchema,
    Page,
    add_link,
    answer_page,
    link_to,
)
from testimonials.core.http.resource import answer, endpoint
from testimonials.integrations.webhooks import endpoints, log
from testimonials.integrations.webhooks.payloads import list_told
from testimonials.integrations.webhooks.schemas import (
    DeliveryListSchema,
    DeliverySchema,
    EventListSchema,
    EventQuerySchema,
    NewWebhookSchema,
    RedeliveredSchema,
    RedeliverSchema,
    WebhookCreateSchema,
    WebhookListSchema,
    WebhookSchema,
    WebhookUpdateSchema,
)
from testimonials.projects.access import find_project

_WEBHOOK, _WEBHOOKS, _DELIVERIES = (
    WebhookSchema(),
    WebhookSchema(many=True),
    DeliverySchema(many=True),
)


@webhooks.get("/v1/events")
@require_access(Scope.READ)
@endpoint(data=EventListSchema, query=EventQuerySchema, raises=(400, 404))
def list_events(caller: Caller, query: dict[str, Any]) -> Response:
    """List events.

    What has happened to testimonials, requests, proposals and settings, oldest first. Whoever goes
    on with ``after``, the ``id`` of the last event read, misses nothing. What happened again and
    again within an hour is one event, which gets a new ``id`` each time. A change of many
    testimonials at once is one event with their ``count``; webhooks tell of each. Events are kept
    for a year unless the service's operator chose otherwise.
    """
    if query["projectId"]:
        find_project(caller, query["projectId"])
    items, following = list_told(caller, query)
    response = answer("OK", {"items": items, "next": following})
    add_link(response, link_to(following))
    return response


@webhooks.get("/v1/projects/<project_id>/webhooks")
@require_access(Scope.CONFIGURE)
@endpoint(data=WebhookListSchema, raises=(404,))
def list_webhooks(caller: Caller, project_id: str) -> Response:
    """List webhook endpoints.

    All of the project, newest first. Their secrets are never shown again.
    """
    project = find_project(caller, project_id)
    return answer_page(_WEBHOOKS, Page(endpoints.list_endpoints(project), None))


@webhooks.post("/v1/projects/<project_id>/webhooks")
@require_access(Scope.CONFIGURE)
@endpoint(
    data=NewWebhookSchema,
    body=WebhookCreateSchema,
    raises=(404, 409, 422),
    example={"url": "https://example.com/hooks/testimonials", "events": ["testimonial.approved"]},
)
def create_webhook(caller: Caller, project_id: str, body: dict[str, Any]) -> Response:
    """Add a webhook endpoint.

    From now on, what happens in the project is sent there as Standard Webhooks
    (https://www.standardwebhooks.com): a POST with ``{type, timestamp, data}``, signed with the
    ``secret`` in this answer, which is shown only once. Any status from 200 to 299 within 15
    seconds accepts it; otherwise it is tried again for three days, and 410 switches the endpoint
    off. A project has at most 10, each with an address of its own.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    found, secret = endpoints.add_endpoint(
        project, **body, created_by=caller.label, keeper_id=caller.made_by_id or caller.id
    )
    data = _WEBHOOK.dump(found) | {"secret": secret}
    return commit_answer("Webhook endpoint added", data, is_secret=True)


@webhooks.get("/v1/projects/<project_id>/webhooks/<webhook_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=WebhookSchema, raises=(404,))
def get_webhook(caller: Caller, project_id: str, webhook_id: str) -> Response:
    """Show a webhook endpoint.

    With how it fares, without its secret.
    """
    project = find_project(caller, project_id)
    return answer("OK", _WEBHOOK.dump(endpoints.find_endpoint(project, webhook_id)))


@webhooks.patch("/v1/projects/<project_id>/webhooks/<webhook_id>")
@require_access(Scope.CONFIGURE)
@endpoint(
    data=WebhookSchema, body=WebhookUpdateSchema, raises=(404, 409, 422), example={"active": True}
)
def update_webhook(
    caller: Caller, project_id: str, webhook_id: str, body: dict[str, Any]
) -> Response:
    """Change a webhook endpoint.

    Only the fields that are sent change. Switched on again, it hears of what happens from then on;
    ``redeliver`` sends it what it has missed.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    found = endpoints.find_endpoint(project, webhook_id)
    require_match(_WEBHOOK.dump(found))
    endpoints.change_endpoint(project, found, **body)
    return commit_answer("Webhook endpoint updated", _WEBHOOK.dump(found))


@webhooks.delete("/v1/projects/<project_id>/webhooks/<webhook_id>")
@require_access(Scope.CONFIGURE)
@endpoint(data=WebhookSchema, raises=(404,))
def delete_webhook(caller: Caller, project_id: str, webhook_id: str) -> Response:
    """Remove a webhook endpoint.

    With its log. What waits for it is not sent.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    found = endpoints.find_endpoint(project, webhook_id)
    data = _WEBHOOK.dump(found)
    require_match(data)
    endpoints.remove_endpoint(project, found)
    return commit_answer("Webhook endpoint removed", data)


@webhooks.post("/v1/projects/<project_id>/webhooks/<webhook_id>/test")
@require_access(Scope.CONFIGURE)
@endpoint(data=DeliverySchema, raises=(404, 422))
def test_webhook(caller: Caller, project_id: str, webhook_id: str) -> Response:
    """Send a test.

    A ``webhook.test`` leaves within a second or two, once, also to an endpoint that is switched
    off. The log of deliveries says what came of it.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    row = log.send_test(endpoints.find_endpoint(project, webhook_id))
    return commit_answer("Test on its way", DeliverySchema().dump(row))


@webhooks.post("/v1/projects/<project_id>/webhooks/<webhook_id>/rotate")
@require_access(Scope.CONFIGURE)
@endpoint(data=NewWebhookSchema, raises=(404,))
def rotate_webhook_secret(caller: Caller, project_id: str, webhook_id: str) -> Response:
    """Replace the secret.

    The new one is in this answer, and shown only once. For 24 hours the old one signs too, so that
    a receiver that verifies with either loses nothing. An endpoint that is ``paused``, because
    whoever added it is no admin any more, is kept by this: it hears of what happens from then on,
    and only the new secret signs.
    """
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    found = endpoints.find_endpoint(project, webhook_id)
    secret = endpoints.rotate_secret(project, found, caller.made_by_id or caller.id)
    data = _WEBHOOK.dump(found) | {"secret": secret}
    return commit_answer("Secret replaced", data, is_secret=True)


@webhooks.get("/v1/projects/<project_id>/webhooks/<webhook_id>/deliveries")
@require_access(Scope.CONFIGURE)
@endpoint(data=DeliveryListSchema, query=CursorQuerySchema, raises=(400, 404))
def list_deliveries(
    caller: Caller, project_id: str, webhook_id: str, query: dict[str, Any]
) -> Response:
    """List deliveries.

    The log of an endpoint, newest first: what waits, and the last 100 that were accepted or given
    up, with what was sent, each answer and its time.
    """
    found = endpoints.find_endpoint(find_project(caller, project_id), webhook_id)
    return answer_page(_DELIVERIES, log.list_deliveries(found, **query))


@webhooks.post("/v1/projects/<project_id>/webhooks/<webhook_id>/redeliver")
@require_access(Scope.CONFIGURE)
@endpoint(
    data=RedeliveredSchema,
    body=RedeliverSchema,
    raises=(404, 422),
    example={"since": "2026-03-12T10:00:00Z"},
)
def redeliver_webhook(
    caller: Caller, project_id: str, webhook_id: str, body: dict[str, Any]
) -> Response:
    """Send again.

    One delivery (``deliveryId``), or everything that has happened ``since`` a time. Each has the
    same ``webhook-id`` as before and the data as it is now.
    """
    if len(body) != 1:
        raise ValidationFailed.of({"since": ["Send either deliveryId or since."]})
    begin_call(caller.id)
    project = find_project(caller, project_id, for_update=True)
    count = log.redeliver(endpoints.find_endpoint(project, webhook_id), **body)
    return commit_answer("On their way", {"count": count})
