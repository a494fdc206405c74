"""What the templates of the collection page show, also in the page editor's preview."""

from collections.abc import Mapping
from typing import Any

from flask import url_for

from testimonials.collection.forms.shown import shown_design, speak
from testimonials.collection.models import CollectionForm
from testimonials.collection.photos import make_kept_token
from testimonials.collection.picture.share_picture import versioned_picture_url
from testimonials.collection.questions import ANSWER_LENGTH
from testimonials.collection.schemas import consent_sentence
from testimonials.core.pictures.images import AVATAR, Image
from testimonials.core.urls import collection_page_url, form_url, image_url
from testimonials.core.web.errors import FieldErrors
from testimonials.core.web.languages import PARAMETER, asked_language
from testimonials.projects.configuration.defaults import PAGE_CONFIG
from testimonials.projects.configuration.page_design import offers_code
from testimonials.projects.models import Project
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH


def describe_form(
    project: Project,
    typed: dict[str, str],
    errors: FieldErrors,
    token: str,
    photo: Image | None = None,
    *,
    form: CollectionForm | None = None,
    answered: Mapping[str, list[str]] | None = None,
) -> dict[str, Any]:
    """Return what `collection/page.html` shows; `photo` is stored already.

    `answered` is what was typed or chosen for the questions, by field.
    """
    at: dict[str, Any] = {"slug": project.slug} | ({"form_name": form.name} if form else {})
    return describe_page(project, form) | {
        "collect": project.page_config["collectFields"],
        "values": typed,
        "errors": errors,
        "form_token": token,
        "action": url_for("collection.submit_testimonial", **at),
        "answered": answered or {},
        "limits": {"text": TEXT_LENGTH, "name": LINE_LENGTH, "answer": ANSWER_LENGTH},
        "consent": consent_sentence(project),
        "photo": {
            "token": make_kept_token(project, photo),
            "url": image_url(photo.id if photo else None),
            "max_bytes": AVATAR.max_bytes,
        },
    }


def describe_thanks(project: Project) -> dict[str, Any]:
    """Return what `collection/thanks.html` shows."""
    config = project.page_config
    return describe_page(project) | {
        "message": speak(config["thankYouMessage"], PAGE_CONFIG["thankYouMessage"]),
        "website": config["website"],
        "show_confetti": config["showConfetti"],
    }


def describe_page(project: Project, form: CollectionForm | None = None) -> dict[str, Any]:
    """Return what every page of the project shows, or of one of its forms."""
    config = project.page_config
    website: str = config["website"]
    url = form_url(project.slug, form.name) if form else collection_page_url(project.slug)
    page = {
        "name": project.name,
        "slug": project.slug,
        **shown_design(project, form),
        "offers_code": offers_code(project.page_design),
        "website": website,
        "website_label": website.partition("://")[2].rstrip("/"),
        "logo_url": image_url(project.logo_id),
        "cover_url": image_url(project.cover_id),
        "cover_focus": project.whole_page_design["coverFocus"],
        "portrait_url": image_url(project.portrait_id),
        "share_url": versioned_picture_url(project),
        "theme": config["theme"],
        "canonical": url,
    }
    # Each language has its own URL; the plain one serves every visitor in theirs.
    language = asked_language()
    return {
        "project": page,
        "canonical": f"{url}?{PARAMETER}={language.code}" if language else url,
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
    }
