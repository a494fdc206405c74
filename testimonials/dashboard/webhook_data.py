"""How pages describe webhook endpoints and their deliveries."""

import json
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from testimonials.core import clock
from testimonials.dashboard.formatting import describe_time, highlight
from testimonials.integrations.webhooks.endpoints import list_endpoints
from testimonials.integrations.webhooks.log import list_newest
from testimonials.integrations.webhooks.models import WebhookDelivery, WebhookEndpoint
from testimonials.integrations.webhooks.payloads import Told
from testimonials.projects.access import Access

# How many deliveries of each endpoint the Integrations page shows.
NEWEST = 3


def describe_endpoints(access: Access) -> list[dict[str, Any]]:
    endpoints = list_endpoints(access.project)
    newest = list_newest(endpoints, NEWEST)
    return [
        describe_endpoint(each)
        | {"deliveries": [describe_delivery(row) for row in newest[each.id]]}
        for each in endpoints
    ]


def describe_endpoint(endpoint: WebhookEndpoint) -> dict[str, Any]:
    is_old_valid = endpoint.old_secret_until and endpoint.old_secret_until > clock.now()
    return {
        "endpoint": endpoint,
        "last_four": endpoint.secret[-4:],
        "old_until": endpoint.old_secret_until if is_old_valid else None,
    }


def describe_delivery(row: WebhookDelivery) -> dict[str, Any]:
    """Return what the log shows: the last answer, and what comes next."""
    tries = [_describe_try(each) for each in row.attempts]
    is_open = row.state == "due"
    dots = {"sent": "", "failed": "bad", "due": "bad" if tries else "off"}
    return {
        "row": row,
        "tries": tries,
        "last": tries[-1] if tries else None,
        "dot": dots[row.state],
        "next_at": _describe_next(row.next_try_at) if is_open and tries and row.next_try_at else "",
        "is_waiting": is_open and not tries,
        "is_given_up": row.state == "failed",
    }


def _describe_next(time: datetime) -> str:
    is_soon = time - clock.now() < timedelta(hours=12)
    return f"{time:%H:%M} UTC" if is_soon else describe_time(time)


def describe_message(endpoint: WebhookEndpoint, row: WebhookDelivery) -> dict[str, Any]:
    """Return one delivery whole: its headers and body as they were last sent."""
    message_id = Told(row.event_id, row.event_type, row.subject).id
    shown = describe_delivery(row)
    lines = [
        f"POST {endpoint.url}",
        "content-type: application/json",
        f"webhook-id: {message_id}",
    ]
    if shown["last"]:
        lines.append(f"webhook-timestamp: {int(shown['last']['at'].timestamp())}")
        lines.append("webhook-signature: v1,… (made anew for each try)")
    body = json.dumps(json.loads(row.body), indent=2, ensure_ascii=False) if row.body else ""
    return shown | {
        "endpoint": endpoint,
        "message_id": message_id,
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
