"""The collection page's settings, as an owner changes them in the dashboard."""

from typing import Any

from testimonials.core import clock
from testimonials.core.pictures.images import Image
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.projects.services import complete_website, mark_changed


def update_page_config(project: Project, changes: dict[str, Any]) -> None:
    """Change what `changes` holds (as `PageConfigUpdateSchema` gives it) in the locked project.

    Raises `ValidationFailed` for a website that is no http(s) address.
    """
    config = {name: value for name, value in changes.items() if name != "businessName"}
    if "website" in config:
        config["website"] = complete_website(config["website"])
    if "collectFields" in config:
        config["collectFields"] = project.page_config["collectFields"] | config["collectFields"]
    name = changes.get("businessName", project.business_name)
    merged = project.page_config | config
    if merged == project.page_config and name == project.business_name:
        return
    project.page_config, project.business_name = merged, name
    _touch(project)


def set_logo(project: Project, image: Image | None) -> None:
    """Show `image`, not stored yet, as the locked project's logo, or none."""
    if image is not None:
        db.session.add(image)
        db.session.flush()
    project.logo_id = None if image is None else image.id
    _touch(project)


def _touch(project: Project) -> None:
    project.updated_at = max(clock.now(), project.updated_at + clock.MILLISECOND)
    mark_changed(project)
    db.session.flush()
