"""What the ratings are about, as an owner names it in Settings for search engines."""

from typing import Any

from marshmallow import ValidationError

from testimonials.core.urls import wall_url
from testimonials.core.web.errors import ValidationFailed
from testimonials.projects.configuration.dashboard_config import RATED_KINDS, RatedSchema
from testimonials.projects.models import Project
from testimonials.widget.services import rate
from testimonials.widget.settings import read_rated

LABELS = dict(zip(RATED_KINDS, ("A product", "An application", "A course"), strict=True))

_SCHEMA = RatedSchema()


def check_rated(sent: dict[str, str]) -> dict[str, str] | None:
    """Return what a form named, None for nothing; raise `ValidationFailed`."""
    if not sent["kind"]:
        return None
    try:
        return _SCHEMA.check(sent)
    except ValidationError as error:
        messages = error.messages_dict
        # The person sees the names of the kinds, not the vocabulary's.
        if "kind" in messages:
            messages["kind"] = ["Choose one of these."]
        if "name" in messages and not sent["name"].strip():
            messages["name"] = ["Write the name of what is rated."]
        raise ValidationFailed.of(messages) from None


def describe_rated(project: Project, sent: dict[str, str] | None) -> dict[str, Any]:
    """Return what the card in Settings shows: what is stored, or what was `sent` and refused."""
    stored = read_rated(project)
    return {
        "kinds": LABELS,
        "count": rate(project)[1],
        "wall_url": wall_url(project.slug),
        **(sent or stored or {"kind": "", "name": ""}),
    }
