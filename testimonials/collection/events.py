"""The events of forms, requests, purchases and reports."""

from testimonials.core.audit import EventType, OperatorEventType
from testimonials.projects.events import PROJECT_UPDATED

FORM_ADDED = EventType("form.added", "added the form %(form)s", webhook=PROJECT_UPDATED)
FORM_CHANGED = EventType(
    "form.changed", "changed the form %(form)s", webhook=PROJECT_UPDATED, is_counted=True
)
FORM_DELETED = EventType("form.deleted", "deleted the form %(form)s", webhook=PROJECT_UPDATED)
REQUESTS_SENT = EventType("requests.sent", "requested testimonials by email: %(count)s")
REQUESTS_CANCELLED = EventType("requests.cancelled", "cancelled waiting requests: %(count)s")
REQUEST_ANSWERED = EventType(
    "request.answered", "answered a request by email", webhook="request.answered"
)
PURCHASES_CHANGED = EventType(
    "purchases.changed", "changed the secret of links that prove a purchase"
)
REPORT_SENT = OperatorEventType("report.sent", "reported the page %(slug)s", is_counted=True)
REPORT_SETTLED = OperatorEventType("report.settled", "settled a report")
