"""What the page shows on which one testimonial after the other is decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import url_for

from testimonials.collection.authors.thanking import can_thank
from testimonials.collection.requests.request_mail import first_name
from testimonials.core.urls import wall_url
from testimonials.dashboard.describe import describe_testimonial
from testimonials.dashboard.guards import build_shell
from testimonials.dashboard.inbox.reporting import describe_step
from testimonials.dashboard.inbox.testimonial_form import THANKS_LENGTH
from testimonials.projects.access import Access
from testimonials.testimonials.fields import REPLY_LENGTH
from testimonials.testimonials.models import Testimonial
from testimonials.testimonials.moderation.inbox import find_next_pending
from testimonials.testimonials.moderation.undoing import find_last_step

# More than this is a bar nobody can count.
MOST_MARKS = 20


@dataclass(frozen=True)
class Tally:
    """How many the person has approved and rejected since they began; it travels in the URL."""

    approved: int = 0
    rejected: int = 0

    @property
    def count(self) -> int:
        return self.approved + self.rejected

    @property
    def query(self) -> dict[str, Any]:
        return {name: count for name, count in vars(self).items() if count}

    def add(self, action: str, by: int = 1) -> "Tally":
        """Return it with one more decision, or one less."""
        approved = self.approved + by * (action == "approve")
        rejected = self.rejected + by * (action == "reject")
        return Tally(max(0, approved), max(0, rejected))


def read_tally(values: Mapping[str, str]) -> Tally:
    """Return the tally in a URL or form; what isn't a small number counts as 0."""
    counts = [values.get(name, "") for name in ("approved", "rejected")]
    return Tally(*(int(text) if text.isdecimal() and len(text) < 5 else 0 for text in counts))


def decide_url(row: Testimonial | None, tally: Tally, notice: str | None = None) -> str:
    """Return the address of a testimonial's page, or of the end."""
    if row is None:
        return url_for("deciding.show_next", **tally.query)
    query = tally.query | {"notice": notice}
    return url_for("deciding.show_testimonial", testimonial_id=row.id, **query)


def describe_decision(access: Access, row: Testimonial, tally: Tally) -> dict[str, Any]:
    """Return what the page of one testimonial shows."""
    shell = build_shell(access, "inbox")
    is_pending = row.status == "pending" and row.deleted_at is None
    waiting = shell["counts"]["pending"]
    following = find_next_pending(access.project.id, row)
    place = tally.count + (1 if is_pending else 0)
    return {
        "shell": shell,
        "item": describe_testimonial(row),
        "is_pending": is_pending,
        "waiting": waiting,
        "place": place,
        "total": tally.count + waiting,
        "has_marks": is_pending and 1 < tally.count + waiting <= MOST_MARKS,
        "last": _describe_last(access),
        "next_url": decide_url(following, tally) if following else None,
        "tally": tally,
        "return_to": decide_url(row, tally),
        "reply_length": REPLY_LENGTH,
        "thanks_length": THANKS_LENGTH,
        "can_thank": can_thank(access.project, row),
        "first_name": first_name(row.author_name),
    }


def describe_end(access: Access, tally: Tally) -> dict[str, Any]:
    """Return what the page shows when nothing waits."""
    shell = build_shell(access, "inbox")
    return {
        "shell": shell,
        "tally": tally,
        "last": _describe_last(access),
        "next_url": url_for("deciding.show_next", **tally.query)
        if shell["counts"]["pending"]
        else None,
        "wall_url": wall_url(access.project.slug, access.project.own_host)
        if access.project.is_active
        else None,
    }


def _describe_last(access: Access) -> str | None:
    """Say what Undo would undo."""
    step = find_last_step(access.project, access.user.email)
    return describe_step(step) if step else None
