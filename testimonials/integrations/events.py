"""The events of webhook endpoints."""

from testimonials.core.audit import EventType
from testimonials.core.http.i18n import gettext_noop

WEBHOOK_ADDED = EventType("webhook.added", gettext_noop("added the webhook endpoint %(url)s"))
WEBHOOK_CHANGED = EventType("webhook.changed", gettext_noop("changed the webhook endpoint %(url)s"))
WEBHOOK_ROTATED = EventType(
    "webhook.rotated", gettext_noop("replaced the secret of the webhook endpoint %(url)s")
)
WEBHOOK_STOPPED = EventType(
    "webhook.stopped", gettext_noop("switched off the webhook endpoint %(url)s")
)
WEBHOOK_REMOVED = EventType("webhook.removed", gettext_noop("removed the webhook endpoint %(url)s"))
