"""How a project stands: what an agent needs to tell its owner."""

from typing import Any

from testimonials.collection.requests.asked_people import STATES, count_states
from testimonials.projects.models import Project
from testimonials.proposals.deciding import count_waiting
from testimonials.testimonials.moderation.inbox import count_samples, count_tabs
from testimonials.widget.services import rate
from testimonials.widget.sightings import list_sightings


def summarize(project: Project) -> dict[str, Any]:
    """Return what `SummarySchema` dumps."""
    average, count = rate(project)
    asked = count_states(project)
    return {
        "status": project.status,
        "testimonials": count_tabs(project.id)[project.id] | {"samples": count_samples(project.id)},
        "averageRating": average if count else None,
        "ratingCount": count,
        "proposalsWaiting": count_waiting(project.id),
        "requests": {state: asked[state] for state in STATES},
        "websites": list_sightings(project.id),
    }
