"""The API of events and webhooks."""

from testimonials.auth.tokens import Caller, Scope
from testimonials.core.http.answers import CursorQuerySchema, Page
from testimonials.core.http.blueprints import webhooks
from testimonials.integrations.webhooks import endpoints, log, schemas
from testimonials.integrations.webhooks.models import WebhookDelivery, WebhookEndpoint
from testimonials.integrations.webhooks.payloads import list_caller_events
from testimonials.projects.access import find_project
from testimonials.projects.changes import Values
from testimonials.projects.models import Project

webhooks.find(webhook=lambda project, webhook_id: endpoints.find_endpoint(project, webhook_id))


@webhooks.resource(
    "GET /v1/events",
    scope=Scope.READ,
    query=schemas.EventQuerySchema,
    data=schemas.EventSchema,
    is_paged=True,
    raises=(404,),
)
def list_events(caller: Caller, query: Values) -> Page:
    """List events.

    Events of testimonials, requests, proposals and settings, oldest first. To miss none, continue
    with ``after``, the ``id`` of the last event you have read. Repetitions within an hour are one
    event, which gets a new ``id`` each time. A change of many testimonials at once is one event
    with their ``count``; webhooks send one for each. Events are kept for a year unless the
    service's operator chose otherwise.
    """
    if query["projectId"]:
        find_project(caller, query["projectId"], is_locked=False)
    return list_caller_events(caller, query)


@webhooks.resource(
    "GET /v1/projects/<project_id>/webhooks",
    scope=Scope.CONFIGURE,
    data=schemas.WebhookSchema,
    is_paged=True,
)
def list_webhooks(project: Project) -> Page:
    """List webhook endpoints.

    All of a project's, newest first. Their secrets are not shown again.
    """
    return Page(endpoints.list_endpoints(project), None)


@webhooks.resource(
    "POST /v1/projects/<project_id>/webhooks",
    scope=Scope.CONFIGURE,
    body=schemas.WebhookCreateSchema,
    example={"url": "https://example.com/hooks/testimonials", "events": ["testimonial.approved"]},
    data=schemas.NewWebhookSchema,
    done="Webhook endpoint added",
    is_secret=True,
    raises=(409,),
)
def create_webhook(caller: Caller, project: Project, body: Values) -> WebhookEndpoint:
    """Add a webhook endpoint.

    Events of the project are sent to it from now on as Standard Webhooks
    (https://www.standardwebhooks.com): a POST with ``{type, timestamp, data}``, signed with the
    ``secret`` in this answer, which is shown only once. A status from 200 to 299 within 15 seconds
    accepts it; otherwise it is retried for three days, and 410 switches the endpoint off. A project
    has at most 10 endpoints with different URLs. With ``"template": "build"`` it is a host's build
    hook, called with ``{}`` and no signature, once for all that can change a website within a
    minute.
    """
    keeper_id = caller.made_by_id or caller.id
    return endpoints.add_endpoint(project, **body, created_by=caller.label, keeper_id=keeper_id)


@webhooks.resource(
    "GET /v1/projects/<project_id>/webhooks/<webhook_id>",
    scope=Scope.CONFIGURE,
    data=schemas.WebhookSchema,
)
def get_webhook(webhook: WebhookEndpoint) -> WebhookEndpoint:
    """Show a webhook endpoint.

    Its settings and state, without its secret.
    """
    return webhook


@webhooks.resource(
    "PATCH /v1/projects/<project_id>/webhooks/<webhook_id>",
    scope=Scope.CONFIGURE,
    match=get_webhook,
    body=schemas.WebhookUpdateSchema,
    example={"active": True},
    done="Webhook endpoint updated",
    raises=(409,),
)
def update_webhook(project: Project, webhook: WebhookEndpoint, body: Values) -> None:
    """Change a webhook endpoint.

    Only the fields that are sent change. An endpoint that is switched on again gets new events;
    ``redeliver`` sends those that it has missed.
    """
    endpoints.change_endpoint(project, webhook, **body)


@webhooks.resource(
    "DELETE /v1/projects/<project_id>/webhooks/<webhook_id>",
    scope=Scope.CONFIGURE,
    match=get_webhook,
    done="Webhook endpoint removed",
)
def delete_webhook(project: Project, webhook: WebhookEndpoint) -> None:
    """Remove a webhook endpoint.

    Its log is deleted, and its waiting deliveries are not sent.
    """
    endpoints.remove_endpoint(project, webhook)


@webhooks.resource(
    "POST /v1/projects/<project_id>/webhooks/<webhook_id>/test",
    scope=Scope.CONFIGURE,
    data=schemas.DeliverySchema,
    done="Test on its way",
)
def test_webhook(webhook: WebhookEndpoint) -> WebhookDelivery:
    """Send a test.

    A ``webhook.test`` is sent once, within a second or two, even if the endpoint is switched off.
    The log of deliveries has the outcome.
    """
    return log.send_test(webhook)


@webhooks.resource(
    "POST /v1/projects/<project_id>/webhooks/<webhook_id>/rotate",
    scope=Scope.CONFIGURE,
    data=schemas.NewWebhookSchema,
    done="Secret replaced",
    is_secret=True,
)
def rotate_webhook_secret(
    caller: Caller, project: Project, webhook: WebhookEndpoint
) -> WebhookEndpoint:
    """Replace the secret.

    The new one is in this answer, and shown only once. For another 24 hours the old one also signs,
    so a receiver misses nothing, whichever it verifies with. An endpoint that is ``paused`` because
    the person who added it is no longer an admin is resumed: it gets new events, signed with the
    new secret only.
    """
    endpoints.rotate_secret(project, webhook, caller.made_by_id or caller.id)
    return webhook


@webhooks.resource(
    "GET /v1/projects/<project_id>/webhooks/<webhook_id>/deliveries",
    scope=Scope.CONFIGURE,
    query=CursorQuerySchema,
    data=schemas.DeliverySchema,
    is_paged=True,
)
def list_deliveries(webhook: WebhookEndpoint, query: Values) -> Page:
    """List deliveries.

    The log of an endpoint, newest first: waiting deliveries, and the last 100 that were accepted or
    abandoned, with what was sent and each response.
    """
    return log.list_deliveries(webhook, **query)


@webhooks.resource(
    "POST /v1/projects/<project_id>/webhooks/<webhook_id>/redeliver",
    scope=Scope.CONFIGURE,
    body=schemas.RedeliverSchema,
    example={"since": "2026-03-12T10:00:00Z"},
    data=schemas.RedeliveredSchema,
    done="On their way",
)
def redeliver_webhook(webhook: WebhookEndpoint, body: Values) -> Values:
    """Send again.

    One delivery (``deliveryId``), or all events ``since`` a time. Each keeps its ``webhook-id`` and
    has the current data.
    """
    return {"count": log.redeliver(webhook, **body)}
