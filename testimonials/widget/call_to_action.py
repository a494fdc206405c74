"""Settings of the widget that only the dashboard can change: its button, and what is rated."""

from typing import Any

from testimonials.core.http.i18n import gettext_noop, translate
from testimonials.core.http.urls import collection_page_url
from testimonials.projects.defaults import CTA, RATED
from testimonials.projects.models import Project
from testimonials.projects.projects import mark_edited

CTA_LABEL = gettext_noop("Share your experience")


def read_cta(project: Project) -> dict[str, str]:
    own = project.dashboard_config.get(CTA) or {}
    return {
        "label": own.get("label") or translate(CTA_LABEL),
        "url": own.get("url") or collection_page_url(project.slug, project.own_host),
    }


def read_rated(project: Project) -> dict[str, str] | None:
    """Return kind and name of what the ratings are about; None if the owner named nothing."""
    return project.dashboard_config.get(RATED) or None


def change_cta(project: Project, values: dict[str, str]) -> None:
    """Change the button of the locked project; `values` come from `CtaSchema`."""
    _keep(project, CTA, {name: value for name, value in values.items() if value})


def change_rated(project: Project, values: dict[str, str] | None) -> None:
    """Change what is rated in the locked project, as from `RatedSchema`; None switches it off."""
    _keep(project, RATED, values or {})


def _keep(project: Project, name: str, values: dict[str, Any]) -> None:
    config = {key: value for key, value in project.dashboard_config.items() if key != name}
    if values:
        config[name] = values
    if config != project.dashboard_config:
        project.dashboard_config = config
        mark_edited(project)
