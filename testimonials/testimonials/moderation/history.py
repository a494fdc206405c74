"""The history of a testimonial as the API shows it: who wrote, changed and decided about it."""

from typing import Any

from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.services import list_history

# The API's names of what people and agents change.
FIELDS = {
    "author_name": "authorName",
    "author_role": "authorRole",
    "author_company": "authorCompany",
    "author_email": "authorEmail",
    "author_avatar": "authorAvatar",
    "avatar_id": "authorAvatar",
    "text": "text",
    "rating": "rating",
    "tags": "tags",
    "is_pinned": "pinned",
    "highlights": "highlights",
    "reply": "reply",
    "status": "status",
}


def describe_history(row: Testimonial) -> list[dict[str, Any]]:
    """Return each change, newest first: when (`at`), by whom, the action, and what it changed."""
    return [
        {
            "at": change.created_at,
            "by": change.actor,
            "action": change.action,
            "changed": sorted({FIELDS[name] for name in change.before if name in FIELDS}),
        }
        for change in list_history(row)
    ]
