"""Settings of the widget that only the dashboard has: its button, and what is being rated."""

from typing import Any

from testimonials.core import clock
from testimonials.core.urls import collection_page_url
from testimonials.extensions import db
from testimonials.projects.configuration.dashboard_config import CTA, RATED
from testimonials.projects.models import Project
from testimonials.projects.services import mark_changed

CTA_LABEL = "Share your experience"


def read_cta(project: Project) -> dict[str, str]:
    own = project.dashboard_config.get(CTA) or {}
    return {
        "label": own.get("label") or CTA_LABEL,
        "url": own.get("url") or collection_page_url(project.slug),
    }


def read_rated(project: Project) -> dict[str, str] | None:
    """Return kind and name of what the ratings are about; None where the owner named nothing."""
    return project.dashboard_config.get(RATED) or None


def change_cta(project: Project, values: dict[str, str]) -> None:
    """Keep the button of the locked project; `values` is what `CtaSchema` gave."""
    _keep(project, CTA, {name: value for name, value in values.items() if value})


def change_rated(project: Project, values: dict[str, str] | None) -> None:
    """Keep what is rated in the locked project, as `RatedSchema` gave it; None switches it off."""
    _keep(project, RATED, values or {})


def _keep(project: Project, name: str, values: dict[str, Any]) -> None:
    config = {key: value for key, value in project.dashboard_config.items() if key != name}
    if values:
        config[name] = values
    if config == project.dashboard_config:
        return
    project.dashboard_config = config
    project.updated_at = max(clock.now(), project.updated_at + clock.MILLISECOND)
    mark_changed(project)
    db.session.flush()
