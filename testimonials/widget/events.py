"""The events of widgets."""

from testimonials.core.audit import EventType
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.events import PROJECT_UPDATED

WIDGET_CHANGED = EventType(
    "widget.changed", gettext_noop("changed the widget"), webhook=PROJECT_UPDATED, is_counted=True
)
WIDGET_SAVED = EventType(
    "widget.saved", gettext_noop("saved the widget %(widget)s"), webhook=PROJECT_UPDATED
)
WIDGET_RENAMED = EventType(
    "widget.renamed",
    gettext_noop("renamed the widget %(old)s to %(widget)s"),
    webhook=PROJECT_UPDATED,
)
WIDGET_DELETED = EventType(
    "widget.deleted", gettext_noop("deleted the widget %(widget)s"), webhook=PROJECT_UPDATED
)
