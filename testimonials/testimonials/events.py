"""The events of testimonials, recorded where they change, so that no door can forget one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from testimonials.core.audit import Actor, ActorKind, add_event, record_project_event
from testimonials.core.event_types import EventType
from testimonials.core.http.i18n import gettext_noop
from testimonials.projects.models import Project
from testimonials.testimonials.batches import Part
from testimonials.testimonials.models import Testimonial

# Reasons in `held_for`: the owner marked it as spam, or the holder of the address denies having
# written it. Anything else was held before anybody heard of it.
BY_HAND, DISOWNED = "owner", "disowned"
# Who acts without an account; their network is nobody's business.
AUTHOR = gettext_noop("The author")
ADDRESS = gettext_noop("The holder of that address")

BY_STATUS = {
    "approved": EventType.TESTIMONIAL_APPROVED,
    "rejected": EventType.TESTIMONIAL_REJECTED,
    "withdrawn": EventType.TESTIMONIAL_WITHDRAWN,
}


def name_change(row: Testimonial, before: Mapping[str, Any]) -> EventType | None:
    """Return the type of a change that was just made, by what the columns were before.

    None for what concerns nobody: changes of samples, and of what is held as spam.
    """
    is_gone = "deleted_at" in before and row.deleted_at is not None
    if row.status == "demo":
        return EventType.SAMPLES_DELETED if is_gone else None
    was = before.get("status", row.status)
    if is_held(row):
        if was == "spam" and row.status == "pending":
            return EventType.TESTIMONIAL_SUBMITTED
        if was == "spam" or (was, row.status) == ("withdrawn", "spam"):
            return EventType.TESTIMONIALS_DELETED if is_gone else None
    if "deleted_at" in before:
        return EventType.TESTIMONIAL_DELETED if is_gone else EventType.TESTIMONIAL_UPDATED
    by_status = BY_STATUS.get(row.status) if "status" in before else None
    return by_status or EventType.TESTIMONIAL_UPDATED


def is_held(row: Testimonial) -> bool:
    """Tell whether the service took it for spam when it came, released since or not."""
    return bool(set((row.held_for or BY_HAND).split(",")) - {BY_HAND, DISOWNED})


def record_changes(
    project: Project, part: Part, action: str, changed: Iterable[tuple[EventType | None, str]]
) -> None:
    """Record a part of changes: one event for each type, however many testimonials there are.

    `some` says that the batch has others too, which are of another type.
    """
    by_type: dict[EventType | None, list[str]] = defaultdict(list)
    for type, testimonial_id in changed:
        by_type[type].append(testimonial_id)
    for type, ids in by_type.items():
        if type is None:
            continue
        details: dict[str, Any] = {"action": action}
        if len(ids) == 1 and not part.is_one_of_many:
            details["testimonial"] = ids[0]
        else:
            details |= {"batch": part.id, "count": len(ids)}
            details |= {"some": True} if len(by_type) > 1 else {}
        told = EventType.REPLY_CHANGED if action == "reply" else type
        record_project_event(told, project, **details)


def record_by_author(type: EventType, project: Project, name: str = AUTHOR, **details: Any) -> None:
    """Record what somebody without an account did to their own testimonial."""
    actor = Actor(ActorKind.VISITOR, name)
    add_event(type, project.account_id, project.id, actor, None, details)
