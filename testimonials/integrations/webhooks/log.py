"""The log of deliveries, and sending again."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update

from testimonials.core import clock
from testimonials.core.audit import IS_SINGLE, Event
from testimonials.core.db.identifiers import first_identifier, new_identifier
from testimonials.core.db.transactions import delete_rows, find_row
from testimonials.core.extensions import db
from testimonials.core.http.answers import Cursor, Page, read_page
from testimonials.core.http.errors import ServiceError, require_found
from testimonials.core.http.i18n import gettext_noop
from testimonials.core.settings.table import current_settings
from testimonials.integrations.webhooks.endpoints import require_unpaused
from testimonials.integrations.webhooks.models import IS_DUE, WebhookDelivery, WebhookEndpoint
from testimonials.integrations.webhooks.payloads import TEST
from testimonials.testimonials.models import Testimonial

# Settled deliveries of each endpoint that are kept.
KEPT = 100


class EndpointOff(ServiceError):
    status = 422
    meaning = "The webhook endpoint is switched off, so nothing is sent to it."
    remedy = "Switch it on first."
    default_message = gettext_noop("This webhook endpoint is switched off. Switch it on first.")


def list_deliveries(
    endpoint: WebhookEndpoint, limit: int = KEPT, after: Cursor | None = None
) -> Page:
    """Return a page of the log, newest first."""
    query = select(WebhookDelivery).where(WebhookDelivery.endpoint_id == endpoint.id)
    return read_page(query, WebhookDelivery, limit, after)


def find_delivery(endpoint: WebhookEndpoint, delivery_id: str) -> WebhookDelivery:
    row = find_row(WebhookDelivery, delivery_id, WebhookDelivery.endpoint_id == endpoint.id)
    return require_found(row, f"There is no such delivery. The last {KEPT} are kept.")


def send_test(endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Queue a test, even if the endpoint is switched off; raise `EndpointPaused`."""
    require_unpaused(endpoint)
    return _add(endpoint, new_identifier(), TEST, None)


def redeliver(
    endpoint: WebhookEndpoint, delivery_id: str | None = None, since: datetime | None = None
) -> int:
    """Send a delivery again, or all events since a time; return how many.

    Raises `EndpointPaused`, `EndpointOff` and `NotFound`.
    """
    require_unpaused(endpoint)
    if not endpoint.is_active:
        raise EndpointOff
    if delivery_id is not None:
        row = find_delivery(endpoint, delivery_id)
        _add(endpoint, row.event_id, row.event_type, row.subject)
        return 1
    start = min(endpoint.read_to, first_identifier(since or clock.now()))
    # Waiting deliveries are written again with the rest.
    db.session.execute(
        delete(WebhookDelivery).where(
            WebhookDelivery.endpoint_id == endpoint.id,
            IS_DUE,
            WebhookDelivery.event_id > start,
            WebhookDelivery.event_type != TEST,
            WebhookDelivery.leased_until.is_(None),
        )
    )
    endpoint.read_to = start
    db.session.flush()
    query = select(func.count()).where(
        Event.project_id == endpoint.project_id,
        Event.id > start,
        Event.type.in_(endpoint.types),
        IS_SINGLE,
    )
    return db.session.scalar(query) or 0


def delete_old_deliveries(limit: int) -> int:
    """Delete at most `limit` settled deliveries that are old or beyond `KEPT`; return how many.

    The others lose the words of deleted testimonials.
    """
    is_gone = ~select(Testimonial.id).where(Testimonial.id == WebhookDelivery.subject).exists()
    db.session.execute(
        update(WebhookDelivery)
        .where(WebhookDelivery.subject.is_not(None), WebhookDelivery.body != "", is_gone)
        .values(body="")
        .execution_options(synchronize_session=False)
    )
    rank = func.row_number().over(
        partition_by=WebhookDelivery.endpoint_id, order_by=WebhookDelivery.id.desc()
    )
    ranked = (
        select(WebhookDelivery.id, rank.label("rank"))
        .where(WebhookDelivery.state != "due")
        .subquery()
    )
    until = first_identifier(clock.expired_until(current_settings().delivery_days))
    is_old = or_(ranked.c.rank > KEPT, ranked.c.id < until)
    old = select(ranked.c.id).where(is_old).limit(limit)
    return delete_rows(WebhookDelivery, WebhookDelivery.id.in_(old))


def _add(
    endpoint: WebhookEndpoint, event_id: str, type: str, subject: str | None
) -> WebhookDelivery:
    row = WebhookDelivery(
        endpoint_id=endpoint.id,
        event_id=event_id,
        event_type=type,
        subject=subject,
        next_try_at=clock.now(),
    )
    db.session.add(row)
    db.session.flush()
    return row


def list_failing() -> Sequence[WebhookEndpoint]:
    """Return the failing endpoints of all projects."""
    since = WebhookEndpoint.failing_since
    query = select(WebhookEndpoint).where(since.is_not(None), WebhookEndpoint.is_active)
    return db.session.scalars(query.order_by(since)).all()
