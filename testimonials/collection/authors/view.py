"""What the templates of the author's own page show."""

from typing import Any

from flask import url_for

from testimonials.collection.authors.services import OwnTestimonial
from testimonials.collection.describe import describe_page
from testimonials.collection.schemas import consent_sentence
from testimonials.core import clock
from testimonials.core.web.errors import FieldErrors
from testimonials.testimonials.fields import LINE_LENGTH, TEXT_LENGTH
from testimonials.testimonials.models import Testimonial

# What the request before did.
DONE = ("corrected", "withdrawn", "consented", "verified")


def describe_own(own: OwnTestimonial, token: str, done: str, errors: FieldErrors) -> dict[str, Any]:
    row = own.row
    return _describe_frame(own) | {
        "item": _describe_card(row),
        "state": _find_state(own),
        "done": done if done in DONE else "",
        "email": row.author_email if own.can_verify else None,
        "is_verified": row.email_verified_at is not None,
        "consent": {
            "text": row.consent_text,
            "language": row.consent_language,
            "day": row.consented_at and row.consented_at.date().isoformat(),
            "withdrawn_day": row.consent_withdrawn_at
            and row.consent_withdrawn_at.date().isoformat(),
        },
        "new_consent": consent_sentence(own.project) if own.can_consent else None,
        "can_correct": own.can_correct,
        "errors": errors,
        "urls": _describe_urls(token),
    }


def describe_edit(
    own: OwnTestimonial, token: str, typed: dict[str, str] | None, errors: FieldErrors
) -> dict[str, Any]:
    row = own.row
    stored = {
        "text": row.text,
        "name": row.author_name,
        "role": row.author_role,
        "company": row.author_company or "",
        "rating": f"{row.rating:g}" if row.rating else "",
    }
    return _describe_frame(own) | {
        "collect": own.correctable,
        "values": stored if typed is None else typed,
        "errors": errors,
        "limits": {"text": TEXT_LENGTH, "name": LINE_LENGTH},
        "is_shown": row.is_visible,
        "urls": _describe_urls(token),
    }


def describe_confirmation(own: OwnTestimonial, token: str, action: str) -> dict[str, Any]:
    return _describe_frame(own) | {
        "action": action,
        "is_shown": own.row.is_visible,
        "urls": _describe_urls(token),
    }


def _describe_frame(own: OwnTestimonial) -> dict[str, Any]:
    page = describe_page(own.project)
    if own.project.deleted_at is not None:
        # Nothing of a deleted project is served in public.
        page["theme_css_url"] = None
    return page


def _describe_card(row: Testimonial) -> dict[str, Any]:
    return {
        "text": row.text,
        "name": row.author_name,
        "role": row.author_role,
        "company": row.author_company,
        "rating": row.rating,
        "avatar_url": row.avatar_url,
        "day": row.submitted_at.date().isoformat(),
        "time": clock.iso(row.submitted_at),
    }


def _find_state(own: OwnTestimonial) -> str:
    """Return the state that the author sees; for them, spam is waiting."""
    row, project = own.row, own.project
    if row.status == "withdrawn":
        return "withdrawn"
    if project.deleted_at is not None:
        return "closed"
    if row.deleted_at is not None:
        return "removed"
    if row.status == "approved":
        return "shown" if project.is_active else "paused"
    return "rejected" if row.status == "rejected" else "waiting"


def _describe_urls(token: str) -> dict[str, str]:
    names = {
        "own": "show_own",
        "verify": "verify",
        "correct": "correct",
        "withdraw": "withdraw",
        "delete": "delete",
        "not-mine": "deny",
    }
    return {name: url_for(f"author.{view}", token=token) for name, view in names.items()}
