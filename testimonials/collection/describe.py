"""What the templates of the collection page show; the page editor's preview shows the same."""

from typing import Any

from flask import current_app, url_for

from testimonials.collection.schemas import Errors
from testimonials.collection.services import consent_sentence
from testimonials.core.images import image_url
from testimonials.projects.models import Project
from testimonials.testimonials.schemas import LINE_LENGTH, TEXT_LENGTH


def describe_form(
    project: Project, typed: dict[str, str], errors: Errors, token: str
) -> dict[str, Any]:
    """Give what `collection/page.html` shows: the form with what was typed and what is wrong."""
    return describe_page(project) | {
        "collect": project.page_config["collectFields"],
        "values": typed,
        "errors": errors,
        "form_token": token,
        "action": url_for("collection.submit_testimonial", slug=project.slug),
        "limits": {"text": TEXT_LENGTH, "name": LINE_LENGTH},
        "consent": consent_sentence(project),
    }


def describe_thanks(project: Project) -> dict[str, Any]:
    """Give what `collection/thanks.html` shows."""
    config = project.page_config
    return describe_page(project) | {
        "message": config["thankYouMessage"],
        "website": config["website"],
        "show_confetti": config["showConfetti"],
    }


def describe_page(project: Project) -> dict[str, Any]:
    """Give what each page of the project's own shows."""
    config = project.page_config
    website: str = config["website"]
    page = {
        "name": project.name,
        "slug": project.slug,
        "headline": config["headline"],
        "description": config["description"],
        "website": website,
        "website_label": website.partition("://")[2].rstrip("/"),
        "logo_url": image_url(project.logo_id),
        "theme": config["theme"],
        "canonical": f"{current_app.config['APP_URL']}/{project.slug}",
    }
    return {
        "project": page,
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
    }
