"""What the ratings are about, as an owner names it in Settings for search engines."""

from typing import Any

from testimonials.core.urls import wall_url
from testimonials.projects.configuration.dashboard_config import RATED_KINDS
from testimonials.projects.models import Project
from testimonials.widget.services import rate
from testimonials.widget.settings import read_rated

LABELS = dict(zip(RATED_KINDS, ("A product", "An application", "A course"), strict=True))


def describe_rated(project: Project, typed: dict[str, str] | None) -> dict[str, Any]:
    """Return what the card in Settings shows: what is stored, or what was typed and refused."""
    return {
        "kinds": LABELS,
        "count": rate(project)[1],
        "wall_url": wall_url(project.slug),
        **(typed or read_rated(project) or {"kind": "", "name": ""}),
    }
