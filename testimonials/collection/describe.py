"""What the templates of the collection page show, also in the page editor's preview."""

from typing import Any

from flask import url_for

from testimonials.collection.photos import make_kept_token
from testimonials.collection.picture.share_picture import versioned_picture_url
from testimonials.collection.schemas import consent_sentence
from testimonials.core.pictures.images import AVATAR, Image
from testimonials.core.urls import collection_page_url, image_url
from testimonials.core.web.errors import FieldErrors
from testimonials.core.web.languages import PARAMETER, asked_language, gettext, translate
from testimonials.projects.configuration.defaults import HEADLINE, PAGE_CONFIG, default_page_config
from testimonials.projects.models import Project
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH


def describe_form(
    project: Project,
    typed: dict[str, str],
    errors: FieldErrors,
    token: str,
    photo: Image | None = None,
) -> dict[str, Any]:
    """Return what `collection/page.html` shows; `photo` is stored already."""
    return describe_page(project) | {
        "collect": project.page_config["collectFields"],
        "values": typed,
        "errors": errors,
        "form_token": token,
        "action": url_for("collection.submit_testimonial", slug=project.slug),
        "limits": {"text": TEXT_LENGTH, "name": LINE_LENGTH},
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
        "message": _speak(config["thankYouMessage"], PAGE_CONFIG["thankYouMessage"]),
        "website": config["website"],
        "show_confetti": config["showConfetti"],
    }


def describe_page(project: Project) -> dict[str, Any]:
    """Return what every page of the project shows."""
    config = project.page_config
    website: str = config["website"]
    page = {
        "name": project.name,
        "slug": project.slug,
        "headline": _speak_headline(project),
        "description": _speak(config["description"], PAGE_CONFIG["description"]),
        "website": website,
        "website_label": website.partition("://")[2].rstrip("/"),
        "logo_url": image_url(project.logo_id),
        "share_url": versioned_picture_url(project),
        "theme": config["theme"],
        "canonical": collection_page_url(project.slug),
    }
    # Each language has its own URL; the plain one serves every visitor in theirs.
    language = asked_language()
    return {
        "project": page,
        "canonical": f"{page['canonical']}?{PARAMETER}={language.code}"
        if language
        else page["canonical"],
        "theme_css_url": url_for("collection.get_theme", slug=project.slug),
    }


def _speak(text: str, standard: str) -> str:
    return translate(standard) if text == standard else text


def _speak_headline(project: Project) -> str:
    headline: str = project.page_config["headline"]
    if headline != default_page_config(project.business_name)["headline"]:
        return headline
    if not project.business_name:
        return translate(PAGE_CONFIG["headline"])
    return gettext(HEADLINE, name=project.business_name)
