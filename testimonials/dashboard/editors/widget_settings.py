"""The widget's settings under one set of names: those of the API, and those of its button."""

from typing import Any

from testimonials.projects.configuration import defaults
from testimonials.projects.configuration.dashboard_config import CTA
from testimonials.projects.models import Project
from testimonials.widget.services import update_widget_config
from testimonials.widget.settings import change_cta

CTA_FIELDS = {"ctaLabel": "label", "ctaUrl": "url"}
DEFAULTS: dict[str, Any] = defaults.WIDGET_CONFIG | dict.fromkeys(CTA_FIELDS, "")


def flatten_widget(project: Project) -> dict[str, Any]:
    """Return all settings; those of the default button are empty."""
    own = project.dashboard_config.get(CTA) or {}
    return project.widget_config | {field: own.get(name, "") for field, name in CTA_FIELDS.items()}


def change_widget(project: Project, wanted: dict[str, Any]) -> None:
    """Change what differs in the locked project: saving the same again is no change."""
    now = flatten_widget(project)
    changes = {name: value for name, value in wanted.items() if now.get(name) != value}
    update_widget_config(
        project, {name: value for name, value in changes.items() if name not in CTA_FIELDS}
    )
    if changes.keys() & CTA_FIELDS.keys():
        values = now | changes
        change_cta(project, {name: values[field] for field, name in CTA_FIELDS.items()})
