"""The events of widgets."""

from testimonials.core.audit import EventType
from testimonials.projects.events import PROJECT_UPDATED

WIDGET_CHANGED = EventType(
    "widget.changed", "changed the widget", webhook=PROJECT_UPDATED, is_counted=True
)
WIDGET_SAVED = EventType("widget.saved", "saved the widget %(widget)s", webhook=PROJECT_UPDATED)
WIDGET_RENAMED = EventType(
    "widget.renamed", "renamed the widget %(old)s to %(widget)s", webhook=PROJECT_UPDATED
)
WIDGET_DELETED = EventType(
    "widget.deleted", "deleted the widget %(widget)s", webhook=PROJECT_UPDATED
)
