"""The events of webhook endpoints."""

from testimonials.core.audit import EventType

WEBHOOK_ADDED = EventType("webhook.added", "added the webhook endpoint %(url)s")
WEBHOOK_CHANGED = EventType("webhook.changed", "changed the webhook endpoint %(url)s")
WEBHOOK_ROTATED = EventType(
    "webhook.rotated", "replaced the secret of the webhook endpoint %(url)s"
)
WEBHOOK_STOPPED = EventType("webhook.stopped", "switched off the webhook endpoint %(url)s")
WEBHOOK_REMOVED = EventType("webhook.removed", "removed the webhook endpoint %(url)s")
