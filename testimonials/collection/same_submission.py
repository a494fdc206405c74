"""Which submissions are one act of sending, however they arrive."""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from testimonials.collection.spam import fingerprint
from testimonials.core import clock
from testimonials.extensions import db
from testimonials.projects.models import Project
from testimonials.testimonials.models import Testimonial

# As long as a form can be sent after it was opened.
SAME_WITHIN = timedelta(days=1)
# What an author says beside the words, and what a form that doesn't ask for it leaves.
SAID: dict[str, Any] = {
    "author_name": "",
    "author_role": "",
    "author_company": None,
    "author_email": None,
    "rating": None,
}


def make_submission_key(form_key: str, values: Mapping[str, Any]) -> str:
    """Return the key of these words from this form.

    Whoever goes back and changes the words sends something new, which must not be lost.
    """
    said = [form_key, *_identity(values)]
    return hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()


def find_arrived(project: Project, values: Mapping[str, Any]) -> Testimonial | None:
    """Return what the same author sent to the locked project in the same words within a day.

    A second tab, or going back and sending again, brings a form of its own, with the same words.
    What the owner deleted or the author took back may be sent again.
    """
    same = [
        getattr(Testimonial, name).is_not_distinct_from(values.get(name, nothing))
        for name, nothing in SAID.items()
    ]
    has_photo = Testimonial.avatar_id.is_not(None)
    query = select(Testimonial).where(
        Testimonial.project_id == project.id,
        Testimonial.created_at > clock.now() - SAME_WITHIN,
        Testimonial.source == "public_page",
        Testimonial.status != "withdrawn",
        Testimonial.deleted_at.is_(None),
        Testimonial.text_fingerprint == fingerprint(values["text"]),
        # The owner may have edited them already.
        func.coalesce(Testimonial.original_text, Testimonial.text) == values["text"],
        has_photo if values.get("avatar_id") else ~has_photo,
        *same,
    )
    return db.session.scalars(query.limit(1)).first()


def _identity(values: Mapping[str, Any]) -> list[Any]:
    said = [values.get(name, nothing) for name, nothing in SAID.items()]
    return [values["text"], *said, bool(values.get("avatar_id"))]
