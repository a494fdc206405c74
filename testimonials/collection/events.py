"""The events of forms, requests, purchases and reports."""

from testimonials.core.audit import EventType
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.events import PROJECT_UPDATED

FORM_ADDED = EventType(
    "form.added", gettext_noop("added the form %(form)s"), webhook=PROJECT_UPDATED
)
FORM_CHANGED = EventType(
    "form.changed",
    gettext_noop("changed the form %(form)s"),
    webhook=PROJECT_UPDATED,
    is_counted=True,
)
FORM_DELETED = EventType(
    "form.deleted", gettext_noop("deleted the form %(form)s"), webhook=PROJECT_UPDATED
)
REQUESTS_SENT = EventType(
    "requests.sent", gettext_noop("requested testimonials by mail: %(count)s")
)
REQUESTS_CANCELLED = EventType(
    "requests.cancelled", gettext_noop("cancelled waiting requests: %(count)s")
)
REQUEST_ANSWERED = EventType(
    "request.answered", gettext_noop("answered a request by mail"), webhook="request.answered"
)
PURCHASES_CHANGED = EventType(
    "purchases.changed", gettext_noop("changed the secret of links that prove a purchase")
)
REPORT_SENT = EventType("report.sent", gettext_noop("reported the page %(slug)s"), is_counted=True)
REPORT_SETTLED = EventType("report.settled", gettext_noop("settled a report"))
